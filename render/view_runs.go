package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// runsView is the table of all runs, and each run's whole benchmark result.
type runsView struct {
	Overview   *Table
	Objectives *Table // nil without objectives
	Runs       []runView
}

type runView struct {
	ID, Label, Short, Flag string
	Open                   bool
	Facts                  []Fact
	Warnings               *Warnings
	Reading                string
	Result                 *Table
	Mismatch               *Table
	Examples               *Table
}

func viewRuns(c *pageContext, value any) (any, error) {
	r, err := valueAs[analyze.Runs](value)
	if err != nil {
		return nil, err
	}
	v := &runsView{Overview: c.overviewTable(r.Runs), Objectives: objectivesTable(r.Runs)}
	for i, s := range r.Runs {
		v.Runs = append(v.Runs, newRunView(i, s, len(r.Runs) == 1))
	}
	return v, nil
}

// runID is a run's anchor. It is made of the position, never of the data.
func runID(i int) string { return fmt.Sprintf("run-%d", i+1) }

func (c *pageContext) overviewTable(runs []*analyze.RunStats) *Table {
	p := func(label string) Head { return metricCol(label, serving.Seconds) }
	t := &Table{ID: "runs-overview", Caption: "Benchmark runs: load, requests, rates and latency at the client", Sortable: true, Dense: true,
		Groups: []HeadGroup{{"", 2}, {"Requests", 3}, {"Throughput", 2}, {"TTFT", 2}, {"TPOT", 2}, {"ITL", 1}, {"E2E", 2}, {"Goodput", 1}, {"tok/s", 3}, {"", 1}},
		Head: []Head{col("Run"), col("Load"), numCol("sent", "", ""), numCol("completed", "", ""), numCol("failed", "", ""),
			numCol("req/s", "", "req/s"), numCol("output tok/s", "", "tok/s"), p("p50"), p("p99"), p("p50"), p("p99"), p("p99"), p("p50"), p("p99"), numCol("of sent", "", ""),
			numCol("total", "", "tok/s"), numCol("per user", "", "tok/s"), numCol("per GPU", "", "tok/s"), numCol("span", "", "s")}}
	for i, s := range runs {
		tp := s.Throughput
		name := Cell{Text: s.Run.Label, Link: runID(i)}
		if n := len(s.Warnings); n > 0 {
			name.Sub = FormatCount(int64(n)) + map[bool]string{true: " warning", false: " warnings"}[n == 1]
		}
		d := c.doubtsOf(s.Run.ID)
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, d.whole(loadCell(s)), countCell(s.Counts.Sent), countCell(s.Counts.Completed), failedCell(s.Counts.Failed),
			d.metric(serving.RateRequests, rateCell(tp.Requests)), d.metric(serving.RateOutput, rateCell(tp.Output)), distCell(s.Dists, serving.TTFT, .5), d.metric(serving.TTFT, distCell(s.Dists, serving.TTFT, .99)), distCell(s.Dists, serving.TPOT, .5), d.metric(serving.TPOT, distCell(s.Dists, serving.TPOT, .99)),
			d.metric(serving.ITL, distCell(s.Dists, serving.ITL, .99)), distCell(s.Dists, serving.E2E, .5), d.metric(serving.E2E, distCell(s.Dists, serving.E2E, .99)), goodputCell(s.Goodput),
			rateCell(tp.Total), rateCell(tp.OutputPerUser), rateCell(tp.OutputPerGPU), spanCell(s.Duration)}})
	}
	return t.dropEmpty("sent", "completed", "failed").collectKeys()
}

func loadCell(s *analyze.RunStats) Cell {
	c := Cell{Text: FormatLoad(s.Run.Load, s.Counts.Sent), Sub: loadMode(s.Run.Load.Mode)}
	switch l := s.Run.Load; {
	case l.RequestRate.OK:
		c.Raw = RawValue(serving.NoUnit, l.RequestRate)
	case l.MaxConcurrency.OK:
		c.Raw = fmt.Sprint(l.MaxConcurrency.V)
	}
	return c
}

