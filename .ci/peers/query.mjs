// Runs queries in a real engine and writes their results:
//
//	node query.mjs duckdb|clickhouse QUERY.sql OUT.parquet|OUT.csv …
//
// Paths in the queries count from the working directory. All that fail are told.
import { readFileSync, writeFileSync } from "node:fs";

const [engine, ...files] = process.argv.slice(2);
const text = (s) => "'" + s.replaceAll("'", "''") + "'";
const engines = {
  async duckdb() {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    return (sql, out) => connection.run(`COPY (${sql}) TO ${text(out)} (${out.endsWith(".csv") ? "FORMAT csv, HEADER" : "FORMAT parquet"})`);
  },
  async clickhouse() {
    const { query } = await import("chdb");
    return (sql, out) =>
      out.endsWith(".csv") ? writeFileSync(out, query(sql, "CSVWithNames")) : query(`INSERT INTO FUNCTION file(${text(out)}, 'Parquet') ${sql}`, "CSV");
  },
};
if (!engines[engine]) throw new Error(`no engine ${engine}`);
const run = await engines[engine]();
let failed = 0;
for (let i = 0; i + 1 < files.length; i += 2) {
  try {
    await run(readFileSync(files[i], "utf8"), files[i + 1]);
  } catch (e) {
    console.error(`${files[i]}: ${e.message}`);
    failed++;
  }
}
process.exit(failed ? 1 : 0);
