package analyze

import (
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A serverChannel is a set of replicas as their scrapes, or their logs, tell of
// them.
type serverChannel struct {
	views    []serverView // of engines, replicas of one another
	devices  []serverView // of GPU exporters beside them
	relative bool
	origin   int64   // ns: where the subject's axis begins
	step     float64 // seconds between scrapes
	span     float64
	log      bool // lines of a log: levels and rates only
}

// isLog tells an engine's log from scrapes: it has no histograms.
func isLog(s *serving.Server) bool {
	return len(s.Histograms) == 0 && s.GaugeOf(serving.GenerationRate) != nil
}

func (c *serverChannel) index(v serverView, t float64) int {
	at := c.origin + int64(math.Round(t*1e9))
	i, _ := slices.BinarySearch(v.Times[v.from:v.to], at)
	return v.from + i
}

// cut is a view from the last scrape at or before a moment to the last one at or
// before another, so that nothing between the two is lost.
func (c *serverChannel) cut(v serverView, from, to float64) serverView {
	lo, hi := c.index(v, from+1e-9), c.index(v, to+1e-9)
	if lo > v.from && (lo >= v.to || v.Times[lo]-c.origin > int64(from*1e9)) {
		lo--
	}
	return serverView{v.Server, lo, max(lo, min(hi, v.to))}
}

// within is a view of the scrapes inside a stretch.
func (c *serverChannel) within(v serverView, from, to float64) serverView {
	lo, hi := c.index(v, from), c.index(v, to+1e-9)
	return serverView{v.Server, lo, max(lo, hi)}
}

// gaugeValues adds a gauge's splits at each scrape.
func (v serverView) gaugeValues(n serving.SeriesName) []float64 {
	if g := v.GaugeOf(n); g != nil {
		return g.Values[v.from:v.to]
	}
	return nil
}

// meanOverGauges is the mean of all gauges of a name: one a GPU.
func (v serverView) meanOverGauges(n serving.SeriesName) []float64 {
	var sum, count []float64
	for i := range v.Gauges {
		if v.Gauges[i].Name != n {
			continue
		}
		if sum == nil {
			sum, count = make([]float64, v.n()), make([]float64, v.n())
		}
		for j, x := range v.Gauges[i].Values[v.from:v.to] {
			if !math.IsNaN(x) {
				sum[j] += x
				count[j]++
			}
		}
	}
	for j := range sum {
		sum[j] /= count[j]
	}
	return sum
}

// rise is a counter's increase over a view, of its splits that fit; NaN where
// there is none.
func (v serverView) rise(n serving.SeriesName, fits func(by []serving.Term) bool) float64 {
	sum, found := 0.0, false
	// Where there is a whole beside its splits, adding all would count twice.
	whole := fits == nil && slices.ContainsFunc(v.Counters, func(c serving.Counter) bool { return c.Name == n && len(c.By) == 0 })
	for i := range v.Counters {
		c := &v.Counters[i]
		if c.Name != n || fits != nil && !fits(c.By) || whole && len(c.By) > 0 || v.n() < 2 {
			continue
		}
		if inc, _ := stat.IncreaseAcross(c.Values[v.from:v.to], v.restarted); !math.IsNaN(inc) {
			sum, found = sum+inc, true
		}
	}
	if !found {
		return nan
	}
	return sum
}

func by(value func(string) bool) func([]serving.Term) bool {
	return func(ts []serving.Term) bool {
		return slices.ContainsFunc(ts, func(t serving.Term) bool { return value(t.Value) })
	}
}

// histSum adds histograms of the replicas over their views.
type histSum struct {
	n, sum  float64
	buckets stat.Buckets
}

func (h *histSum) add(w histWindow) {
	if !w.count.OK || w.count.V <= 0 {
		return
	}
	h.n += w.count.V
	if w.sum.OK && !w.fell {
		h.sum += w.sum.V
	} else {
		h.sum = nan
	}
	h.buckets, _ = stat.MergeBuckets(h.buckets, stat.Buckets{Bounds: w.bounds, Cum: w.cum})
}

func (h *histSum) spread() spread {
	if h.n <= 0 {
		return noSpread
	}
	s := spread{N: h.n, Mean: h.sum / h.n}
	q := func(p float64) float64 {
		b := stat.BucketQuantile(p, h.buckets.Bounds, h.buckets.Cum)
		if b.Overflow {
			s.AtLeast = b.Lo
			return nan
		}
		return b.Value
	}
	s.P50, s.P95, s.P99 = q(0.5), q(0.95), q(0.99)
	return s
}

func (c *serverChannel) hist(m serving.MetricKey, from, to float64) spread {
	var h histSum
	for _, v := range c.views {
		cut := c.cut(v, from, to)
		if s := v.HistogramOf(m); s != nil && cut.n() > 1 {
			if w, ok := cut.increase(s); ok {
				h.add(w)
			}
		}
	}
	return h.spread()
}

func (c *serverChannel) rise(n serving.SeriesName, from, to float64, fits func([]serving.Term) bool) float64 {
	sum := nan
	for _, v := range c.views {
		if x := c.cut(v, from, to).rise(n, fits); !math.IsNaN(x) {
			if math.IsNaN(sum) {
				sum = 0
			}
			sum += x
		}
	}
	return sum
}

// total is a gauge added up over the replicas, on a common grid.
func (c *serverChannel) total(n serving.SeriesName, mean bool) *signal {
	bins := int(c.span/c.step+0.5) + 1
	s := &signal{name: string(n), step: c.step, values: make([]float64, bins)}
	counts := make([]float64, bins)
	for _, v := range c.views {
		seen := make([]float64, bins)
		sum := make([]float64, bins)
		for i, x := range v.gaugeValues(n) {
			k := int(float64(v.Times[v.from+i]-c.origin)/1e9/c.step + 0.5)
			if !math.IsNaN(x) && k >= 0 && k < bins {
				sum[k] += x
				seen[k]++
			}
		}
		for k := range sum {
			if seen[k] > 0 {
				s.values[k] += sum[k] / seen[k]
				counts[k]++
			}
		}
	}
	for k := range s.values {
		switch {
		case counts[k] == 0:
			s.values[k] = nan
		case mean:
			s.values[k] /= counts[k]
		}
	}
	return s
}

// over is a figure of each interval between two scrapes.
func (c *serverChannel) over(name string, f func(from, to float64) (float64, float64)) *signal {
	bins := int(c.span/c.step + 0.5)
	s := &signal{name: name, step: c.step}
	for i := range bins {
		v, n := f(float64(i)*c.step, float64(i+1)*c.step)
		s.values, s.n = append(s.values, v), append(s.n, n)
	}
	return s
}

// arrivals are requests that came in between two moments: those that ended and
// what there is more in the system.
func (c *serverChannel) arrivals(from, to float64) float64 {
	sum, found := 0.0, false
	for _, v := range c.views {
		cut := c.cut(v, from, to)
		done := cut.rise(serving.FinishedTotal, nil)
		if math.IsNaN(done) {
			continue
		}
		found = true
		sum += done
		for _, n := range []serving.SeriesName{serving.Running, serving.Waiting} {
			if x := cut.gaugeValues(n); len(x) > 1 && !math.IsNaN(x[0]) && !math.IsNaN(x[len(x)-1]) {
				sum += x[len(x)-1] - x[0]
			}
		}
	}
	if !found {
		return nan
	}
	return max(0, sum)
}

func (c *serverChannel) phase(from, to float64) *phase {
	p := unknownPhase(from, to)
	p.TTFT, p.E2E = c.hist(serving.TTFT, from, to), c.hist(serving.E2E, from, to)
	p.TPOT = c.hist(serving.TPOT, from, to)
	if p.TPOT.N == 0 {
		p.TPOT = c.hist(serving.ITL, from, to)
	}
	p.Queue, p.Prefill, p.Decode = c.hist(serving.Queue, from, to), c.hist(serving.Prefill, from, to), c.hist(serving.Decode, from, to)
	if p.E2E.N > 0 && p.Queue.N > 0 && p.Prefill.N > 0 && p.Decode.N > 0 {
		// Means of one set of requests: all four are observed when a request ends.
		p.Frontend = spread{N: p.E2E.N, Mean: p.E2E.Mean - p.Queue.Mean - p.Prefill.Mean - p.Decode.Mean, P50: nan, P95: nan, P99: nan}
	}
	p.Prompt, p.Output = c.hist(serving.PromptTokens, from, to), c.hist(serving.OutputTokens, from, to)
	p.Requests = c.arrivals(from, to)
	done := c.rise(serving.FinishedTotal, from, to, nil)
	p.Aborted = c.rise(serving.FinishedTotal, from, to, by(func(s string) bool { return s == "abort" }))
	failed := c.rise(serving.FinishedTotal, from, to, by(func(s string) bool { return s == "error" }))
	if http := c.rise(serving.HTTPRequests, from, to, by(func(s string) bool { return strings.HasPrefix(s, "5") })); !math.IsNaN(http) {
		failed = max(zeroIfUnknown(failed), http)
	}
	p.Completed = done - zeroIfUnknown(p.Aborted) - zeroIfUnknown(failed)
	p.Ended = p.Completed
	if x := c.total(serving.Running, false).between(from, to+c.step); len(x) > 1 {
		p.Admitted = done + x[len(x)-1] - x[0] // left the batch, or are in it now
	}
	if !math.IsNaN(done) {
		p.Failed = zeroIfUnknown(failed) + zeroIfUnknown(p.Aborted)
	}
	p.OutputTokens = c.rise(serving.GenerationTotal, from, to, nil)
	if math.IsNaN(p.OutputTokens) {
		p.OutputTokens = meanKnown(c.total(serving.GenerationRate, false).between(from, to)) * (to - from)
	}
	p.Preemptions = c.rise(serving.Preemptions, from, to, nil)
	if math.IsNaN(p.Preemptions) && c.log {
		p.Preemptions = 0 // the line names them once there are any
	}
	if q := c.rise(serving.PrefixQueries, from, to, nil); q > 0 {
		p.CachedShare = c.rise(serving.PrefixHits, from, to, nil) / q
	} else if x := c.total(serving.PrefixHitRatio, true).between(from, to); len(x) > 0 {
		p.CachedShare = lastPart(x)
	}
	waiting := c.total(serving.Waiting, false).between(from, to+c.step)
	p.Waiting, p.WaitingEnd = levelOf(waiting), lastPart(waiting)
	p.Running = levelOf(c.total(serving.Running, false).between(from, to+c.step))
	p.KV = levelOf(c.total(serving.KVUsage, true).between(from, to+c.step))
	for _, v := range c.views { // the fullest pool, not the mean of all
		if x := levelOf(c.within(v, from, to).gaugeValues(serving.KVUsage)); x.Max > p.KV.Max {
			p.KV.Max, p.KV.P95 = x.Max, max(x.P95, p.KV.P95)
		}
		for _, at := range v.Restarts {
			if t := float64(at-c.origin) / 1e9; t > from && t <= to {
				p.Restarts++
			}
		}
	}
	var gpu []float64
	for _, v := range slices.Concat(c.views, c.devices) {
		gpu = append(gpu, c.within(v, from, to).meanOverGauges(serving.GPUUtil)...)
	}
	p.GPU = levelOf(gpu)
	if cpu := c.rise(serving.ProcessCPU, from, to, nil); !math.IsNaN(cpu) {
		p.CPU = cpu / (to - from)
	}
	if n := c.rise(serving.CPUPeriods, from, to, nil); n > 0 {
		p.Throttled = c.rise(serving.CPUThrottled, from, to, nil) / n
	}
	p.ArrivalPeak = nan
	for t := from; t+c.step <= to+1e-9; t += c.step {
		if a := c.arrivals(t, t+c.step) / c.step; !math.IsNaN(a) && !(a <= p.ArrivalPeak) {
			p.ArrivalPeak = a
		}
	}
	if len(c.views) > 1 {
		for _, v := range c.views {
			in := c.within(v, from, to)
			w, r := in.gaugeValues(serving.Waiting), in.gaugeValues(serving.Running)
			if len(w) == 0 {
				continue
			}
			l := replicaLoad{Name: v.Label, Requests: c.cut(v, from, to).rise(serving.FinishedTotal, nil), Waiting: meanKnown(w), Running: meanKnown(r)}
			l.Present = float64(in.n()) >= 0.5*(to-from)/c.step && (l.Running > 0.05 || l.Waiting > 0)
			p.Replicas = append(p.Replicas, l)
		}
	}
	return p
}

func zeroIfUnknown(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// signals are what change points are looked for in.
func (c *serverChannel) signals() []*signal {
	mean := func(name string, m serving.MetricKey) *signal {
		return c.over(name, func(from, to float64) (float64, float64) {
			s := c.hist(m, from, to)
			return s.Mean, s.N
		})
	}
	waiting := c.total(serving.Waiting, false)
	out := []*signal{waiting}
	if !c.log {
		out = append(out, mean("ttft", serving.TTFT), mean("tpot", serving.TPOT), mean("queue", serving.Queue), c.over("failed", func(from, to float64) (float64, float64) {
			p := c.rise(serving.FinishedTotal, from, to, nil)
			a := zeroIfUnknown(c.rise(serving.FinishedTotal, from, to, by(func(s string) bool { return s == "abort" || s == "error" })))
			return a / p, p
		}))
		if out[2].n == nil || sumKnown(out[2].n) == 0 {
			out[2] = mean("tpot", serving.ITL)
		}
	}
	preempt := c.over("preemptions", func(from, to float64) (float64, float64) {
		x := c.rise(serving.Preemptions, from, to, nil)
		return x, 0
	})
	preempt.n = nil
	return append(out, preempt, c.total(serving.Running, false), c.total(serving.KVUsage, true))
}

func sumKnown(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += zeroIfUnknown(v)
	}
	return s
}
