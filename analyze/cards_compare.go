package analyze

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// maxComparedCards is how many figures of a comparison stand first: those that
// decide, filled up with others.
const maxComparedCards = 6

// comparedCards are the headline figures of a comparison, from one side to the
// other.
func (s *Summary) comparedCards(c *Comparison) {
	rows := slices.Concat(c.Headline, c.Others)
	for i, r := range rows {
		if i >= len(c.Headline) && len(s.Cards) >= maxComparedCards {
			break
		}
		if !r.Before.OK || !r.After.OK {
			continue
		}
		tone := callTones[r.Call]
		if r.Mix {
			tone = "neutral" // no change of the server
		}
		s.Cards = append(s.Cards, Card{Label: upperFirst(figureTitle(r.Figure)), Metric: string(r.Figure.Metric), Unit: figureUnit(r.Figure), Before: r.Before, Value: r.After,
			Sub: fmt.Sprintf("%s → %s", c.Sides[before].Name, c.Sides[after].Name), SLO: r.callText(), Tone: tone})
	}
}

var callTones = map[verdict.Call]string{verdict.Faster: "good", verdict.Slower: "bad", verdict.Equivalent: "neutral", verdict.Undecided: "warn"}

// callText is the change with what is to be said of it: +12.1 %: slower.
func (r *CompareRow) callText() string {
	call := string(r.Call)
	if r.Figure.Better() == serving.HigherIsBetter || r.Figure.IsShare() {
		switch r.Call {
		case verdict.Slower:
			call = "worse"
		case verdict.Faster:
			call = "better"
		}
	}
	if r.Mix {
		call += " by mix"
	}
	switch {
	case !r.Ratio.OK:
		return call
	case r.Figure.IsShare():
		return fmt.Sprintf("%s: %s", points(r.Ratio.V), call)
	}
	return fmt.Sprintf("%s: %s", ratioText(r.Ratio.V), call)
}

// points writes a difference of two shares.
func points(v float64) string {
	if v < 0 {
		return fmt.Sprintf("−%.1f points", -v*100)
	}
	return fmt.Sprintf("+%.1f points", v*100)
}

// figureUnit is the unit of a compared figure.
func figureUnit(f verdict.Figure) serving.Unit {
	switch {
	case f.IsShare():
		return serving.Share
	case f.Metric == serving.RateRequests, f.Metric == serving.RateOutput, f.Metric == serving.RateTotal:
		return serving.PerSecond
	}
	m, _ := serving.MetricOf(f.Metric)
	return m.Unit
}

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-0x20) + s[1:]
}
