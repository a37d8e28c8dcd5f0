package analyze

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// A Skew is how far the clock of one source is ahead of another's, estimated
// from what both recorded.
type Skew struct {
	Source, Against string
	Offset          float64 // seconds that Source's clock is ahead
	Uncertainty     float64 // seconds, ±
	N               int     // requests, or windows
	How             string
	Kind            string // client, server or log: what --clock-offset calls the source
	Relative        bool   // the source counts from its start: Start is when that is on the other's clock
	Start           int64  // ns
}

// Remedy is what --clock-offset takes to put the source on the other's clock.
func (s Skew) Remedy() string {
	if s.Relative {
		return s.Kind + "=" + time.Unix(0, s.Start).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
	}
	return s.Kind + "=" + time.Duration(-math.Round(s.Offset*1000)*1e6).String()
}

// Off reports whether a skew is larger than what it is uncertain by.
func (s Skew) Off() bool { return !s.Relative && math.Abs(s.Offset) > s.Uncertainty }

// Limits of an estimate from series (judgement).
const (
	leastPairs    = 10
	leastAlike    = 0.8 // correlation
	nearlyBest    = 0.02
	maxSkew       = 3600.0 // seconds that clocks are taken to be off at most
	maxSkewSteps  = 4000
	leastEventful = 5 // windows in which something changes
)

// skews estimates how far the clocks of a subject's sources are apart: from the
// same requests where both have their ids, else from the shape of what both saw.
func (v *incidentView) skews(ctx context.Context) error {
	var ref *source
	for _, kind := range []string{"trace", "scrapes", "log", "client"} {
		if ref = v.u.of(kind); ref != nil {
			break
		}
	}
	for _, s := range v.u.sources {
		if s == ref || ref.relative {
			continue
		}
		k, ok, err := skewOf(ctx, s, ref)
		if err != nil {
			return err
		}
		if ok {
			v.inc.Skews = append(v.inc.Skews, k)
		}
	}
	return nil
}

func clockKind(s *source) string {
	switch {
	case s.kind == "client":
		return "client"
	case s.kind == "log":
		return "log"
	}
	return "server"
}

func skewOf(ctx context.Context, s, ref *source) (Skew, bool, error) {
	k := Skew{Source: s.label, Against: ref.label, Kind: clockKind(s), Relative: s.relative}
	if s.rows != nil && ref.rows != nil && !s.relative {
		ok, err := k.byIDs(ctx, s.rows, ref.rows)
		if ok || err != nil {
			return k, ok, err
		}
	}
	return k, k.byShape(s, ref), nil
}

// byIDs compares the same requests on both clocks: a client sends before the
// server gets it and hears the end after the server has ended, so that half the
// difference of both ends is the clocks' (as in NTP), and half the way there and
// back is what it is uncertain by.
func (k *Skew) byIDs(ctx context.Context, s, ref *rowChannel) (bool, error) {
	if s.every != 1 || ref.every != 1 {
		return false, nil
	}
	a, err := s.ids(ctx)
	if err != nil || len(a) == 0 {
		return false, err
	}
	b, err := ref.ids(ctx)
	if err != nil {
		return false, err
	}
	var offsets, ways []float64
	for id, x := range a {
		y, ok := b[id]
		if !ok || math.IsNaN(x.e2e) || math.IsNaN(y.e2e) {
			continue
		}
		sent, ended := x.at-y.at, x.at+x.e2e-y.at-y.e2e
		offsets, ways = append(offsets, (sent+ended)/2), append(ways, math.Abs(ended-sent)/2)
	}
	if len(offsets) < leastPairs {
		return false, nil
	}
	o, w := spreadOf(offsets), spreadOf(ways)
	k.Offset, k.Uncertainty, k.N = o.P50, max(w.P50, 1e-3), len(offsets)
	k.How = "the same requests on both sides"
	return true, nil
}

