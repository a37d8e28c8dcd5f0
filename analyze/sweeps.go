package analyze

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

func runSweeps(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	runs := Value[Runs](rep)
	if runs == nil {
		return nil, nil, nil
	}
	byRun := map[*serving.Run]*RunStats{}
	for _, r := range runs.Runs {
		byRun[r.Run] = r
	}
	out := Sweeps{Grids: halfGrids(in, runs.Runs)}
	for _, g := range findSweeps(in) {
		s := newSweep(in, g.Group, byRun)
		s.Half = g.half
		out.Sweeps = append(out.Sweeps, s)
	}
	if len(out.Sweeps)+len(out.Grids) == 0 {
		return nil, nil, nil
	}
	label(in, out.Sweeps)
	out.Overlays = overlays(out.Sweeps)
	return &out, []string{
		"A point is on the frontier when no other point of its sweep is better on both axes; tied, when some point is, but by no more than the noise.",
		"Users are the concurrency of a closed loop that was reached, as vLLM's plot_pareto takes it, else the mean number of requests in flight (Little's law).",
		"Closed loop, open loop and capped-open runs are never put on one curve, nor are slices of the requests.",
		"Each knee has a name and a definition: they are different points, and none is the true one. The capacity under an objective is told as the bracket of the two levels it lies between, and never extrapolated.",
	}, nil
}

func newSweep(in *Input, g sweep.Group, byRun map[*serving.Run]*RunStats) *Sweep {
	s, typed := &Sweep{Mode: g.Mode, XName: g.XName, PerGPU: true}, false
	for _, r := range g.Runs {
		n, from := gpusFor(r, in.Opt)
		s.PerGPU = s.PerGPU && n > 0
		typed = typed || from
	}
	for _, l := range g.Levels {
		var rs []reading
		for _, r := range l.Runs {
			rs = append(rs, readingOf(byRun[r], s.gpus(r, in.Opt)))
		}
		s.Points = append(s.Points, newPoint(l, rs))
	}
	s.HeldEqual, s.Differed = settingsOf(g)
	s.frontiers(in.Opt.SLOs)
	s.knees()
	s.regions(in)
	s.capacity()
	s.attained()
	s.turnDown()
	s.target(in.Opt)
	s.trade()
	s.slices(in, g)
	s.notes(in.Opt)
	if typed && s.PerGPU {
		s.Notes = append(s.Notes, fmt.Sprintf("The number of GPUs, %d, is that of --hardware: the files do not state it.", in.Opt.Hardware.Count))
	}
	return s
}

// gpusFor is the number of GPUs that served a run, as its file says, else as
// --hardware does; 0 where neither does. It is never assumed.
func gpusFor(r *serving.Run, opt Options) (n int, typed bool) {
	switch {
	case r.GPUs.Or(0) > 0:
		return r.GPUs.V, false
	case opt.Hardware != nil && opt.Hardware.Count > 0:
		return opt.Hardware.Count, true
	}
	return 0, false
}

// gpus is what the tokens/s of a run are divided by; 0 where the sweep is per
// server.
func (s *Sweep) gpus(r *serving.Run, opt Options) int {
	if !s.PerGPU {
		return 0
	}
	n, _ := gpusFor(r, opt)
	return n
}

// tradeGain is the growth of throughput from which there is a trade to speak of.
const tradeGain = 1.1

// trade says in one sentence what the server gains by a larger batch and what
// each user pays: it is no contradiction, it is the price.
func (s *Sweep) trade() {
	ps := s.reached()
	if r := s.Region(Queueing); r != nil {
		// Beyond it users pay for waiting, not for a larger batch.
		ps = slices.DeleteFunc(ps, func(p *SweepPoint) bool { return p.X > r.From })
	}
	if len(ps) < 2 {
		return
	}
	a, b := ps[0], ps[len(ps)-1]
	if !a.PerUser.OK || !b.PerUser.OK || b.OutputPerS.V < tradeGain*a.OutputPerS.V || b.PerUser.V >= a.PerUser.V {
		return
	}
	what := "the server"
	if s.PerGPU {
		what = "each GPU"
	}
	s.Trade = fmt.Sprintf("From %s to %s %s gives more tokens/s, %s → %s (× %.3g), and each user gets fewer, %s → %s (÷ %.3g): the normal price of a larger batch, not a contradiction.",
		s.loadText(a), s.loadText(b), what, number(a.OutputPerS.V), number(b.OutputPerS.V), b.OutputPerS.V/a.OutputPerS.V,
		number(a.PerUser.V), number(b.PerUser.V), a.PerUser.V/b.PerUser.V)
}

// settingsOf lists what was equal over a sweep and what differed beside the
// load.
func settingsOf(g sweep.Group) (equal []serving.Setting, differed []Differed) {
	first := g.Runs[0]
	add := func(key, value string) {
		if value != "" {
			equal = append(equal, serving.Setting{Key: key, Value: value})
		}
	}
	add("model", first.Model.Or(""))
	add("engine", first.Engine.Or(""))
	add("backend", first.Backend.Or(""))
	add("workload", first.Workload.Or(""))
	if first.GPUs.OK {
		add("gpus", fmt.Sprint(first.GPUs.V))
	}
	for _, key := range settingKeys(g.Runs) {
		values, missing := settingValues(g.Runs, key)
		switch {
		case len(values) == 1 && !missing:
			add(key, values[0])
		case key == g.XName:
		default:
			differed = append(differed, Differed{Key: key, Values: values, Incidental: sweep.Volatile(key)})
		}
	}
	return equal, differed
}

