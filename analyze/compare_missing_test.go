package analyze

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// without are requests that do not say a time: -1 is what the tables take for missing.
func without(reqs []request, drop func(*request)) []request {
	out := append([]request(nil), reqs...)
	for i := range out {
		drop(&out[i])
	}
	return out
}

func noTTFT(r *request)   { r.ttft = -1 }
func noTPOT(r *request)   { r.tpot = -1 }
func zeroTTFT(r *request) { r.ttft = 0 }
func asIs(*request)       {}

// gatedRuns compares three runs a side of one load, each side with what it dropped.
func gatedRuns(t *testing.T, opt Options, b, a func(*request), caps ...int64) (*Comparison, Gate) {
	t.Helper()
	opt.Gates = []string{"regression"}
	rng := rand.New(rand.NewPCG(61, 62))
	var sides [2][]*serving.Run
	for _, cap := range append(caps, 8) {
		for side, drop := range []func(*request){b, a} {
			if cap != 8 {
				drop = asIs
			}
			sides[side] = append(sides[side], repeat(rng, cap, func(by float64) []request {
				return without(load(rng, 200, "chat", 500, 0.1*by, 0.02*by), drop)
			})...)
		}
	}
	c, rep := comparedRuns(t, opt, sides[before], sides[after])
	return c, rep.Gate
}

// A gate is not passed by figures that are left when one that decides is gone.
func TestGateOfAFigureThatVanished(t *testing.T) {
	asked := DefaultOptions()
	asked.Headline = []verdict.Figure{{Metric: serving.TTFT, Stat: "p95"}, {Metric: serving.TPOT, Stat: "p95"}}
	for _, tt := range []struct {
		name string
		opt  Options
		b, a func(*request)
		want GateResult
		why  string // what stands in a reason
	}{
		{"both have all", DefaultOptions(), asIs, asIs, GatePass, "TTFT p95"},
		{"gone after", DefaultOptions(), asIs, noTTFT, GateUndecided, "TTFT p95: undecided, after does not have it"},
		{"new after", DefaultOptions(), noTTFT, asIs, GateUndecided, "TTFT p95: undecided, before does not have it"},
		{"nowhere, and not asked for", DefaultOptions(), noTPOT, noTPOT, GatePass, "TTFT p95"},
		{"nowhere, and asked for", asked, noTPOT, noTPOT, GateUndecided, "TPOT p95: undecided, neither side has it"},
		{"0 before", DefaultOptions(), zeroTTFT, asIs, GateUndecided, "TTFT p95: undecided, before has it at 0"},
		{"0 after", DefaultOptions(), asIs, zeroTTFT, GateUndecided, "TTFT p95: undecided, after has it at 0"},
	} {
		c, g := gatedRuns(t, tt.opt, tt.b, tt.a)
		if g.Result != tt.want || !strings.Contains(strings.Join(g.Reasons, "\n"), tt.why) {
			t.Errorf("%s: %s %q, want %s and %q", tt.name, g.Result, g.Reasons, tt.want, tt.why)
		}
		if told := strings.Contains(strings.Join(c.Cautions, "\n"), "is not compared"); told != (tt.want != GatePass) {
			t.Errorf("%s: cautions %q", tt.name, c.Cautions)
		}
		if tt.want != GatePass && (c.Verdict == VerdictEquivalent || strings.Contains(c.Title, "every headline figure")) {
			t.Errorf("%s: %s, %q", tt.name, c.Verdict, c.Title)
		}
	}
}

// What is missing is shown as missing, and what the other side has is shown.
func TestRowOfAFigureThatVanished(t *testing.T) {
	c, _ := gatedRuns(t, DefaultOptions(), asIs, noTTFT)
	r := c.Headline[0]
	if r.Figure.Metric != serving.TTFT || r.Method != verdict.NotCompared || !r.Before.OK || r.After.OK || r.Ratio.OK || r.Runs != [2]int{3, 0} {
		t.Errorf("first row %+v, want TTFT with a value before and none after", r.Row)
	}
	c, _ = gatedRuns(t, DefaultOptions(), zeroTTFT, asIs)
	if r = c.Headline[0]; !r.Before.OK || r.Before.V != 0 || !(r.After.V > 0.1) || r.Ratio.OK {
		t.Errorf("first row %+v, want TTFT from 0 without a ratio", r.Row)
	}
}

