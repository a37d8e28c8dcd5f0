package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// peers returns the folder where DuckDB is; without it the test is skipped, or
// fails where VREPORT_REQUIRE_PEERS asks for it, as make test does.
func peers(t *testing.T) string {
	t.Helper()
	const dir = "../../.ci/peers"
	_, node := exec.LookPath("node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules/@duckdb/node-api")); err != nil || node != nil {
		if os.Getenv("VREPORT_REQUIRE_PEERS") != "" {
			t.Fatal("DuckDB is not installed (make peers)")
		}
		t.Skip("DuckDB is not installed (make peers)")
	}
	return dir
}

// duckdb runs SQL statements in DuckDB and returns the first column of each
// result as text, "null" for a null.
func duckdb(t *testing.T, statements []string) []answer {
	t.Helper()
	dir := peers(t)
	const script = `
import { DuckDBInstance } from '@duckdb/node-api';
import { readFileSync } from 'fs';
const c = await (await DuckDBInstance.create(':memory:')).connect();
for (const s of JSON.parse(readFileSync(0, 'utf8'))) {
  let out = {};
  try {
    const r = await c.runAndReadAll(s);
    out.values = r.getRows().map(r => r[0] === null || r[0] === undefined ? 'null' : String(r[0]));
  } catch (e) { out.error = String(e.message).split('\n')[0]; }
  console.log(JSON.stringify(out));
}`
	in, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "--input-type=module", "-e", script)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	var out []answer
	for dec := json.NewDecoder(bytes.NewReader(b)); dec.More(); {
		var a answer
		if err := dec.Decode(&a); err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	if len(out) != len(statements) {
		t.Fatalf("%d answers to %d statements", len(out), len(statements))
	}
	return out
}

// An answer is a result of one statement.
type answer struct {
	Values []string
	Error  string
}

// A duckColumn is one column to compare: SQL for what we decode from a leaf.
type duckColumn struct {
	file *opened
	leaf *leaf
	sql  string
}

// columnsOf lists the flat columns of a file, as DuckDB is asked for them.
func columnsOf(o *opened) []duckColumn {
	var out []duckColumn
	for i := range o.leaves {
		l := &o.leaves[i]
		if l.opaque || o.byName[l.name] != l || l.kind == column.TextList {
			continue
		}
		var path []string
		for _, p := range strings.Split(l.name, ".") {
			path = append(path, strconv.Quote(p))
		}
		ref := strings.Join(path, ".")
		switch {
		case l.kind == column.List:
			ref = "cast(" + ref + " as double[])::varchar"
		case l.kind == column.Instant:
			ref = "epoch_ns(" + ref + "::timestamp_ns)"
			if l.unit != column.Nanosecond || l.days || l.physical == format.Int96 { // Spark's may lie beyond 2262
				ref = "epoch_us(" + strings.Join(path, ".") + "::timestamp)::hugeint*1000"
			}
		case l.kind == column.Span:
			ref = "epoch(" + ref + ")*" + strconv.FormatFloat(l.unit.PerSecond(), 'g', -1, 64)
		case l.kind == column.Float:
			ref = "cast(" + ref + " as double)"
		default:
			ref += "::varchar"
		}
		out = append(out, duckColumn{o, l, fmt.Sprintf("select %s from read_parquet('%s', binary_as_string=true, hive_partitioning=false)", ref, o.Path)})
	}
	return out
}

// decodeAs reads a column as what it is, as text.
func (c duckColumn) decode(t *testing.T) (out []string, err error) {
	if c.leaf.kind != column.Instant && c.leaf.kind != column.Span && c.leaf.kind != column.List {
		return decodeAll(c.file, c.leaf)
	}
	s := column.Source{Kind: serving.KindTime, Unit: c.leaf.unit}
	switch c.leaf.kind {
	case column.Span:
		s.Kind = serving.KindNumber // in the file's unit
	case column.List:
		s = column.Source{Kind: serving.KindGaps, Unit: column.Second}
	}
	for i := range c.file.meta.RowGroups {
		g := &c.file.meta.RowGroups[i]
		if g.NumRows == 0 {
			continue
		}
		cur := cursor{converter: newConverter(c.leaf, s, nil)}
		cur.pages.budget, cur.pages.maxPage = &budget{limit: 1 << 30}, defaultMaxPage
		if err := cur.open(c.file.R, &g.Columns[c.leaf.index].MetaData, c.file.Size); err != nil {
			return nil, err
		}
		for done := 0; done < int(g.NumRows); {
			var v serving.Vector
			n, err := cur.fill(&v, min(int(g.NumRows)-done, 777))
			if err != nil {
				return nil, err
			}
			for k := range n {
				switch {
				case !v.Has(k):
					out = append(out, "null")
				case s.Kind == serving.KindTime:
					out = append(out, strconv.FormatInt(v.Ints[k], 10))
				case s.Kind == serving.KindGaps:
					out = append(out, fmt.Sprint(v.Floats[v.Offsets[k]:v.Offsets[k+1]]))
				default:
					out = append(out, fmt.Sprintf("%.9g", v.Floats[k]))
				}
			}
			done += n
		}
	}
	return out, nil
}

