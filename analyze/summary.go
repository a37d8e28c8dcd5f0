package analyze

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// minSliceRequests is how many completed requests a slice needs before the
// summary names it: a p99 of twenty requests is no reason to look anywhere.
const minSliceRequests = 72 // the least n that gives p95 a two-sided interval

func runSummary(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	s := &Summary{Tone: "neutral", Badge: "MEASURED"}
	s.verdict(rep)
	s.compared(rep)
	if d := Value[Diagnoses](rep); d != nil {
		s.diagnosed(d)
	}
	if sw := Value[Sweeps](rep); sw != nil {
		for _, x := range sw.Sweeps {
			s.Points = append(s.Points, sweepPoint(x))
		}
	}
	s.unanswered(in, rep)
	s.slowest(rep)
	s.servers(rep)
	if q := Value[QualityFindings](rep); q != nil && len(q.Findings) > 0 {
		s.Points = append(s.Points, plural(len(q.Findings), "doubt", "doubts")+" about the data: see Data quality")
	}
	s.cards(rep)
	s.chips(in)
	if s.Title == "" {
		s.Title = whatWasRead(in.Data)
	}
	return s, nil, nil
}

// compared puts the verdict of a comparison first: objectives are checked beside
// it.
func (s *Summary) compared(rep *Report) {
	c := Value[Comparison](rep)
	if c == nil {
		return
	}
	points := slices.Concat(c.Cautions, c.Points)
	if s.Title != "" {
		points = append(points, s.Title)
	}
	s.Title, s.Badge, s.Points = c.Title, strings.ToUpper(string(c.Verdict)), append(points, s.Points...)
	s.Tone = map[Verdict]string{VerdictBetter: "good", VerdictWorse: "bad", VerdictMixed: "warn", VerdictUndecided: "warn", VerdictEquivalent: "neutral"}[c.Verdict]
}

// whatWasRead is the headline where there is no verdict to give.
func whatWasRead(ds *serving.Dataset) string {
	var parts []string
	if n := len(ds.Runs); n > 0 {
		parts = append(parts, plural(n, "benchmark run", "benchmark runs"))
	}
	if n := len(ds.Traces); n > 0 {
		parts = append(parts, plural(n, "request trace", "request traces"))
	}
	if n := len(ds.Rollups); n > 0 {
		parts = append(parts, plural(n, "rollup of requests", "rollups of requests"))
	}
	if n := len(ds.Servers); n > 0 {
		parts = append(parts, plural(n, "server", "servers"))
	}
	return strings.Join(parts, ", ")
}

// verdict counts what the objectives say.
func (s *Summary) verdict(rep *Report) {
	var pass, fail, undecided int
	without := map[string]int{}
	count := func(rs []SLOResult) {
		for _, r := range rs {
			switch r.Result {
			case GatePass:
				pass++
			case GateFail:
				fail++
			default:
				undecided++
				without[r.Without]++
			}
		}
	}
	if runs := Value[Runs](rep); runs != nil {
		for _, r := range runs.Runs {
			count(r.SLO)
		}
	}
	if sl := Value[Slices](rep); sl != nil {
		for _, d := range sl.Datasets {
			if d.Run == nil {
				count(d.All.SLO)
			}
		}
	}
	total := pass + fail + undecided
	switch {
	case total == 0:
		return
	case fail == 0 && undecided == 0:
		s.Tone, s.Badge, s.Title = "good", "SLO MET", fmt.Sprintf("All %d objective checks pass", total)
	case fail > 0:
		s.Tone, s.Badge = "bad", "SLO MISSED"
		s.Title = fmt.Sprintf("%d of %d objective checks fail", fail, total)
	default:
		s.Tone, s.Badge = "warn", "UNDECIDED"
		s.Title = fmt.Sprintf("%d of %d objective checks cannot be decided%s", undecided, total, undecidedWhy(without))
	}
	if undecided > 0 && fail > 0 {
		s.Points = append(s.Points, fmt.Sprintf("%d further checks cannot be decided%s", undecided, undecidedWhy(without)))
	}
}

