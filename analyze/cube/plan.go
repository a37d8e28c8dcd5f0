package cube

import (
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A Plan says what a scan has to bring back. It is complete before the scan
// starts, so that an engine may take two passes and keep only what was asked
// for: which quantiles, of which metrics, of which groups.
type Plan struct {
	Metrics    []serving.MetricKey // those the source lacks are left out silently
	Groupings  []Grouping
	Buckets    map[string]Bounds // dimensions made of a count column: prompt_tokens, output_tokens, …
	Quantiles  []float64         // 0…1, ascending
	Confidence float64           // of the order-statistic intervals, e.g. 0.95
	CDF        bool              // also a quantile grid (CDFGrid) for drawing; not in groupings with DimTime
	WarmShare  float64           // cached/prompt at or above which a prompt is warm, e.g. 0.9

	Conditions []serving.Condition // goodput: all must hold; empty for none
	Limits     []Limit             // attainment: each counted by itself

	Window    Window // rows outside are not counted at all; zero value: everything
	MaxGroups int    // per grouping, time windows apart; the rest is folded into Other, most frequent kept, ties by name; 0: 1000
	Examples  int    // the slowest requests by TTFT, E2E and worst gap to remember, with their positions
	Workers   int    // 0: GOMAXPROCS

	// Windowed narrows what groupings with DimTime bring; nil: what the others
	// do. There are thousands of such cells, and nobody reads the p99.9 of the
	// cached tokens of a minute.
	Windowed *Windowed
	// NoExact saves the second scan of a source that is too large to be held:
	// quantiles come from histograms, with their Summary.Error.
	NoExact bool
	// MaxMemory is what the scans of a source that is too large to be held may
	// take, bytes: fewer workers, more passes. 0: no limit. No result depends on
	// it.
	MaxMemory int64
	// Explore, where set, asks for a cross with histograms: Cube.Explored.
	Explore *Explore
	// Distrust has nothing rest on what a source says of itself: see ErrTold.
	Distrust bool
	// Watch, where set, sees the rows as they come: a scan of one's own would
	// decode them once more.
	Watch *Watch
}

// A Watch is shown the batches of a scan, each row once, warm-up and rows outside
// the window included. Batches of one part come in order from one goroutine, those
// of several parts at once. A batch is valid until See returns.
type Watch struct {
	Columns []string // those the source lacks must not be among them
	See     func(part int, b *serving.Batch)
}

// Windowed is what groupings with DimTime bring: no intervals with it.
type Windowed struct {
	Metrics   []serving.MetricKey
	Quantiles []float64 // ascending
}

func (w *Windowed) has(k serving.MetricKey) bool {
	return w == nil || slices.Contains(w.Metrics, k)
}

// A Grouping is a list of dimensions whose combinations become cells; an empty
// list is one cell of everything. A dimension is a text column, a count column
// with Buckets, DimCache or DimTime. A grouping with a dimension the source
// lacks gets the value Unknown for it.
type Grouping []string

// Dimensions that the engine derives.
const (
	DimCache = "cache" // cold, partial, warm, unknown: from cached_tokens / prompt_tokens
	DimTime  = "@time" // windows of arrival time: at most MaxWindows, on round steps
)

// MaxWindows bounds the windows of DimTime.
const MaxWindows = 300

// Values of dimensions that stand for something else.
const (
	Unknown = "unknown" // the row has no value
	Other   = "(other)" // folded: more distinct values than MaxGroups
)

// Bounds are the lower bounds of all buckets but the first, ascending: 128,512
// gives 0-127, 128-511 and 512+.
type Bounds []int64

// A Limit is a threshold whose share of *sent* requests within it is counted.
type Limit struct {
	By     []serving.Term // only for rows of this slice; cells outside report 0 of 0
	Metric serving.MetricKey
	Max    float64 // base unit; within means ≤ Max
}

// Whoever tests a request against a Limit or a Condition goes by these rules:
// only a completed request can be within it; of a list (ITL) the worst gap
// counts, so that the answer is about requests; a one-token output has no gap
// to be late in and is within any limit on TPOT and ITL; any other missing
// value is a miss. A request that was not streamed has no first token of its own
// and no gaps: no Limit on TTFT, TPOT or ITL is for it, and a Condition on TTFT
// goes by its E2E.

// A Window is a half-open stretch of arrival times, ns. Both zero: no limit.
type Window struct{ From, To int64 }

// A Cube is a filled plan.
type Cube struct {
	Rows     int64 // rows scanned, warm-up and out-of-window rows included
	Excluded []Exclusion
	First    serving.Opt[int64] // arrival times seen among counted rows, ns
	Last     serving.Opt[int64]
	LastEnd  serving.Opt[int64] // last end time among counted rows, ns; arrival + e2e where only that is known
	Relative bool               // the times count from an arbitrary origin
	Scanned  bool               // too large to be held in memory: no ACF1, CDF from histograms

	Start serving.Opt[int64] // start of the first time window, ns
	Step  int64              // length of a time window, ns; 0 where there are none

	Groups   []Group // aligned with Plan.Groupings
	Examples []Example
	Explored *Explored // nil unless Plan.Explore
}

// An Exclusion tells how many rows were left out, and why.
type Exclusion struct {
	Reason string
	Rows   int64
}

// A Group is one grouping's cells: ordered by their keys (buckets by their
// lower bound, cache states cold to unknown, time by window, text by name;
// Other last, Unknown before it), the same whatever the order of the scan.
type Group struct {
	Dims   Grouping
	Cells  []Cell
	Folded map[string]int // per dimension: distinct values folded into Other
}

// A Cell is what is known of one combination.
type Cell struct {
	Key    []string // a value a dimension
	Window int      // index of the time window where DimTime is a dimension, else -1

	Sent     int64
	Outcomes [serving.NumOutcomes]int64
	Good     int64   // requests that met all Conditions
	Within   []int64 // aligned with Plan.Limits: requests within the limit
	Of       []int64 // aligned with Plan.Limits: requests the limit is for
	Slack    []int64 // aligned with Plan.Limits: requests that may be within, too, as a rollup's bucket leaves open; nil where all is known
	Input    int64   // prompt tokens of completed requests
	Output   int64   // output tokens of completed requests
	Cached   int64   // cached tokens of completed requests that say so
	CachedOf int64   // prompt tokens of completed requests that say what was cached

	Summaries map[serving.MetricKey]*Summary // of completed requests that have the value
}

// A Summary describes the values of one metric in one cell, in base units.
// Std is of sums in fixed point where the cube was Scanned, of the values
// themselves where not: they agree to 1e-9.
type Summary struct {
	N         int64
	Mean      float64
	Std       float64 // population
	Min, Max  float64
	Quantiles []Quantile // aligned with Plan.Quantiles
	CDF       []float64  // values at CDFGrid, nil unless asked for; of the larger cells of a Scanned cube within 1/128
	Error     float64    // relative error of the quantiles; 0 where exact
}

// A Quantile is a type 7 quantile with its order-statistic interval. Lo or Hi
// is missing where the interval has no end there: n is too small.
type Quantile struct {
	P, Value float64
	Lo, Hi   serving.Opt[float64]
	// ACF1 is the lag-1 autocorrelation of {x > Value} in arrival order, where
	// arrival times are known. Cells of a source that is too large to be held in
	// memory have none: it would take every value's neighbour.
	ACF1 serving.Opt[float64]
}

// An Example is a request to look at.
type Example struct {
	Rank   serving.MetricKey // what it is slow in
	ID     string
	At     serving.Opt[int64] // arrival, ns
	Source string             // file
	Row    int64              // 1-based within the file's part
	Values map[serving.MetricKey]float64
	Dims   map[string]string // text dimensions, for a label
}

// CDFGrid is the grid of quantiles a distribution is drawn from: denser in the
// tail, up to p99.99.
var CDFGrid = cdfGrid()

func cdfGrid() []float64 {
	var g []float64
	for i := 0; i < 90; i++ {
		g = append(g, float64(i)/100)
	}
	for i := 900; i < 990; i += 4 {
		g = append(g, float64(i)/1000)
	}
	for i := 9900; i < 9990; i += 8 {
		g = append(g, float64(i)/10000)
	}
	return append(g, 0.999, 0.9995, 0.9999, 1)
}
