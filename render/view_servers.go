package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// serversView is what the engines say of themselves.
type serversView struct{ Servers []serverView }

type serverView struct {
	ID, Title, Sub string
	Latency        *Table
	Lengths        *Table
	Beside         []*Table // increases, levels
	Queries        *Table
	Facts          []Fact
}

func viewServers(_ *pageContext, value any) (any, error) {
	s, err := valueAs[analyze.Servers](value)
	if err != nil {
		return nil, err
	}
	var v serversView
	for i, srv := range s.Servers {
		v.Servers = append(v.Servers, newServerView(fmt.Sprintf("server-%d", i+1), srv))
	}
	return &v, nil
}

func newServerView(id string, s *analyze.ServerStats) serverView {
	v := serverView{ID: id, Title: s.Server.Label, Sub: serverNote(s), Latency: histogramTable(id, s),
		Lengths: lengthsTable(id, []analyze.LatencyGroup{{Label: s.Server.Label, Dists: s.Dists}}), Queries: queriesTable(id, s)}
	for _, t := range []*Table{increasesTable(id, s), gaugesTable(id, s)} {
		if t != nil {
			v.Beside = append(v.Beside, t)
		}
	}
	for _, k := range s.Server.Info {
		v.Facts = append(v.Facts, Fact(k))
	}
	return v
}

func serverNote(s *analyze.ServerStats) string {
	srv := s.Server
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(strings.TrimSpace(srv.Engine + " " + srv.Version.Or("")))
	add(srv.Model.Or(""))
	if srv.Replica.OK {
		add("replica " + srv.Replica.V)
	}
	if s.Members > 0 {
		add(FormatCount(int64(s.Members)) + " replicas, buckets summed before the quantile is taken")
	}
	add(FormatCount(int64(s.Scrapes)) + map[bool]string{true: " scrape", false: " scrapes"}[s.Scrapes == 1])
	switch {
	case s.SinceStart:
		add("figures are since the process started")
	case s.From.OK && s.To.OK:
		add(FormatTime(s.From.V, srv.Relative) + " to " + FormatTime(s.To.V, srv.Relative) + ", " + FormatSpan(float64(s.To.V-s.From.V)/1e9))
	default:
		add("times are only an order")
	}
	if n := len(srv.Restarts); n > 0 {
		add(FormatCount(int64(n)) + map[bool]string{true: " restart", false: " restarts"}[n == 1])
	}
	if n := len(s.Gaps); n > 0 {
		add(FormatCount(int64(n)) + map[bool]string{true: " gap", false: " gaps"}[n == 1])
	}
	if srv.TimeRule != "" {
		add("times from " + srv.TimeRule)
	}
	return strings.Join(parts, "; ") + "."
}

