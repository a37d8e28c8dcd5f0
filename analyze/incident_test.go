package analyze

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

func reported(t *testing.T, ds *serving.Dataset, opt Options) *Report {
	t.Helper()
	rep, err := Run(context.Background(), ds, opt)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// queueing is a server that takes more than it can from 500 s to 700 s.
func queueing() []staged {
	var reqs []staged
	for i := range 2000 {
		r := staged{at: float64(i) * 0.5, queue: 0.01 + 0.01*alternate(i), prefill: 0.05, tpot: 0.02, prompt: 500 + int64(200*alternate(i)), output: 100}
		if r.at >= 500 && r.at < 700 {
			r.queue = 3 + alternate(i)
		}
		reqs = append(reqs, r)
	}
	return reqs
}

func TestIncidentIsFound(t *testing.T) {
	ds := &serving.Dataset{Traces: []serving.Requests{stagedTable(queueing())}}
	v := Value[Incidents](reported(t, ds, DefaultOptions()))
	if v == nil || len(v.Incidents) != 1 {
		t.Fatalf("incidents %+v, want one", v)
	}
	inc := v.Incidents[0]
	from, to := float64(inc.Window.From)/1e9, float64(inc.Window.To)/1e9
	if math.Abs(from-500) > inc.Width || math.Abs(to-700) > inc.Width || inc.Open || inc.Given {
		t.Errorf("window %g to %g ± %g, want 500 to 700", from, to, inc.Width)
	}
	if inc.After.Empty() || inc.Baseline.Empty() || inc.Baseline.To > inc.Window.From {
		t.Errorf("baseline %+v, after %+v", inc.Baseline, inc.After)
	}
	i := slices.IndexFunc(inc.Figures, func(f IncidentFigure) bool { return f.Metric == "queue" && f.Stat == "mean" })
	if f := inc.Figures[i]; math.Abs(f.Before.V-0.015) > 0.001 || math.Abs(f.During.V-3.5) > 0.2 || math.Abs(f.After.V-0.015) > 0.001 {
		t.Errorf("queue before, during, after: %+v", f)
	}
	for _, o := range inc.Onsets {
		if at := float64(o.At) / 1e9; math.Abs(at-500) > 2*o.Width || o.Width <= 0 {
			t.Errorf("%s begins at %g ± %g, want 500", o.Signal, at, o.Width)
		}
	}
	if len(inc.Examples) == 0 || len(inc.Examples) > replaySlowest+replayTail+replayTypical+replayFailed {
		t.Errorf("%d examples", len(inc.Examples))
	}
	for _, x := range inc.Examples {
		if at := float64(x.At) / 1e9; at < from || at >= to || math.Abs(at-from-x.Offset) > 1e-6 {
			t.Errorf("an example at %g, %g after the begin, outside of the window", at, x.Offset)
		}
	}
	for name, list := range map[string][]Measure{"mitigation": inc.Mitigation, "analysis": inc.Analysis, "prevention": inc.Prevention} {
		if len(list) == 0 {
			t.Errorf("no %s", name)
		}
		for _, m := range list {
			if m.Because == "" {
				t.Errorf("%s: %q rests on nothing", name, m.Text)
			}
		}
	}
	if inc.Panels == nil || inc.Panels.N < 50 || !slices.ContainsFunc(inc.Panels.Events, func(e Event) bool { return e.Kind == EventIncident && e.At == inc.Window.From }) {
		t.Error("the panels do not mark the window")
	}
}

// Windows of requests begin where those of the axis do, whenever the first one
// arrived: none is drawn in two steps.
func TestIncidentPanelsStandInTheirSteps(t *testing.T) {
	reqs := queueing()
	for i := range reqs {
		reqs[i].at += 1700000000.7
	}
	v := Value[Incidents](reported(t, &serving.Dataset{Traces: []serving.Requests{stagedTable(reqs)}}, DefaultOptions()))
	if v == nil || len(v.Incidents) != 1 {
		t.Fatalf("incidents %+v, want one", v)
	}
	if got, want := v.Incidents[0].Panels.Points, "A point stands at the start of its step, which its figure covers."; got != want {
		t.Errorf("points: %q, want %q", got, want)
	}
}

// A marked window is compared with what precedes it, but not with all of the
// past, and with what follows.
func TestIncidentIsGiven(t *testing.T) {
	opt := DefaultOptions()
	opt.Incident = cube.Window{From: 600e9, To: 640e9}
	inc := Value[Incidents](reported(t, &serving.Dataset{Traces: []serving.Requests{stagedTable(queueing())}}, opt)).Incidents[0]
	if !inc.Given || inc.Window != (Span{600e9, 640e9}) || inc.Baseline != (Span{300e9, 600e9}) {
		t.Errorf("window %+v, baseline %+v, want 600 to 640 against the 300 s before it", inc.Window, inc.Baseline)
	}
	opt.Incident = cube.Window{From: 0, To: 20e9}
	inc = Value[Incidents](reported(t, &serving.Dataset{Traces: []serving.Requests{stagedTable(queueing())}}, opt)).Incidents[0]
	if !inc.Baseline.Empty() {
		t.Errorf("the data begin with the window, and its baseline is %+v", inc.Baseline)
	}
	opt.Incident = cube.Window{From: 5000e9, To: 6000e9}
	_, err := Run(context.Background(), &serving.Dataset{Traces: []serving.Requests{stagedTable(queueing())}}, opt)
	if err == nil || !strings.Contains(err.Error(), "--incident lies beside the data") {
		t.Errorf("a window beside the data: %v", err)
	}
}

// A steady server has no incident, in 95 of 100 seeds at least.
func TestSteadyServerHasNoIncident(t *testing.T) {
	const seeds = 60
	found := 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		at := 0.0
		var reqs []staged
		for range 600 {
			at += rng.ExpFloat64()
			reqs = append(reqs, staged{at: at, queue: 0.05 * rng.ExpFloat64(), prefill: 0.1 * math.Exp(0.4*rng.NormFloat64()), tpot: 0.03 * math.Exp(0.1*rng.NormFloat64()),
				prompt: int64(400 * math.Exp(0.5*rng.NormFloat64())), output: 20 + int64(100*rng.Float64())})
		}
		d := diagnosed(t, reqs, DefaultOptions())
		if d.Known && len(d.Present()) > 0 {
			found++
		}
	}
	if found > seeds/20 {
		t.Errorf("%d of %d steady servers have an incident", found, seeds)
	}
}

