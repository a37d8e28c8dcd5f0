package rollup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

func sample() *serving.Rollup {
	h := serving.RollupHistogram{{Bucket: 100, N: 2, Total: 200, Squares: 20000, Least: 100, Most: 100}, {Bucket: 300, N: 1, Total: 345, Squares: 119025, Least: 345, Most: 345}}
	cell := func(by, window string) *serving.RollupCell {
		return &serving.RollupCell{By: []string{by}, Window: window, Outcomes: [serving.NumOutcomes]int64{3, 1}, Good: 2, Within: []int64{2}, Of: []int64{4},
			Whole: 1, Brief: 1, Input: 900, Output: 30, Cached: 5, CachedOf: 800, Metrics: map[serving.MetricKey]serving.RollupHistogram{serving.TTFT: h}}
	}
	return &serving.Rollup{Rows: 5, Skipped: map[string]int64{SkippedWarmUp: 1}, Files: []string{"f"},
		Arrival: serving.RollupSpan{N: 4, Least: -7, Most: -3}, End: serving.RollupSpan{N: 1, Least: 30, Most: 30},
		Spec: serving.RollupSpec{Layout: serving.RollupLayout, Side: serving.Client, Dims: []string{"workload"}, GroupBy: []string{"workload"},
			Groupings: [][]string{{}, {"workload"}, {"@time"}}, WarmShare: 0.9, SLOs: []string{"ttft:p99<1s"}, Goodput: "ttft:500", StepUS: 1e6, Columns: []string{"ttft", "outcome"}},
		Cells: []*serving.RollupCell{cell("", ""), cell("", "-1000000"), cell("it's \"a\", b\n", "")}}
}

// looseSpec is the spec of tables whose cells need not be those of all requests.
func looseSpec() serving.RollupSpec {
	s := sample().Spec
	s.Groupings = nil
	return s
}

func TestCSVRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCSV(&b, sample()); err != nil {
		t.Fatal(err)
	}
	in := &serving.Input{}
	got, err := DecodeCSV(context.Background(), "f", &b, in)
	if err != nil || in.Problems.Len() > 0 {
		t.Fatal(err, in.Problems.List())
	}
	want := sample()
	serving.SortRollupCells(want.Cells)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Damage is told with its line, and the rest is kept.
func TestDamagedRows(t *testing.T) {
	spec, _ := json.Marshal(looseSpec())
	quoted := `"` + strings.ReplaceAll(string(spec), `"`, `""`) + `"`
	const header = "vreport_rollup,d1,time_window,metric,bucket,n,total,squares,least,most,spec\n"
	for row, want := range map[string]string{
		"cell,,,ttft,100,2,200,20000,101,101,":   "another layout",
		"cell,,,ttft,100,2,900,20000,100,100,":   "is not that of 2 values",
		"cell,,,ttft,x,2,200,20000,100,100,":     "no whole number",
		"cell,,,speed,100,2,200,20000,100,100,":  `"speed" is no metric`,
		"cell,,,@outcome,9,2,0,0,0,0,":           "no outcome",
		"cell,,,ttft,100,-2,200,20000,100,100,":  "no count",
		"what,,,ttft,100,2,200,20000,100,100,":   "no kind of row",
		"cell,,noon,ttft,100,2,200,2e4,100,100,": "is no time",
		"cell,,ttft,100":                         "4 fields, want 11",
	} {
		in := &serving.Input{}
		text := header + "cell,,,@outcome,0,7,0,0,0,0,\n" + row + "\nspec,,,,0,0,0,0,0,0," + quoted + "\n"
		r, err := DecodeCSV(context.Background(), "f.csv", strings.NewReader(text), in)
		if err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		list := in.Problems.List()
		if len(list) != 1 || !strings.Contains(list[0].Message, want) || list[0].At.Line != 3 {
			t.Errorf("%s: problems %v, want one at line 3 with %q", row, list, want)
		}
		if len(r.Cells) == 0 || r.Cells[0].Sent() != 7 {
			t.Errorf("%s: the other rows are lost", row)
		}
	}
}