// ids reads the request ids of all rows, of those that have one only once.
func (c *rowChannel) ids(ctx context.Context) (map[string]*diagRow, error) {
	type place struct {
		src, part int32
		row       int64
	}
	at := make(map[place]*diagRow, len(c.rows))
	for i := range c.rows {
		r := &c.rows[i]
		at[place{r.src, r.part, r.row}] = r
	}
	out := make(map[string]*diagRow, len(c.rows))
	for si, src := range c.srcs {
		if !slices.ContainsFunc(src.Columns(), func(x serving.Column) bool { return x.Name == serving.ColRequestID && x.Kind == serving.KindText }) {
			continue
		}
		names := src.Dict(serving.ColRequestID)
		if names == nil {
			continue
		}
		for pi, p := range src.Parts() {
			err := p.Scan(ctx, []string{serving.ColRequestID}, nil, func(b *serving.Batch) error {
				col := &b.Cols[0]
				for i := range b.N {
					r := at[place{int32(si), int32(pi), b.Row + int64(i)}]
					if r == nil || !col.Has(i) || col.Codes[i] < 0 {
						continue
					}
					name := names.Name(col.Codes[i])
					if _, twice := out[name]; twice {
						r = nil // a retry: which of them it is the other side does not say
					}
					out[name] = r
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for name, r := range out {
		if r == nil {
			delete(out, name)
		}
	}
	return out, nil
}

// A shape is what a source saw over time, at moments of its own: how many
// requests ran.
type shape struct {
	at    []float64 // seconds on the subject's axis, or from the start of a relative source
	value []float64
}

func (s *source) shape() shape {
	var out shape
	if s.rows != nil {
		r := s.rows.running
		for i, x := range r.values {
			out.at, out.value = append(out.at, r.at(i)+r.step/2), append(out.value, x)
		}
		if !s.rows.has[string(serving.Queue)] { // running and waiting are not told apart
			return out
		}
		for i := range out.value {
			out.value[i] += s.rows.waiting.values[i]
		}
		return out
	}
	c := s.servers
	sum := map[int64]float64{}
	n := map[int64]int{}
	for _, v := range c.views {
		run, wait := v.gaugeValues(serving.Running), v.gaugeValues(serving.Waiting)
		for i, x := range run {
			if i < len(wait) && !math.IsNaN(wait[i]) {
				x += wait[i]
			}
			if !math.IsNaN(x) {
				sum[v.Times[v.from+i]] += x
				n[v.Times[v.from+i]]++
			}
		}
	}
	var times []int64
	for t := range sum {
		if n[t] == len(c.views) { // a moment at which some replicas were not seen is no level of all
			times = append(times, t)
		}
	}
	slices.Sort(times)
	for _, t := range times {
		out.at, out.value = append(out.at, float64(t-c.origin)/1e9), append(out.value, sum[t])
	}
	return out
}

// level is the value at a moment, between the two around it.
func (s shape) level(t float64) float64 {
	i, found := slices.BinarySearch(s.at, t)
	switch {
	case found:
		return s.value[i]
	case i == 0 || i == len(s.at):
		return nan
	}
	w := (t - s.at[i-1]) / (s.at[i] - s.at[i-1])
	return s.value[i-1] + w*(s.value[i]-s.value[i-1])
}

// step is the usual distance between moments.
func (s shape) step() float64 {
	if len(s.at) < 2 {
		return nan
	}
	return (s.at[len(s.at)-1] - s.at[0]) / float64(len(s.at)-1)
}

// byShape finds the shift at which requests in flight look most alike on both
// clocks. A shape without edges cannot tell, and neither can one that repeats.
func (k *Skew) byShape(s, ref *source) bool {
	a, b := s.shape(), ref.shape()
	coarse, fine := a, b
	sign := -1.0 // of a lag that is added to the coarse one's times
	if !(a.step() >= b.step()) {
		coarse, fine, sign = b, a, 1
	}
	if len(coarse.at) < leastPairs || len(fine.at) < leastPairs {
		return false
	}
	reach := min(maxSkew, (coarse.at[len(coarse.at)-1]-coarse.at[0])/4)
	mid := 0.0
	if k.Relative { // nothing is known of where it lies
		reach = max(coarse.at[len(coarse.at)-1]-coarse.at[0], fine.at[len(fine.at)-1]-fine.at[0])
	}
	step := max(fine.step()/2, coarse.step()/20, 2*reach/maxSkewSteps, 0.05)
	var lags, alike []float64
	for lag := mid - reach; lag <= mid+reach; lag += step {
		lags, alike = append(lags, lag), append(alike, likeness(coarse, fine, lag))
	}
	best := -1
	for i, r := range alike {
		if !math.IsNaN(r) && (best < 0 || r > alike[best]) {
			best = i
		}
	}
	if best < 0 || alike[best] < leastAlike {
		return false
	}
	lo, hi := best, best
	for lo > 0 && alike[lo-1] >= alike[best]-nearlyBest {
		lo--
	}
	for hi+1 < len(alike) && alike[hi+1] >= alike[best]-nearlyBest {
		hi++
	}
	for i, r := range alike { // another shift that fits as well
		if (i < lo || i > hi) && r >= alike[best]-nearlyBest {
			return false
		}
	}
	k.Offset = sign * (lags[lo] + lags[hi]) / 2
	k.Uncertainty = max((lags[hi]-lags[lo])/2, step, fine.step()/2)
	k.N = len(coarse.at)
	k.How = fmt.Sprintf("requests in flight at %s moments, correlation %.2f", number(float64(len(coarse.at))), alike[best])
	if k.Relative {
		// A time t of the source is t - Offset on the axis.
		k.Start = ref.origin() - int64(k.Offset*1e9) - s.origin()
		k.Offset = 0
	}
	return true
}

// origin is where a source's axis begins, ns.
func (s *source) origin() int64 {
	if s.rows != nil {
		return s.rows.origin
	}
	return s.servers.origin
}

// likeness is the correlation of two shapes, the first one shifted, over the
// moments that both cover: most of them, and not flat ones.
func likeness(coarse, fine shape, lag float64) float64 {
	var x, y []float64
	for i, t := range coarse.at {
		if v := fine.level(t + lag); !math.IsNaN(v) {
			x, y = append(x, coarse.value[i]), append(y, v)
		}
	}
	if len(x) < leastPairs || float64(len(x)) < 0.6*float64(len(coarse.at)) && float64(len(x)) < 0.6*(fine.at[len(fine.at)-1]-fine.at[0])/coarse.step() {
		return nan
	}
	edges := 0
	for i := 1; i < len(x); i++ {
		if x[i] != x[i-1] {
			edges++
		}
	}
	if edges < leastEventful {
		return nan
	}
	return pearson(x, y)
}

func pearson(x, y []float64) float64 {
	mx, my := spreadMean(x), spreadMean(y)
	var sxy, sxx, syy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		sxy, sxx, syy = sxy+dx*dy, sxx+dx*dx, syy+dy*dy
	}
	if sxx == 0 || syy == 0 {
		return nan
	}
	return sxy / math.Sqrt(sxx*syy)
}
