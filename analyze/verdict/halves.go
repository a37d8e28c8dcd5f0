package verdict

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Halves are a figure in the first and the second half of a run: two measurements of
// the same thing, where it is the same thing.
type Halves struct{ First, Second float64 }

// Unsteady is the side that says how much the same thing differs from itself.
type Unsteady struct {
	Side int // 0 before, 1 after
	Halves
}

// A self is how much a stratum's sides differ from themselves.
type self struct {
	floor float64               // |log ratio|; NaN where not known
	by    serving.Opt[Unsteady] // the side it is of, where its halves are known
}

// steadiness is the larger difference between the halves of a side. Where every half
// of one side is beyond every half of the other, and by more than runs may differ, the
// change lasted: a side that kept growing has some of it between its own halves. The
// steadier side then says how much the same thing differs from itself.
func (s Stratum) steadiness(f Figure, p float64) self {
	var apart [2]float64
	var halves [2]*Halves
	for i, x := range []Sample{s.Before, s.After} {
		halves[i] = x.halves(p)
		if apart[i] = x.Drift.Halves; halves[i] != nil {
			apart[i] = max(apart[i], math.Abs(math.Log(halves[i].Second/halves[i].First)))
		}
	}
	if halves[0] == nil && halves[1] == nil && apart == [2]float64{} {
		return self{floor: math.NaN()}
	}
	side := 0
	if apart[1] > apart[0] {
		side = 1
	}
	if halves[0] != nil && halves[1] != nil && lasted(*halves[0], *halves[1], 1+f.AssumedNoise()) {
		side = 1 - side
	}
	out := self{floor: apart[side]}
	if halves[side] != nil {
		out.by = serving.Some(Unsteady{side, *halves[side]})
	}
	return out
}

// lasted reports whether both halves of one side are beyond both of the other by a
// factor.
func lasted(a, b Halves, by float64) bool {
	return min(a.First, a.Second) > by*max(b.First, b.Second) || min(b.First, b.Second) > by*max(a.First, a.Second)
}

// halves are those of the only run: of its requests, or as they were counted. nil where
// they are not known.
func (s Sample) halves(p float64) *Halves {
	h := s.Halves
	if s.Series != nil {
		h = halvesOf(*s.Series, p)
	}
	if h == nil || !(h.First > 0) || !(h.Second > 0) {
		return nil
	}
	return h
}

// halvesOf are a quantile of the first and of the second half of the requests.
func halvesOf(s stat.Series, p float64) *Halves {
	n := len(s.Values) / 2
	if n == 0 {
		return nil
	}
	return &Halves{stat.Quantile(sortedCopy(s.Values[:n]), p), stat.Quantile(sortedCopy(s.Values[n:]), p)}
}

// shareSteadiness is the largest difference between the halves of a side, of a share.
func shareSteadiness(s Stratum) self {
	out := self{floor: math.NaN()}
	for i, x := range []Sample{s.Before, s.After} {
		if x.Halves == nil {
			continue
		}
		if d := math.Abs(x.Halves.Second - x.Halves.First); !(d <= out.floor) {
			out = self{d, serving.Some(Unsteady{i, *x.Halves})}
		}
	}
	return out
}

// held reports whether an effect is no more than the same thing differs from itself.
func (r *Row) held() bool {
	if !r.Floor.OK {
		return false
	}
	if r.Figure.IsShare() {
		return math.Abs(r.log) <= r.Floor.V
	}
	return math.Abs(r.log) <= math.Log1p(r.Floor.V)
}

// whyHeld says whose difference from itself it is.
func (r *Row) whyHeld() string {
	if !r.Unsteady.OK {
		return "no more than the same thing differs from itself: " + r.size(r.Floor.V)
	}
	return fmt.Sprintf("no more than the %s side differs from itself, between its halves: %s", []string{"first", "second"}[r.Unsteady.V.Side], r.size(r.Floor.V))
}

// size is a difference as people write it: 7.5 %, or × 12 where percentages say
// little; of a share in points.
func (r *Row) size(v float64) string {
	switch {
	case r.Figure.IsShare():
		return fmt.Sprintf("%.2g percentage points", v*100)
	case v >= 1.5:
		return fmt.Sprintf("× %s", short(1+v))
	}
	return short(v*100) + " %"
}

// short writes two significant digits without an exponent.
func short(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// takeSelf notes how much the sides differ from themselves.
func (r *Row) takeSelf(s self, relative bool) {
	if math.IsNaN(s.floor) {
		return
	}
	r.Unsteady = s.by
	if r.Floor = serving.Some(s.floor); relative {
		r.Floor = serving.Some(math.Expm1(s.floor))
	}
}
