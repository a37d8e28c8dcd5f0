package analyze

import (
	"github.com/vreport/vreport/ingest/serving"
)

// A Report is the outcome of all analyses: what every output format prints.
type Report struct {
	Title   string
	Gate    Gate
	Results []Result // one a section, in section order
}

// A Result is what one section found. Exactly one of Value and Skipped is set.
type Result struct {
	Section *Section
	Value   any      // the section's own type: Summary, Runs, …
	Skipped string   // why there is nothing: what the section would need
	Notes   []string // doubts and definitions, for people
}

// Value returns the value of type T among the results, or nil where its section
// was skipped.
func Value[T any](r *Report) *T {
	for _, s := range r.Results {
		if v, ok := s.Value.(*T); ok {
			return v
		}
	}
	return nil
}

// A Gate is the answer CI jobs ask for.
type Gate struct {
	Result  GateResult
	Reasons []string
}

// GateResult is the outcome of a gate. Fail beats undecided beats pass.
type GateResult string

// The outcomes.
const (
	GateNone      GateResult = "none"
	GatePass      GateResult = "pass"
	GateFail      GateResult = "fail"
	GateUndecided GateResult = "undecided"
)

// Origin says what a distribution was computed from.
type Origin string

// The origins.
const (
	FromRequests  Origin = "requests"
	FromFile      Origin = "file" // the file's own aggregates, taken as they are
	FromHistogram Origin = "histogram"
	FromRollup    Origin = "rollup" // buckets of requests that were aggregated elsewhere
)

// Quality is how far a quantile can be trusted.
type Quality string

// The qualities, by statistics of the tail: see package stat.
const (
	QualityOK             Quality = "ok"
	QualityWeak           Quality = "weak"
	QualityUnsupported    Quality = "unsupported"
	QualityAutocorrelated Quality = "autocorrelated"
	QualityCoarse         Quality = "coarse" // a histogram bucket wider than a factor 1.5, or without an upper end
	QualityUnknown        Quality = ""       // a file's own figure without its n
)

// A Dist is the distribution of one metric over the completed requests that
// have it, in the metric's base unit (seconds for durations).
type Dist struct {
	Metric    serving.MetricKey
	Count     serving.Opt[int64]
	Mean      serving.Opt[float64]
	Std       serving.Opt[float64] // population
	Min, Max  serving.Opt[float64]
	Quantiles []Quantile // ascending in P
	CDF       []float64  // values at cube.CDFGrid; nil where unknown
	Origin    Origin
	Side      serving.Side
	Gaps      string  // of itl: token or chunk
	RelError  float64 // of the quantiles; 0 where exact
	PromQL    string  // of a server histogram: the query the quantiles equal
}

// A Quantile is a quantile with its interval and a label of how far n carries
// it. From a histogram the interval is the bucket.
type Quantile struct {
	P       float64
	Value   serving.Opt[float64] // missing: beyond the last finite bucket, Lo is the bound
	Lo, Hi  serving.Opt[float64]
	Quality Quality
}

// Q returns the quantile at p.
func (d *Dist) Q(p float64) (Quantile, bool) {
	for _, q := range d.Quantiles {
		if q.P == p {
			return q, true
		}
	}
	return Quantile{}, false
}

// Dists are the distributions of a run, slice or server, in metric order.
type Dists []*Dist

// Of returns the distribution of a metric, or nil.
func (ds Dists) Of(k serving.MetricKey) *Dist {
	for _, d := range ds {
		if d.Metric == k {
			return d
		}
	}
	return nil
}

// Counts are what became of the requests.
type Counts struct {
	Sent, Completed, Failed serving.Opt[int64]
	Outcomes                map[string]int64 // by outcome name; nil where unknown
}

// A Goodput is the share and rate of requests that met every condition.
type Goodput struct {
	PerSecond serving.Opt[float64]
	Share     serving.Opt[float64] // of those sent
	Lo, Hi    serving.Opt[float64] // Wilson interval of the share
	Good      serving.Opt[int64]
	Of        serving.Opt[int64]
	Origin    Origin // requests: the user's conditions; file: the file's own, not stored in it
}

// An SLOResult is one objective's attainment.
type SLOResult struct {
	Expr       string
	Attainment serving.Opt[float64] // share of sent requests within the limit
	Lo, Hi     serving.Opt[float64] // Wilson interval
	Value      serving.Opt[float64] // the statistic itself, base unit
	Result     GateResult           // pass, fail or undecided
	Reason     string
	Without    string // undecided for want of this, which no number of requests of this kind mends; "" otherwise
}

// Throughput holds rates over a run's duration.
type Throughput struct {
	Requests, Output, Total serving.Opt[float64] // per second
	OutputPerGPU            serving.Opt[float64]
	OutputPerUser           serving.Opt[float64] // tokens/s a user sees: output rate / mean in flight, or 1/TPOT
	PeakOutput              serving.Opt[float64]
	PeakConcurrent          serving.Opt[float64]
	InFlight                serving.Opt[float64] // mean requests in flight (Little's law)
}

// Runs is the value of section "runs".
type Runs struct{ Runs []*RunStats }

// RunStats is one benchmark run with its figures.
type RunStats struct {
	Run        *serving.Run
	Counts     Counts
	Duration   serving.Opt[float64] // seconds
	Input      serving.Opt[int64]
	Output     serving.Opt[int64]
	Throughput Throughput
	Goodput    *Goodput // nil where neither conditions nor the file's own exist
	SLO        []SLOResult
	Dists      Dists
	Mismatch   []Mismatch
	Warnings   []string
	Reading    string // what TPOT and ITL say together, in words; "" where not applicable
	Examples   []Example
}