func loadMode(m serving.LoadMode) string {
	switch m {
	case serving.ClosedLoop:
		return "closed loop"
	case serving.OpenLoop:
		return "open loop"
	case serving.CappedOpen:
		return "open loop under a cap"
	}
	return "load mode unknown"
}

func spanCell(v serving.Opt[float64]) Cell {
	if !v.OK {
		return number(Missing, "")
	}
	return number(FormatSpan(v.V), RawValue(serving.NoUnit, v))
}

// distCell is a quantile without its interval: the overview is for comparing.
func distCell(ds analyze.Dists, k serving.MetricKey, p float64) Cell {
	d := ds.Of(k)
	if d == nil {
		return number(Missing, "")
	}
	return quantileCell(d, p, false)
}

func objectivesTable(runs []*analyze.RunStats) *Table {
	var exprs []string
	for _, s := range runs {
		for _, r := range s.SLO {
			if !slices.Contains(exprs, r.Expr) {
				exprs = append(exprs, r.Expr)
			}
		}
	}
	if len(exprs) == 0 {
		return nil
	}
	t := &Table{ID: "runs-objectives", Caption: "Objectives: the share of sent requests within the limit, with its 95 % interval; failures count as misses", Sortable: true, Head: []Head{col("Run")}}
	for _, e := range exprs {
		t.Head = append(t.Head, Head{Label: showExpr(e)})
	}
	t.Head = append(t.Head, numCol("Goodput", "of sent", ""), numCol("Goodput", "req/s", "req/s"))
	for i, s := range runs {
		row := Row{Cells: []Cell{{Text: s.Run.Label, Link: runID(i)}}}
		for _, e := range exprs {
			k := slices.IndexFunc(s.SLO, func(r analyze.SLOResult) bool { return r.Expr == e })
			if k < 0 {
				row.Cells = append(row.Cells, faint(Missing))
				continue
			}
			row.Cells = append(row.Cells, resultCell(s.SLO[k]))
		}
		rate := number(Missing, "")
		if s.Goodput != nil {
			rate = rateCell(s.Goodput.PerSecond)
		}
		row.Cells = append(row.Cells, goodputCell(s.Goodput), rate)
		t.Rows = append(t.Rows, row)
	}
	return t.dropEmpty()
}

// showExpr prints an objective as people say it.
func showExpr(expr string) string {
	slo, err := serving.ParseSLO(expr)
	if err != nil {
		return expr
	}
	return FormatSLO(slo)
}

func newRunView(i int, s *analyze.RunStats, open bool) runView {
	v := runView{ID: runID(i), Label: s.Run.Label, Short: FormatLoad(s.Run.Load, s.Counts.Sent) + ", " + s.Run.Source.Path, Open: open,
		Facts: runFacts(s), Reading: s.Reading, Result: resultTable(i, s), Mismatch: mismatchTable(i, s.Mismatch), Examples: examplesTable(runID(i)+"-slow", s.Examples, relativeArrival(requestColumns(s.Run)))}
	if len(s.Warnings) > 0 {
		v.Flag = FormatCount(int64(len(s.Warnings))) + map[bool]string{true: " warning", false: " warnings"}[len(s.Warnings) == 1]
		v.Warnings = &Warnings{"Read with care", s.Warnings}
	}
	return v
}

func runFacts(s *analyze.RunStats) []Fact {
	r := s.Run
	var out []Fact
	add := func(k string, v serving.Opt[string]) {
		if v.OK && v.V != "" {
			out = append(out, Fact{k, v.V})
		}
	}
	add("model", r.Model)
	add("engine", r.Engine)
	add("version", r.Version)
	add("backend", r.Backend)
	if r.GPUs.OK {
		out = append(out, Fact{"GPUs", FormatCount(int64(r.GPUs.V))})
	}
	add("workload", r.Workload)
	add("started", r.Started)
	out = append(out, Fact{"load mode", loadMode(r.Load.Mode)}, Fact{"format", r.Format}, Fact{"source", r.Source.String()})
	return out
}

