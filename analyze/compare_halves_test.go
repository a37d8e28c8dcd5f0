package analyze

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// told draws a trace of 3,000 requests whose TTFT has a factor that depends on how far
// the trace is (0…1) and on the workload.
func told(seed uint64, factor func(at float64, workload string) float64) *serving.Dataset {
	rng := rand.New(rand.NewPCG(seed, 78))
	reqs := make([]request, 3000)
	for i := range reqs {
		w := []string{"chat", "chat", "rag"}[rng.IntN(3)]
		r := request{at: float64(i), workload: w, in: 400 + rng.Int64N(200), out: 100, tpot: 0.02 * math.Exp(0.05*rng.NormFloat64())}
		r.ttft = 0.1 * math.Exp(0.2*rng.NormFloat64()) * factor(float64(i)/3000, w)
		r.e2e = r.ttft + 99*r.tpot
		reqs[i] = r
	}
	return &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.ServerSide, reqs)}}
}

func steadily(float64, string) float64 { return 1 }

// What a side differs from itself by is not called, of all requests or of a slice; a
// change that lasted is, however much it grew.
func TestCompareSeesHalves(t *testing.T) {
	incident := func(at float64, _ string) float64 {
		if at < 0.5 {
			return 10
		}
		return 1
	}
	ofRag := func(at float64, w string) float64 {
		if w == "rag" {
			return incident(at, w)
		}
		return 1
	}
	for _, tc := range []struct {
		name    string
		factor  func(at float64, workload string) float64
		verdict Verdict
		title   string
	}{
		{"an incident that ended", incident, VerdictUndecided, "after was not the same throughout: TTFT p95"},
		{"an incident of one workload that ended", ofRag, VerdictUndecided, "after was not the same throughout"},
		{"a change that lasted", func(float64, string) float64 { return 3 }, VerdictWorse, "TTFT p95 × 3"},
		{"a change that grew", func(at float64, _ string) float64 { return 1.6 + 6*at*at }, VerdictWorse, "TTFT p95 ×"},
		{"a workload that grew slower", func(at float64, w string) float64 {
			if w == "rag" {
				return 1.6 + 6*at*at
			}
			return 1
		}, VerdictWorse, "workload rag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, swap := range []bool{false, true} {
				data, want := [2]*serving.Dataset{told(1, steadily), told(2, tc.factor)}, tc.verdict
				if swap {
					data[0], data[1] = data[1], data[0]
					if want == VerdictWorse {
						want = VerdictBetter
					}
				}
				rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: data}, DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				c := Value[Comparison](rep)
				if c.Verdict != want {
					t.Errorf("swapped %v: %s, want %s: %s", swap, c.Verdict, want, c.Title)
				}
				if !swap && !strings.Contains(c.Title, tc.title) {
					t.Errorf("%q, want %q in it", c.Title, tc.title)
				}
				if held := c.held(); (held != nil) != (want == VerdictUndecided) || held != nil && strings.Contains(held.Why, "e+") {
					t.Errorf("held back: %+v", held)
				}
			}
		})
	}
}

// A slice with too few requests for halves of its own has those of what it is part of.
func TestHalvesOfSmallSlices(t *testing.T) {
	f := verdict.Figure{Metric: serving.TTFT, Stat: "p50"}
	dist := func(v float64, n int64) *Slice {
		return &Slice{Counts: Counts{Sent: serving.Some(n)}, Dists: Dists{{Metric: serving.TTFT, Count: serving.Some(n), Quantiles: []Quantile{{P: 0.5, Value: serving.Some(v)}}}}}
	}
	rag, cell := []serving.Term{{Dim: "workload", Value: "rag"}}, []serving.Term{{Dim: "workload", Value: "rag"}, {Dim: "cache", Value: "cold"}}
	h := &unitHalves{}
	for i, v := range []float64{1, 2} {
		h.whole[i] = dist(1, 1000)
		s := dist(v, 100)
		s.By = rag
		h.slices[i] = map[sliceKey]*Slice{keyOf(rag): s}
	}
	if got := h.of(cell, f); got != nil {
		t.Errorf("halves %v of a slice that has none", got)
	}
	if got := h.apart(cell, f); math.Abs(got-math.Log(2)) > 1e-12 {
		t.Errorf("apart by %v, want rag's log 2", got)
	}
	if got := h.apart([]serving.Term{{Dim: "workload", Value: "chat"}}, f); got != 0 {
		t.Errorf("chat apart by %v, want none of rag's", got)
	}
	if got := (*unitHalves)(nil).apart(cell, f); got != 0 {
		t.Errorf("nothing known, apart by %v", got)
	}
}
