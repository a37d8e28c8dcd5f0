package analyze

import (
	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/analyze/cube"
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
	PromQL      []Query                        // the user's own expressions over the scraped series
	Model       *ceiling.Model                 // what --model gives; nil: as the files name it
	Hardware    *ceiling.Hardware              // what --hardware gives; nil: as the files name it
	OwnGPUs     []ceiling.GPU                  // the user's own entries of the hardware catalogue
	Price       *Price                         // nil: no cost
	SweepBy     string                         // a setting to take as the load axis; "" for the load itself
	Gates       []string                       // slo, regression
	Progress    func(table string, rows int64) // told how far a scan is; nil for none
	Workers     int                            // 0: GOMAXPROCS; no result depends on it
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