// Two sources that saw the same requests in flight, one with a clock that is
// ahead.
func TestSkewByShape(t *testing.T) {
	wave := func(t float64) float64 { return 5 + 3*math.Sin(t/17) + 2*math.Sin(t/5.3) + t/60 }
	mk := func(step, ahead float64) shape {
		var s shape
		for x := 0.0; x < 400; x += step {
			s.at, s.value = append(s.at, x+ahead), append(s.value, wave(x))
		}
		return s
	}
	best, at := -1.0, 0.0
	for lag := -20.0; lag <= 20; lag += 0.25 {
		if r := likeness(mk(15, 0), mk(1, 6), lag); r > best {
			best, at = r, lag
		}
	}
	if math.Abs(at-6) > 0.5 || best < 0.99 {
		t.Errorf("the shapes are most alike at %g s (%.3f), want 6", at, best)
	}
	if s := (Skew{Kind: "client", Offset: 2.5, Uncertainty: 0.1}); s.Remedy() != "client=-2.5s" || !s.Off() {
		t.Errorf("remedy %q", s.Remedy())
	}
}

// A deploy shortly before the incident is one, one after its begin is none: how far
// the begin may be off is seconds, not a window of the data.
func TestDeployBeforeTheIncident(t *testing.T) {
	for _, c := range []struct {
		at    float64
		named bool
	}{{470, true}, {560, false}} {
		opt := DefaultOptions()
		opt.Annotations = []Event{{At: int64(c.at * 1e9), Kind: "deploy", Text: "release 7"}}
		inc := Value[Incidents](reported(t, &serving.Dataset{Traces: []serving.Requests{stagedTable(queueing())}}, opt)).Incidents[0]
		i := slices.IndexFunc(inc.Mitigation, func(m Measure) bool { return strings.Contains(m.Text, "release 7") })
		if i >= 0 != c.named {
			t.Errorf("a deploy at %g is named: %v, want %v", c.at, i >= 0, c.named)
		}
		if i >= 0 && !strings.Contains(inc.Mitigation[i].Because, "30 s before the window's begin ± ") {
			t.Errorf("because %q", inc.Mitigation[i].Because)
		}
	}
}
