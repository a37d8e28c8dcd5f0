package analyze

import "github.com/vreport/vreport/ingest/serving"

// Sweeps is the value of section "sweeps".
type Sweeps struct {
	Sweeps   []*Sweep
	Overlays []Overlay // sweeps that may stand on one chart
	Grids    []*Grid   // two settings varied at once, as auto_tune does
}

// A Sweep is a set of runs that differ in load only, or one slice of their
// requests.
type Sweep struct {
	ID        string
	Label     string
	Half      Half           // of a comparison: the side that all of its runs are of
	By        []serving.Term // the slice; empty: all requests
	Mode      serving.LoadMode
	HeldEqual []serving.Setting
	Differed  []Differed   // what differed beside the load, should there be any
	Points    []SweepPoint // ascending in X
	XName     string       // max_concurrency, request_rate or the setting of --sweep-by
	PerGPU    bool         // the throughput axis is per GPU: the count is known for each run
	Front     []string     // run ids on the default frontier, ties included
	Frontiers []Frontier   // the first is the default: tokens/s a user × tokens/s
	Knees     []Knee       // each by its own name; a knee has no single true value
	Regions   []Region     // room, saturating, queueing, as far as the sweep goes
	Capacity  *Capacity    // nil without an objective that could be applied
	Attained  []Attained   // capacity by the share of good requests; none without goodput
	TurnDown  *TurnDown    // where goodput turns down; nil without goodput
	Target    *Target      // nil without --target
	Trade     string       // what the server gains and each user pays, in one sentence
	Slices    []*Sweep     // the same levels, one slice of the requests each; never mixed
	Notes     []string
	Unreached []string // run labels whose concurrency exceeds what was sent
}

// Differed is a setting that was not the same over a sweep. Incidental ones
// (number of prompts, date, seed) change from run to run without changing what
// is measured.
type Differed struct {
	Key        string
	Values     []string
	Incidental bool
}

// A SweepPoint is one load level: the medians over its repeats.
type SweepPoint struct {
	Runs                  []*RunStats          // repeats at this level; the first is shown
	X                     float64              // the load level
	XUnlimited            bool                 // no limit on rate: X is the number of requests
	Reached               bool                 // false: fewer requests were sent than the concurrency
	Users                 serving.Opt[float64] // mean in flight
	Rate                  serving.Opt[float64] // completed requests/s
	OutputPerS            serving.Opt[float64] // per GPU where Sweep.PerGPU
	PerUser               serving.Opt[float64]
	TTFT99, TPOT50, E2E50 serving.Opt[float64] // seconds
	Dominance             string               // on the default frontier; "" where an axis is missing
	Share                 serving.Opt[float64] // of the resamples in which it is on the default frontier
	MeetsSLO              serving.Opt[bool]    // by the intervals; missing where they do not decide
	Within                serving.Opt[bool]    // by the figures themselves
	Goodput               serving.Opt[float64] // requests/s
	Attainment            *Goodput             // of the median repeat, with its interval

	readings []reading
}

// A Frontier is the points that no other beats on throughput and on a second
// axis.
type Frontier struct {
	Key     string            // user, or metric and quantile: ttft_p99
	Metric  serving.MetricKey // of the second axis; "" for tokens/s a user
	P       float64
	Classes []string    // by point: frontier, tied, dominated; "" where an axis is missing
	Shares  []float64   // by point: how often on the frontier when resampled; nil where unknown
	Values  []AxisValue // by point
	Basis   string      // what the shares rest on
}

// An AxisValue is where a point stands on a frontier's axes.
type AxisValue struct{ Y, X serving.Opt[float64] } // Y: tokens/s (a GPU); X: the second axis

// A Knee is one named knee of a sweep.
type Knee struct {
	Method     string               // saturation, power, usl or kneedle
	X          serving.Opt[float64] // in Unit
	Unit       string               // users, or requests/s of an open loop
	Level      serving.Opt[float64] // the same on the load axis of the sweep
	Confidence string               // high, medium, low, not_reached
	Text       string               // the definition and the reading
	Basis      string               // what the confidence rests on
	Shares     map[string]float64   // of the resamples, by the level they answer
}

// Names of regions of a curve.
const (
	Room       = "room"       // more load is more throughput at nearly the same speed
	Saturating = "saturating" // more load is more throughput, and slower for each user
	Queueing   = "queueing"   // more load is more waiting and nothing else
)

// A Region is a stretch of the load axis.
type Region struct {
	Name     string
	From, To float64
	Text     string // what it is and how it was found

	// Of the third: what stopped the server first, what shows it, and what would
	// have to be known where that is unknown.
	StoppedBy string // max_num_seqs, kv_pool, bandwidth, compute or unknown
	Evidence  []string
	Missing   []string
}

// A Capacity is the highest load that still meets every objective, as the
// bracket of the two levels it lies between. Nothing is extrapolated.
type Capacity struct {
	Pass, Fail  serving.Opt[float64] // the last level within, the first beyond; missing where there is none
	FailUnknown bool                 // the first level beyond has no limit on its rate, so no place on the axis
	Estimate    serving.Opt[float64] // between them
	Decided     bool                 // the intervals at both ends decide it
	SurePass    serving.Opt[float64] // the highest level that passes by its interval, below all that fail
	SureFail    serving.Opt[float64] // the lowest level that fails by its interval
	Reentry     []float64            // higher levels that are within again
	Objectives  []string             // what fails first
	At          *SweepPoint          // the point at Pass; nil where none passes
	Text        string
}

// Attained is a capacity by the share of sent requests that are good.
type Attained struct {
	Share      float64 // 0.9, 0.95, 0.99
	Pass, Fail serving.Opt[float64]
	Decided    bool
}

// A TurnDown is the load of the greatest goodput.
type TurnDown struct {
	X         float64
	PerSecond float64 // good requests/s
	Reached   bool    // a higher level has less
	Text      string
}

// A Target is what a wanted rate takes.
type Target struct {
	Rate      float64              // requests/s
	Capacity  serving.Opt[float64] // requests/s of one instance at the passing side
	Instances serving.Opt[int64]
	Headroom  serving.Opt[float64] // share of the instances' capacity that is left
	Text      string
}

// An Overlay is two or more sweeps of one load axis that may be drawn on one
// chart.
type Overlay struct {
	Sweeps []int // indices
	Differ []string
}

// A Grid is the best result at each combination of two settings.
type Grid struct {
	Label   string
	YName   string // rows
	XName   string // columns
	Y, X    []string
	Cells   []GridCell
	Limit   string // the latency limit of the tuner, "" where there is none
	Best    int    // index of the cell with the highest rate; -1 for none
	Missing int    // combinations that no run stands for
}

// A GridCell is one combination.
type GridCell struct {
	Y, X int
	Run  *RunStats
	Rate serving.Opt[float64] // requests/s
	E2E  serving.Opt[float64] // p99, seconds
}

// Knee returns the knee of a method, or nil.
func (s *Sweep) Knee(method string) *Knee {
	for i := range s.Knees {
		if s.Knees[i].Method == method {
			return &s.Knees[i]
		}
	}
	return nil
}

// Region returns the region of a name, or nil.
func (s *Sweep) Region(name string) *Region {
	for i := range s.Regions {
		if s.Regions[i].Name == name {
			return &s.Regions[i]
		}
	}
	return nil
}