// A figure that one level of several has lost is decided at the others only.
func TestGateOfALevelThatVanished(t *testing.T) {
	_, g := gatedRuns(t, DefaultOptions(), asIs, noTTFT, 2, 4)
	if want := "at concurrency 8 after does not have it; at the other levels it is "; g.Result != GateUndecided || !strings.Contains(g.Reasons[0], want) {
		t.Errorf("%s %q, want undecided and %q", g.Result, g.Reasons, want)
	}
	if _, g := gatedRuns(t, DefaultOptions(), asIs, asIs, 2, 4); g.Result != GatePass {
		t.Errorf("nothing is lost, and the gate is %s: %q", g.Result, g.Reasons)
	}
}

// A regression of what is left still fails the gate.
func TestGateFailsBesideAFigureThatVanished(t *testing.T) {
	_, g := gatedRuns(t, DefaultOptions(), asIs, func(r *request) { r.ttft, r.tpot = -1, 2*r.tpot })
	if g.Result != GateFail {
		t.Errorf("%s %q, want fail: TPOT doubled", g.Result, g.Reasons)
	}
}

// Files that state aggregates only have no p95; the statistic that they did have is
// the one that is missed.
func TestAggregatesThatLostAMetric(t *testing.T) {
	run := func(id string, ttft ...float64) *serving.Run {
		r := &serving.Run{ID: id, Label: id, Format: "vllm-serve", Load: serving.LoadOf(serving.Some(int64(8)), serving.None[float64](), true),
			Duration: serving.Some(100.0), Completed: serving.Some(int64(500)), Failed: serving.Some(int64(0))}
		r.Reported = []serving.Reported{{Metric: serving.TPOT, Stat: "p99", File: 20, PerBase: 1000}}
		for _, v := range ttft {
			r.Reported = append(r.Reported, serving.Reported{Metric: serving.TTFT, Stat: "p99", File: v, PerBase: 1000})
		}
		return r
	}
	opt := DefaultOptions()
	opt.Gates = []string{"regression"}
	c, rep := comparedRuns(t, opt, []*serving.Run{run("a", 100), run("b", 101), run("c", 102)}, []*serving.Run{run("a"), run("b"), run("c")})
	if f := c.Headline[0].Figure; f.String() != "ttft:p99" || rep.Gate.Result != GateUndecided {
		t.Errorf("first row %s, gate %s %q; want ttft:p99 and undecided", f, rep.Gate.Result, rep.Gate.Reasons)
	}
}

// Times of the client and of the server are two figures: that both sides have "TTFT"
// decides nothing.
func TestGateOfOtherMeanings(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	side := func(s serving.Side) *serving.Dataset {
		return &serving.Dataset{Traces: []serving.Requests{newTable("t", s, load(rng, 400, "chat", 500, 0.1, 0.02))}}
	}
	opt := DefaultOptions()
	opt.Gates = []string{"regression"}
	rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{side(serving.Client), side(serving.ServerSide)}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if want := "it is measured in different ways (client, server)"; rep.Gate.Result != GateUndecided || !strings.Contains(rep.Gate.Reasons[0], want) {
		t.Errorf("%s %q, want undecided and %q", rep.Gate.Result, rep.Gate.Reasons, want)
	}
}

// Scrapes of an engine that stopped to export a histogram.
func TestHistogramThatVanished(t *testing.T) {
	both := func() *serving.Server {
		s := histServer("m", 500, 0, 900, 100)
		h := s.Histograms[0]
		h.Metric = serving.TPOT
		s.Histograms = append(s.Histograms, h)
		return s
	}
	lost := both()
	lost.Histograms = lost.Histograms[1:]
	c := comparedServers(t, both(), lost)
	if r := rowOf(c.Headline, verdict.Figure{Metric: serving.TTFT, Stat: "p95"}); r == nil || r.Call != verdict.Undecided || r.Why != "after does not have it" {
		t.Errorf("headline %+v, want TTFT p95 as one that after does not have", c.Headline)
	}
	if c = comparedServers(t, both(), both()); len(c.Headline) != 2 || len(c.Cautions) > 0 && strings.Contains(c.Cautions[0], "not compared") {
		t.Errorf("%d rows, cautions %q: both have both", len(c.Headline), c.Cautions)
	}
}
