package analyze

import (
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// sameFiles reports whether both sides are the same bytes: by checksums of whole
// files, never by fingerprints, which only sample.
func (s *Sides) sameFiles() bool {
	sums := func(ds *serving.Dataset) ([]string, bool) {
		var out []string
		for _, in := range ds.Inputs {
			if in.SHA256 == "" {
				return nil, false
			}
			out = append(out, in.SHA256)
		}
		slices.Sort(out)
		return out, len(out) > 0
	}
	b, ok0 := sums(s.Data[before])
	a, ok1 := sums(s.Data[after])
	return ok0 && ok1 && slices.Equal(b, a) && s.Windows[before] == s.Windows[after]
}

// facts counts what each side is made of.
func (c *comparing) facts() {
	for i := range c.out.Sides {
		ds := c.in.sides.Data[i]
		f := SideFacts{Name: c.in.sides.Names[i], Runs: len(ds.Runs), Traces: len(ds.Traces), Servers: len(ds.Servers)}
		for _, u := range c.units[i] {
			f.Requests += u.counts().Sent.Or(0)
		}
		for _, in := range ds.Inputs {
			f.Files = append(f.Files, in.Path)
		}
		c.out.Sides[i] = f
	}
}

// repeats counts the fewest runs a side has at a level of both.
func (c *comparing) repeats() {
	for i := range c.out.Sides {
		least := 0
		for _, p := range c.out.Pairs {
			if n := len(p.units[i]); least == 0 || n < least {
				least = n
			}
		}
		c.out.Sides[i].Repeats = least
	}
}

// pressureRunning is how many sequences decoded at once.
const pressureRunning = "requests running, mean"

// pressureOf are the engine figures to lay beside the latencies: what a changed
// setting does to queue and memory.
var pressureOf = []struct {
	what  string
	unit  serving.Unit
	of    func(*ServerStats) (serving.Opt[float64], string)
	worst bool // the largest over the servers; else the sum
}{
	{"requests waiting, mean", serving.RequestsUnit, gaugeMean(serving.Waiting), false},
	{pressureRunning, serving.RequestsUnit, gaugeMean(serving.Running), false},
	{"KV cache usage, mean", serving.Share, gaugeMean(serving.KVUsage), true},
	{"KV cache usage, highest", serving.Share, gaugeMax(serving.KVUsage), true},
	{"preemptions, increase", serving.NoUnit, increaseOf(serving.Preemptions), false},
}

func gaugeMean(n serving.SeriesName) func(*ServerStats) (serving.Opt[float64], string) {
	return gaugeStat(n, func(g GaugeStats) float64 { return g.Mean })
}

func gaugeMax(n serving.SeriesName) func(*ServerStats) (serving.Opt[float64], string) {
	return gaugeStat(n, func(g GaugeStats) float64 { return g.Max })
}

func gaugeStat(n serving.SeriesName, of func(GaugeStats) float64) func(*ServerStats) (serving.Opt[float64], string) {
	return func(s *ServerStats) (serving.Opt[float64], string) {
		for _, g := range s.Gauges {
			if g.Name == n && len(g.By) == 0 {
				return finite(of(g)), g.PromQL
			}
		}
		return serving.None[float64](), ""
	}
}

func increaseOf(n serving.SeriesName) func(*ServerStats) (serving.Opt[float64], string) {
	return func(s *ServerStats) (serving.Opt[float64], string) {
		for _, i := range s.Increases {
			if i.Name == n && len(i.By) == 0 {
				return serving.Some(i.Value), i.PromQL
			}
		}
		return serving.None[float64](), ""
	}
}

// pressure lays queue, KV cache and preemptions of both sides side by side.
func (c *comparing) pressure() {
	sv := Value[Servers](c.rep)
	if sv == nil || len(c.in.sides.Data[before].Servers) == 0 || len(c.in.sides.Data[after].Servers) == 0 {
		return
	}
	for _, what := range pressureOf {
		row := PressureRow{What: what.what, Unit: what.unit}
		for _, s := range sv.Servers {
			v, q := what.of(s)
			if s.Members > 0 || !v.OK {
				continue // a fleet is its members, summed
			}
			row.PromQL = q
			dst := &row.Before
			if c.in.sides.sideOf(s.Server) == after {
				dst = &row.After
			}
			switch {
			case !dst.OK:
				*dst = v
			case what.worst:
				dst.V = max(dst.V, v.V)
			default:
				dst.V += v.V
			}
		}
		if row.Before.OK || row.After.OK {
			c.out.Pressure = append(c.out.Pressure, row)
		}
	}
}
