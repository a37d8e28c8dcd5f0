package render

import (
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// summaryView is the first screen: what was measured, the verdict, the figures
// to see first.
type summaryView struct {
	Title   string
	Chips   []Fact
	Verdict *verdictView
	Gate    *verdictView
	Focus   string // what all cards are of
	Cards   []cardView
}

type verdictView struct {
	Tone, Badge, Title string
	Points             []string
}

type cardView struct {
	Label, Value, Unit, Sub string
	Was                     string // of a comparison: the first side's value
	SLO                     *cardSLO
}

type cardSLO struct{ Tone, Text string }

func viewSummary(c *pageContext, value any) (any, error) {
	s, err := valueAs[analyze.Summary](value)
	if err != nil {
		return nil, err
	}
	v := &summaryView{Title: c.rep.Title, Gate: gateView(c.rep.Gate)}
	for _, k := range s.Chips {
		v.Chips = append(v.Chips, Fact(k))
	}
	if s.Title != "" || s.Badge != "" || len(s.Points) > 0 {
		v.Verdict = &verdictView{tone(s.Tone), s.Badge, s.Title, s.Points}
		if v.Gate != nil && analyze.Value[analyze.Comparison](c.rep) != nil {
			v.Verdict.Tone = v.Gate.Tone // one colour on top of a page: that of the check
		}
	}
	v.Focus = commonSub(s.Cards)
	for _, k := range s.Cards {
		if v.Focus != "" {
			k.Sub = ""
		}
		v.Cards = append(v.Cards, newCard(k))
	}
	return v, nil
}

// commonSub returns what every card is of, to be said once above them.
func commonSub(cards []analyze.Card) string {
	if len(cards) == 0 {
		return ""
	}
	for _, c := range cards {
		if c.Sub != cards[0].Sub {
			return ""
		}
	}
	return cards[0].Sub
}

func newCard(k analyze.Card) cardView {
	out := cardView{Label: k.Label, Sub: k.Sub}
	out.Value, out.Unit = splitUnit(FormatValue(k.Unit, k.Value))
	if k.Before.OK {
		// Both values with one unit where they share it.
		was, unit := splitUnit(FormatValue(k.Unit, k.Before))
		if unit != out.Unit {
			was += "\u00a0" + unit
		}
		out.Was = was
	}
	if k.Unit == serving.PerSecond && k.Value.OK {
		out.Unit = rateUnit(k.Metric)
	}
	if k.N.OK {
		out.Sub = strings.TrimPrefix(out.Sub+" · n\u00a0=\u00a0"+FormatCount(k.N.V), " · ")
	}
	if k.SLO != "" {
		out.SLO = &cardSLO{tone(k.Tone), toneSign(k.Tone) + k.SLO}
	}
	return out
}

// splitUnit parts a formatted value from its unit, which a card prints small.
func splitUnit(s string) (value, unit string) {
	value, unit, _ = strings.Cut(s, " ")
	return value, unit
}

// rateUnit says of what a rate is.
func rateUnit(metric string) string {
	switch {
	case strings.Contains(metric, "token"):
		return "tok/s"
	case strings.Contains(metric, "request"), strings.Contains(metric, "goodput"):
		return "req/s"
	}
	return "/s"
}

func tone(t string) string {
	switch t {
	case "good", "warn", "bad":
		return t
	}
	return "neutral"
}

// toneSign says a tone without its colour.
func toneSign(t string) string {
	switch t {
	case "good":
		return "✓ "
	case "bad":
		return "✗ "
	case "warn":
		return "? "
	}
	return ""
}

// maxReasons bounds the reasons of a gate on the page; the JSON has them all.
const maxReasons = 12

func gateView(g analyze.Gate) *verdictView {
	if g.Result == analyze.GateNone || g.Result == "" {
		return nil
	}
	title := map[analyze.GateResult]string{
		analyze.GatePass:      "Every condition of the gate is met, with the whole interval on the good side (exit status 0)",
		analyze.GateFail:      "At least one condition of the gate is not met (exit status 1)",
		analyze.GateUndecided: "The data cannot decide: an interval straddles its limit, n is too small, or the files hold no requests to have one from (exit status 3)",
	}[g.Result]
	points := g.Reasons
	if len(points) > maxReasons {
		rest := len(points) - maxReasons
		points = append(append([]string(nil), points[:maxReasons]...), "and "+FormatCount(int64(rest))+" more, in the JSON")
	}
	return &verdictView{gateTone(g.Result), "gate: " + string(g.Result), title, points}
}
