package prom

import (
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// parts takes one part of a split gauge: a GPU of a machine. Behind the last
// part of the figure comes the whole, see wholes.
func (b *builder) parts(how over, g serving.Gauge) {
	if !hasAny(g.Values) {
		return
	}
	b.split = append(b.split, split{how, g})
}

// A split is a part of a gauge that waits for the others.
type split struct {
	how over
	serving.Gauge
}

// derive completes the server with figures that are made of others.
func (b *builder) derive() {
	for len(b.split) > 0 {
		n := 1
		for n < len(b.split) && b.split[n].Name == b.split[0].Name {
			n++
		}
		b.s.Gauges = append(b.s.Gauges, whole(b.split[:n])...)
		b.split = b.split[n:]
	}
	b.usage()
	b.means()
}

// whole is a figure over all its parts, then each part where there are several:
// the sum, or the mean of shares. A time at which a part is missing has no figure
// over all of them.
func whole(parts []split) []serving.Gauge {
	g := parts[0].Gauge
	if len(parts) == 1 {
		g.By = nil
		return []serving.Gauge{g}
	}
	all := serving.Gauge{Name: g.Name, Unit: g.Unit, From: g.From, Values: slices.Clone(g.Values)}
	agg := "sum"
	for _, p := range parts[1:] {
		for t, v := range p.Values {
			all.Values[t] += v
		}
	}
	if parts[0].how == overMean {
		agg = "avg"
		for t := range all.Values {
			all.Values[t] /= float64(len(parts))
		}
	}
	all.PromQL = agg + "(" + g.From + ")"
	out := []serving.Gauge{}
	if hasAny(all.Values) {
		out = append(out, all)
	}
	for _, p := range parts {
		out = append(out, p.Gauge)
	}
	return out
}

// Figures of TensorRT-LLM's block pool, which it counts instead of giving a share.
const (
	kvBlocksUsed serving.SeriesName = "kv_blocks_used"
	kvBlocksMax  serving.SeriesName = "kv_blocks_max"
)

// usage is the share of KV blocks in use where an exporter gives their numbers
// alone.
func (b *builder) usage() {
	used, most := b.s.GaugeOf(kvBlocksUsed), b.s.GaugeOf(kvBlocksMax)
	if used == nil || most == nil || b.s.GaugeOf(serving.KVUsage) != nil {
		return
	}
	g := serving.Gauge{Name: serving.KVUsage, Unit: serving.Share, From: used.From, Values: nans(len(used.Values)),
		PromQL: used.PromQL + " / ignoring(kv_cache_block_type) " + most.PromQL}
	for t, v := range used.Values {
		if most.Values[t] > 0 {
			g.Values[t] = v / most.Values[t]
		}
	}
	b.shares(&g)
	if hasAny(g.Values) {
		b.s.Gauges = append(b.s.Gauges, g)
	}
}

// Seconds that Triton adds up over the requests that succeeded. They are no
// figures by themselves: with the number of requests they are a mean.
const (
	tritonE2E   serving.SeriesName = "triton_request_seconds"
	tritonQueue serving.SeriesName = "triton_queue_seconds"
)

var tritonMeans = map[serving.SeriesName]serving.MetricKey{tritonE2E: serving.E2E, tritonQueue: serving.Queue}

// means makes histograms with a single bucket of sums that have a count: they
// have a mean and no quantiles.
func (b *builder) means() {
	var count []float64
	for _, c := range b.s.Counters {
		if c.Name == serving.FinishedTotal && slices.Contains(c.By, serving.Term{Dim: "reason", Value: "success"}) {
			count = c.Values
		}
	}
	b.s.Counters = slices.DeleteFunc(b.s.Counters, func(c serving.Counter) bool {
		metric, ok := tritonMeans[c.Name]
		if !ok {
			return false
		}
		if count == nil || b.s.HistogramOf(metric) != nil {
			return true
		}
		h := serving.HistogramSeries{Metric: metric, From: c.From, Unit: serving.Seconds, Bounds: []float64{math.Inf(+1)},
			Counts: make([][]float64, len(count)), Sum: c.Values, Count: count}
		for t, n := range count {
			if !math.IsNaN(n) {
				h.Counts[t] = []float64{n}
			}
		}
		b.s.Histograms = append(b.s.Histograms, h)
		return true
	})
}
