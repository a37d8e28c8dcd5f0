package column

import (
	"fmt"
	"strconv"
	"strings"
)

// An Engine is a dialect of SQL, as far as dialects differ in what a plan's
// columns need.
type Engine struct {
	Name   string
	quote  byte // around names
	escape bool // a backslash in a text escapes
	double string
	bigint string
	text   string
	div    string // of whole numbers, with two verbs
	nanos  string // of a timestamp, since the epoch
	parse  string // a timestamp out of a text
	worst  string // the greatest element of a list
	match  string // whether a text matches an expression, with two verbs
	cast   string // with two verbs: a value, and a type that may be null
}

// Engines lists the dialects that queries can be printed in.
var Engines = []*Engine{
	{Name: "duckdb", quote: '"', double: "DOUBLE", bigint: "BIGINT", text: "VARCHAR", div: "(%s // %d)",
		nanos: "epoch_ns(%s)", parse: "TRY_CAST(CASE WHEN regexp_matches(%[1]s, ':[0-9]{2}.*([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$') THEN %[1]s ELSE concat(%[1]s, 'Z') END AS TIMESTAMPTZ)", worst: "list_max(%s)", match: "regexp_matches(%s, %s)", cast: "CAST(%s AS %s)"},
	{Name: "clickhouse", quote: '"', escape: true, double: "Nullable(Float64)", bigint: "Nullable(Int64)", text: "Nullable(String)", div: "intDiv(%s, %d)",
		nanos: "toUnixTimestamp64Nano(toDateTime64(%s, 9, 'UTC'))", parse: "parseDateTime64BestEffortOrNull(%s, 9, 'UTC')", worst: "if(empty(%[1]s), NULL, arrayMax(%[1]s))", match: "match(%s, %s)", cast: "CAST(%s AS %s)"},
	{Name: "trino", quote: '"', double: "DOUBLE", bigint: "BIGINT", text: "VARCHAR", div: "(%s / %d)",
		nanos: "(CAST(floor(to_unixtime(%s) * 1e6 + 0.5e0) AS BIGINT) * 1000)", parse: "TRY(from_iso8601_timestamp_nanos(replace(%s, ' ', 'T')))", worst: "array_max(%s)", match: "regexp_like(%s, %s)", cast: "CAST(%s AS %s)"},
	{Name: "spark", quote: '`', escape: true, double: "DOUBLE", bigint: "BIGINT", text: "STRING", div: "(%s div %d)",
		nanos: "(unix_micros(CAST(%s AS TIMESTAMP)) * 1000)", parse: "to_timestamp(%s)", worst: "array_max(%s)", match: "%s RLIKE %s", cast: "CAST(%s AS %s)"},
}

// EngineOf finds a dialect by its name.
func EngineOf(name string) (*Engine, error) {
	var names []string
	for _, e := range Engines {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("%q is no dialect, want one of %s", name, strings.Join(names, ", "))
}

// Quote writes a name so that it is one, whatever it holds.
func (e *Engine) Quote(name string) string {
	q := string(e.quote)
	body := strings.ReplaceAll(name, q, q+q)
	if e.Name == "clickhouse" {
		body = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)
	}
	return q + body + q
}

// Literal writes a text so that it is one, whatever it holds.
func (e *Engine) Literal(s string) string {
	if e.escape {
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\x00", "").Replace(s) + "'"
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", "''") + "'"
}

// Number writes a number that is a double in every dialect.
func Number(x float64) string { return strconv.FormatFloat(x, 'e', -1, 64) }

// Double, Whole and Text convert a value; one that is null stays null. Whole
// wants a value that is a whole number.
func (e *Engine) Double(x string) string { return fmt.Sprintf(e.cast, x, e.double) }

// Whole converts a whole number to 64 bits.
func (e *Engine) Whole(x string) string { return fmt.Sprintf(e.cast, x, e.bigint) }

// Text converts a value to text.
func (e *Engine) Text(x string) string { return fmt.Sprintf(e.cast, x, e.text) }

// Div divides whole numbers, towards zero.
func (e *Engine) Div(x string, n int64) string { return fmt.Sprintf(e.div, x, n) }

// FloorTo is the greatest multiple of n that is no greater than x.
func FloorTo(x string, n int64) string {
	return fmt.Sprintf("(%s - ((%s %% %d + %d) %% %d))", x, x, n, n, n)
}

// path writes the name of a column; one inside a struct step by step.
func (e *Engine) path(r Raw) string {
	if len(r.Path) < 2 {
		return e.Quote(r.Name)
	}
	var parts []string
	for _, p := range r.Path {
		parts = append(parts, e.Quote(p))
	}
	return strings.Join(parts, ".")
}

func (e *Engine) in(x string, words ...string) string {
	var list []string
	for _, w := range words {
		list = append(list, e.Literal(w))
	}
	return x + " IN (" + strings.Join(list, ", ") + ")"
}

// holds is true where a text holds one of some words.
func (e *Engine) holds(x string, words ...string) string {
	var list []string
	for _, w := range words {
		list = append(list, "position("+e.Literal(w)+" IN "+x+") > 0")
	}
	return "(" + strings.Join(list, " OR ") + ")"
}

// EachGap selects from a table once for every element of its list column: names
// are the other columns to take along.
func (e *Engine) EachGap(names, list, gap, table string) string {
	if e.Name == "trino" {
		return fmt.Sprintf("SELECT %s, %s FROM %s CROSS JOIN UNNEST(%s) AS gaps_of (%s)", names, gap, table, list, gap)
	}
	each := map[string]string{"duckdb": "unnest", "clickhouse": "arrayJoin", "spark": "explode"}[e.Name]
	return fmt.Sprintf("SELECT %s, %s(%s) AS %s FROM %s", names, each, list, gap, table)
}

// Table names a table of the engine: a reading of files where the name is one of
// files, else the name as it is given.
func (e *Engine) Table(name string) string {
	lower := strings.ToLower(name)
	kind := ""
	for _, k := range []struct{ suffix, kind string }{{".parquet", "parquet"}, {".csv", "csv"}, {".csv.gz", "csv"}, {".jsonl", "json"}, {".ndjson", "json"}, {".json", "json"}} {
		if strings.HasSuffix(lower, k.suffix) {
			kind = k.kind
		}
	}
	if kind == "" || strings.ContainsAny(name, "()`\"") {
		return name
	}
	switch e.Name {
	case "duckdb":
		return "read_" + kind + map[bool]string{true: "_auto"}[kind != "parquet"] + "(" + e.Literal(name) + ")"
	case "clickhouse":
		format := map[string]string{"parquet": "Parquet", "csv": "CSVWithNames", "json": "JSONEachRow"}[kind]
		reader := "file"
		if strings.Contains(name, "://") {
			reader = "s3"
		}
		return reader + "(" + e.Literal(name) + ", " + e.Literal(format) + ")"
	case "spark":
		if kind != "csv" { // whose columns would have no names
			return kind + "." + e.Quote(name)
		}
	}
	return name
}
