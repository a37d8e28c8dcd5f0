package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A gravity is how far the headline figures of a run can be taken as they stand.
type gravity int

const (
	plain       gravity = iota
	failing             // a notable share of the requests is in no latency
	implausible         // the figures cannot be of one run
)

// graveFindings are the doubts that keep a run from the headline while there is
// another, with the word to set beside its figures.
var graveFindings = map[string]struct {
	gravity
	word string
}{
	"failures_look_fast": {failing, ""},
	"units":              {implausible, "in doubt: its units disagree"},
	"above_offered_rate": {implausible, "in doubt: more achieved than was offered"},
}

// doubtsOf are the words to set beside the headline figures of a run, with the
// gravest's gravity.
func doubtsOf(rep *Report, r *RunStats) (worst gravity, words []string) {
	q := Value[QualityFindings](rep)
	for _, i := range q.Of(r.Run.ID) {
		g := graveFindings[q.Findings[i].ID]
		if g.gravity == failing {
			g.word = percent(math.Round(failedOf(r)*1000)/1000) + " of its requests failed"
		}
		if g.gravity > plain && !slices.Contains(words, g.word) {
			worst, words = max(worst, g.gravity), append(words, g.word)
		}
	}
	return worst, words
}

// focus picks the run that the headline figures are of, and names it with what speaks
// against taking them as they are, before the reason why it was picked.
func focus(rep *Report) (r *RunStats, name string) {
	runs := Value[Runs](rep)
	if runs == nil {
		return nil, ""
	}
	r, why := runs.Runs[0], ""
	if len(runs.Runs) > 1 {
		r, why = pick(rep, runs.Runs)
	}
	name = r.Run.Label
	if _, words := doubtsOf(rep, r); len(words) > 0 {
		name += " (" + strings.Join(words, "; ") + ")"
	}
	if why != "" {
		name += ": " + why
	}
	return r, name
}

// pick is the highest level that meets the objectives, else the one of greatest
// power, else the run with the most output. A run in doubt is taken only where all
// are.
func pick(rep *Report, runs []*RunStats) (*RunStats, string) {
	if sw := Value[Sweeps](rep); sw != nil && len(sw.Sweeps) > 0 {
		if r, why := pickLevel(rep, sw.Sweeps[0]); r != nil {
			return r, why
		}
	}
	for most := plain; most <= implausible; most++ {
		if left := upTo(rep, runs, most); len(left) > 0 {
			best := slices.MaxFunc(left, func(a, b *RunStats) int { return cmp.Compare(a.Throughput.Output.Or(0), b.Throughput.Output.Or(0)) })
			return best, "run with the highest output" + among(most, len(left), len(runs))
		}
	}
	return runs[0], ""
}

// pickLevel picks among the levels of a sweep. An objective counts failures itself.
func pickLevel(rep *Report, x *Sweep) (*RunStats, string) {
	var runs []*RunStats
	for i := range x.Points {
		runs = append(runs, x.Points[i].Runs[0])
	}
	for i := len(x.Points) - 1; i >= 0; i-- {
		if x.Points[i].MeetsSLO.Or(false) && len(upTo(rep, runs[i:i+1], failing)) > 0 {
			return runs[i], "highest load that meets every objective"
		}
	}
	for most := plain; most <= implausible; most++ {
		left := upTo(rep, runs, most)
		if p := mostPower(x, left); p != nil {
			return p.Runs[0], powerWhy(x) + among(most, len(left), len(runs))
		}
	}
	return nil, ""
}

// upTo are the runs with no graver doubt.
func upTo(rep *Report, runs []*RunStats, most gravity) []*RunStats {
	return slices.DeleteFunc(slices.Clone(runs), func(r *RunStats) bool { g, _ := doubtsOf(rep, r); return g > most })
}

// mostPower is the level with the greatest throughput over latency, X/R = X²/N
// (Kleinrock), of those with these first runs: where more load costs more latency than
// it gives throughput.
func mostPower(x *Sweep, of []*RunStats) *SweepPoint {
	var best *SweepPoint
	power := 0.0
	for i := range x.Points {
		p := &x.Points[i]
		if p.Users.Or(0) > 0 && p.OutputPerS.OK && slices.Contains(of, p.Runs[0]) {
			if v := p.OutputPerS.V * p.OutputPerS.V / p.Users.V; v > power {
				best, power = p, v
			}
		}
	}
	return best
}

// powerWhy says what makes a level the one of most power. Where the power knee was not
// reached it is the best that was tried, and no more.
func powerWhy(x *Sweep) string {
	if k := x.Knee("power"); k != nil && k.Unit == "users" && !k.X.OK {
		return "of the levels tried, the one with the most throughput for its latency (the power knee is not reached)"
	}
	return "level with the most throughput for its latency (power)"
}

// among says that runs in doubt were passed over.
func among(most gravity, left, all int) string {
	switch {
	case left == all:
		return ""
	case most == plain:
		return fmt.Sprintf(" among the %d of %d without notable failures or doubts", left, all)
	}
	return fmt.Sprintf(" among the %d of %d whose figures are plausible", left, all)
}
