package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// largeComparison has 2,000 slices and 300 runs, all with hostile names.
func largeComparison() *analyze.Report {
	rep := compareReport()
	c := analyze.Value[analyze.Comparison](rep)
	some := serving.Some[float64]
	runs := &analyze.Runs{}
	for i := range 300 {
		label := fmt.Sprintf("run %d %s", i, hostileLabel)
		runs.Runs = append(runs.Runs, &analyze.RunStats{Run: &serving.Run{ID: fmt.Sprint(i), Label: label, Load: serving.Load{Mode: serving.ClosedLoop, MaxConcurrency: serving.Some(int64(i))}}})
		pair := &analyze.Pair{Label: label}
		c.Pairs = append(c.Pairs, pair)
		c.Unpaired = append(c.Unpaired, analyze.Unpaired{Side: hostileLabel, Label: label, Why: hostileText})
		c.Changed = append(c.Changed, analyze.Changed{Kind: analyze.ChangedSetting, Key: label, Before: hostileText, After: hostileModel})
		c.Levels = append(c.Levels, &analyze.CompareRow{Pair: pair, Share: 1, Row: c.Headline[0].Row})
	}
	for i := range 2000 {
		row := *c.Slices[0].Row
		row.Before, row.After = some(float64(i)), some(float64(i)+1)
		if i%3 == 0 {
			row.Call = verdict.Undecided
		}
		c.Slices = append(c.Slices, &analyze.CompareRow{By: []serving.Term{{Dim: hostileDim, Value: fmt.Sprintf("%d %s", i, hostileText)}}, Share: .01, Row: &row})
	}
	for i := range rep.Results {
		if rep.Results[i].Section.Name == "runs" {
			rep.Results[i] = analyze.Result{Section: rep.Results[i].Section, Value: runs}
		}
	}
	return rep
}

func TestMarkdownOfALargeComparison(t *testing.T) {
	rep := largeComparison()
	c := analyze.Value[analyze.Comparison](rep)
	c.Experiment = &analyze.Experiment{Statement: hostileText, Result: analyze.Reject,
		Conditions: []analyze.Condition{{Kind: analyze.Refutes, Text: hostileText, Answer: "met", Why: hostileText, Value: serving.Some(.2), Lo: serving.Some(.1), Hi: serving.Some(.3)}}}
	md := renderMarkdown(t, rep, Options{Command: "vreport compare a b"})
	if len(md) >= maxMarkdown {
		t.Errorf("%d bytes, want fewer than %d", len(md), maxMarkdown)
	}
	lines := strings.SplitN(md, "\n", 6)
	if lines[0] != markdownMarker || !strings.HasPrefix(lines[1], "## ❌ ") || strings.Count(lines[3], " → ") != 3 {
		t.Errorf("it starts with %q, want the marker, the verdict and three numbers", lines[:4])
	}
	for _, want := range []string{"**What changed**", "<details>", "more changes in the full report", "Hypothesis: reject", "vreport compare a b"} {
		if !strings.Contains(md, want) {
			t.Errorf("%q is missing", want)
		}
	}
	body, _, _ := strings.Cut(md, "<pre>")
	for _, re := range dangers {
		if m := re.FindStringIndex(body); m != nil {
			t.Errorf("%v matches %.80q", re, body[max(0, m[0]-20):min(len(body), m[1]+40)])
		}
	}
	if strings.Count(md, "<details>") != strings.Count(md, "</details>") {
		t.Error("the collapsed parts do not end")
	}
}

// Every rung of the ladder has the verdict and its numbers.
func TestMarkdownLadderKeepsTheVerdict(t *testing.T) {
	rep := largeComparison()
	for i, lim := range mdLadder {
		md := markdownAt(rep, Options{Command: "vreport compare a b"}, lim)
		if !strings.Contains(md, "after is worse: TPOT p95") || !strings.Contains(md, "**TPOT p95** 42.10 ms → 47.20 ms") {
			t.Errorf("rung %d lacks the verdict or its numbers:\n%.400s", i, md)
		}
	}
	if last := markdownAt(rep, Options{}, mdLadder[len(mdLadder)-1]); len(last) >= maxMarkdown {
		t.Errorf("the last rung has %d bytes", len(last))
	}
}

