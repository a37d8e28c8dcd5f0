package render

import (
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
		wireDistHead: wireDistHead{
			Unit: wireUnit(u), Count: d.Count.Ptr(),
			Mean: wireValue(u, d.Mean), Std: wireValue(u, d.Std), Min: wireValue(u, d.Min), Max: wireValue(u, d.Max),
		},
		wireDistTail: wireDistTail{
			Origin: string(d.Origin), Side: wireSide(d.Side), Gaps: d.Gaps, RelativeError: wireFloat(d.RelError),
		},
	}
	seen := map[string]bool{}
	for _, q := range d.Quantiles {
		if !(q.P >= 0 && q.P <= 1) || seen[serving.QuantileName(q.P)] {
			continue
		}
		seen[serving.QuantileName(q.P)] = true
		w.addQuantile(u, q)
	}
	return w
}

func (w *wireDist) addQuantile(u serving.Unit, q analyze.Quantile) {
	name := serving.QuantileName(q.P)
	v := wireValue(u, q.Value)
	if v != nil {
		w.Quantiles = append(w.Quantiles, wireQuantile{name, *v})
	}
	iv := newWireInterval(wireValue(u, q.Lo), wireValue(u, q.Hi))
	if iv != nil {
		if w.Interval == nil {
			w.Interval = map[string]wireInterval{}
		}
		w.Interval[name] = iv
	}
	if q.Quality != analyze.QualityUnknown && (v != nil || iv != nil) {
		if w.Quality == nil {
			w.Quality = map[string]string{}
		}
		w.Quality[name] = string(q.Quality)
	}
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
