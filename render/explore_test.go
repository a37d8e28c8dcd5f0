package render

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// fixtureExplorer is a cross over the given values, three metrics of log-normal
// values in each cell.
func fixtureExplorer(dims []string, values ...[]string) *analyze.Explorer {
	rng := rand.New(rand.NewPCG(11, 12))
	x := &cube.Explored{Dims: dims, Values: values, Left: []string{"finish_reason", "user_tier"}, Folded: map[string]int{dims[0]: 12}, Bits: 5,
		Metrics: []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E}}
	levels := make([]int, len(dims))
	for done := false; !done; {
		c := cube.ExploredCell{Levels: slices.Clone(levels)}
		c.Sent = 20 + rng.Int64N(200)
		c.Outcomes[serving.OK], c.Outcomes[serving.Failed] = c.Sent-c.Sent/20, c.Sent/20
		c.Good, c.Within, c.Of = c.Sent/2, []int64{c.Sent * 9 / 10}, []int64{c.Sent}
		for m := range x.Metrics {
			counts := map[uint16]int64{}
			for range c.Outcomes[serving.OK] {
				counts[uint16(256+(40+2*m+levels[0])*32+int(40*math.Abs(rng.NormFloat64())))]++
			}
			var h cube.Histogram
			for b, n := range counts {
				h = append(h, cube.Bin{Bucket: b, N: n})
			}
			sort.Slice(h, func(i, j int) bool { return h[i].Bucket < h[j].Bucket })
			c.Histograms = append(c.Histograms, h)
		}
		x.Cells = append(x.Cells, c)
		done = true
		for d := len(levels) - 1; d >= 0 && done; d-- {
			if levels[d]++; levels[d] < len(values[d]) {
				done = false
			} else {
				levels[d] = 0
			}
		}
	}
	slo, err := serving.ParseSLO("ttft:p99<500ms")
	if err != nil {
		panic(err) // the text stands above
	}
	return &analyze.Explorer{Explored: x, SLOs: []serving.SLO{slo}, Good: analyze.GoodConditions, Packed: x.Pack()}
}

// An exploredRow is a request of the table that the page is compared with.
type exploredRow struct {
	workload, replica string
	prompt, cached    int64
	ttft, e2e         float64
	ok                bool
}

func exploredRows() []exploredRow {
	rng := rand.New(rand.NewPCG(5, 6))
	out := make([]exploredRow, 3000)
	for i := range out {
		w := rng.IntN(3)
		r := exploredRow{workload: []string{"chat", "rag", "<b>batch</b> & co"}[w], replica: fmt.Sprintf("pod-%d", rng.IntN(4)), prompt: 1 << (3 + rng.IntN(11)), ok: rng.IntN(12) != 0}
		r.cached = r.prompt * int64(rng.IntN(3)) / 2
		r.ttft = 0.04 * float64(1+w) * math.Exp(0.9*rng.NormFloat64())
		r.e2e = r.ttft + 2*math.Exp(0.4*rng.NormFloat64())
		if i%50 == 0 {
			r.ttft = 0
		}
		out[i] = r
	}
	return out
}

func exploredReport(t *testing.T, rows []exploredRow) *analyze.Report {
	t.Helper()
	n := len(rows)
	tab := column.NewTable("trace.parquet", "trace.parquet", serving.ServerSide, n)
	floats := func(k serving.MetricKey, get func(r *exploredRow) float64) {
		v := make([]float64, n)
		for i := range rows {
			v[i] = get(&rows[i])
		}
		tab.Floats(serving.Column{Name: string(k), Kind: serving.KindDuration}, v, nil)
	}
	ints := func(k string, kind serving.ColumnKind, get func(i int) int64) {
		v := make([]int64, n)
		for i := range rows {
			v[i] = get(i)
		}
		tab.Ints(serving.Column{Name: k, Kind: kind}, v, nil)
	}
	text := func(k string, d *serving.Dict, get func(r *exploredRow) string) {
		v := make([]int32, n)
		for i := range rows {
			v[i] = d.Code(get(&rows[i]))
		}
		tab.Text(serving.Column{Name: k, Kind: serving.KindText}, v, d, nil)
	}
	ints(serving.ColArrival, serving.KindTime, func(i int) int64 { return 1_700_000_000e9 + int64(i)*1e9 })
	floats(serving.TTFT, func(r *exploredRow) float64 { return r.ttft })
	floats(serving.E2E, func(r *exploredRow) float64 { return r.e2e })
	ints(string(serving.PromptTokens), serving.KindCount, func(i int) int64 { return rows[i].prompt })
	ints(string(serving.CachedTokens), serving.KindCount, func(i int) int64 { return rows[i].cached })
	text(serving.ColWorkload, serving.NewDict(), func(r *exploredRow) string { return r.workload })
	text(serving.ColReplica, serving.NewDict(), func(r *exploredRow) string { return r.replica })
	text(serving.ColOutcome, serving.NewOutcomeDict(), func(r *exploredRow) string {
		if r.ok {
			return "ok"
		}
		return "timeout"
	})
	opt := analyze.DefaultOptions()
	for _, e := range []string{"ttft:p99<200ms", "e2e:p90<3s"} {
		s, err := serving.ParseSLO(e)
		must(t, err)
		opt.SLOs = append(opt.SLOs, s)
	}
	rep, err := analyze.Run(context.Background(), &serving.Dataset{Traces: []serving.Requests{tab}}, opt)
	must(t, err)
	return rep
}