// A resultLine is a line of the benchmark's own result table.
type resultLine struct {
	label  string
	unit   string
	metric serving.MetricKey
	stat   string
	ours   serving.Opt[float64]
	file   serving.Opt[float64] // what the file says, where it is no aggregate
	scale  float64              // base unit to the line's unit
	count  bool
}

// resultTable is vLLM's "Serving Benchmark Result": the same lines in the same
// order, as computed here, with what the file itself says beside it.
func resultTable(i int, s *analyze.RunStats) *Table {
	t := &Table{ID: runID(i) + "-result", Caption: "Serving benchmark result of " + s.Run.Label,
		Head: []Head{col("Figure"), numCol("Value", "", ""), numCol("The file's own", "", "")}}
	shown := map[string]bool{}
	for _, l := range resultLines(s) {
		if v, ok := s.Run.ReportedValue(l.metric, l.stat); ok && l.metric != "" {
			l.file = serving.Some(v)
		}
		shown[string(l.metric)+"|"+l.stat] = true
		if !l.ours.OK && !l.file.OK {
			continue
		}
		head := Cell{Text: l.label}
		head.Sub = l.unit
		t.Rows = append(t.Rows, Row{Cells: []Cell{head, l.cell(l.ours), l.cell(l.file)}})
	}
	for _, a := range s.Run.Reported {
		if !shown[string(a.Metric)+"|"+a.Stat] {
			t.Rows = append(t.Rows, Row{Class: "faint", Cells: []Cell{{Text: a.Field, Sub: "as the file names it"}, number(Missing, ""), number(FormatNumber(a.File), RawValue(serving.NoUnit, serving.Some(a.File)))}})
		}
	}
	return t
}

func (l resultLine) cell(v serving.Opt[float64]) Cell {
	if !v.OK {
		return number(Missing, "")
	}
	x := serving.Some(round15(v.V * l.scale))
	if l.count {
		return number(FormatTokens(x.V), RawValue(serving.NoUnit, x))
	}
	return number(fixed(x.V, 2), RawValue(serving.NoUnit, x))
}

func resultLines(s *analyze.RunStats) []resultLine {
	tp := s.Throughput
	count := func(label string, key serving.MetricKey, n, file serving.Opt[int64]) resultLine {
		return resultLine{label: label, metric: key, ours: asFloat(n), file: asFloat(file), scale: 1, count: true}
	}
	rate := func(label, unit string, key serving.MetricKey, v serving.Opt[float64]) resultLine {
		return resultLine{label: label, unit: unit, metric: key, ours: v, scale: 1}
	}
	out := []resultLine{
		count("Successful requests", "", s.Counts.Completed, s.Run.Completed),
		count("Failed requests", "", s.Counts.Failed, s.Run.Failed),
		count("Requests sent", "", s.Counts.Sent, s.Run.Sent),
		count("Maximum request concurrency", "", s.Run.Load.MaxConcurrency, s.Run.Load.MaxConcurrency),
		rate("Request rate configured", "req/s", "", s.Run.Load.RequestRate),
		{label: "Benchmark duration", unit: "s", ours: s.Duration, file: s.Run.Duration, scale: 1},
		count("Total input tokens", serving.TotalInputTokens, s.Input, s.Run.Input),
		count("Total generated tokens", serving.TotalOutputTokens, s.Output, s.Run.Output),
		rate("Request throughput", "req/s", serving.RateRequests, tp.Requests),
	}
	if g := s.Goodput; g != nil {
		out = append(out, rate("Request goodput", "req/s", serving.GoodRequests, g.PerSecond))
	}
	out = append(out,
		rate("Output token throughput", "tok/s", serving.RateOutput, tp.Output),
		rate("Peak output token throughput", "tok/s", serving.PeakOutput, tp.PeakOutput),
		rate("Peak concurrent requests", "", serving.PeakConcurrent, tp.PeakConcurrent),
		rate("Total token throughput", "tok/s", serving.RateTotal, tp.Total),
		rate("Output token throughput per user", "tok/s", "", tp.OutputPerUser),
		rate("Output token throughput per GPU", "tok/s", "", tp.OutputPerGPU),
		rate("Mean requests in flight", "", "", tp.InFlight),
	)
	for _, d := range s.Dists {
		m, ok := serving.MetricOf(d.Metric)
		if !ok {
			continue
		}
		scale, unit := 1.0, "tokens"
		if m.Unit == serving.Seconds {
			scale, unit = 1000, "ms"
		}
		line := func(label, stat string, v serving.Opt[float64]) {
			out = append(out, resultLine{label: label + " " + m.Title, unit: unit, metric: d.Metric, stat: stat, ours: v, scale: scale})
		}
		line("Mean", "mean", d.Mean)
		for _, q := range d.Quantiles {
			line(quantileTitle(q.P), serving.QuantileName(q.P), q.Value)
		}
		line("Std of", "std", d.Std)
		line("Least", "min", d.Min)
		line("Largest", "max", d.Max)
	}
	return out
}