// A Mismatch is an aggregate of the file that its own requests do not give.
type Mismatch struct {
	Field      string
	File, Ours float64 // in the file's own unit
}

// Slices is the value of section "slices".
type Slices struct {
	Datasets []*DatasetStats
}

// DatasetStats is one table of requests with its slices. Tables are never
// pooled.
type DatasetStats struct {
	Dataset  string       // label, path or run id
	Half     Half         // of a comparison: its side
	Run      *serving.Run // set where the table is a run's arrays
	Side     serving.Side
	Columns  []serving.Column
	Rows     int64
	Excluded []Excluded
	Span     serving.Opt[float64] // seconds from first arrival to last end
	All      *Slice
	Cross    []*Slice // the cross of --group-by
	GroupBy  []string
	Alone    []Dimension // each dimension alone
	Examples []Example
	Problems []serving.Problem // found while scanning
	Warnings []string
	Explore  *Explorer // nil where there is nothing to choose from
}

// A Dimension is one dimension's slices, that dimension alone.
type Dimension struct {
	Name   string
	Slices []*Slice
	Folded int // distinct values folded into "(other)"
}

// Excluded tells how many rows were left out of the figures, and why.
type Excluded struct {
	Reason string
	Rows   int64
}

// A Slice is one combination of dimension values.
type Slice struct {
	By            []serving.Term // empty: all
	Counts        Counts
	Share         float64 // of the dataset's sent requests
	Goodput       *Goodput
	SLO           []SLOResult
	Dists         Dists
	Input, Output int64
	CachedShare   serving.Opt[float64] // cached / prompt tokens where both are known
}

// An Example is a slow request to look at; never with its text.
type Example struct {
	Rank   serving.MetricKey
	ID     string
	At     serving.Opt[int64] // ns
	Source string
	Row    int64
	Values map[serving.MetricKey]float64
	By     []serving.Term
}

// Servers is the value of section "servers".
type Servers struct{ Servers []*ServerStats }

// ServerStats is one server's figures over its scrapes.
type ServerStats struct {
	Server     *serving.Server
	From, To   serving.Opt[int64] // ns; missing where the times are only an order
	Scrapes    int
	SinceStart bool  // one scrape only: figures are since process start
	Dists      Dists // from histogram differences, side server
	Increases  []Increase
	Gauges     []GaugeStats
	Gaps       []serving.Gap // stretches without a scrape inside the window
	Members    int           // of a fleet: the number of replicas summed; 0 for one server

	hists []histWindow
}

// An Increase is a counter's increase over the window, resets added up.
type Increase struct {
	Name   serving.SeriesName
	By     []serving.Term
	Unit   serving.Unit
	Value  float64
	Resets int
	PromQL string

	selector string // of the series it is made of
}

// GaugeStats summarizes a gauge over the scrapes.
type GaugeStats struct {
	Name           serving.SeriesName
	By             []serving.Term
	Unit           serving.Unit
	Mean, Min, Max float64
	Last           float64 // NaN of a fleet, which has no single last value
	N              int
	PromQL         string

	selector string // of the series it is made of
}

// Timelines is the value of section "timeline": one a group of sources that
// share a time axis.
type Timelines struct{ Timelines []*Timeline }

// A Timeline is series on one time axis.
type Timeline struct {
	Title    string
	From     int64 // ns; of Relative an offset from the start
	Aligned  bool  // two sides of a comparison, each from its own start
	Relative bool
	Counted  bool    // steps are slices whose length nothing states: a second stands for one
	Step     float64 // seconds
	N        int     // number of steps
	Points   string  // what time its points are of, in words
	Series   []TimelineSeries
	Events   []Event
}

// A TimelineSeries is one figure over time.
type TimelineSeries struct {
	Metric string // queue, ttft, requests_per_s, …
	Stat   string // p50, p99, rate, "" for a gauge
	Label  string // dataset or server
	Half   Half   // of a comparison: its side
	By     []serving.Term
	Unit   serving.Unit
	Side   serving.Side
	Panel  string    // which panel it is drawn in: throughput, latency, requests, kv
	Values []float64 // NaN where missing
	PromQL string
}

// An Event is a moment worth marking.
type Event struct {
	At     int64  // ns
	To     int64  // ns; 0 for a moment
	Kind   string // restart, gap, deploy, partial; of a log oom, timeout, 5xx, died
	Text   string
	Source string
	Count  int64 // lines of a log; 0 of what is none
}

// Summary is the value of section "summary": what a reader sees first.
type Summary struct {
	Tone   string // good, warn, bad, neutral
	Badge  string
	Title  string
	Points []string
	Cards  []Card
	Chips  []Chip
}

// A Card is one headline figure.
type Card struct {
	Label  string
	Metric string // a metric key or rate key, for its unit
	Unit   serving.Unit
	Value  serving.Opt[float64]
	Before serving.Opt[float64] // of a comparison: the first side's value; missing: no comparison
	N      serving.Opt[int64]
	Sub    string // where it is from, with its condition
	SLO    string // "meets SLO ≤ 500 ms", "" where none
	Tone   string // of the SLO line
}

// A Chip is a fact about the whole report.
type Chip struct{ Key, Value string }

// Inputs is the value of section "inputs".
type Inputs struct {
	Inputs         []*serving.Input
	Known, Unknown int
}