// undecidedWhy says for want of what so many checks are undecided, "" being more
// requests.
func undecidedWhy(without map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(without)) {
		text := ": " + k
		if k == "" {
			text = " with this many requests"
		}
		if len(without) > 1 {
			text = fmt.Sprintf("%d%s", without[k], text)
		}
		parts = append(parts, text)
	}
	if len(parts) > 1 {
		return ": " + strings.Join(parts, "; ")
	}
	return strings.Join(parts, "")
}

// sweepPoint says what a sweep shows in one sentence.
func sweepPoint(x *Sweep) string {
	first, last := x.Points[0], x.Points[len(x.Points)-1]
	unit := "tokens/s"
	if x.PerGPU {
		unit = "tokens/s per GPU"
	}
	text := x.Label + ": " + plural(len(x.Points), "load level", "load levels")
	if first.OutputPerS.OK && last.OutputPerS.OK && first.PerUser.OK && last.PerUser.OK {
		text += fmt.Sprintf("; from the lowest to the highest load %s goes %s → %s while a user's tokens/s go %s → %s",
			unit, number(first.OutputPerS.V), number(last.OutputPerS.V), number(first.PerUser.V), number(last.PerUser.V))
	}
	if k := x.Knee("saturation"); k != nil {
		switch {
		case !k.X.OK:
			text += "; saturation knee not reached"
			if p := x.Knee("power"); p != nil && p.X.OK {
				text += fmt.Sprintf(", power knee near %.3g %s (%s confidence)", p.X.V, p.Unit, p.Confidence)
			}
		case x.Mode == serving.OpenLoop:
			text += fmt.Sprintf("; saturated from %s requests/s offered", number(k.X.V))
		default:
			text += fmt.Sprintf("; saturation knee near %.0f users in flight (%s confidence)", k.X.V, k.Confidence)
		}
	}
	if r := x.Region(Queueing); r != nil {
		text += fmt.Sprintf("; from %s on only the queue grows", x.axisText(r.From))
		if r.StoppedBy != StoppedByUnknown {
			text += " (stopped by " + r.StoppedBy + ")"
		}
	}
	if c := x.Capacity; c != nil {
		text += "; capacity under the objectives " + c.short(x)
	}
	if t := x.Target; t != nil && t.Instances.OK {
		text += fmt.Sprintf("; %s requests/s take %s", number(t.Rate), plural(int(t.Instances.V), "instance", "instances"))
	}
	return text
}

// unanswered says why a wanted rate has no answer where no sweep takes it up.
func (s *Summary) unanswered(in *Input, rep *Report) {
	if in.Opt.Target <= 0 {
		return
	}
	if sw := Value[Sweeps](rep); sw != nil && len(sw.Sweeps) > 0 {
		return
	}
	why := "it takes runs that differ in load only, with an objective (--slo)"
	if len(in.Data.Runs) == 0 {
		why = "it takes benchmark runs at several loads, with an objective (--slo): what was sent here shows one load, and not how much more would have been served"
	}
	s.Points = append(s.Points, fmt.Sprintf("Target of %s requests/s: not known; %s", number(in.Opt.Target), why))
}

// slowest names the slice of each trace whose TTFT (or E2E) tail stands out
// most against the whole.
func (s *Summary) slowest(rep *Report) {
	sl := Value[Slices](rep)
	if sl == nil {
		return
	}
	for _, d := range sl.Datasets {
		if d.Run != nil {
			continue
		}
		metric := serving.TTFT
		if d.All.Dists.Of(metric) == nil {
			metric = serving.E2E
		}
		all := d.All.Dists.stat(metric, "p95")
		worst, ratio := (*Slice)(nil), 1.25
		for _, x := range d.Cross {
			v := x.Dists.stat(metric, "p95")
			if x.Counts.Completed.Or(0) >= minSliceRequests && v.OK && all.Or(0) > 0 && v.V/all.V > ratio {
				worst, ratio = x, v.V/all.V
			}
		}
		if worst != nil {
			m, _ := serving.MetricOf(metric)
			s.Points = append(s.Points, fmt.Sprintf("%s: slowest slice %s, %s p95 %s against %s of all (%.1f ×), %s of the requests",
				d.Dataset, termsText(worst.By), m.Title, seconds(worst.Dists.stat(metric, "p95").V), seconds(all.V), ratio, shareText(worst.Share)))
		}
	}
}

