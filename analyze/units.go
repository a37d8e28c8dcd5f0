package analyze

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// unitSlack is the factor around 10³, 10⁶ or 10⁹ within which a ratio is taken
// for a unit that is wrong (judgement): between s, ms, µs and ns nothing else is
// a factor.
const unitSlack = 2

// thousands returns the power of a thousand that a ratio is close to.
func thousands(ratio float64) (power int, ok bool) {
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return 0, false
	}
	power = int(math.Round(math.Log10(ratio) / 3))
	if power == 0 || power < -3 || power > 3 {
		return 0, false
	}
	off := ratio / math.Pow(1000, float64(power))
	return power, off <= unitSlack && off >= 1/float64(unitSlack)
}

// A unitCheck holds a figure against what others say it must be.
type unitCheck struct {
	what, from   string
	value, other serving.Opt[float64]
	metric       serving.MetricKey
}

// units looks for figures that are a thousand times what they can be.
func units(c *runCheck) []Finding {
	var out []Finding
	for _, m := range c.Mismatch {
		if _, ok := thousands(m.File / m.Ours); ok {
			out = append(out, c.finding("units", m.File/m.Ours, 1, nil, "%s: the file says %.6g, its requests give %.6g: one has another unit", m.Field, m.File, m.Ours))
		}
	}
	for _, u := range c.unitChecks() {
		if f, ok := u.finding(c.RunStats); ok {
			out = append(out, f)
		}
	}
	return out
}

func (u unitCheck) finding(s *RunStats) (Finding, bool) {
	if !u.value.OK || !u.other.OK || u.other.V == 0 {
		return Finding{}, false
	}
	ratio := u.value.V / u.other.V
	if _, ok := thousands(ratio); !ok {
		return Finding{}, false
	}
	var touches []serving.MetricKey
	if u.metric != "" {
		touches = []serving.MetricKey{u.metric}
	}
	return s.finding("units", ratio, 1, touches, "%s is %s × %s: one of them has another unit", u.what, number(ratio), u.from), true
}

// unitChecks are the figures of one run that others give as well.
func (s *RunStats) unitChecks() []unitCheck {
	per := func(n serving.Opt[int64]) serving.Opt[float64] {
		if !n.OK || s.Duration.Or(0) <= 0 {
			return serving.None[float64]()
		}
		return serving.Some(float64(n.V) / s.Duration.V)
	}
	out := []unitCheck{
		{"the request rate", "completed requests over the duration", s.Throughput.Requests, per(s.Counts.Completed), serving.RateRequests},
		{"the output rate", "output tokens over the duration", s.Throughput.Output, per(s.Output), serving.RateOutput},
	}
	return append(out, timeChecks(s.Dists, s.Counts.Completed, s.Output)...)
}

// timeChecks hold the mean times of a request against each other.
func timeChecks(ds Dists, completed, output serving.Opt[int64]) []unitCheck {
	ttft, tpot, e2e, itl := ds.stat(serving.TTFT, "mean"), ds.stat(serving.TPOT, "mean"), ds.stat(serving.E2E, "mean"), ds.stat(serving.ITL, "mean")
	none := serving.None[float64]()
	sum := none
	if ttft.OK && tpot.OK && output.OK && completed.Or(0) > 0 {
		sum = serving.Some(ttft.V + tpot.V*max(0, float64(output.V)/float64(completed.V)-1))
	}
	return []unitCheck{
		{"mean ITL", "mean TPOT", itl, tpot, serving.ITL},
		{"mean E2E", "TTFT + TPOT × (output − 1)", e2e, sum, serving.E2E},
	}
}

// impossible reports a first token that comes after the last.
func impossible(subject, label string, ds Dists) []Finding {
	ttft, e2e := ds.Of(serving.TTFT), ds.Of(serving.E2E)
	if ttft == nil || e2e == nil || !ttft.Mean.OK || !e2e.Mean.OK || e2e.Mean.V <= 0 || ttft.Side != e2e.Side || ttft.Mean.V <= 1.01*e2e.Mean.V {
		return nil
	}
	if ttft.Count.OK && e2e.Count.OK && ttft.Count.V != e2e.Count.V && ttft.Mean.V < 2*e2e.Mean.V {
		return nil // of other requests
	}
	ratio := ttft.Mean.V / e2e.Mean.V
	return []Finding{{ID: "units", Subject: subject, Value: serving.Some(ratio), Threshold: serving.Some(1.0), N: ttft.Count, Metrics: []serving.MetricKey{serving.TTFT, serving.E2E},
		Message: fmt.Sprintf("%s: mean TTFT is %s × mean E2E, and no first token comes after the last: one of them has another unit", label, number(ratio))}}
}

// fastestToken is the least time that a request takes for a token of its answer
// (judgement): ten thousand tokens a second are several times what the fastest
// engines give to one request.
const fastestToken = 1e-4

// fewOutputTokens is how many tokens an answer must have on average for its time to
// be told by them.
const fewOutputTokens = 8

// tooFast reports answers that come faster than anything makes them: seconds in a
// column of milliseconds, for one.
func tooFast(subject, label string, ds Dists, completed, output int64) []Finding {
	e2e := ds.Of(serving.E2E)
	if e2e == nil || !e2e.Mean.OK || e2e.Mean.V <= 0 || completed <= 0 || output < fewOutputTokens*completed {
		return nil
	}
	per := e2e.Mean.V * float64(completed) / float64(output)
	if per >= fastestToken {
		return nil
	}
	return []Finding{{ID: "units", Subject: subject, Value: serving.Some(per), Threshold: serving.Some(fastestToken), N: e2e.Count, Metrics: []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E},
		Message: fmt.Sprintf("%s: an answer of %s tokens comes within %s on average, which is %s tokens a second for one request: the times may have another unit", label,
			number(signif(float64(output)/float64(completed))), seconds(signif(e2e.Mean.V)), number(signif(1/per)))}}
}
