package stat

import (
	"math/rand/v2"
	"testing"
)

// hitsOf are hits at one share before a place and at another from it on.
func hitsOf(rng *rand.Rand, n, at int, before, after float64) []bool {
	out := make([]bool, n)
	for i := range out {
		p := before
		if i >= at {
			p = after
		}
		out[i] = rng.Float64() < p
	}
	return out
}

func TestStepIsWherePlanted(t *testing.T) {
	for _, c := range []struct {
		name          string
		n, at         int
		before, after float64
		near          int // the range is no wider than that in half of the seeds
	}{
		{"sharp", 200, 120, 0, 1, 2},
		{"rises", 300, 100, 0.1, 0.9, 8},
		{"falls", 300, 220, 0.95, 0.05, 7},
		{"of a tail", 600, 300, 0.01, 0.12, 120},
		{"near the edge", 200, 12, 0.05, 0.95, 7},
	} {
		const seeds = 200
		covered, found, narrow := 0, 0, 0
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 7))
			s, ok := StepOf(hitsOf(rng, c.n, c.at, c.before, c.after), c.after > c.before)
			if !ok {
				continue
			}
			found++
			if s.Lo <= c.at && c.at <= s.Hi {
				covered++
			}
			if s.Hi-s.Lo <= c.near {
				narrow++
			}
		}
		if found < seeds*9/10 || covered < found*95/100 || narrow < seeds/2 {
			t.Errorf("%s: found %d of %d, of which %d hold the place, %d within %d", c.name, found, seeds, covered, narrow, c.near)
		}
	}
}

// Without a step none is found, nor one in the other direction; hits that come
// together are no step.
func TestNoStep(t *testing.T) {
	const seeds = 200
	steady, clumps := 0, 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 9))
		if _, ok := StepOf(hitsOf(rng, 200, 0, 0, 0.3), true); ok {
			steady++
		}
		x := make([]bool, 240)
		for i := 0; i < len(x); i += 12 {
			on := rng.Float64() < 0.5
			for k := i; k < i+12; k++ {
				x[k] = on
			}
		}
		if _, ok := StepOf(x, true); ok {
			clumps++
		}
	}
	if steady > seeds/10 || clumps > seeds/5 {
		t.Errorf("of %d seeds without a step %d have one, of clumps %d", seeds, steady, clumps)
	}
	if _, ok := StepOf(hitsOf(rand.New(rand.NewPCG(1, 1)), 200, 100, 0.9, 0.1), true); ok {
		t.Error("a fall is found as a rise")
	}
	for _, x := range [][]bool{nil, {true}, {false, false, false}} {
		if s, ok := StepOf(x, true); ok {
			t.Errorf("%v has a step %+v", x, s)
		}
	}
}