// A quote that never closes costs its row and what follows.
func TestEndlessRow(t *testing.T) {
	var b strings.Builder
	if err := WriteCSV(&b, sample()); err != nil {
		t.Fatal(err)
	}
	in := &serving.Input{}
	r, err := DecodeCSV(t.Context(), "f.csv", strings.NewReader(b.String()+"n,\""+strings.Repeat("a\n", 16<<20)), in)
	at := fmt.Sprintf("f.csv:%d: a record of more than 16 MiB", strings.Count(b.String(), "\n")+1)
	if l := in.Problems.List(); err != nil || r == nil || len(l) != 1 || !strings.HasPrefix(l[0].String(), at) {
		t.Errorf("%v, problems %v, want one %s", err, l, at)
	}
}

// A file that is not of this layout is refused as a whole.
func TestOtherLayout(t *testing.T) {
	text := "vreport_rollup,spec\nspec,\"{\"\"layout\"\":\"\"log-linear/5\"\"}\"\n"
	_, err := DecodeCSV(context.Background(), "f.csv", strings.NewReader(text), &serving.Input{})
	if err == nil || !strings.Contains(err.Error(), `bucket layout "log-linear/5", want log-linear/7`) {
		t.Error(err)
	}
}

func queryOf(t *testing.T, e *column.Engine, spec serving.RollupSpec) string {
	t.Helper()
	plan, err := column.Resolve([]column.Raw{
		{Name: "arrival_time", Kind: column.Instant, Unit: column.Microsecond}, {Name: "workload", Kind: column.Text}, {Name: "stream", Kind: column.Bool}, {Name: "status", Kind: column.Text},
		{Name: "prompt_tokens", Kind: column.Int}, {Name: "cached_tokens", Kind: column.Int}, {Name: "output_tokens", Kind: column.Int},
		{Name: "ttft_ms", Kind: column.Float}, {Name: "e2e_s", Kind: column.Float}, {Name: "itl_ms", Kind: column.List},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &Query{Engine: e, Plan: plan, From: "requests", Spec: spec, Timed: []serving.MetricKey{serving.TTFT}}
	text, err := q.SQL()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// No value that a user gives gets out of its quotes.
func TestQuerySays(t *testing.T) {
	spec := serving.RollupSpec{Layout: serving.RollupLayout, Dims: []string{"workload", "prompt_tokens", "cache"}, GroupBy: []string{"workload"}, WarmShare: 0.9, StepUS: 1e6,
		Groupings: [][]string{{}, {"workload", "prompt_tokens"}, {"cache"}, {"@time"}}, Buckets: map[string][]int64{"prompt_tokens": {128}},
		SLOs: []string{`workload=a' \:ttft:p99<500ms`}, Goodput: "tpot:50"}
	for _, e := range column.Engines {
		text := queryOf(t, e, spec)
		want := []string{"GROUPING SETS", "WHEN u < 512 THEN 128 + " + e.Div("u", 2), "'0-127'", "@slo.1", "5e-01", "5e-02"}
		if e.Name == "clickhouse" || e.Name == "spark" {
			want = append(want, `'a\' \\'`)
		} else {
			want = append(want, `'a'' \'`)
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in the query", e.Name, w)
			}
		}
	}
}

func FuzzDecodeCSV(f *testing.F) {
	var b bytes.Buffer
	if err := WriteCSV(&b, sample()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("vreport_rollup,d1,d9\ncell,\\N,\"\n"))
	f.Add([]byte(fmt.Sprintf("vreport_rollup,metric,bucket,n,total,squares,least,most\ncell,ttft,%d,1,1,1,1,1\n", serving.MaxRollupBucket)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeCSV(context.Background(), "f", bytes.NewReader(data), &serving.Input{})
		if err == nil {
			if err := WriteCSV(&bytes.Buffer{}, r); err != nil {
				t.Error(err)
			}
		}
	})
}