// What the page computes from the histograms it carries is held against the
// requests themselves, and against the report's own exact slices.
func TestExploreInChromium(t *testing.T) {
	ctx, lib := browser(t)
	rows := exploredRows()
	rep := exploredReport(t, rows)
	v := open(t, ctx, writePage(t, rep, Options{ChartLibrary: lib}), 1280, 900, "light")
	v.draw(t)

	everything := func(*exploredRow) bool { return true }
	v.compare(t, "everything", rows, everything)
	if got := eval[string](t, v, exploreStatus); got != "All 3,000 requests are selected." {
		t.Errorf("at first: %s", got)
	}

	v.pick(t, "Workload", "chat", "<b>batch</b> & co")
	v.compare(t, "chat and batch", rows, func(r *exploredRow) bool { return r.workload != "rag" })
	v.pick(t, "Cache state", "cold")
	v.pick(t, "Prompt tokens", "128-511", "512-2047")
	three := func(r *exploredRow) bool {
		return r.workload != "rag" && r.cached == 0 && r.prompt >= 128 && r.prompt < 2048
	}
	v.compare(t, "three dimensions", rows, three)
	v.pick(t, "Replica", "pod-2")
	few := func(r *exploredRow) bool { return three(r) && r.replica == "pod-2" }
	v.compare(t, "four dimensions", rows, few)

	// The keyboard reaches a value, and the figures follow.
	eval[int](t, v, `(() => { `+exploreBox+` find("Replica", "pod-3").focus({preventScroll: true}); return 0; })()`)
	must(t, chromedp.Do(v.ctx, chromedp.KeyEvent(" ")))
	v.compare(t, "by keyboard", rows, func(r *exploredRow) bool { return three(r) && (r.replica == "pod-2" || r.replica == "pod-3") })

	v.pick(t, "Workload")
	if got := eval[string](t, v, exploreStatus); got != "No request is selected." {
		t.Errorf("without a workload: %s", got)
	}
	v.compare(t, "nothing", rows, func(*exploredRow) bool { return false })
	eval[int](t, v, `(document.querySelector('.pick-bar [data-pick=all]').click(), 0)`)
	v.compare(t, "everything again", rows, everything)

	v.pick(t, "Workload", "rag")
	v.slice(t, rep, "rag")
	v.quiet(t)
}

const (
	exploreStatus = `document.querySelector('[data-explore] [role=status]').textContent`
	exploreBox    = `const find = (dim, value) => { const f = [...document.querySelectorAll('.pick')].find((p) => p.querySelector('legend').textContent === dim); return [...f.querySelectorAll('label')].find((l) => l.querySelector('span').textContent === value).querySelector('input'); };`
)

// pick chooses values of a dimension and nothing else of it.
func (v *visit) pick(t *testing.T, dim string, values ...string) {
	t.Helper()
	raw, err := json.Marshal(values)
	must(t, err)
	if values == nil {
		raw = []byte("[]")
	}
	eval[int](t, v, fmt.Sprintf(`(() => { %s [...document.querySelectorAll('.pick')].find((p) => p.querySelector('legend').textContent === %q).querySelector('[data-pick=none]').click(); %s.forEach((x) => find(%q, x).click()); return 0; })()`, exploreBox, dim, raw, dim))
}

// An exploredCell is a cell of the page's table: raw numbers.
type exploredCell struct{ V, Lo, Hi string }

func (c exploredCell) numbers(t *testing.T) (v, lo, hi float64) {
	t.Helper()
	for _, x := range []struct {
		s  string
		to *float64
	}{{c.V, &v}, {c.Lo, &lo}, {c.Hi, &hi}} {
		if x.s == "" {
			*x.to = math.NaN()
		} else if _, err := fmt.Sscan(x.s, x.to); err != nil {
			t.Fatalf("%q is no number", x.s)
		}
	}
	return v, lo, hi
}

// table returns the page's table for a metric: selected and others by the row's
// title.
func (v *visit) table(t *testing.T, k serving.MetricKey) map[string][2]exploredCell {
	t.Helper()
	return eval[map[string][2]exploredCell](t, v, fmt.Sprintf(`(() => {
  const s = document.querySelector('[data-explore] select'); s.value = %q; s.dispatchEvent(new Event('change', { bubbles: true }));
  const cell = (c) => ({ V: c.dataset.v || '', Lo: c.dataset.lo || '', Hi: c.dataset.hi || '' });
  return Object.fromEntries([...document.querySelectorAll('[data-explore] tbody tr')].map((r) => [r.cells[0].firstChild.data.trim(), [cell(r.cells[1]), cell(r.cells[2])]]));
})()`, k))
}

