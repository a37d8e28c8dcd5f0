package column

import (
	"math"
	"testing"
)

func TestGapTally(t *testing.T) {
	type request struct {
		gaps   int
		tokens float64
	}
	many := func(n int, r request, more ...request) (out []request) {
		for range n {
			out = append(out, r)
		}
		return append(out, more...)
	}
	for name, c := range map[string]struct {
		requests  []request
		kind      string
		different int
		onePiece  bool
	}{
		"nothing":              {nil, "chunk", 0, false},
		"unknown lengths":      {many(3, request{5, math.NaN()}, request{0, 0}), "chunk", 0, false},
		"tokens":               {many(200, request{9, 10}), "token", 0, false},
		"one coalesced chunk":  {many(200, request{9, 10}, request{8, 10}), "token", 1, false},
		"one in fifty":         {many(49, request{9, 10}, request{8, 10}), "chunk", 1, false},
		"one request, all off": {many(999, request{9, 10}, request{1000, 10}), "chunk", 1, false},
		"not streamed":         {many(5, request{0, 10}, request{0, 1}), "chunk", 5, true},
		"single tokens":        {many(5, request{0, 1}), "token", 0, false},
	} {
		var g GapTally
		for _, r := range c.requests {
			g.Look(r.gaps, r.tokens)
		}
		if g.Kind() != c.kind || g.Different != c.different || g.InOnePiece() != c.onePiece {
			t.Errorf("%s: %s, %d different, one piece %v; want %s, %d, %v", name, g.Kind(), g.Different, g.InOnePiece(), c.kind, c.different, c.onePiece)
		}
	}
}

func TestDecodeOf(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		latency, ttft float64
		gaps          []float64
		whole         bool
		decode, total float64
	}{
		{3, 1, nil, false, 2, 3},
		{3, 4, nil, false, nan, 3}, // TTFT beyond the latency
		{3, 0, nil, false, nan, 3},
		{0, 1, []float64{.5, .25}, true, .75, 1.75},
		{nan, 1, nil, true, 0, 1},
		{0, 1, []float64{.5}, false, nan, nan}, // some gaps are missing
		{0, 0, []float64{.5}, true, nan, nan},
	} {
		same := func(a, b float64) bool { return a == b || a != a && b != b }
		if d, e := DecodeOf(c.latency, c.ttft, c.gaps, c.whole); !same(d, c.decode) || !same(e, c.total) {
			t.Errorf("%+v: %g, %g", c, d, e)
		}
	}
}
