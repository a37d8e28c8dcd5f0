package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// sweepOf makes the headline rows of a sweep with one run a side and level, from the
// logarithms of their ratios by figure and level.
func sweepOf(t *testing.T, fs []Figure, logs [][]float64) []*Row {
	t.Helper()
	var rows []*Row
	for i, f := range fs {
		var strata []Stratum
		for l, d := range logs[i] {
			if !math.IsNaN(d) {
				strata = append(strata, Stratum{Sample{Values: []float64{1}}, Sample{Values: []float64{math.Exp(d)}}, l})
			}
		}
		r, ok := Compare(f, f.Threshold(), strata, len(fs))
		if !ok {
			t.Fatal("no row")
		}
		rows = append(rows, r)
	}
	return rows
}

var swept = []Figure{{serving.TTFT, "p99"}, {serving.TPOT, "p99"}, {serving.RateRequests, ""}}

// noisySweep draws the logarithms of figures whose noise is partly that of the whole
// deployment, partly the level's and common to its figures, and partly their own.
func noisySweep(rng *rand.Rand, levels int, deployment, level, own float64, heavy bool) [][]float64 {
	shared := math.Sqrt2 * deployment * rng.NormFloat64()
	logs := make([][]float64, len(swept))
	for range levels {
		common := level * rng.NormFloat64()
		for k := range logs {
			v := shared + common + own*rng.NormFloat64()
			if heavy {
				v = shared + (common+own*rng.NormFloat64())/math.Sqrt(rng.Float64()) // t with two degrees of freedom
			}
			if swept[k].Metric == serving.RateRequests {
				v = -v
			}
			logs[k] = append(logs[k], v)
		}
	}
	return logs
}

// Of the same thing twice hardly any p is below 0.05, however figures hang together,
// and hardly any figure is called, where deployments differ by 2 % as in the study.
func TestSweepsOfTheSameThing(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, tc := range []struct {
		name                   string
		deployment, level, own float64
		heavy                  bool
	}{
		{"figures of their own", 0, 0, 0.1, false},
		{"figures that move together", 0, 0.1, 0.02, false},
		{"heavy tails", 0, 0.05, 0.05, true},
		{"deployments that differ", 0.02, 0.01, 0.01, false},
	} {
		for _, levels := range []int{6, 7, 8} {
			trials := 1000
			rejected, called := 0, 0
			for range trials {
				rows := sweepOf(t, swept, noisySweep(rng, levels, tc.deployment, tc.level, tc.own, tc.heavy))
				DecideHeadline(rows)
				anyP, anyCall := false, false
				for _, r := range rows {
					anyP = anyP || r.PAdjusted.V < 0.05
					anyCall = anyCall || r.Call == Slower || r.Call == Faster
				}
				if anyP {
					rejected++
				}
				if anyCall {
					called++
				}
			}
			// What a whole deployment shares is no level's: p knows nothing of it, and the
			// noise that has to be assumed keeps it from being called.
			if share := float64(rejected) / float64(trials); tc.deployment == 0 && share > 0.05 {
				t.Errorf("%s, %d levels: p below 0.05 in %.1f %%", tc.name, levels, share*100)
			}
			if share := float64(called) / float64(trials); share > 0.05 {
				t.Errorf("%s, %d levels: called in %.1f %%", tc.name, levels, share*100)
			}
		}
	}
}

// Where one figure did change, the others are called no more often for it.
func TestSweepsWhereOneChanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	const trials = 1500
	found, wrong := 0, 0
	for range trials {
		logs := noisySweep(rng, 7, 0, 0.05, 0.05, false)
		for l := range logs[1] {
			logs[1][l] -= 0.4
		}
		rows := sweepOf(t, swept, logs)
		DecideHeadline(rows)
		if rows[1].Call == Faster {
			found++
		}
		if rows[0].PAdjusted.V < 0.05 || rows[2].PAdjusted.V < 0.05 {
			wrong++
		}
	}
	if share := float64(wrong) / trials; share > 0.05 {
		t.Errorf("a figure that did not change has p below 0.05 in %.1f %%", share*100)
	}
	if share := float64(found) / trials; share < 0.9 {
		t.Errorf("what changed is called in %.1f %%", share*100)
	}
}

// Six levels that agree are enough for the figure that stands out most, of any number;
// and for none where failures have to be paid for: the text says how many would be.
func TestSixLevels(t *testing.T) {
	better := []float64{-0.05, -0.14, -0.23, -0.34, -0.40, -0.33}
	mixed := []float64{-0.07, 0.01, -0.02, 0.03, 0.06, 0.07}
	ttft := []float64{0.001, 0.11, 0.18, 0.25, 0.16, -0.001}
	share := func(failed int64) *Row {
		s := func(n int64) Sample { return Sample{Values: []float64{0}, N: n, Of: 1000} }
		r, _ := Compare(Figure{Metric: FailedShare}, 0.02, []Stratum{{Before: s(0), After: s(failed)}}, 4)
		return r
	}
	for _, tc := range []struct {
		failed int64
		call   Call
		p      float64
	}{{0, Faster, 2.0 / 64}, {3, Undecided, 4.0 / 64}} {
		rows := append(sweepOf(t, swept, [][]float64{ttft, better, mixed}), share(tc.failed))
		DecideHeadline(rows)
		if r := rows[1]; r.Call != tc.call || math.Abs(r.PAdjusted.V-tc.p) > 1e-12 {
			t.Errorf("%d failed: %s (%s), p %v; want %s, %v", tc.failed, r.Call, r.Why, r.PAdjusted.V, tc.call, tc.p)
		}
		if r := rows[1]; tc.call == Undecided && !strings.Contains(r.Why, "6 of 6 levels moved this way, adjusted") || tc.call == Undecided && !strings.Contains(r.Why, "it takes 7 levels") {
			t.Errorf("%q, want how many levels it takes", r.Why)
		}
	}
}

// A level that one figure lacks is no other figure's level.
func TestJointlyWithHoles(t *testing.T) {
	logs := [][]float64{{0.3, 0.3, 0.3, math.NaN(), 0.3, 0.3, 0.3}, {-0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1}}
	rows := sweepOf(t, swept[:2], logs)
	p := jointly(rows)
	if math.Abs(p[0]-6.0/128) > 1e-12 || p[1] < 0.5 {
		t.Errorf("p %v, want 6 of 128 (both figures have two ways to agree throughout, of the first the seventh level is free) and a large one", p)
	}
	same := sweepOf(t, swept[:2], [][]float64{{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}})
	if p := jointly(same); p[0] != 1 || p[1] != 1 {
		t.Errorf("nothing moved: p %v", p)
	}
}
