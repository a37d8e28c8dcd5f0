package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A Hypothesis is what the user wrote down before the experiment: what should
// change, by how much, and what would refute it.
type Hypothesis struct {
	Statement string
	Expect    ChangeLimit
	Refute    []ChangeLimit
	BuiltIn   string // DecodePressure: conditions that are known for this experiment; "" for none
}

// DecodePressure is the experiment of running fewer sequences at once, so that
// each decodes faster.
const DecodePressure = "decode-pressure"

// A ChangeLimit is a change of a figure beyond a limit: tpot:p95<-5%.
type ChangeLimit struct {
	Text   string
	Figure verdict.Figure
	Above  bool    // the change is to be above the limit, else below it
	Change float64 // share of the value; of a share of requests a difference
}

// An Experiment is the answer to a hypothesis.
type Experiment struct {
	Statement  string
	Result     ExperimentResult
	Conditions []Condition
}

// ExperimentResult says what to do with the change that was tried.
type ExperimentResult string

// The results.
const (
	Adopt         ExperimentResult = "adopt"
	Reject        ExperimentResult = "reject"
	UndecidedYet  ExperimentResult = "undecided"
	answerMet                      = "met"
	answerNotMet                   = "not_met"
	answerUnknown                  = "undecided"
)

// A Condition is one question asked beforehand, with its answer.
type Condition struct {
	Kind   ConditionKind
	Text   string
	Answer string // met, not_met or undecided
	Value  serving.Opt[float64]
	Lo, Hi serving.Opt[float64]
	Why    string
}

// ConditionKind says what an answer means for the result.
type ConditionKind string

// The kinds: what was expected has to be met, what refutes must not be, and what
// adoption needs has to hold whatever was expected.
const (
	Expected ConditionKind = "expected"
	Refutes  ConditionKind = "refutes"
	Required ConditionKind = "required"
)

// experiment answers the user's hypothesis.
func (c *comparing) experiment() {
	h := c.in.Opt.Hypothesis
	if h == nil {
		return
	}
	e := &Experiment{Statement: h.Statement}
	e.Conditions = append(e.Conditions, c.changeCondition(Expected, h.Expect))
	for _, l := range h.Refute {
		e.Conditions = append(e.Conditions, c.changeCondition(Refutes, l))
	}
	if h.BuiltIn == DecodePressure {
		e.Conditions = append(e.Conditions, c.fewerWithoutGain(), c.memoryUnrelated(), c.lossBeyondGain())
	}
	e.Conditions = append(e.Conditions, c.oneChange(), c.repeated(), c.sameDirection(h.Expect.Figure), c.noMoreFailures(), c.noBacklog())
	e.conclude()
	c.out.Experiment = e
}

// conclude folds the answers. One that refutes is enough to reject; adoption
// needs all of them.
func (e *Experiment) conclude() {
	e.Result = Adopt
	for _, c := range e.Conditions {
		switch {
		case c.Kind == Refutes && c.Answer == answerMet, c.Kind == Expected && c.Answer == answerNotMet:
			e.Result = Reject
			return
		case c.Kind == Refutes && c.Answer != answerNotMet, c.Kind != Refutes && c.Answer != answerMet:
			e.Result = UndecidedYet
		}
	}
}

// rowFor is the comparison of a figure over all levels, made where the tables do
// not have it.
func (c *comparing) rowFor(f verdict.Figure) *CompareRow {
	if r := rowOf(slices.Concat(c.out.Headline, c.out.Others), f); r != nil && r.Method != verdict.NotCompared {
		return r
	}
	rows := c.figures([]verdict.Figure{f}, c.out.Pairs, 1)
	verdict.DecideHeadline(plainRows(rows))
	return rowOf(rows, f)
}

// changeCondition asks whether a change is beyond a limit: by the whole interval,
// since a point estimate alone answers nothing.
func (c *comparing) changeCondition(kind ConditionKind, l ChangeLimit) Condition {
	out := Condition{Kind: kind, Text: l.Text, Answer: answerUnknown}
	r := c.rowFor(l.Figure)
	if r == nil {
		out.Why = "the sides do not both have this figure"
		return out
	}
	out.Value, out.Lo, out.Hi = r.shift(r.Ratio), r.shift(r.Lo), r.shift(r.Hi)
	lo, hi, ok := r.bounds()
	switch {
	case !ok:
		out.Why = "the change has no interval"
	case l.Above && lo > l.Change, !l.Above && hi < l.Change:
		out.Answer = answerMet
	case l.Above && hi <= l.Change, !l.Above && lo >= l.Change:
		out.Answer = answerNotMet
	default:
		out.Why = "the interval holds the limit"
		if r.Assumed.OK {
			out.Why += ", with the noise between runs that has to be assumed"
		}
	}
	return out
}

