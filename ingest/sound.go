package ingest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
)

// Whatever harness wrote a file, its aggregates keep some order: no time, rate or
// count is negative, and no percentile above a higher one. What is out of range
// counts as missing, since a figure of -1 ms would be shown as one; what contradicts
// stays and is told, for nothing says which of the two is wrong.

// aggregateSlack is the relative difference that rounding may make (judgement): files
// give two decimals, and some interpolate one figure and not the other.
const aggregateSlack = 0.01

// A soundness checks one file's runs.
type soundness struct {
	in *serving.Input
	at serving.Pos
}

// checkRuns takes what cannot be out of the runs of a file, and tells of it.
func checkRuns(runs []*serving.Run, in *serving.Input) {
	for _, r := range runs {
		s := soundness{in, r.Source}
		if s.at.Path == "" {
			s.at.Path = in.Path
		}
		s.totals(r)
		r.Reported = s.inRange(r.Reported)
		s.ordered(r.Reported)
		s.rates(r)
		for i := range r.Slices {
			x := &r.Slices[i]
			s.count("a slice's count of requests", &x.Sent, &x.Completed, &x.Failed)
			x.Reported = s.inRange(x.Reported)
		}
	}
}

func (s soundness) tell(field, kind, format string, a ...any) {
	at := s.at
	at.Field = field
	s.in.Problems.AddKind(field+kind, serving.Problem{At: at, Message: fmt.Sprintf(format, a...), Count: 1})
}

// totals checks what a run says of itself as a whole.
func (s soundness) totals(r *serving.Run) {
	s.count("requests sent", &r.Sent)
	s.count("requests completed", &r.Completed)
	s.count("requests failed", &r.Failed)
	s.count("input tokens", &r.Input)
	s.count("output tokens", &r.Output)
	if d := r.Duration; d.OK && !(d.V >= 0 && d.V <= math.MaxFloat64) {
		s.tell("", "duration", "a duration of %v s, want 0 or more: taken as missing", d.V)
		r.Duration = serving.None[float64]()
	}
	sent := r.Sent
	if text, ok := r.Setting("num_prompts"); ok { // of files whose sent is completed and failed ones
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < sent.Or(math.MaxInt64) {
			sent = serving.Some(n)
		}
	}
	if sent.OK && r.Completed.OK && r.Completed.V > sent.V {
		s.tell("", "completed", "%d requests completed of %d sent, want no more than were sent", r.Completed.V, sent.V)
	}
}

func (s soundness) count(what string, counts ...*serving.Opt[int64]) {
	for _, n := range counts {
		if n.OK && n.V < 0 {
			s.tell("", what, "%d %s, want 0 or more: taken as missing", n.V, what)
			*n = serving.None[int64]()
		}
	}
}

// inRange leaves out figures that are none.
func (s soundness) inRange(all []serving.Reported) []serving.Reported {
	return slices.DeleteFunc(all, func(a serving.Reported) bool {
		if !countsUp(a.Metric) || a.File >= 0 && a.File <= math.MaxFloat64 {
			return false
		}
		s.tell(a.Field, "range", "is %.6g, want 0 or more: taken as missing", a.File)
		return true
	})
}

// countsUp says of which metrics nothing is less than 0: of all that every harness
// knows. One has differences of its own, such as how late it sent.
func countsUp(m serving.MetricKey) bool {
	if _, ok := serving.MetricOf(m); ok {
		return true
	}
	switch m {
	case serving.RateRequests, serving.RateOutput, serving.RateTotal, serving.PeakOutput, serving.PeakConcurrent, serving.GoodRequests,
		serving.TotalInputTokens, serving.TotalOutputTokens, serving.SpecAcceptanceRate, serving.SpecAcceptanceLen:
		return true
	}
	return false
}

// ordered holds the statistics of each metric against each other.
func (s soundness) ordered(all []serving.Reported) {
	type source struct {
		metric serving.MetricKey
		side   serving.Side
		gaps   string
	}
	var order []source
	of := map[source][]serving.Reported{}
	for _, a := range all {
		k := source{a.Metric, a.Side, a.Gaps}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], a)
	}
	for _, k := range order {
		s.ascending(of[k])
	}
}

// ascending says where a lower rank of a metric has a greater value than a higher
// one, or the mean lies outside of its values.
func (s soundness) ascending(all []serving.Reported) {
	var ranked []serving.Reported
	for _, a := range all {
		if _, ok := rankOf(a.Stat); ok {
			ranked = append(ranked, a)
		}
	}
	slices.SortStableFunc(ranked, func(a, b serving.Reported) int {
		x, _ := rankOf(a.Stat)
		y, _ := rankOf(b.Stat)
		return cmp.Compare(x, y)
	})
	for i := 1; i < len(ranked); i++ {
		lo, hi := ranked[i-1], ranked[i]
		if x, _ := rankOf(lo.Stat); above(lo, hi) {
			if y, _ := rankOf(hi.Stat); x < y {
				s.tell(hi.Field, "order", "is %.6g, less than %s at %.6g, want no less", hi.File, lo.Field, lo.File)
			}
		}
	}
	if len(ranked) == 0 {
		return
	}
	least, most := ranked[0], ranked[len(ranked)-1]
	for _, a := range all {
		switch {
		case a.Stat != "mean":
		case most.Stat == "max" && above(a, most):
			s.tell(a.Field, "order", "is %.6g, more than %s at %.6g, want no more", a.File, most.Field, most.File)
		case least.Stat == "min" && above(least, a):
			s.tell(a.Field, "order", "is %.6g, less than %s at %.6g, want no less", a.File, least.Field, least.File)
		}
	}
}

// rankOf is where a statistic lies among the values, 0 for the least and 1 for the
// greatest.
func rankOf(stat string) (float64, bool) {
	switch stat {
	case "min":
		return 0, true
	case "max":
		return 1, true
	}
	return serving.QuantileOf(stat)
}

// above reports whether a figure is more than another, by more than rounding makes.
func above(a, b serving.Reported) bool {
	x, y := a.Value(), b.Value()
	return x-y > aggregateSlack*math.Abs(y) && (x-y)*a.PerBase > aggregateSlack
}

// rates holds the rate of good requests against that of all.
func (s soundness) rates(r *serving.Run) {
	good, ok := r.ReportedValue(serving.GoodRequests, "")
	all, known := r.ReportedValue(serving.RateRequests, "")
	if d := r.Duration.Or(0); !known && d > 0 && r.Completed.OK {
		all, known = float64(r.Completed.V)/d, true
	}
	if ok && known && good > all*(1+aggregateSlack) {
		s.tell("", "good", "%.6g requests/s within the objectives of %.6g completed, want no more than those", good, all)
	}
}