// same compares two texts of one value.
func (c duckColumn) same(ours, theirs string) bool {
	if ours == theirs {
		return true
	}
	if c.leaf.kind == column.List {
		a, b := strings.Fields(strings.Trim(ours, "[]")), strings.Split(strings.Trim(strings.ReplaceAll(strings.ReplaceAll(theirs, ", NULL", ""), "NULL, ", ""), "[]"), ", ") // a gap that is null is none
		if theirs == "[]" || theirs == "" {
			b = nil
		}
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if !near(a[i], b[i], 1e-15) {
				return false
			}
		}
		return true
	}
	switch c.leaf.kind {
	case column.Text:
		// Texts are cut, and not in the middle of a letter.
		return len(ours) > maxText-4 && strings.HasPrefix(theirs, ours)
	case column.Instant:
		_, err := strconv.ParseInt(theirs, 10, 64)
		return err != nil && ours == fmt.Sprint(int64(badInt)) // beyond 2262: no instant
	case column.Float, column.Span:
		return near(ours, theirs, 1e-8) // decodeAll prints nine digits
	}
	return false
}

func near(a, b string, eps float64) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && (math.IsNaN(x) && math.IsNaN(y) || x == y || math.Abs(x-y) <= eps*math.Max(math.Abs(x), math.Abs(y)))
}

// compare holds every column of some files against DuckDB's values.
func compare(t *testing.T, paths []string, skip func(path, name string) bool) (columns, values int) {
	t.Helper()
	var all []duckColumn
	var sql []string
	for _, p := range paths {
		o, err := openFile(fileOf(t, p))
		if err != nil {
			t.Logf("not read: %v", err)
			continue
		}
		for _, c := range columnsOf(o) {
			if !skip(p, c.leaf.name) {
				all, sql = append(all, c), append(sql, c.sql)
			}
		}
	}
	for i, a := range duckdb(t, sql) {
		c := all[i]
		name := filepath.Base(c.file.Path) + " " + c.leaf.name
		got, err := c.decode(t)
		switch {
		case a.Error != "" && err != nil:
			t.Logf("%s: refused by both: %v; DuckDB: %s", name, err, a.Error)
			continue
		case a.Error != "":
			t.Logf("%s: %d values, DuckDB: %s", name, len(got), a.Error)
			continue
		case err != nil:
			t.Errorf("%s: %v; DuckDB reads %d values", name, err, len(a.Values))
			continue
		case len(got) != len(a.Values):
			t.Errorf("%s: %d values, DuckDB %d", name, len(got), len(a.Values))
			continue
		}
		columns++
		for k := range got {
			if !c.same(got[k], a.Values[k]) {
				t.Errorf("%s row %d: %s, DuckDB %s", name, k+1, got[k], a.Values[k])
				break
			}
			values++
		}
	}
	t.Logf("%d columns of %d files, %d values equal DuckDB's", columns, len(paths), values)
	return columns, values
}

// TestCorpusDuckDB holds the columns of real files against DuckDB's values.
func TestCorpusDuckDB(t *testing.T) {
	dir := corpus(t)
	paths, _ := filepath.Glob(filepath.Join(dir, "*.parquet"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.parquet"))
	columns, _ := compare(t, append(paths, more...), func(path, name string) bool {
		for _, damaged := range []string{"pt_bad_", "corrupt-checksum", "large_string_map", "hadoop_lz4"} { // refused here, by name
			if strings.Contains(path, damaged) {
				return true
			}
		}
		return false
	})
	if columns < 100 {
		t.Errorf("%d columns", columns)
	}
}

// TestDuckDBWrites reads what DuckDB writes: every type it has a Parquet form
// for, under each codec and in both versions of the format.
func TestDuckDBWrites(t *testing.T) {
	dir := t.TempDir()
	const rows = `select i as request_id, 'r' || i as rid, i::utinyint u8, (i%100)::usmallint u16, i::uinteger u32, (i*1000000007)::ubigint u64, (i%120)::tinyint i8, -i::smallint i16, i::hugeint huge,
 '2026-03-01 00:00:00.123456'::timestamp + to_microseconds(i*12345) as us, ('2026-03-01 00:00:00'::timestamp + to_seconds(i))::timestamp_s s, ('2026-03-01'::timestamp + to_milliseconds(i))::timestamp_ms ms,
 ('2026-03-01 00:00:00.123456789'::timestamp_ns) ns, ('2026-03-01'::timestamp + to_microseconds(i))::timestamptz tz, '2026-03-01'::date + (i%30)::int as d, '10:00:00.5'::time + to_seconds(i%60) as tm, to_milliseconds(i) iv,
 (i*1.5)::double as f64, (i*0.25)::float as f32, (i/8.0)::decimal(9,3) d9, (i/8.0)::decimal(18,6) d18, (i*1e10)::decimal(38,4) d38, i%3=0 b, (['chat','rag','agent'])[1+i%3] as workload, (['a','b'])[1+i%2]::enum('a','b') as en,
 uuid() as id, {'input_tokens': i%500, 'deep': {'x': i}} as usage, [i::double, i/3] as itl_ms, [] ::double[] as nothing, case when i%5=0 then null else i end as opt, case when i%2=0 then null else 'v' || (i%50) end as opts, null::double as gone, repeat('ü', i%128) long
 from range(1, 6000) t(i)`
	var sql, paths []string
	for _, codec := range []string{"uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"} {
		for _, version := range []string{"v1", "v2"} {
			p := filepath.Join(dir, codec+"_"+version+".parquet")
			sql = append(sql, fmt.Sprintf("copy (%s) to '%s' (format parquet, compression %s, parquet_version %s, row_group_size 2048)", strings.ReplaceAll(rows, "i::utinyint u8", "(i%250)::utinyint u8"), p, codec, version))
			paths = append(paths, p)
		}
	}
	for i, a := range duckdb(t, sql) {
		if a.Error != "" {
			t.Fatalf("%s: %s", paths[i], a.Error)
		}
	}
	columns, values := compare(t, paths, func(_, name string) bool { return false })
	if columns < 12*30 || values < 12*30*5999 {
		t.Errorf("%d columns, %d values", columns, values)
	}
}