// shift turns a ratio into a change; of a share it is one already.
func (r *CompareRow) shift(v serving.Opt[float64]) serving.Opt[float64] {
	if v.OK && !r.Figure.IsShare() {
		v.V--
	}
	return v
}

// bounds is the interval of the change. Where only the noise within a run is
// known it is widened by what two runs are taken to differ by.
func (r *CompareRow) bounds() (lo, hi float64, ok bool) {
	if !r.Lo.OK || !r.Hi.OK {
		return 0, 0, false
	}
	if r.Figure.IsShare() {
		return r.Lo.V, r.Hi.V, true
	}
	more := 1 + r.Assumed.Or(0)
	return r.Lo.V/more - 1, r.Hi.V*more - 1, true
}

// fewerWithoutGain refutes decode pressure: fewer sequences ran, and TPOT is no
// better.
func (c *comparing) fewerWithoutGain() Condition {
	out := Condition{Kind: Refutes, Text: "fewer active sequences without a better TPOT", Answer: answerUnknown}
	tpot := c.rowFor(verdict.Figure{Metric: serving.TPOT, Stat: "p50"})
	i := slices.IndexFunc(c.out.Pressure, func(p PressureRow) bool { return p.What == pressureRunning })
	switch {
	case i < 0 || !c.out.Pressure[i].Before.OK || !c.out.Pressure[i].After.OK:
		out.Why = "it needs scrapes of both sides: how many sequences ran is not known"
		return out
	case tpot == nil:
		out.Why = "the sides do not both have TPOT"
		return out
	}
	p := c.out.Pressure[i]
	out.Value, out.Lo, out.Hi = tpot.shift(tpot.Ratio), tpot.shift(tpot.Lo), tpot.shift(tpot.Hi)
	fewer := p.After.V < (1-leastFewer)*p.Before.V
	out.Why = fmt.Sprintf("%s → %s sequences ran on average, TPOT p50 is %s", number(p.Before.V), number(p.After.V), tpot.Call)
	switch {
	case !fewer, tpot.Call == verdict.Faster:
		out.Answer = answerNotMet
	case tpot.Call == verdict.Slower, tpot.Call == verdict.Equivalent:
		out.Answer = answerMet
	}
	return out
}

// leastFewer is the fall of the running sequences that counts as one.
const leastFewer = 0.05

// lossBeyondGain refutes decode pressure: what is won in TPOT is lost in queue
// and TTFT.
func (c *comparing) lossBeyondGain() Condition {
	out := Condition{Kind: Refutes, Text: "queue and TTFT lose more than TPOT gains", Answer: answerUnknown}
	tpot := c.rowFor(verdict.Figure{Metric: serving.TPOT, Stat: "p95"})
	wait := c.rowFor(verdict.Figure{Metric: serving.Queue, Stat: "p95"})
	if wait == nil {
		wait = c.rowFor(verdict.Figure{Metric: serving.TTFT, Stat: "p95"})
	}
	if tpot == nil || wait == nil {
		out.Why = "the sides do not both have TPOT and TTFT"
		return out
	}
	out.Value, out.Lo, out.Hi = wait.shift(wait.Ratio), wait.shift(wait.Lo), wait.shift(wait.Hi)
	out.Why = fmt.Sprintf("%s against %s", change(wait), change(tpot))
	wlo, whi, ok0 := wait.bounds()
	tlo, thi, ok1 := tpot.bounds()
	if !ok0 || !ok1 {
		return out
	}
	// On a logarithmic scale a halved TPOT and a doubled TTFT are as much.
	loss := [2]float64{math.Log1p(wlo), math.Log1p(whi)}
	gain := [2]float64{-math.Log1p(thi), -math.Log1p(tlo)}
	switch {
	case loss[0] > max(0, gain[1]):
		out.Answer = answerMet
	case loss[1] <= max(0, gain[0]):
		out.Answer = answerNotMet
	}
	return out
}

