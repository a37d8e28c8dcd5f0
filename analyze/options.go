package analyze

import (
	"slices"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// Options are the resolved choices of a report: flags over config file over
// defaults, validated before any work.
type Options struct {
	Title       string
	SLOs        []serving.SLO
	Goodput     []serving.Condition
	GroupBy     []string                       // the cross of slices
	Buckets     map[string]cube.Bounds         // by count dimension
	WarmShare   float64                        // cached/prompt from which a prompt counts as warm
	Window      cube.Window                    // only requests that arrived and scrapes taken in it
	Annotations []Event                        // moments to mark in the timelines: deploys
	Incident    cube.Window                    // the incident as the user marked it; zero: found by change points
	PromQL      []Query                        // the user's own expressions over the scraped series
	Model       *ceiling.Model                 // what --model gives; nil: as the files name it
	Hardware    *ceiling.Hardware              // what --hardware gives; nil: as the files name it
	OwnGPUs     []ceiling.GPU                  // the user's own entries of the hardware catalogue
	Price       *Price                         // nil: no cost
	SweepBy     string                         // a setting to take as the load axis; "" for the load itself
	Target      float64                        // requests/s that shall be served; 0 for none
	Capacity    float64                        // of the gate capacity>=N; 0 for none
	Gates       []string                       // slo, regression, capacity
	Progress    func(table string, rows int64) // told how far a scan is; nil for none
	Workers     int                            // 0: GOMAXPROCS; no result depends on it
	NoExact     bool                           // one pass over large tables, quantiles within their RelError
	MaxMemory   int64                          // bytes that the scan of a large table may take; 0: no limit. No result depends on it
	// Of a comparison.
	Diagnosis       []rules.Override           // limits of the diagnosis' rules, where they are not the table's
	Headline        []verdict.Figure           // figures that the verdict rests on; nil: DefaultHeadline
	Thresholds      map[verdict.Figure]float64 // the change that matters, where it is not the default; without a statistic of all of a metric's
	Hypothesis      *Hypothesis                // what was expected of the change; nil for none
	SliceThresholds []SliceThreshold           // the change that matters in one slice, which the regression gate then decides on
}

// DefaultOptions are the defaults of the contract.
func DefaultOptions() Options {
	return Options{
		GroupBy: []string{serving.ColWorkload, string(serving.PromptTokens), cube.DimCache},
		Buckets: map[string]cube.Bounds{
			string(serving.PromptTokens): {128, 512, 2048, 8192, 32768, 131072},
			string(serving.OutputTokens): {64, 256, 1024, 4096},
		},
		WarmShare: 0.9,
	}
}

// A Query is a named PromQL expression.
type Query struct{ Name, Expr string }

// A SliceThreshold is the change that matters of a figure in one slice.
type SliceThreshold struct {
	By     []serving.Term
	Figure verdict.Figure // without a statistic: all of the metric's
	Share  float64
}

// matches reports whether a row is of the slice, by whichever of its names, and of the
// figure.
func (t SliceThreshold) matches(r *CompareRow) bool { return r.isOf(t.By) && t.fits(r.Figure) }

func (t SliceThreshold) fits(f verdict.Figure) bool {
	return t.Figure == f || t.Figure == verdict.Figure{Metric: f.Metric}
}

// isOf reports whether a row is of a slice: rag and long prompts are one row where all
// of rag has long prompts.
func (r *CompareRow) isOf(by []serving.Term) bool {
	same := func(other []serving.Term) bool { return keyOf(other) == keyOf(by) }
	return same(r.By) || slices.ContainsFunc(r.Also, same)
}

// thresholdIn is the change that matters of a figure in a slice.
func (o *Options) thresholdIn(r *CompareRow, f verdict.Figure) float64 {
	for _, t := range o.SliceThresholds {
		if r.isOf(t.By) && t.fits(f) {
			return t.Share
		}
	}
	return o.threshold(f)
}