// compare holds the table of a selection against the rows.
func (v *visit) compare(t *testing.T, name string, rows []exploredRow, in func(r *exploredRow) bool) {
	t.Helper()
	for _, m := range []struct {
		key   serving.MetricKey
		title string
		value func(r *exploredRow) float64
	}{{serving.TTFT, "TTFT", func(r *exploredRow) float64 { return r.ttft }}, {serving.E2E, "E2E", func(r *exploredRow) float64 { return r.e2e }}} {
		table := v.table(t, m.key)
		for side, wanted := range []bool{true, false} {
			var values []float64
			var sent, ok, ttft, e2e, both int64
			for i := range rows {
				r := &rows[i]
				if in(r) != wanted {
					continue
				}
				sent++
				if r.ok {
					ok++
					values = append(values, m.value(r))
					ttft += int64(b2i(r.ttft <= 0.2))
					e2e += int64(b2i(r.e2e <= 3))
					both += int64(b2i(r.ttft <= 0.2 && r.e2e <= 3))
				}
			}
			slices.Sort(values)
			where := fmt.Sprintf("%s, %s, side %d", name, m.key, side)
			for row, want := range map[string]int64{"Sent": sent, "Completed": ok, "timeout": sent - ok, m.title + " n": ok} {
				if got, _, _ := table[row][side].numbers(t); got != float64(want) {
					t.Errorf("%s: %s %v, want %d", where, row, got, want)
				}
			}
			for row, want := range map[string]int64{"Within all objectives": both, "ttft:p99<200ms": ttft, "e2e:p90<3s": e2e} {
				got, lo, hi := table[row][side].numbers(t)
				if sent == 0 {
					if !math.IsNaN(got) {
						t.Errorf("%s: %s %v of nothing", where, row, got)
					}
					continue
				}
				a, b := stat.Wilson(want, sent, 0.95)
				for _, x := range [][2]float64{{got, float64(want) / float64(sent)}, {lo, a}, {hi, b}} {
					if math.Abs(x[0]-x[1]) > 1e-9 {
						t.Errorf("%s: %s %v, want %v", where, row, x[0], x[1])
					}
				}
			}
			checkPercentiles(t, where, m.title, table, side, values)
		}
	}
}

func checkPercentiles(t *testing.T, where, title string, table map[string][2]exploredCell, side int, values []float64) {
	t.Helper()
	for _, p := range []float64{.5, .9, .95, .99, .999} {
		row := title + " " + serving.QuantileName(p)
		cell, ok := table[row]
		if !ok {
			t.Fatalf("%s: no row %s in %v", where, row, table)
		}
		got, lo, hi := cell[side].numbers(t)
		if len(values) == 0 {
			if !math.IsNaN(got) {
				t.Errorf("%s: %s %v of nothing", where, row, got)
			}
			continue
		}
		want := stat.Quantile(values, p) * 1000
		if !(lo-1e-9 <= want && want <= hi+1e-9) || math.Abs(got-want) > want/32+1e-9 || hi-lo > want/4 && len(values) > 500 {
			t.Errorf("%s: %s %v [%v, %v], want %v within a 32nd", where, row, got, lo, hi, want)
		}
	}
}

// slice holds the selection of one workload against the report's JSON.
func (v *visit) slice(t *testing.T, rep *analyze.Report, workload string) {
	t.Helper()
	got, lo, hi := v.table(t, serving.TTFT)["TTFT p99"][0].numbers(t)
	want := eval[[]float64](t, v, fmt.Sprintf(`JSON.parse(document.getElementById('vreport-data').textContent).slices.filter((s) => s.grouping === 'alone' && s.by.workload === %q).map((s) => s.metrics.ttft.p99)`, workload))
	if len(want) != 1 {
		t.Fatalf("the report has %d slices of %s", len(want), workload)
	}
	if math.Abs(got-want[0]) > want[0]/32 || want[0] < lo || want[0] > hi {
		t.Errorf("p99 TTFT of %s is %v [%v, %v] in the page, %v in the JSON", workload, got, lo, hi, want[0])
	}
}

// Labels are text in the form and in the numbers' island, and the page is the
// same without a script but for the sentence that says so.
func TestExploreMarkup(t *testing.T) {
	page := renderHTML(t, exploredReport(t, exploredRows()), Options{ChartLibrary: tinyLibrary})
	for _, want := range []string{
		`<span>&lt;b&gt;batch&lt;/b&gt; &amp; co</span>`, "up to 3.1 % wide", `data-dim="3"`,
		`With JavaScript this part combines values of Workload, Prompt tokens, Cache state, Replica`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	plain := renderHTML(t, exploredReport(t, exploredRows()), Options{})
	if strings.Contains(plain, "data-chart=") || !strings.Contains(plain, `data-explore=`) {
		t.Error("without a chart library the figures are to stay, without a chart")
	}
}
