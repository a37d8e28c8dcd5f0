package analyze

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// tieTolerance is the relative difference per axis within which a point counts
// as tied with the frontier where there are no repeats to tell noise from.
const tieTolerance = 0.02

func runSweeps(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	runs := Value[Runs](rep)
	if runs == nil {
		return nil, nil, nil
	}
	byRun := map[*serving.Run]*RunStats{}
	for _, r := range runs.Runs {
		byRun[r.Run] = r
	}
	var out Sweeps
	for _, g := range sweep.Find(in.Data.Runs, in.Opt.SweepBy) {
		out.Sweeps = append(out.Sweeps, newSweep(g, byRun))
	}
	if len(out.Sweeps) == 0 {
		return nil, nil, nil
	}
	label(out.Sweeps)
	return &out, []string{
		"A point is on the frontier when no other point of its sweep gives more tokens/s to a user and more tokens/s in total.",
		"Users are the concurrency of a closed loop that was reached, else the mean number of requests in flight (Little's law).",
		"Closed loop, open loop and capped-open runs are never put on one curve.",
	}, nil
}

func newSweep(g sweep.Group, byRun map[*serving.Run]*RunStats) *Sweep {
	s := &Sweep{Mode: g.Mode, XName: g.XName, PerGPU: true}
	for _, r := range g.Runs {
		s.PerGPU = s.PerGPU && r.GPUs.OK
	}
	for _, l := range g.Levels {
		p := SweepPoint{X: l.X, XUnlimited: l.Unlimited}
		for _, r := range l.Runs {
			p.Runs = append(p.Runs, byRun[r])
		}
		p.fill(s.PerGPU)
		s.Points = append(s.Points, p)
	}
	s.HeldEqual, s.Differed = settingsOf(g)
	s.frontier()
	s.Knee = s.saturation()
	s.notes()
	return s
}

// fill takes a level's figures: the medians over its repeats.
func (p *SweepPoint) fill(perGPU bool) {
	get := func(f func(*RunStats) serving.Opt[float64]) serving.Opt[float64] {
		var vs []float64
		for _, r := range p.Runs {
			if v := f(r); v.OK {
				vs = append(vs, v.V)
			}
		}
		if len(vs) == 0 {
			return serving.None[float64]()
		}
		slices.Sort(vs)
		return serving.Some(stat.Quantile(vs, 0.5))
	}
	p.OutputPerS = get(func(r *RunStats) serving.Opt[float64] {
		if perGPU {
			return r.Throughput.OutputPerGPU
		}
		return r.Throughput.Output
	})
	p.Users = get((*RunStats).users)
	p.PerUser = get(func(r *RunStats) serving.Opt[float64] { return r.Throughput.OutputPerUser })
	p.TTFT99 = get(func(r *RunStats) serving.Opt[float64] { return r.Dists.stat(serving.TTFT, "p99") })
	p.TPOT50 = get(func(r *RunStats) serving.Opt[float64] { return r.Dists.stat(serving.TPOT, "p50") })
	p.E2E50 = get(func(r *RunStats) serving.Opt[float64] { return r.Dists.stat(serving.E2E, "p50") })
	p.Goodput = get(func(r *RunStats) serving.Opt[float64] {
		if r.Goodput == nil {
			return serving.None[float64]()
		}
		return r.Goodput.PerSecond
	})
	p.MeetsSLO = p.meets()
}

// meets reports whether every repeat passes every objective; missing where
// there is none or one is undecided and none fails.
func (p *SweepPoint) meets() serving.Opt[bool] {
	all, any := true, false
	for _, r := range p.Runs {
		for _, s := range r.SLO {
			any = true
			if s.Result == GateFail {
				return serving.Some(false)
			}
			all = all && s.Result == GatePass
		}
	}
	if !any || !all {
		return serving.None[bool]()
	}
	return serving.Some(true)
}

// frontier marks the points by dominance on tokens/s a user × tokens/s.
func (s *Sweep) frontier() {
	var at []int
	var pts [][]float64
	for i, p := range s.Points {
		if p.PerUser.OK && p.OutputPerS.OK {
			at = append(at, i)
			pts = append(pts, []float64{-p.PerUser.V, -p.OutputPerS.V})
		}
	}
	classes := stat.Dominance(pts, []float64{tieTolerance, tieTolerance})
	for k, i := range at {
		p := &s.Points[i]
		p.Dominance = string(classes[k])
		if p.Dominance == "frontier" {
			for _, r := range p.Runs {
				s.Front = append(s.Front, r.Run.ID)
			}
		}
	}
}

