package render

import (
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// wireMetrics are the distributions by metric key. One without any figure says
// nothing and is left out: a run whose requests all failed has no latency.
func wireMetrics(ds analyze.Dists) map[string]*wireDist {
	m := make(map[string]*wireDist, len(ds))
	for _, d := range ds {
		if d == nil {
			continue
		}
		if w := newWireDist(d); !w.empty() {
			m[string(d.Metric)] = w
		}
	}
	return m
}

func newWireDist(d *analyze.Dist) *wireDist {
	u := unitOf(d.Metric)
	w := &wireDist{
		Unit: wireUnit(u), Count: d.Count.Ptr(),
		Mean: wireValue(u, d.Mean), Std: wireValue(u, d.Std), Min: wireValue(u, d.Min), Max: wireValue(u, d.Max),
		Origin: string(d.Origin), Side: wireSide(d.Side), Gaps: d.Gaps, RelativeError: wireFloat(d.RelError),
	}
	n := len(d.Quantiles)
	names := make([]string, 0, n)
	w.Quantiles = make([]wireNamed[float64], 0, n)
	w.Interval = make(wireByName[wireInterval], 0, n)
	w.Quality = make(wireByName[string], 0, n)
	for _, q := range d.Quantiles {
		name := serving.QuantileName(q.P)
		if q.P >= 0 && q.P <= 1 && !slices.Contains(names, name) {
			names = append(names, name)
			w.addQuantile(name, u, q)
		}
	}
	w.Interval.sort()
	w.Quality.sort()
	return w
}

func (w *wireDist) addQuantile(name string, u serving.Unit, q analyze.Quantile) {
	v := wireValue(u, q.Value)
	if v != nil {
		w.Quantiles = append(w.Quantiles, wireNamed[float64]{name, *v})
	}
	iv := newWireInterval(wireValue(u, q.Lo), wireValue(u, q.Hi))
	if iv != nil {
		w.Interval = append(w.Interval, wireNamed[wireInterval]{name, iv})
	}
	if q.Quality != analyze.QualityUnknown && (v != nil || iv != nil) {
		w.Quality = append(w.Quality, wireNamed[string]{name, string(q.Quality)})
	}
}

// sort puts an object's keys into the order that a map's are written in.
func (o wireByName[V]) sort() {
	slices.SortFunc(o, func(a, b wireNamed[V]) int { return strings.Compare(a.Name, b.Name) })
}

func (w *wireDist) empty() bool {
	return w.Mean == nil && w.Min == nil && w.Max == nil && len(w.Quantiles) == 0 && len(w.Interval) == 0
}

func newWireInterval(lo, hi *float64) wireInterval {
	if lo == nil && hi == nil {
		return nil
	}
	return wireInterval{lo, hi}
}
