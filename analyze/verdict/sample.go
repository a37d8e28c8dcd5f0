package verdict

import (
	"math"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A Sample is one figure of one side at one level of load.
type Sample struct {
	Values []float64 // one a run; NaN where the run lacks it

	// Of the only run:
	Series *stat.Series         // its requests' values in order of arrival
	Lo, Hi serving.Opt[float64] // the interval the figure came with
	N, Of  int64                // of a share: counted, out of
	Each   []Count              // of a share: a run each
	Drift  Drift                // of a trace whose level moves with its load
	Halves *Halves              // the figure in both halves, where Series has not its requests; nil: not known
	// Replayed is the variance of the logarithm that the choice of requests brings,
	// where all runs of the side replay the same ones and the other side's runs do
	// not: no spread between runs shows it. 0 otherwise.
	Replayed float64
}

// A Drift is the variance of the logarithm beyond that of independent requests,
// with its degrees of freedom, and how far the halves of the trace are apart: two
// measurements of the same thing. Zero where not known.
type Drift struct{ Variance, DF, Halves float64 }

// A Count is how many of a run's requests are counted.
type Count struct{ N, Of int64 }

// present drops missing values.
func (s Sample) present() []float64 {
	var out []float64
	for _, v := range s.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, v)
		}
	}
	return out
}

// A Stratum is a level of load (and settings) that both sides have.
type Stratum struct {
	Before, After Sample
	Level         int // which one: the same in all figures
}

// A Method is how a row was tested.
type Method string

// The methods, the strongest first.
const (
	ByRanks     Method = "u_test"          // four or more runs a side
	ByWelch     Method = "welch_log"       // two or three
	ByModerated Method = "welch_moderated" // two or three, with the typical noise of all slices
	BySigns     Method = "signs"           // one run a side, six or more levels
	ByBootstrap Method = "within_run"      // one run a side: block bootstrap of its requests
	ByInterval  Method = "interval"        // one run a side: the intervals the figures came with
	ByCounts    Method = "counts"          // a share: out of how many
	ByBuckets   Method = "buckets"         // histograms: by whether their buckets overlap
	SameFiles   Method = "same_files"      // nothing to test
	ByRatio     Method = "ratio_only"      // aggregates without an interval
)

// WithinRun reports whether a method knows of no noise between runs.
func (m Method) WithinRun() bool {
	return m == ByBootstrap || m == ByInterval || m == ByCounts || m == ByBuckets
}