// saturation is the knee where the two asymptotes of a closed system cross:
// N* = X_max · R(lowest N), with N the users in flight, X the output rate and
// R = N/X. Of an open loop it is the first rate that is no longer achieved.
func (s *Sweep) saturation() *Knee {
	if s.Mode == serving.OpenLoop && s.XName == sweep.Rate {
		return s.openSaturation()
	}
	var n, x []float64
	for _, p := range s.Points {
		if p.Users.OK && p.OutputPerS.OK && p.Users.V > 0 && p.OutputPerS.V > 0 {
			n, x = append(n, p.Users.V), append(x, p.OutputPerS.V)
		}
	}
	if len(n) == 0 {
		return &Knee{Method: "saturation", Confidence: string(stat.NotReached), Text: "Not known: the files do not say how many requests were in flight."}
	}
	k := stat.Saturation(n, x)
	out := &Knee{Method: "saturation", Confidence: string(k.Confidence)}
	switch {
	case k.Confidence == stat.NotReached:
		out.Text = "Not reached: " + k.Reason + "."
	default:
		out.X = serving.Some(k.N)
		out.Text = fmt.Sprintf("N* = highest tokens/s × time per token at the lowest load = %.3g users in flight. There, growth as steep as at the lowest load would reach the highest throughput; the curve bends around it, and from there on each further user costs the others speed. %s", k.N, sentence(k.Reason))
	}
	return out
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// achievedShare of the offered rate below which an open loop counts as
// saturated (spec: statistics, input rules of knees).
const achievedShare = 0.95

func (s *Sweep) openSaturation() *Knee {
	k := &Knee{Method: "saturation", Confidence: "not_reached"}
	levels, last := 0, math.NaN()
	for _, p := range s.Points {
		r := p.Runs[0]
		if p.XUnlimited || !r.Throughput.Requests.OK {
			continue
		}
		levels++
		if got := r.Throughput.Requests.V; got < achievedShare*p.X {
			k.X, k.Confidence = serving.Some(p.X), "medium"
			k.Text = fmt.Sprintf("At %s requests/s offered only %s were achieved: the first level below %s of the offered rate.", number(p.X), number(got), percent(achievedShare))
			if !math.IsNaN(last) {
				k.Text += fmt.Sprintf(" The level before it, %s, still kept up.", number(last))
			} else {
				k.Confidence = "low"
				k.Text += " It is the lowest level: the knee lies below."
			}
			return k
		}
		last = p.X
	}
	k.Text = fmt.Sprintf("Not reached: each of the %d offered rates was achieved.", levels)
	if levels == 0 {
		k.Text = "Not reached: no level has an achieved rate."
	}
	return k
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
	for _, key := range settingKeys(g.Runs) {
		var values []string
		missing := false
		for _, r := range g.Runs {
			v, ok := r.Setting(key)
			missing = missing || !ok
			if ok && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		switch {
		case len(values) == 1 && !missing:
			add(key, values[0])
		case sweep.Volatile(key), key == g.XName:
		default:
			differed = append(differed, Differed{Key: key, Values: values})
		}
	}
	return equal, differed
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

func (s *Sweep) notes() {
	for _, p := range s.Points {
		r := p.Runs[0]
		if c := r.Run.Load.MaxConcurrency; c.OK && r.Counts.Sent.OK && c.V > r.Counts.Sent.V {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: a concurrency of %d with %d requests was never reached; users are the mean in flight.", r.Run.Label, c.V, r.Counts.Sent.V))
		}
	}
	if s.Mode == serving.ClosedLoop {
		s.Notes = append(s.Notes, "Closed loop only: the capacity at a fixed arrival rate is not measured. Check it with vllm bench serve --request-rate at the rate you expect.")
	}
	if !s.PerGPU {
		s.Notes = append(s.Notes, "The number of GPUs is not in the files: throughput is per server.")
	}
}

// label names each sweep after what tells it from the others.
func label(sweeps []*Sweep) {
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