// repeated asks for more than one run: of one nobody knows what it is worth.
func (c *comparing) repeated() Condition {
	n := min(c.out.Sides[before].Repeats, c.out.Sides[after].Repeats)
	out := Condition{Kind: Required, Text: "two or more repeats a side", Answer: answerMet, Value: serving.Some(float64(n))}
	if n < 2 {
		out.Answer, out.Why = answerNotMet, "with one run a side a difference may be one of two runs of the same thing"
	}
	return out
}

// sameDirection asks whether all repeats of the second side lie on one side of
// the first one's mean.
func (c *comparing) sameDirection(f verdict.Figure) Condition {
	out := Condition{Kind: Required, Text: "all repeats change " + figureTitle(f) + " in one direction", Answer: answerUnknown}
	up, down := c.directions(f)
	switch {
	case up+down == 0:
		out.Why = "no repeats of both sides have it"
	case up > 0 && down > 0:
		out.Answer, out.Why = answerNotMet, c.directionText(up, down)
	default:
		out.Answer = answerMet
	}
	return out
}

// directions counts the repeats of the second side above and below the mean of
// the first.
func (c *comparing) directions(f verdict.Figure) (up, down int) {
	for _, p := range c.out.Pairs {
		var mid, n float64
		for _, v := range sample(p.units[before], f).Values {
			if !math.IsNaN(v) {
				mid, n = mid+v, n+1
			}
		}
		if n == 0 {
			continue
		}
		for _, v := range sample(p.units[after], f).Values {
			switch {
			case v > mid/n:
				up++
			case v < mid/n:
				down++
			}
		}
	}
	return up, down
}

// directionText says how the runs of the second side lie. Each level counts its own
// runs.
func (c *comparing) directionText(up, down int) string {
	where, n := "", len(c.out.Pairs)
	if n > 1 {
		where = fmt.Sprintf(" at its level (%d levels)", n)
	}
	names := c.in.sides.Names
	return fmt.Sprintf("of %s in %s %d are above the mean of %s%s and %d below", plural(up+down, "run", "runs"), names[after], up, names[before], where, down)
}

// oneChange asks whether the outcome can be put down to what was tried: to one
// setting, of the same requests.
func (c *comparing) oneChange() Condition {
	out := Condition{Kind: Required, Text: "one thing was changed, and the requests are the same", Answer: answerMet}
	keys, workload := c.out.settingsChanged()
	switch {
	case workload:
		out.Answer, out.Why = answerNotMet, "other requests: "+strings.Join(c.workloadKeys(), ", ")
	case len(keys) > 1:
		out.Answer, out.Why = answerNotMet, plural(len(keys), "thing", "things")+" changed: "+strings.Join(keys, ", ")
	case len(keys) == 0:
		out.Why = "the files state no change at all; what was changed is not in them"
	}
	return out
}

// noMoreFailures asks for no more errors and timeouts than before: latencies are
// of completed requests, and one that failed has none to spoil them.
func (c *comparing) noMoreFailures() Condition {
	out := Condition{Kind: Required, Text: "no more errors and timeouts than before", Answer: answerUnknown}
	r := c.rowFor(verdict.Figure{Metric: verdict.FailedShare})
	if r == nil {
		out.Why = "the sides do not both say what failed"
		return out
	}
	out.Value, out.Lo, out.Hi = r.Ratio, r.Lo, r.Hi
	switch {
	case r.Call == verdict.Slower, r.Lo.OK && r.Lo.V > 0:
		out.Answer, out.Why = answerNotMet, change(r)
	case r.Hi.OK && r.Hi.V < r.Threshold:
		out.Answer = answerMet
	default:
		out.Why = "too few requests to exclude that more fail"
	}
	return out
}

// noBacklog asks whether the second side finished what it took.
func (c *comparing) noBacklog() Condition {
	out := Condition{Kind: Required, Text: "no backlog is left over", Answer: answerMet}
	q := Value[QualityFindings](c.rep)
	if q == nil {
		return out
	}
	for _, f := range q.Findings {
		if f.ID != "backlog" {
			continue
		}
		for _, u := range c.units[after] {
			if u.run != nil && u.run.Run.ID == f.Subject || u.run == nil && u.label == f.Subject {
				out.Answer, out.Why = answerNotMet, f.Subject+": "+f.Message
				return out
			}
		}
	}
	return out
}