// histogramTable is latency as the engine's histograms have it.
func histogramTable(id string, s *analyze.ServerStats) *Table {
	if len(s.Dists) == 0 {
		return nil
	}
	ps := quantilesOf(s.Dists)
	t := &Table{ID: id + "-latency", Caption: "At the server, from histograms; the second line is the bucket the quantile lies in", Sortable: true, Head: []Head{col("Metric"), metricCol("mean", serving.Seconds)}}
	for _, p := range ps {
		t.Head = append(t.Head, metricCol(serving.QuantileName(p), serving.Seconds))
	}
	t.Head = append(t.Head, numCol("n", "", ""))
	for _, d := range s.Dists {
		m, ok := serving.MetricOf(d.Metric)
		if !ok {
			continue
		}
		row := Row{Cells: []Cell{{Text: m.Title, Sub: m.Long}, valueCell(m.Unit, d.Mean)}}
		for _, p := range ps {
			row.Cells = append(row.Cells, quantileCell(d, p, true))
		}
		if m.Unit != serving.Seconds {
			continue
		}
		t.Rows = append(t.Rows, Row{Cells: append(row.Cells, countCell(d.Count))})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t.dropEmpty("n").collectKeys()
}

func quantilesOf(ds analyze.Dists) []float64 {
	var out []float64
	for _, d := range ds {
		for _, q := range d.Quantiles {
			if !slices.Contains(out, q.P) {
				out = append(out, q.P)
			}
		}
	}
	slices.Sort(out)
	return out
}

func increasesTable(id string, s *analyze.ServerStats) *Table {
	if len(s.Increases) == 0 {
		return nil
	}
	t := &Table{ID: id + "-increases", Caption: "Counters: increase over the window, restarts added up", Sortable: true, Head: []Head{col("Counter"), numCol("Increase", "", ""), numCol("Resets", "", "")}}
	if s.SinceStart {
		t.Caption = "Counters since the process started"
	}
	for _, x := range s.Increases {
		t.Rows = append(t.Rows, Row{Cells: []Cell{seriesCell(string(x.Name), x.By), valueCell(x.Unit, serving.Some(x.Value)), number(FormatCount(int64(x.Resets)), fmt.Sprint(x.Resets))}})
	}
	return t
}

func gaugesTable(id string, s *analyze.ServerStats) *Table {
	if len(s.Gauges) == 0 {
		return nil
	}
	t := &Table{ID: id + "-gauges", Caption: "Levels over the scrapes", Sortable: true, Head: []Head{col("Gauge"), numCol("min", "", ""), numCol("mean", "", ""), numCol("max", "", ""), numCol("last", "", ""), numCol("n", "scrapes", "")}}
	for _, g := range s.Gauges {
		v := func(x float64) Cell {
			c := valueCell(g.Unit, serving.Some(x))
			c.Text, _, _ = strings.Cut(c.Text, " request") // the unit stands once, with the name
			return c
		}
		name := seriesCell(string(g.Name), g.By)
		if g.Unit == serving.RequestsUnit {
			name.Sub = strings.TrimSuffix("requests, "+name.Sub, ", ")
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, v(g.Min), v(g.Mean), v(g.Max), v(g.Last), number(FormatCount(int64(g.N)), fmt.Sprint(g.N))}})
	}
	return t
}

// figureTitle names a figure of a server or of a time axis for people.
func figureTitle(name string) string {
	if m, ok := serving.MetricOf(serving.MetricKey(name)); ok {
		return m.Title
	}
	switch name {
	case string(serving.KVUsage):
		return "KV cache in use"
	case string(serving.PrefixHitRatio):
		return "Prefix cache hit ratio"
	case string(serving.ProcessCPU):
		return "CPU time"
	case string(serving.HTTPRequests):
		return "HTTP requests"
	case string(serving.GPUUtil):
		return "GPU utilization"
	case string(serving.GPUMemoryUsed):
		return "GPU memory in use"
	case string(serving.GPUPower):
		return "GPU power (W)"
	case "requests_per_s":
		return "Requests/s"
	case "output_tokens_per_s":
		return "Output tokens/s"
	case "total_tokens_per_s":
		return "Total tokens/s"
	case "prompt_tokens_per_s":
		return "Prompt tokens/s"
	case "log_lines":
		return "Log lines that tell of failures"
	case "goodput_share":
		return "Goodput share"
	}
	s := strings.ReplaceAll(name, "_per_s", "/s")
	return upperFirst(strings.ReplaceAll(s, "_", " "))
}

func seriesCell(name string, by []serving.Term) Cell {
	c := text(figureTitle(name))
	if len(by) > 0 {
		c.Sub = FormatTerms(by)
	}
	return c
}

// queriesTable lists the PromQL that each figure equals.
func queriesTable(id string, s *analyze.ServerStats) *Table {
	t := &Table{ID: id + "-promql", Caption: "PromQL: each query gives the figure over the same window", Head: []Head{col("Figure"), col("PromQL")}}
	add := func(c Cell, q string) {
		if q != "" {
			t.Rows = append(t.Rows, Row{Cells: []Cell{c, code(q)}})
		}
	}
	for _, d := range s.Dists {
		add(text(metricTitle(d.Metric)), d.PromQL)
	}
	for _, x := range s.Increases {
		add(seriesCell(string(x.Name), x.By), x.PromQL)
	}
	for _, g := range s.Gauges {
		add(seriesCell(string(g.Name), g.By), g.PromQL)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
