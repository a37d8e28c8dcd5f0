package render

import (
	"testing"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// compareReport is a comparison with every kind of row, and hostile text wherever
// data is printed.
func compareReport() *analyze.Report {
	c := fixtureComparison()
	rep := &analyze.Report{Title: "Llama " + hostileModel, Gate: analyze.Gate{Result: analyze.GateFail, Reasons: []string{"TPOT p95 +12.1 %: slower"}}}
	for _, s := range analyze.Sections {
		res := analyze.Result{Section: s}
		switch s.Name {
		case "summary":
			res.Value = &analyze.Summary{Tone: "bad", Badge: "WORSE", Title: c.Title, Points: c.Points}
		case "compare":
			res.Value = c
		case "inputs":
			res.Value = fixtureInputs()
		default:
			res.Skipped = "needs " + s.Needs
		}
		rep.Results = append(rep.Results, res)
	}
	return rep
}

func fixtureComparison() *analyze.Comparison {
	some := serving.Some[float64]
	rag := []serving.Term{{Dim: "workload", Value: "rag" + hostileText}}
	row := func(f verdict.Figure, before, after, lo, hi, p float64, call verdict.Call) *verdict.Row {
		return &verdict.Row{Figure: f, Before: some(before), After: some(after), Ratio: some(after / before), Lo: some(lo), Hi: some(hi), P: some(p / 4), PAdjusted: some(p),
			Method: verdict.ByWelch, Runs: [2]int{3, 3}, Levels: 2, Threshold: f.Threshold(), Floor: some(0.03), Detectable: some(0.05), Call: call}
	}
	tpot, ttft := verdict.Figure{Metric: serving.TPOT, Stat: "p95"}, verdict.Figure{Metric: serving.TTFT, Stat: "p95"}
	failed := &verdict.Row{Figure: verdict.Figure{Metric: verdict.FailedShare}, Before: some(0), After: some(0.031), Ratio: some(0.031), Lo: some(0.012), Hi: some(0.05), P: some(0.0004), PAdjusted: some(0.0012),
		Method: verdict.ByCounts, Runs: [2]int{3, 3}, Levels: 2, Threshold: 0.02, Call: verdict.Undecided, Why: "the interval comes too close to no change"}
	beyond := &verdict.Row{Figure: ttft, Before: some(1.2), Lo: some(2), Method: verdict.ByBuckets, Runs: [2]int{1, 1}, Levels: 1, Threshold: 0.1, Call: verdict.Slower, Why: "the buckets do not overlap"}
	lost := verdict.Absent(verdict.Figure{Metric: serving.ITL, Stat: "p99"}, 0.1, []verdict.Stratum{{Before: verdict.Sample{Values: []float64{0.2}}}}, "pr "+hostileLabel+" does not have it")
	level := &analyze.Pair{Label: "concurrency 64", Mode: serving.ClosedLoop, X: some(64), XName: "max_concurrency"}
	return &analyze.Comparison{
		Verdict: analyze.VerdictWorse, Title: "after is worse: TPOT p95 +12.1 %", Points: []string{"TPOT p95 of workload " + hostileText + ": slower"},
		Cautions: []string{"2 things were changed at once (max_num_seqs, " + hostileDim + "): which of them caused a difference cannot be told"}, Cause: "several",
		Sides: [2]analyze.SideFacts{{Name: "before", Runs: 6, Requests: 3000, Repeats: 3, Files: []string{"a.json"}}, {Name: "pr " + hostileLabel, Runs: 6, Requests: 3000, Repeats: 3, Files: []string{"b.json"}}},
		Pairs: []*analyze.Pair{level}, Unpaired: []analyze.Unpaired{{Side: "before", Label: "c128 " + hostileText, Why: "the other side has no run at concurrency 128"}},
		Changed: []analyze.Changed{{Kind: analyze.ChangedSetting, Key: "max_num_seqs", Before: "64", After: "128"}, {Kind: analyze.ChangedWorkload, Key: hostileDim, Before: "not stated", After: hostileText}},
		Same: []analyze.Changed{{Kind: analyze.ChangedModel, Key: "model", Before: hostileModel, After: hostileModel}, {Kind: analyze.ChangedSetting, Key: "block_size", Before: "16", After: "16"},
			{Kind: analyze.ChangedWorkload, Key: "workload", Before: "rag " + hostileText + " 30 %", After: "rag " + hostileText + " 28 %"}},
		NotStated: []analyze.Changed{{Kind: analyze.ChangedVersion, Key: "version", Before: analyze.NotStated, After: analyze.NotStated}, {Kind: analyze.ChangedWorkload, Key: "streaming", Before: "yes", After: analyze.NotStated}},
		Headline:  []*analyze.CompareRow{{Share: 1, Row: row(tpot, 0.0421, 0.0472, 1.08, 1.16, 0.0004, verdict.Slower)}, {Share: 1, Mix: true, Row: row(ttft, 0.4, 0.9, 1.8, 2.9, 0.003, verdict.Slower)}, {Share: 1, Row: failed}, {Share: 1, Row: lost}},
		Others:    []*analyze.CompareRow{{Share: 1, Row: row(verdict.Figure{Metric: serving.RateRequests}, 11.6, 36.1, 2.9, 3.3, 0.0001, verdict.Faster)}, {Share: 1, Row: beyond}},
		Levels:    []*analyze.CompareRow{{Share: 1, Pair: level, Row: row(tpot, 0.04, 0.0401, 0.99, 1.01, 0.7, verdict.Equivalent)}},
		Slices:    []*analyze.CompareRow{{By: rag, Also: [][]serving.Term{{{Dim: "prompt_tokens", Value: "2048-8191"}}}, Share: 0.31, Row: row(tpot, 0.05, 0.06, 1.12, 1.28, 0.01, verdict.Slower)}},
		Mix: []analyze.MixShift{{Figure: ttft, Total: 0.5, Mix: 0.49, Within: 0.01, Before: 0.4, Dims: []string{"workload", "prompt_tokens"}, Unsupported: 0.02, Effective: 812,
			Moved: []analyze.MovedCell{{By: rag, Before: 0.15, After: 0.45}}}},
		New: []analyze.SliceRef{{By: rag, Sent: 40, Share: 0.01}}, Gone: []analyze.SliceRef{{By: rag, Sent: 30, Share: 0.02}}, TooSmall: []analyze.SliceRef{{By: rag, Sent: 12, Share: 0.004}},
		Tradeoffs: []string{"TTFT p95 −45.0 % is paid for with TPOT p95 +40.3 %"},
		Pressure:  []analyze.PressureRow{{What: "preemptions, increase", Unit: serving.NoUnit, Before: some(0), After: some(31), PromQL: "sum(increase(vllm:num_preemptions_total[5m]))"}},
	}
}

// TestComparisonGolden holds the comparison's view, markup and Markdown.
func TestComparisonGolden(t *testing.T) {
	rep := compareReport()
	c := newPageContext(rep, true)
	for _, r := range rep.Results {
		if r.Section.Name != "compare" {
			continue
		}
		data, err := viewCompare(c, r.Value)
		must(t, err)
		golden(t, "views/compare.json", indented(t, map[string]any{"view": data, "charts": c.charts}))
		s, err := c.section(r)
		must(t, err)
		golden(t, "sections/compare.html", []byte(string(s.Body)+"\n"))
	}
	golden(t, "compare.md", []byte(renderMarkdown(t, rep, Options{Version: "v0.0.0-test", Command: "vreport compare before after"})))
}

func TestComparisonIsValid(t *testing.T) {
	if err := validate(compileSchema(t, reportSchemaFile), renderJSON(t, compareReport(), Options{Version: "v1"})); err != nil {
		t.Error(err)
	}
}
