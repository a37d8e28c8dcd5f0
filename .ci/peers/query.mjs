// Runs a query in a real engine and writes its result:
//
//	node query.mjs duckdb|clickhouse QUERY.sql OUT.parquet|OUT.csv
//
// Paths in the query count from the working directory.
import { readFileSync, writeFileSync } from "node:fs";

const [engine, file, out] = process.argv.slice(2);
const sql = readFileSync(file, "utf8");
const text = (s) => "'" + s.replaceAll("'", "''") + "'";
const csv = out.endsWith(".csv");

if (engine === "duckdb") {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(`COPY (${sql}) TO ${text(out)} (${csv ? "FORMAT csv, HEADER" : "FORMAT parquet"})`);
} else if (engine === "clickhouse") {
  const { query } = await import("chdb");
  if (csv) {
    writeFileSync(out, query(sql, "CSVWithNames"));
  } else {
    query(`INSERT INTO FUNCTION file(${text(out)}, 'Parquet') ${sql}`, "CSV");
  }
} else {
  throw new Error(`no engine ${engine}`);
}
process.exit(0);