// quantileTitle names a quantile as the benchmark prints it: Median, P99.
func quantileTitle(p float64) string {
	if p == .5 {
		return "Median"
	}
	return strings.ToUpper(serving.QuantileName(p))
}

func asFloat(n serving.Opt[int64]) serving.Opt[float64] {
	if !n.OK {
		return serving.None[float64]()
	}
	return serving.Some(float64(n.V))
}

func mismatchTable(i int, ms []analyze.Mismatch) *Table {
	if len(ms) == 0 {
		return nil
	}
	t := &Table{ID: runID(i) + "-mismatch", Caption: "Aggregates of the file against its own requests, in the file's unit",
		Head: []Head{col("Field"), numCol("The file says", "", ""), numCol("Its requests give", "", ""), numCol("Difference", "", "")}}
	for _, m := range ms {
		diff := number(Missing, "")
		if m.Ours != 0 {
			diff = number(FormatShare(m.File/m.Ours-1), RawValue(serving.NoUnit, serving.Some(m.File/m.Ours-1)))
			diff.Class = "num warn"
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: m.Field, Code: true}, number(FormatNumber(m.File), fmt.Sprint(m.File)), number(FormatNumber(m.Ours), fmt.Sprint(m.Ours)), diff}})
	}
	return t
}

// examplesTable lists slow requests with when they came and where to find them.
func examplesTable(id string, xs []analyze.Example, relative bool) *Table {
	if len(xs) == 0 {
		return nil
	}
	metrics := []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E, serving.Queue, serving.Prefill, serving.Decode, serving.PromptTokens, serving.OutputTokens, serving.CachedTokens}
	t := &Table{ID: id, Caption: "The slowest requests, to look at or replay; their text is not in this report", Sortable: true, Head: []Head{col("Request"), col("Slow in"), col("Arrived")}}
	for _, k := range metrics {
		t.Head = append(t.Head, metricCol(slowTitle(k), unitOf(k)))
	}
	t.Head = append(t.Head, col("Of"), col("Where"))
	for _, x := range xs {
		name := x.ID
		if name == "" {
			name = "row " + FormatCount(x.Row)
		}
		arrived := Cell{}
		if x.At.OK {
			arrived = Cell{Text: FormatTime(x.At.V, relative), Raw: fmt.Sprint(x.At.V)}
		}
		row := Row{Cells: []Cell{{Text: name, Class: "clip"}, text(slowTitle(x.Rank)), arrived}}
		for _, k := range metrics {
			v := serving.None[float64]()
			if f, ok := x.Values[k]; ok {
				v = serving.Some(f)
			}
			row.Cells = append(row.Cells, tokensCell(valueCell(unitOf(k), v)))
		}
		of := FormatTerms(x.By)
		if len(x.By) == 0 {
			of = ""
		}
		row.Cells = append(row.Cells, faint(of), faint(fmt.Sprintf("%s, row %s", x.Source, FormatCount(x.Row))))
		t.Rows = append(t.Rows, row)
	}
	return t.dropEmpty()
}

// slowTitle names what a request is slow in: of its gaps it is the worst one.
func slowTitle(k serving.MetricKey) string {
	if k == serving.ITL {
		return "Worst gap"
	}
	return metricTitle(k)
}
