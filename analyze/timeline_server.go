package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// gapFactor is how many usual intervals without a scrape make a gap.
const gapFactor = 2.5

// serverTrack turns scrapes into series: nil for fewer than two, and where they
// hold nothing that is drawn.
func serverTrack(v serverView) *track {
	if v.n() < 2 {
		return nil
	}
	times := v.Times[v.from:v.to]
	k := &track{label: v.Label, relative: v.Relative, phase: times[0], from: times[0], to: times[len(times)-1], step: usualInterval(times)}
	if k.step <= 0 {
		return nil
	}
	k.to += k.step // the last level holds a while
	k.gauges(v, times)
	k.rates(v, times)
	k.quantiles(v, times)
	for _, at := range v.Restarts {
		if at >= k.from && at <= k.to {
			k.events = append(k.events, Event{At: at, Kind: "restart", Text: "restart of " + v.Label, Source: v.Label})
		}
	}
	for _, g := range v.gaps() {
		k.events = append(k.events, Event{At: g.From, To: g.To, Kind: "gap", Source: v.Label,
			Text: fmt.Sprintf("no scrape of %s for %s", v.Label, seconds(float64(g.To-g.From)/1e9))})
	}
	if len(k.series) == 0 && len(k.events) == 0 {
		return nil // nothing but an axis
	}
	return k
}

// usualInterval is the median interval between scrapes, ns.
func usualInterval(times []int64) int64 {
	var d []int64
	for i := 1; i < len(times); i++ {
		d = append(d, times[i]-times[i-1])
	}
	slices.Sort(d)
	return d[len(d)/2]
}

func (k *track) add(r reach, s TimelineSeries, at, until []int64, values []float64) {
	if slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
		k.series = append(k.series, trackSeries{s, at, until, values, r})
	}
}

// gauges are levels at the moment of a scrape; each holds until the next one,
// but not across a gap.
func (k *track) gauges(v serverView, times []int64) {
	until := make([]int64, len(times))
	for i := range times {
		until[i] = times[i] + k.step
		if i+1 < len(times) && times[i+1]-times[i] <= int64(gapFactor*float64(k.step)) {
			until[i] = times[i+1]
		}
	}
	for i := range v.Gauges {
		g := &v.Gauges[i]
		panel, ok := gaugePanels[g.Name]
		if !ok || len(g.By) > 0 {
			continue
		}
		r := ofMoment
		if g.Name == serving.PromptRate || g.Name == serving.GenerationRate {
			r = ofBefore
		}
		k.add(r, TimelineSeries{Metric: string(g.Name), Label: v.Label, By: g.By, Unit: g.Unit, Side: serving.ServerSide, Panel: panel, PromQL: g.PromQL},
			times, until, g.Values[v.from:v.to])
	}
}

var gaugePanels = map[serving.SeriesName]string{
	serving.Running: PanelRequests, serving.Waiting: PanelRequests, serving.Swapped: PanelRequests,
	serving.PromptRate: PanelThroughput, serving.GenerationRate: PanelThroughput,
	serving.KVUsage: PanelKV, serving.PrefixHitRatio: PanelKV,
	serving.GPUUtil: PanelGPU, serving.GPUMemoryUsed: PanelGPU, serving.GPUPower: PanelGPU,
}

// counterRates are the counters drawn as rates, or as increases where single
// events matter.
var counterRates = []struct {
	name   serving.SeriesName
	metric string
	panel  string
	unit   serving.Unit
	rate   bool
}{
	{serving.GenerationTotal, "output_tokens_per_s", PanelThroughput, serving.PerSecond, true},
	{serving.PromptTotal, "prompt_tokens_per_s", PanelThroughput, serving.PerSecond, true},
	{serving.FinishedTotal, "requests_per_s", PanelThroughput, serving.PerSecond, true},
	{serving.Preemptions, "preemptions", PanelPreempt, serving.NoUnit, false},
}

// rates are counters' increases between one scrape and the next.
func (k *track) rates(v serverView, times []int64) {
	for _, c := range counterRates {
		total := v.total(c.name)
		if total == nil {
			continue
		}
		values := make([]float64, len(times)-1)
		for i := range values {
			values[i] = math.NaN()
			if k.gap(times, i) {
				continue
			}
			step := serverView{v.Server, v.from + i, v.from + i + 2}
			inc, _ := stat.IncreaseAcross(total[step.from:step.to], step.restarted)
			if !math.IsNaN(inc) && !math.IsNaN(total[v.from+i]) && !math.IsNaN(total[v.from+i+1]) {
				values[i] = inc
				if c.rate {
					values[i] /= float64(times[i+1]-times[i]) / 1e9
				}
			}
		}
		st := "rate"
		if !c.rate {
			st = "increase"
		}
		k.add(ofStretch, TimelineSeries{Metric: c.metric, Stat: st, Label: v.Label, Unit: c.unit, Side: serving.ServerSide, Panel: c.panel,
			PromQL: v.rateQuery(c.name, st)}, times[:len(times)-1], times[1:], values)
	}
}

// gap reports whether scrapes are missing between one and the next: what rose in
// between rose somewhere in that time, before a restart or after it, and a mean
// over it would be drawn as a level that nobody saw.
func (k *track) gap(times []int64, i int) bool {
	return float64(times[i+1]-times[i]) > gapFactor*float64(k.step)
}

// total adds a counter's splits: a scrape without any has none.
func (v serverView) total(name serving.SeriesName) []float64 {
	var out []float64
	for i := range v.Counters {
		c := &v.Counters[i]
		if c.Name != name {
			continue
		}
		if len(c.By) == 0 {
			return c.Values
		}
		if out == nil {
			out = slices.Clone(c.Values)
			continue
		}
		for j, x := range c.Values {
			switch {
			case math.IsNaN(out[j]):
				out[j] = x
			case !math.IsNaN(x):
				out[j] += x
			}
		}
	}
	return out
}

func (v serverView) rateQuery(name serving.SeriesName, st string) string {
	for i := range v.Counters {
		if c := &v.Counters[i]; c.Name == name {
			w := fmt.Sprintf("%ds", (usualInterval(v.Times[v.from:v.to])+999_999_999)/1_000_000_000+1)
			if v.Relative || c.PromQL == "" {
				return ""
			}
			return fmt.Sprintf("sum(%s(%s[%s]))", st, c.PromQL, w)
		}
	}
	return ""
}

// quantiles are read off each histogram's increase between two scrapes.
func (k *track) quantiles(v serverView, times []int64) {
	for _, m := range []serving.MetricKey{serving.TTFT, serving.ITL, serving.TPOT, serving.E2E, serving.Queue} {
		h := v.HistogramOf(m)
		if h == nil {
			continue
		}
		for _, p := range []float64{0.5, 0.99} {
			values := make([]float64, len(times)-1)
			for i := range values {
				values[i] = math.NaN()
				if k.gap(times, i) {
					continue
				}
				if w, ok := (serverView{v.Server, v.from + i, v.from + i + 2}).increase(h); ok {
					// In the first bucket all that is known is "below its bound":
					// a line through its middle would be made up.
					if q, ok := w.quantile(p); ok && q.Lo.Or(0) > 0 {
						values[i] = q.Value.Or(q.Lo.V)
					}
				}
			}
			k.add(ofStretch, TimelineSeries{Metric: string(m), Stat: serving.QuantileName(p), Label: v.Label, Unit: serving.Seconds, Side: serving.ServerSide, Panel: latencyPanel(m)},
				times[:len(times)-1], times[1:], values)
		}
	}
}
