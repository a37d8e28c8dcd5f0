// Parses queries by the grammars of Trino and Spark:
//
//	node parse.mjs trino|spark QUERY.sql…
//
// Exit status 1, and each error with its line, where one is no SQL of the dialect.
import { readFileSync } from "node:fs";
import { register } from "node:module";

// The package is written for bundlers: its imports name folders and leave
// extensions out.
const hooks = `
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
export async function resolve(name, context, next) {
  if (name.startsWith(".") && context.parentURL?.includes("/dt-sql-parser/")) {
    const at = new URL(name, context.parentURL);
    const path = fileURLToPath(at);
    for (const end of ["", ".js", "/index.js"]) {
      if (existsSync(path + end) && statSync(path + end).isFile()) return next(at.href + end, context);
    }
  }
  return next(name, context);
}
export async function load(url, context, next) {
  if (url.includes("/dt-sql-parser/") && url.endsWith(".js")) return next(url, { ...context, format: "module" });
  return next(url, context);
}`;
register("data:text/javascript," + encodeURIComponent(hooks));
const { TrinoSQL, SparkSQL } = await import("dt-sql-parser");

const [dialect, ...files] = process.argv.slice(2);
const parser = { trino: TrinoSQL, spark: SparkSQL }[dialect];
if (!parser) throw new Error(`no grammar of ${dialect}`);
let bad = 0;
for (const f of files) {
  for (const e of new parser().validate(readFileSync(f, "utf8"))) {
    console.error(`${f}:${e.startLine}:${e.startColumn}: ${e.message}`);
    bad++;
  }
}
process.exit(bad ? 1 : 0);
