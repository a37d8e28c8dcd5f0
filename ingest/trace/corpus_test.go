package trace

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// corpus returns the directory of real files, skipping where there is none.
func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS is not set")
	}
	return filepath.Join(dir, "traces")
}

func fileOf(t testing.TB, path string) File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return File{Path: path, R: r, Size: st.Size(), Partition: Hive(path), In: &serving.Input{Path: path}}
}

// TestCorpusVLLM holds the Parquet forms of a real vLLM trace against its JSON
// lines, LZ4_RAW included.
func TestCorpusVLLM(t *testing.T) {
	dir := corpus(t)
	type record struct {
		ID        string  `json:"request_id"`
		In        int64   `json:"input_toks"`
		Out       int64   `json:"output_toks"`
		Arrival   float64 `json:"arrival_time"`
		Queued    float64 `json:"queued_ts"`
		Scheduled float64 `json:"scheduled_ts"`
		First     float64 `json:"first_token_ts"`
		Last      float64 `json:"last_token_ts"`
	}
	want := map[string]record{}
	f, err := os.Open(filepath.Join(dir, "vllm_rtx4090_requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r record
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		want[r.ID] = r
	}
	for _, name := range []string{"derived_vllm_rtx4090_duckdb_zstd.parquet", "derived_vllm_rtx4090_duckdb_lz4raw.parquet"} {
		tb, err := Open(context.Background(), []File{fileOf(t, filepath.Join(dir, name))}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if tb.Side() != serving.ServerSide {
			t.Errorf("%s: side %s", name, tb.Side())
		}
		got := collect(t, tb, "request_id", "arrival_time", "prompt_tokens", "output_tokens", "queue", "prefill", "decode", "ttft", "e2e", "tpot")
		if got.rows != len(want) {
			t.Fatalf("%s: %d rows, want %d", name, got.rows, len(want))
		}
		for i := range got.rows {
			r := want[got.text("request_id", i)]
			near := func(col string, w float64) {
				if g := got.float(col, i); math.Abs(g-w) > 1e-6*math.Max(1, math.Abs(w)) {
					t.Fatalf("%s row %d %s: %g, want %g", name, i, col, g, w)
				}
			}
			if got.ints["prompt_tokens"][i] != r.In || got.ints["output_tokens"][i] != r.Out {
				t.Fatalf("%s row %d: tokens", name, i)
			}
			if d := got.ints["arrival_time"][i] - int64(r.Arrival*1e9); d > 2000 || d < -2000 {
				t.Fatalf("%s row %d: arrival off by %d ns", name, i, d)
			}
			near("queue", r.Scheduled-r.Queued)
			near("prefill", r.First-r.Scheduled)
			near("decode", r.Last-r.First)
			near("ttft", r.First-r.Queued)
			near("e2e", r.Last-r.Queued)
			near("tpot", (r.Last-r.First)/float64(r.Out-1))
		}
	}
}

// TestCorpusAzure holds the Azure trace, as one file and as a hive directory,
// against its CSV.
func TestCorpusAzure(t *testing.T) {
	dir := corpus(t)
	f, err := os.Open(filepath.Join(dir, "azure2023_code.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	recs = recs[1:]
	var sumIn, sumOut, sumAt int64
	for _, r := range recs {
		in, _ := strconv.ParseInt(r[1], 10, 64)
		out, _ := strconv.ParseInt(r[2], 10, 64)
		at, err := time.Parse("2006-01-02 15:04:05.9999999", r[0])
		if err != nil {
			t.Fatal(err)
		}
		sumIn, sumOut, sumAt = sumIn+in, sumOut+out, sumAt+at.UnixMicro()%1e12
	}
	hive, _ := filepath.Glob(filepath.Join(dir, "derived_azure_code_hive", "*", "*.parquet"))
	for _, paths := range [][]string{{filepath.Join(dir, "derived_azure_code_duckdb_zstd.parquet")}, hive} {
		var files []File
		for _, p := range paths {
			files = append(files, fileOf(t, p))
		}
		tb, err := Open(context.Background(), files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := collect(t, tb, "arrival_time", "prompt_tokens", "output_tokens")
		var in, out, at int64
		for i := range got.rows {
			in, out, at = in+got.ints["prompt_tokens"][i], out+got.ints["output_tokens"][i], at+got.ints["arrival_time"][i]/1e3%1e12
		}
		if got.rows != len(recs) || in != sumIn || out != sumOut || at != sumAt {
			t.Errorf("%s: %d rows, %d in, %d out, %d; want %d, %d, %d, %d", paths[0], got.rows, in, out, at, len(recs), sumIn, sumOut, sumAt)
		}
		if len(paths) == 2 {
			hours := collect(t, tb, "hour")
			n := map[string]int{}
			for i := range hours.rows {
				n[hours.text("hour", i)]++
			}
			if n["2023-11-16 18:00:00"] != 7717 || n["2023-11-16 19:00:00"] != 1102 {
				t.Errorf("hours %v", n)
			}
		}
	}
}

// TestCorpusLists reads the gaps of a simulator's trace, written by two
// writers, against its CSV.
func TestCorpusLists(t *testing.T) {
	dir := corpus(t)
	f, err := os.Open(filepath.Join(dir, "llmservingsim_rtx4090_sim.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	itl := map[string][]float64{}
	for _, r := range recs[1:] {
		var g []float64
		if err := json.Unmarshal([]byte(r[11]), &g); err != nil {
			t.Fatal(err)
		}
		itl[r[1]] = g
	}
	for _, name := range []string{"derived_llmservingsim_list_duckdb_v2_snappy.parquet", "derived_llmservingsim_list_polars_zstd.parquet"} {
		tb, err := Open(context.Background(), []File{fileOf(t, filepath.Join(dir, name))}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := collect(t, tb, "request_id", "itl")
		for i := range got.rows {
			want := itl[got.text("request_id", i)]
			if len(want) != len(got.gaps[i]) {
				t.Fatalf("%s row %d: %d gaps, want %d", name, i, len(got.gaps[i]), len(want))
			}
			for k, g := range got.gaps[i] {
				if math.Abs(g*1e9-want[k]) > 1e-3 {
					t.Fatalf("%s row %d gap %d: %g, want %g ns", name, i, k, g, want[k])
				}
			}
		}
		if got.rows != len(itl) {
			t.Errorf("%s: %d rows, want %d", name, got.rows, len(itl))
		}
	}
}

// TestCorpusTypes compares the columns of one file that hold the same values in
// different types.
func TestCorpusTypes(t *testing.T) {
	dir := corpus(t)
	tb, err := Open(context.Background(), []File{fileOf(t, filepath.Join(dir, "synthetic_typematrix_duckdb_zstd.parquet"))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := collect(t, tb, "e2e", "e2e_dec", "e2e_interval", "ttft_f", "arrival_time", "arr_ns", "arr_tz", "arr_ms", "prompt_tokens", "pt_u16", "model", "menum")
	raw, err := Open(context.Background(), []File{fileOf(t, filepath.Join(dir, "synthetic_typematrix_duckdb_zstd.parquet"))}, Options{Map: []column.Mapping{{Canonical: "e2e", Column: "e2e_dec", Unit: column.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	dec := collect(t, raw, "e2e")
	for i := range got.rows {
		if !got.has["e2e"][i] {
			continue
		}
		e := got.float("e2e", i)
		for _, c := range []struct {
			name string
			v    float64
			tol  float64
		}{{"e2e_dec", got.float("e2e_dec", i), 1e-6}, {"interval", got.float("e2e_interval", i), 1e-3}, {"mapped", dec.float("e2e", i), 1e-6}} {
			if math.Abs(c.v-e) > c.tol {
				t.Fatalf("row %d: %s %g, want %g", i, c.name, c.v, e)
			}
		}
		a := got.ints["arrival_time"][i]
		if got.ints["arr_ns"][i] != a || got.ints["arr_tz"][i] != a || a-got.ints["arr_ms"][i] >= 1e6 {
			t.Fatalf("row %d: arrivals %d %d %d", i, a, got.ints["arr_ns"][i], got.ints["arr_tz"][i])
		}
		if got.text("pt_u16", i) != fmt.Sprint(got.ints["prompt_tokens"][i]) || got.text("model", i) != got.text("menum", i) {
			t.Fatalf("row %d: %s, %s", i, got.text("pt_u16", i), got.text("menum", i))
		}
	}
}

// TestCorpusRefused opens every reader case of parquet-testing. None is a
// request trace; each is refused by name, fast and with bounded memory.
func TestCorpusRefused(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "pt_*"))
	for _, p := range paths {
		start := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Open(context.Background(), []File{fileOf(t, p)}, Options{})
		runtime.ReadMemStats(&after)
		var fe *serving.FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), filepath.Base(p)) {
			t.Errorf("%s: %v, want a FormatError that names it", filepath.Base(p), err)
		}
		if d := time.Since(start); d > 5*time.Second || after.TotalAlloc-before.TotalAlloc > 256<<20 {
			t.Errorf("%s: %v and %d MiB", filepath.Base(p), d, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
	if len(paths) == 0 {
		t.Error("no files")
	}
}

// TestCorpusDecoding holds every flat column of parquet-testing's files against
// parquet-go's own values: all encodings, page versions and types.
func TestCorpusDecoding(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "*.parquet"))
	broken := []string{"LEVELS", "41317", "41321", "47662", "corrupt-checksum", "hadoop", "1481", "large_string_map"}
	var columns, values int
	for _, p := range paths {
		skip := false
		for _, b := range broken {
			skip = skip || strings.Contains(p, b)
		}
		if skip {
			continue
		}
		f := fileOf(t, p)
		o, err := openFile(f)
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		pf, err := parquet.OpenFile(f.R, f.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			t.Logf("%s: parquet-go says %v", filepath.Base(p), err)
			continue // see TestCorpusDuckDB
		}
		for i := range o.leaves {
			l := &o.leaves[i]
			if l.opaque || l.maxRep > 0 {
				continue
			}
			got, gerr := decodeAll(o, l)
			want, werr := oracle(pf, o, l)
			if werr != nil && gerr == nil {
				t.Logf("%s %s: parquet-go says %v, read here: %d values", filepath.Base(p), l.name, werr, len(got))
				continue
			}
			lz4 := len(o.meta.RowGroups) > 0 && o.meta.RowGroups[0].Columns[l.index].MetaData.Codec == format.Lz4Raw
			if gerr != nil {
				t.Errorf("%s %s: %v (parquet-go: %v)", filepath.Base(p), l.name, gerr, werr)
				continue
			}
			if lz4 {
				continue // parquet-go reads it wrong: see TestCorpusVLLM
			}
			if len(got) != len(want) {
				t.Errorf("%s %s: %d values, want %d", filepath.Base(p), l.name, len(got), len(want))
				continue
			}
			for k := range got {
				if got[k] != want[k] {
					t.Errorf("%s %s row %d: %s, want %s", filepath.Base(p), l.name, k, got[k], want[k])
					break
				}
			}
			columns++
			values += len(got)
		}
	}
	t.Logf("%d columns, %d values equal", columns, values)
}

// decodeAll reads a column as text.
func decodeAll(o *opened, l *leaf) (out []string, err error) {
	dict := serving.NewDict()
	for i := range o.meta.RowGroups {
		g := &o.meta.RowGroups[i]
		if g.NumRows == 0 {
			continue
		}
		m := &budget{limit: 1 << 30}
		c := cursor{}
		c.pages.budget, c.pages.maxPage = m, defaultMaxPage
		s := column.Source{Kind: serving.KindText}
		if l.fractional() || l.decimal {
			s.Kind = serving.KindNumber
		}
		c.converter = newConverter(l, s, newInterner(dict, new(atomic.Bool)))
		if err := c.open(o.R, &g.Columns[l.index].MetaData, o.Size); err != nil {
			return nil, err
		}
		for done := 0; done < int(g.NumRows); {
			var v serving.Vector
			n, err := c.fill(&v, min(int(g.NumRows)-done, 777))
			if err != nil {
				return nil, err
			}
			for k := range n {
				switch {
				case !v.Has(k):
					out = append(out, "null")
				case s.Kind == serving.KindNumber:
					out = append(out, fmt.Sprintf("%.9g", v.Floats[k]))
				default:
					out = append(out, dict.Name(v.Codes[k]))
				}
			}
			done += n
		}
	}
	return out, nil
}

// oracle reads a column with parquet-go.
func oracle(pf *parquet.File, o *opened, l *leaf) (out []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	for _, g := range pf.RowGroups() {
		pages := g.ColumnChunks()[l.index].Pages()
		defer pages.Close()
		for {
			p, err := pages.ReadPage()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			buf := make([]parquet.Value, p.NumValues())
			n, err := p.Values().ReadValues(buf)
			if err != nil && err != io.EOF {
				return nil, err
			}
			for _, v := range buf[:n] {
				out = append(out, oracleText(v, l))
			}
		}
	}
	return out, nil
}

func oracleText(v parquet.Value, l *leaf) string {
	if v.IsNull() {
		return "null"
	}
	scaled := func(x float64) string { return fmt.Sprintf("%.9g", x/math.Pow10(l.scale)) }
	switch l.physical {
	case format.Boolean:
		return fmt.Sprint(v.Boolean())
	case format.Int32:
		if l.decimal {
			return scaled(float64(v.Int32()))
		}
		if l.unsigned {
			return fmt.Sprint(v.Uint32())
		}
		return fmt.Sprint(v.Int32())
	case format.Int64:
		if l.decimal {
			return scaled(float64(v.Int64()))
		}
		if l.unsigned {
			return fmt.Sprint(v.Uint64())
		}
		return fmt.Sprint(v.Int64())
	case format.Int96:
		x := v.Int96()
		day := int64(x[2]) - julianEpoch
		if day <= -106000 || day >= 106000 {
			return fmt.Sprint(int64(badInt))
		}
		return fmt.Sprint(day*86400e9 + x.Int64()&math.MaxInt64)
	case format.Float:
		return fmt.Sprintf("%.9g", v.Float())
	case format.Double:
		return fmt.Sprintf("%.9g", v.Double())
	}
	b := v.ByteArray()
	switch {
	case l.uuid:
		return string(uuidText(b))
	case l.fractional():
		return fmt.Sprintf("%.9g", l.number(b)/math.Pow10(l.scale))
	case len(b) > maxText:
		return string(b[:maxText])
	}
	return string(b)
}

// textOf opens a trace of the corpus as text.
func textOf(t testing.TB, path string) *Text {
	t.Helper()
	open := OpenCSV
	if strings.HasSuffix(path, ".jsonl") {
		open = OpenJSONL
	}
	tb, err := open(context.Background(), TextFile{Path: path, In: &serving.Input{}, Open: func() (io.ReadCloser, error) { return os.Open(path) }}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// TestCorpusText holds traces as text against their Parquet forms, which other
// programs wrote and another reader reads.
func TestCorpusText(t *testing.T) {
	dir := corpus(t)
	for _, c := range []struct {
		text, parquet string
		want          []string
	}{
		{"azure2023_code.csv", "derived_azure_code_duckdb_zstd.parquet", []string{"arrival_time", "prompt_tokens", "output_tokens"}},
		{"vllm_rtx4090_requests.jsonl", "derived_vllm_rtx4090_duckdb_zstd.parquet",
			[]string{"request_id", "arrival_time", "prompt_tokens", "output_tokens", "queue", "prefill", "decode", "ttft", "e2e", "tpot"}},
		{"llmservingsim_rtx4090_sim.csv", "derived_llmservingsim_list_polars_zstd.parquet", []string{"request_id", "itl"}},
	} {
		p, err := Open(context.Background(), []File{fileOf(t, filepath.Join(dir, c.parquet))}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := collect(t, p, c.want...)
		tb := textOf(t, filepath.Join(dir, c.text))
		got := collect(t, tb, c.want...)
		if got.rows != want.rows || got.problems.Len() > 0 {
			t.Errorf("%s: %d rows, want %d; problems %v", c.text, got.rows, want.rows, got.problems.List())
			continue
		}
		id := map[string]int{} // row of the Parquet form
		for i := range want.rows {
			if want.has["request_id"] != nil {
				id[want.text("request_id", i)] = i
			}
		}
		values := 0
		for i := range got.rows {
			k := i
			if got.has["request_id"] != nil {
				k = id[got.text("request_id", i)]
			}
			for _, n := range c.want {
				if got.has[n][i] != want.has[n][k] {
					t.Fatalf("%s row %d: %s is missing in one", c.text, i, n)
				}
				switch {
				case got.ints[n] != nil:
					// Microseconds, and seconds as a float64, are what the Parquet forms hold.
					if d := got.ints[n][i] - want.ints[n][k]; d > 1000 || d < -1000 || n != "arrival_time" && d != 0 {
						t.Fatalf("%s row %d: %s %d, want %d", c.text, i, n, got.ints[n][i], want.ints[n][k])
					}
				case got.floats[n] != nil:
					if g, w := got.floats[n][i], want.floats[n][k]; math.Abs(g-w) > 1e-8*math.Max(1, w) {
						t.Fatalf("%s row %d: %s %g, want %g", c.text, i, n, g, w)
					}
				case n == "itl":
					if len(got.gaps[i]) != len(want.gaps[k]) || len(got.gaps[i]) == 0 {
						t.Fatalf("%s row %d: %d gaps, want %d", c.text, i, len(got.gaps[i]), len(want.gaps[k]))
					}
					for x := range got.gaps[i] {
						if math.Abs(got.gaps[i][x]-want.gaps[k][x]) > 1e-12 {
							t.Fatalf("%s row %d: gap %g, want %g", c.text, i, got.gaps[i][x], want.gaps[k][x])
						}
					}
				}
				values++
			}
		}
		t.Logf("%s: %d values equal", c.text, values)
	}
}

// TestCorpusSimulator holds a simulator's columns against what they must add up
// to, with times of less than a second and of hours.
func TestCorpusSimulator(t *testing.T) {
	dir := corpus(t)
	for _, name := range []string{"llmservingsim_rtx4090_sim.csv", "llmservingsim_pd_run.csv", "llmservingsim_multi_run.csv"} {
		tb := textOf(t, filepath.Join(dir, name))
		got := collect(t, tb, "arrival_time", "end_time", "e2e", "ttft", "tpot", "itl", "output_tokens", "replica")
		for i := range got.rows {
			e2e := float64(got.ints["end_time"][i]-got.ints["arrival_time"][i]) / 1e9
			sum := got.floats["ttft"][i]
			for _, g := range got.gaps[i] {
				sum += g
			}
			if math.Abs(e2e-got.floats["e2e"][i]) > 1e-9 || math.Abs(sum-e2e) > 1e-6 {
				t.Fatalf("%s row %d: end − arrival %g, e2e %g, ttft + gaps %g", name, i, e2e, got.floats["e2e"][i], sum)
			}
		}
		if got.rows == 0 || got.problems.Len() > 0 {
			t.Errorf("%s: %d rows, %v", name, got.rows, got.problems.List())
		}
	}
}

// TestCorpusSniff offers every file of the corpus to the sniffers of text.
func TestCorpusSniff(t *testing.T) {
	root := filepath.Dir(corpus(t))
	want := map[string]string{"azure2023_code.csv": "csv", "vidur_splitwise_conv.csv": "csv", "llmservingsim_rtx4090_sim.csv": "csv", "llmservingsim_pd_run.csv": "csv",
		"llmservingsim_multi_run.csv": "csv", "mooncake_conversation.jsonl": "json", "vllm_rtx4090_requests.jsonl": "json"}
	files := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		whole := len(b) <= 256<<10
		b = b[:min(len(b), 256<<10)]
		got := ""
		if ok, _ := SniffCSV(b, whole, func() (io.ReadCloser, error) { return os.Open(path) }, Options{}); ok {
			got = "csv"
		}
		if ok, _ := SniffJSONL(b, whole, func() (io.ReadCloser, error) { return os.Open(path) }, Options{}); ok {
			got += "json"
		}
		if got != want[filepath.Base(path)] {
			t.Errorf("%s is taken for %q, want %q", path, got, want[filepath.Base(path)])
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
}
