package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
)

// A phase is a stretch of time as one kind of source saw it: the figures that a
// diagnosis compares between baseline and incident. NaN is not known.
type phase struct {
	From, To float64 // seconds on the subject's axis

	Requests, Completed, Failed, Aborted float64 // arrived, and what became of them
	Retries                              float64 // arrived as a second attempt or later
	Ended                                float64 // completed within it, whenever they arrived
	Admitted                             float64 // into the batch within it, whenever they arrived
	Good                                 float64 // of Requests, those that met every condition of --goodput

	TTFT, TPOT, E2E, Queue, Prefill, Decode, Frontend spread // seconds
	Prompt, Output                                    spread // tokens a request
	CachedShare                                       float64
	OutputTokens                                      float64 // generated in it, by all requests

	Waiting, Running, KV, GPU level
	WaitingEnd                float64 // mean of its last fifth
	ArrivalPeak               float64 // requests/s in its busiest ten seconds or scrape interval
	Preemptions               float64
	CPU                       float64 // cores that the API server's process used
	Throttled                 float64 // share of the CPU periods in which the limit was hit
	TokensPerChunk            float64
	Restarts                  int

	Replicas  []replicaLoad
	Workloads []workloadLoad
}

// A spread is a distribution's figures. Percentiles beyond the highest bound of a
// histogram are missing; they are AtLeast that bound, which is 0 where none is.
type spread struct{ N, Mean, P50, P95, P99, AtLeast float64 }

// noSpread is that of no requests.
var noSpread = spread{Mean: nan, P50: nan, P95: nan, P99: nan}

// floor returns a percentile of the spread, or what it is at least.
func (s spread) floor(percentile float64) float64 {
	if math.IsNaN(percentile) && s.AtLeast > 0 {
		return s.AtLeast
	}
	return percentile
}

// A level is a gauge over a stretch.
type level struct{ Mean, P95, Max float64 }

// A replicaLoad is one replica's part of a phase.
type replicaLoad struct {
	Name              string
	Requests          float64
	Waiting, Running  float64 // mean levels
	Present           bool    // there for most of the phase
	Completed, Output float64
}

// A workloadLoad is one workload's part of a phase.
type workloadLoad struct {
	Name       string
	Requests   float64
	TTFT, TPOT float64 // means of the completed
	Tokens     float64 // prompt and output
}

var nan = math.NaN()

func unknownPhase(from, to float64) *phase {
	s, l := noSpread, level{nan, nan, nan}
	return &phase{From: from, To: to, Requests: nan, Completed: nan, Failed: nan, Aborted: nan, Retries: nan, Ended: nan, Admitted: nan, Good: nan,
		TTFT: s, TPOT: s, E2E: s, Queue: s, Prefill: s, Decode: s, Frontend: s, Prompt: s, Output: s,
		CachedShare: nan, OutputTokens: nan, Waiting: l, Running: l, KV: l, GPU: l, WaitingEnd: nan, ArrivalPeak: nan,
		Preemptions: nan, CPU: nan, Throttled: nan, TokensPerChunk: nan}
}

func (p *phase) seconds() float64 { return p.To - p.From }

func spreadOf(x []float64) spread {
	if len(x) == 0 {
		return noSpread
	}
	q := stat.Quantiles(x, 0.5, 0.95, 0.99)
	return spread{N: float64(len(x)), Mean: stat.Sum(x) / float64(len(x)), P50: q[0], P95: q[1], P99: q[2]}
}

// levelOf leaves out what is missing.
func levelOf(x []float64) level {
	x = slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	if len(x) == 0 {
		return level{nan, nan, nan}
	}
	s := spreadOf(x)
	return level{s.Mean, s.P95, slices.Max(x)}
}

// A signal is a figure over equal windows of time.
type signal struct {
	name   string
	from   float64 // start of the first window
	step   float64
	values []float64 // NaN: nothing in the window
	starts []float64 // of the windows where they are not equally long; nil else
	n      []float64 // requests a window's value rests on; nil where it does not matter
}

func (s *signal) at(i int) float64 {
	if s.starts != nil {
		return s.starts[i]
	}
	return s.from + float64(i)*s.step
}

// end is where a window ends.
func (s *signal) end(i int) float64 {
	if s.starts != nil && i+1 < len(s.starts) {
		return s.starts[i+1]
	}
	return s.at(i) + s.step
}

// windows counts those with a value.
func (s *signal) windows() int {
	n := 0
	for i, v := range s.values {
		if !math.IsNaN(v) && (s.n == nil || s.n[i] > 0) {
			n++
		}
	}
	return n
}

// between are the values of the windows that lie in a stretch.
func (s *signal) between(from, to float64) []float64 {
	if s == nil || s.step <= 0 {
		return nil
	}
	lo := max(0, int(math.Ceil((from-s.from)/s.step-1e-9)))
	hi := min(len(s.values), int(math.Floor((to-s.from)/s.step+1e-9)))
	if hi <= lo {
		return nil
	}
	return s.values[lo:hi]
}

func meanKnown(x []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range x {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / n
}

// lastPart is the mean of the last fifth, of three windows at least.
func lastPart(x []float64) float64 {
	n := max(3, len(x)/5)
	return meanKnown(x[max(0, len(x)-n):])
}
