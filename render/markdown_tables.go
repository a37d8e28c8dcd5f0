package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

func (m *mdWriter) runs(v *analyze.Runs) {
	if len(v.Runs) == 0 || m.lim.runs == 0 {
		return
	}
	m.heading("Runs")
	t := mdTable{
		head: []string{"run", "load", "ok / sent", "req/s", "out tok/s", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", "E2E p99", "n", "goodput", "objectives"},
		text: map[int]bool{0: true, 1: true, 12: true},
	}
	for _, r := range v.Runs[:min(len(v.Runs), m.lim.runs)] {
		t.add(m.cell(r.Run.Label), FormatLoad(r.Run.Load, r.Counts.Sent), okOfSent(r.Counts),
			rate(r.Throughput.Requests), rate(r.Throughput.Output),
			m.quantile(r.Dists, serving.TTFT, 0.5), m.quantile(r.Dists, serving.TTFT, 0.99),
			m.quantile(r.Dists, serving.TPOT, 0.5), m.quantile(r.Dists, serving.TPOT, 0.99),
			m.quantile(r.Dists, serving.E2E, 0.99), countBehind(r.Dists), goodput(r.Goodput), m.objectives(r.SLO))
	}
	t.write(m)
	m.more(len(v.Runs), m.lim.runs, "runs")
	m.line("\n<sub>Latencies as the client measured them, of completed requests; n is the number behind TTFT.</sub>")
	m.mismatches(v.Runs)
}

// mismatches names the runs whose file disagrees with its own requests.
func (m *mdWriter) mismatches(runs []*analyze.RunStats) {
	var names []string
	for _, r := range runs {
		if len(r.Mismatch) > 0 {
			f := r.Mismatch[0]
			names = append(names, fmt.Sprintf("%s (%s: %s in the file, %s from its requests)",
				m.cell(r.Run.Label), m.cell(f.Field), FormatNumber(f.File), FormatNumber(f.Ours)))
		}
	}
	if len(names) > 0 {
		shown := min(len(names), 5)
		m.line("\n⚠️ The file's own aggregates differ from its requests: " + strings.Join(names[:shown], "; ") + ".")
		m.more(len(names), shown, "runs with a difference")
	}
}

func rate(v serving.Opt[float64]) string {
	if !v.OK {
		return Missing
	}
	return FormatNumber(v.V)
}

func okOfSent(c analyze.Counts) string {
	if !c.Completed.OK && !c.Sent.OK {
		return Missing
	}
	return FormatCountOpt(c.Completed) + " / " + FormatCountOpt(c.Sent)
}

// countBehind is the number of values behind the first latency there is.
func countBehind(ds analyze.Dists) string {
	for _, k := range []serving.MetricKey{serving.TTFT, serving.E2E, serving.TPOT} {
		if d := ds.Of(k); d != nil {
			return FormatCountOpt(d.Count)
		}
	}
	return Missing
}

func goodput(g *analyze.Goodput) string {
	switch {
	case g == nil:
		return Missing
	case g.Share.OK:
		return FormatShareOpt(g.Share)
	}
	return FormatRateOpt(g.PerSecond, "req") + " (the file's own)"
}

// objectives tells what was met, and names what was not.
func (m *mdWriter) objectives(list []analyze.SLOResult) string {
	if len(list) == 0 {
		return Missing
	}
	var parts []string
	passed := 0
	for _, s := range list {
		if s.Result == analyze.GatePass {
			passed++
			continue
		}
		parts = append(parts, verdictSign[s.Result]+" "+m.cell(s.Expr))
	}
	if passed > 0 {
		parts = append([]string{fmt.Sprintf("✅ %d of %d", passed, len(list))}, parts...)
	}
	return strings.Join(parts[:min(len(parts), 4)], ", ")
}

// slices shows the slowest slices of each trace. Those of benchmark runs stand
// here only where there is nothing else: a sweep would bring a table a run.
func (m *mdWriter) slices(v *analyze.Slices) {
	if m.lim.slices == 0 {
		return
	}
	shown, all := 0, 0
	for _, d := range v.Datasets {
		if d.All == nil || d.Run != nil && len(v.Datasets) > 1 {
			continue
		}
		if all++; shown < m.lim.datasets {
			m.dataset(d)
			shown++
		}
	}
	m.more(all, shown, "traces")
}

func (m *mdWriter) dataset(d *analyze.DatasetStats) {
	key := leadMetric(d.All.Dists)
	top := slowest(d, key)
	m.heading("Slices of " + m.cell(d.Dataset))
	order := "Slowest first, by " + metricTitle(key) + " p99; those with too few requests for it come last"
	if d.All.Dists.Of(key) == nil {
		order = "Without latencies; largest first"
	}
	m.line(fmt.Sprintf("%s sent, %s completed%s, %s. %s.\n",
		FormatCountOpt(d.All.Counts.Sent), FormatCountOpt(d.All.Counts.Completed), spanText(d.Span), sideText(d.Side), order))
	t := mdTable{
		head: []string{"slice", "ok / sent", "share", "TTFT p50", "TTFT p99", "queue p99", "prefill p99", "TPOT p99", "E2E p99", "n", "goodput", "objectives"},
		text: map[int]bool{0: true, 11: true},
	}
	for _, s := range append([]*analyze.Slice{d.All}, top[:min(len(top), m.lim.slices)]...) {
		t.add(m.cell(FormatTerms(s.By)), okOfSent(s.Counts), FormatShare(s.Share),
			m.quantile(s.Dists, serving.TTFT, 0.5), m.quantile(s.Dists, serving.TTFT, 0.99),
			m.quantile(s.Dists, serving.Queue, 0.99), m.quantile(s.Dists, serving.Prefill, 0.99),
			m.quantile(s.Dists, serving.TPOT, 0.99), m.quantile(s.Dists, serving.E2E, 0.99),
			countBehind(s.Dists), goodput(s.Goodput), m.objectives(s.SLO))
	}
	t.write(m)
	m.more(len(top), m.lim.slices, "slices")
}

func sideText(s serving.Side) string {
	if s == serving.Client || s == serving.ServerSide {
		return "as the " + string(s) + " measured them"
	}
	return "measured on an unknown side"
}

func spanText(span serving.Opt[float64]) string {
	if !span.OK {
		return ""
	}
	return " in " + FormatSpan(span.V)
}

// leadMetric is the latency to rank slices by: the first token where there is
// one, else the whole request.
func leadMetric(ds analyze.Dists) serving.MetricKey {
	for _, k := range []serving.MetricKey{serving.TTFT, serving.E2E, serving.Queue, serving.Normalized} {
		if ds.Of(k) != nil {
			return k
		}
	}
	return serving.E2E
}

// slowest orders the cross of dimensions, or where there is none each dimension
// alone, by the p99 of a metric. One that n does not support comes after all
// that it does, and one without a value last.
func slowest(d *analyze.DatasetStats, k serving.MetricKey) []*analyze.Slice {
	list := slices.Clone(d.Cross)
	if len(list) == 0 {
		for _, dim := range d.Alone {
			list = append(list, dim.Slices...)
		}
	}
	keys := make(map[*analyze.Slice]sliceRank, len(list))
	for _, s := range list {
		keys[s] = rankOf(s, k)
	}
	slices.SortStableFunc(list, func(a, b *analyze.Slice) int {
		ka, kb := keys[a], keys[b]
		return cmp.Or(cmp.Compare(ka.class, kb.class), cmp.Compare(kb.p99, ka.p99), cmp.Compare(b.Share, a.Share), strings.Compare(ka.name, kb.name))
	})
	return list
}

type sliceRank struct {
	class int // 0: supported, 1: not supported by n, 2: no value
	p99   float64
	name  string
}

func rankOf(s *analyze.Slice, k serving.MetricKey) sliceRank {
	r := sliceRank{class: 2, name: FormatTerms(s.By)}
	d := s.Dists.Of(k)
	if d == nil {
		return r
	}
	q, ok := d.Q(0.99)
	if !ok || !q.Value.OK && !q.Lo.OK {
		return r
	}
	r.class, r.p99 = 0, q.Value.Or(q.Lo.V)
	if q.Quality == analyze.QualityUnsupported {
		r.class = 1
	}
	return r
}

func (m *mdWriter) servers(v *analyze.Servers) {
	if len(v.Servers) == 0 || m.lim.servers == 0 {
		return
	}
	m.heading("Servers")
	t := mdTable{
		head: []string{"server", "window", "scrapes", "TTFT p50", "TTFT p99", "queue p99", "waiting max", "KV max", "preemptions", "restarts"},
		text: map[int]bool{0: true, 1: true},
	}
	for _, s := range v.Servers[:min(len(v.Servers), m.lim.servers)] {
		t.add(m.cell(serverName(s.Server)), serverWindow(s), FormatCount(int64(s.Scrapes)),
			m.quantile(s.Dists, serving.TTFT, 0.5), m.quantile(s.Dists, serving.TTFT, 0.99), m.quantile(s.Dists, serving.Queue, 0.99),
			gaugeMax(s, serving.Waiting), gaugeMax(s, serving.KVUsage), increaseOf(s, serving.Preemptions), FormatCount(int64(len(s.Server.Restarts))))
	}
	t.write(m)
	m.more(len(v.Servers), m.lim.servers, "servers")
	m.line("\n<sub>Times as the server measured them; quantiles of histograms are known to a bucket. Counters are increases over the window.</sub>")
}

func serverName(s *serving.Server) string {
	if s.Label != "" {
		return s.Label
	}
	return s.ID
}

func serverWindow(s *analyze.ServerStats) string {
	switch {
	case s.SinceStart:
		return "since its start"
	case s.From.OK && s.To.OK && !s.Server.Relative:
		return FormatInstantShort(s.From.V) + ", " + FormatSpan(float64(s.To.V-s.From.V)/1e9)
	case s.From.OK && s.To.OK:
		return FormatSpan(float64(s.To.V-s.From.V) / 1e9)
	}
	return Missing
}

func gaugeMax(s *analyze.ServerStats, name serving.SeriesName) string {
	for _, g := range s.Gauges {
		if g.Name != name || len(g.By) > 0 || !finite(g.Max) {
			continue
		}
		if g.Unit == serving.RequestsUnit {
			return FormatTokens(g.Max)
		}
		return FormatValue(g.Unit, serving.Some(g.Max))
	}
	return Missing
}

func increaseOf(s *analyze.ServerStats, name serving.SeriesName) string {
	for _, in := range s.Increases {
		if in.Name == name && len(in.By) == 0 {
			return FormatTokens(in.Value)
		}
	}
	return Missing
}

func (m *mdWriter) inputs(v *analyze.Inputs) {
	if len(v.Inputs) == 0 {
		return
	}
	problems := 0
	for _, in := range v.Inputs {
		problems += in.Problems.Len()
	}
	summary := fmt.Sprintf("%s: %s recognized, %s unknown, %s", countOf(len(v.Inputs), "input"),
		FormatCount(int64(v.Known)), FormatCount(int64(v.Unknown)), countOf(problems, "problem"))
	if m.lim.inputs == 0 {
		m.line("\n" + summary + ".")
		return
	}
	m.line("\n<details><summary>" + summary + "</summary>\n")
	dir := commonDir(v.Inputs)
	if dir != "" {
		m.line("Below " + m.text(dir) + "\n")
	}
	t := mdTable{head: []string{"file", "format", "records", "size", "sha256", "problems"}, text: map[int]bool{0: true, 1: true, 4: true}}
	for _, in := range v.Inputs[:min(len(v.Inputs), m.lim.inputs)] {
		t.add(m.cell(strings.TrimPrefix(in.Path, dir)), m.cell(wireFormat(in)), FormatCount(in.Records), FormatBytes(float64(in.Bytes)),
			m.cell(in.SHA256[:min(len(in.SHA256), 12)]), FormatCount(int64(in.Problems.Len())))
	}
	t.write(m)
	m.more(len(v.Inputs), m.lim.inputs, "inputs")
	m.problems(v.Inputs)
	m.line("\n</details>")
}

// commonDir is the folder that all inputs lie in, with its slash; "" for one
// input alone.
func commonDir(inputs []*serving.Input) string {
	if len(inputs) < 2 {
		return ""
	}
	dir := inputs[0].Path
	for _, in := range inputs {
		for !strings.HasPrefix(in.Path, dir) || !strings.HasSuffix(dir, "/") {
			i := strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')
			if i < 0 {
				return ""
			}
			dir = dir[:i+1]
		}
	}
	return dir
}

// problems lists the first problem of each file that has one.
func (m *mdWriter) problems(inputs []*serving.Input) {
	shown, files := 0, 0
	for _, in := range inputs {
		if in.Problems.Len() == 0 {
			continue
		}
		if files == 0 {
			m.line("")
		}
		if files++; shown < m.lim.findings {
			m.line("- " + m.text(in.Problems.List()[0].String()))
			shown++
		}
	}
	m.more(files, shown, "files with problems")
}