// shareText rounds a share to tenths of a percent; a slice that is there is never
// nothing of the whole.
func shareText(v float64) string {
	if v > 0 && v < 0.001 {
		return "under 0.1 %"
	}
	return percent(math.Round(v*1000) / 1000)
}

func termsText(by []serving.Term) string {
	var parts []string
	for _, t := range by {
		parts = append(parts, t.Dim+" "+t.Value)
	}
	return strings.Join(parts, ", ")
}

// notableKV is the KV usage from which it is worth a word by itself.
const notableKV = 0.5

func (s *Summary) servers(rep *Report) {
	sv := Value[Servers](rep)
	if sv == nil {
		return
	}
	for _, x := range sv.Servers {
		var facts []string
		if n := len(x.Server.Restarts); n > 0 {
			facts = append(facts, plural(n, "restart", "restarts"))
		}
		for _, i := range x.Increases {
			if i.Name == serving.Preemptions && i.Value > 0 && !x.SinceStart {
				facts = append(facts, plural(int(i.Value), "preemption", "preemptions"))
			}
		}
		for _, g := range x.Gauges {
			if g.Name == serving.Waiting && len(g.By) == 0 && g.Max > 0 {
				facts = append(facts, "up to "+plural(int(g.Max), "request", "requests")+" waiting")
			}
			if g.Name == serving.KVUsage && len(g.By) == 0 && (g.Max >= notableKV || len(facts) > 0) {
				facts = append(facts, "KV cache up to "+percent(math.Round(g.Max*1000)/1000))
			}
		}
		if len(facts) > 0 && len(s.Points) < 8 {
			s.Points = append(s.Points, x.Server.Label+": "+strings.Join(facts, ", "))
		}
	}
}

// chips are the facts that hold for everything that was read.
func (s *Summary) chips(in *Input) {
	one := func(key string, get func(*serving.Run) serving.Opt[string]) {
		seen := map[string]bool{}
		last := ""
		for _, r := range in.Data.Runs {
			if v := get(r); v.OK {
				seen[v.V], last = true, v.V
			}
		}
		if len(seen) == 1 {
			s.Chips = append(s.Chips, Chip{key, last})
		} else if len(seen) > 1 {
			s.Chips = append(s.Chips, Chip{key, fmt.Sprintf("%d different", len(seen))})
		}
	}
	one("model", func(r *serving.Run) serving.Opt[string] { return r.Model })
	one("engine", func(r *serving.Run) serving.Opt[string] { return r.Engine })
	one("client", func(r *serving.Run) serving.Opt[string] { return r.Backend })
	one("load", func(r *serving.Run) serving.Opt[string] { return serving.Some(string(r.Load.Mode) + " loop") })
	for _, x := range in.Data.Servers {
		if x.Engine != "" {
			s.Chips = append(s.Chips, Chip{"server", strings.TrimSpace(x.Engine + " " + x.Version.Or(""))})
			break
		}
	}
	s.Chips = append(s.Chips, Chip{"files", fmt.Sprint(len(in.Data.Inputs))})
}

// diagnosed says what explains the symptoms best, or that there are none.
func (s *Summary) diagnosed(v *Diagnoses) {
	for _, d := range v.Diagnoses {
		if len(d.Present()) > 0 {
			s.Points = append(s.Points, d.Label+": "+d.Verdict)
		}
	}
	if len(v.Diagnoses) == 1 && len(v.Diagnoses[0].Present()) == 0 && v.Diagnoses[0].Known {
		s.Points = append(s.Points, v.Diagnoses[0].Verdict)
	}
}