// The heat map names what it cannot compare, and says changes in signs beside
// colours.
func TestDeltaMap(t *testing.T) {
	c := fixtureComparison()
	row := func(w, p string, call verdict.Call) *analyze.CompareRow {
		r := *c.Slices[0].Row
		r.Call = call
		return &analyze.CompareRow{By: []serving.Term{{Dim: "workload", Value: w}, {Dim: "prompt_tokens", Value: p}, {Dim: "cache", Value: "cold"}}, Row: &r}
	}
	c.Slices = []*analyze.CompareRow{row("rag", "2048-8191", verdict.Slower), row("chat", "0-127", verdict.Undecided), row("chat", "512-2047", verdict.Equivalent)}
	c.New = []analyze.SliceRef{{By: []serving.Term{{Dim: "cache", Value: "cold"}, {Dim: "prompt_tokens", Value: "512-2047"}, {Dim: "workload", Value: "rag"}}}}
	m := newDeltaMap(c)
	if m == nil || fmt.Sprint(m.xs, m.ys) != "[0-127 512-2047 2048-8191] [chat rag]" {
		t.Fatalf("map %+v", m)
	}
	if w := m.words[[2]int{1, 1}]; w != "new" {
		t.Errorf("a new slice is called %q", w)
	}
	for call, sign := range map[verdict.Call]string{verdict.Slower: "▲", verdict.Faster: "▼", verdict.Equivalent: "=", verdict.Undecided: "?"} {
		if s := deltaText(row("a", "b", call)); !strings.HasPrefix(s, sign) {
			t.Errorf("%s: cell %q, want it to start with %s", call, s, sign)
		}
	}
	c.Slices = c.Slices[:1]
	if newDeltaMap(c) != nil {
		t.Error("one cell is no map")
	}
}

// Each side has one look, whatever the number of its runs.
func TestLook(t *testing.T) {
	if look(analyze.NoHalf, 3) != 3 || look(analyze.FirstHalf, 3) != look(analyze.FirstHalf, 0) || look(analyze.SecondHalf, 5) != look(analyze.SecondHalf, 0) {
		t.Error("runs of a side look different")
	}
	a, b := look(analyze.FirstHalf, 0), look(analyze.SecondHalf, 0)
	if seriesColor(a) == seriesColor(b) || seriesDash(a) == seriesDash(b) || symbolOf(analyze.FirstHalf) == symbolOf(analyze.SecondHalf) {
		t.Error("the sides differ in less than colour, dash and symbol")
	}
}

// The sign of the heading is the gate's where one was asked for, and the words say so
// where the verdict would have another.
func TestHeadingAgreesWithTheGate(t *testing.T) {
	for _, tc := range []struct {
		verdict analyze.Verdict
		gate    analyze.GateResult
		want    string
	}{
		{analyze.VerdictWorse, analyze.GateNone, "## ❌ title"},
		{analyze.VerdictUndecided, analyze.GateNone, "## ❔ title"},
		{analyze.VerdictWorse, analyze.GateFail, "## ❌ title"},
		{analyze.VerdictWorse, analyze.GateUndecided, "## ⚠️ title (gate: undecided)"},
		{analyze.VerdictWorse, analyze.GatePass, "## ✅ title (gate: pass)"},
		{analyze.VerdictBetter, analyze.GatePass, "## ✅ title"},
		{analyze.VerdictBetter, analyze.GateFail, "## ❌ title (gate: fail)"},
		{analyze.VerdictMixed, analyze.GateFail, "## ❌ title (gate: fail)"},
		{analyze.VerdictUndecided, analyze.GateUndecided, "## ⚠️ title"},
	} {
		m := &mdWriter{lim: mdLimits{text: 100}}
		if got := m.compareHeading(&analyze.Comparison{Verdict: tc.verdict, Title: "title"}, tc.gate); got != tc.want {
			t.Errorf("%s, gate %s: %q, want %q", tc.verdict, tc.gate, got, tc.want)
		}
	}
}