// settingValues are the distinct values of a setting, and whether a run lacks
// it.
func settingValues(runs []*serving.Run, key string) (values []string, missing bool) {
	for _, r := range runs {
		v, ok := r.Setting(key)
		missing = missing || !ok
		if ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	slices.SortStableFunc(values, byNumber)
	return values, missing
}

func settingKeys(runs []*serving.Run) []string {
	var keys []string
	for _, r := range runs {
		for _, s := range r.Settings {
			if !slices.Contains(keys, s.Key) {
				keys = append(keys, s.Key)
			}
		}
	}
	return keys
}

// notes says what touches the curve as a whole.
func (s *Sweep) notes(opt Options) {
	var most, sent int64
	for _, p := range s.Points {
		if p.Reached {
			continue
		}
		for _, r := range p.Runs {
			if c := r.Run.Load.MaxConcurrency.Or(0); c > r.Counts.Sent.Or(0) {
				s.Unreached = append(s.Unreached, r.Run.Label)
				most, sent = max(most, c), max(sent, r.Counts.Sent.V)
			}
		}
	}
	if n := len(s.Unreached); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: a concurrency of up to %d with %d requests is never reached, so %s no real increase in load: all requests are in flight at once. Knees count such levels as one, and regions and capacity leave them out; users are the mean in flight.",
			strings.Join(s.Unreached, ", "), most, sent, isAre(n)))
	}
	switch s.Mode {
	case serving.CappedOpen:
		s.cappedNote()
	case serving.ClosedLoop:
		s.Notes = append(s.Notes, s.openLoopCheck())
	}
	if !s.PerGPU {
		s.Notes = append(s.Notes, "The number of GPUs is not in the files: throughput is per server. Give --hardware NAME:COUNT to have it per GPU.")
	}
	if len(opt.SLOs) == 0 {
		s.Notes = append(s.Notes, "No objective is set: the highest load that meets one is not known. Pass --slo, for example --slo 'ttft:p95<500ms'.")
	}
	if s.TurnDown == nil && len(opt.Goodput) == 0 {
		s.Notes = append(s.Notes, "No conditions of a good request are set: where goodput turns down is not known. Pass --goodput, for example --goodput ttft:500,tpot:50.")
	}
}

func isAre(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

// cappedNote says which of the two limits a capped-open sweep was held by: the
// rate it was offered, or its cap.
func (s *Sweep) cappedNote() {
	rates := map[float64]bool{}
	top := 0.0
	for _, p := range s.Points {
		for _, r := range p.Runs {
			rates[r.Run.Load.RequestRate.V] = true
			top = max(top, r.Throughput.Requests.Or(0))
		}
	}
	if len(rates) != 1 {
		return
	}
	for rate := range rates {
		text := fmt.Sprintf("Capped-open: %s requests/s were offered under a cap on those in flight, and at most %s were completed.", number(rate), number(top))
		if top < stat.AchievedShare*rate {
			text += " The offered rate was never achieved, so the cap rules: the levels behave like a closed loop, and their TTFT does not show the wait for a place."
		} else {
			text += " From where the rate is achieved, a higher cap is no more load."
		}
		s.Notes = append(s.Notes, text)
	}
}

// openLoopCheck names the check that a closed loop cannot make: it sends less
// when the server is slow, so it never shows a collapse.
func (s *Sweep) openLoopCheck() string {
	rate := "RATE"
	model := s.Points[0].Runs[0].Run.Model.Or("MODEL")
	if c := s.Capacity; c != nil && c.At != nil && c.At.Rate.Or(0) > 0 {
		rate = fmt.Sprintf("%.3g", c.At.Rate.V)
	}
	return fmt.Sprintf("Closed loop only: the final check at a fixed arrival rate is missing. A closed loop sends less when the server is slow, so it cannot show a collapse. Run vllm bench serve --model %s --request-rate %s with the same lengths, at the rate you expect.", model, rate)
}

// label names each sweep after its side, in a comparison, and what tells it from
// the others.
func label(in *Input, sweeps []*Sweep) {
	var parts [][]string
	for _, s := range sweeps {
		r := s.Points[0].Runs[0].Run
		parts = append(parts, []string{r.Model.Or(""), r.Engine.Or(r.Backend.Or("")), r.Workload.Or(""),
			lengths(s), filepath.Base(filepath.Dir(r.Source.Path)), string(s.Mode)})
	}
	for i, s := range sweeps {
		var words []string
		for k, w := range parts[i] {
			same := !slices.ContainsFunc(parts, func(o []string) bool { return o[k] != w })
			if w != "" && w != "." && (k == 0 || !same) {
				words = append(words, w)
			}
		}
		s.ID = fmt.Sprintf("sweep-%d", i+1)
		s.Label = strings.Join(words, ", ")
		if s.Label == "" {
			s.Label = s.ID
		}
		if name := in.name(s.Half); name != "" {
			s.Label = name + " · " + s.Label
		}
	}
}

// lengths writes a sweep's mean lengths, as people name their sweeps.
func lengths(s *Sweep) string {
	for _, p := range s.Points {
		r := p.Runs[0]
		n := r.Counts.Completed
		if n.Or(0) > 0 && r.Input.OK && r.Output.OK {
			return fmt.Sprintf("%.0f in / %.0f out", float64(r.Input.V)/float64(n.V), float64(r.Output.V)/float64(n.V))
		}
	}
	return ""
}

func dirOf(r *serving.Run) string { return filepath.Dir(r.Source.Path) }
