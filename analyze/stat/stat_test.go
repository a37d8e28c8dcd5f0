package stat

import (
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// ranksBySum is QuantileRanks by adding up every probability that matters.
func ranksBySum(n int64, p, conf float64) (lo, hi int64) {
	from, to := bracket(n, p)
	w := make([]float64, to-from+1)
	mode := min(int64(float64(n+1)*p), n)
	w[mode-from] = 1
	for k := mode; k < to; k++ {
		w[k+1-from] = w[k-from] * float64(n-k) / float64(k+1) * p / (1 - p)
	}
	for k := mode; k > from; k-- {
		w[k-1-from] = w[k-from] * float64(k) / float64(n-k+1) * (1 - p) / p
	}
	a, total, hi := (1-conf)/2, Sum(w), int64(-1)
	var cdf compensated
	for i, v := range w {
		cdf.add(v / total)
		if cdf.value() <= a {
			lo = from + int64(i) + 1
		}
		if hi < 0 && cdf.value() >= 1-a {
			hi = from + int64(i) + 1
		}
	}
	return lo, hi
}

// Up to 1e9 values the ranks are exact, by the binomial distribution or its
// expansion.
func TestQuantileRanksOfMany(t *testing.T) {
	for _, conf := range []float64{0.1, 0.5, 0.95, 0.999} {
		for n := int64(1); n <= 1e9; n = n*3 + 1 {
			for _, p := range []float64{0.001, 0.25, 0.5, 0.9, 0.99, 0.9999} {
				r := QuantileRanks(n, p, conf)
				lo, hi := ranksBySum(n, p, conf)
				if r.Lo != lo || r.Hi != hi {
					t.Errorf("n=%d p=%v conf=%v: ranks %d to %d, want %d to %d", n, p, conf, r.Lo, r.Hi, lo, hi)
				}
				if r.Coverage < conf-1e-6 || r.Coverage > 1+1e-9 {
					t.Errorf("n=%d p=%v: coverage %v", n, p, r.Coverage)
				}
			}
		}
	}
}

func TestQuantileRanksOutside(t *testing.T) {
	for _, r := range []Ranks{QuantileRanks(0, 0.5, 0.95), QuantileRanks(10, 0, 0.95), QuantileRanks(10, 1, 0.95), QuantileRanks(10, math.NaN(), 0.95), QuantileRanks(10, 0.5, 1)} {
		if r.HasLo() || r.HasHi() {
			t.Errorf("%+v has ends", r)
		}
	}
}

// MinN is where both ends appear.
func TestMinNIsWhereEndsAppear(t *testing.T) {
	for _, p := range []float64{0.05, 0.5, 0.9, 0.97, 0.99, 0.999} {
		n := MinN(p, 0.95)
		if r := QuantileRanks(n, p, 0.95); !r.HasLo() || !r.HasHi() {
			t.Errorf("p=%v n=%d: %+v, want both ends", p, n, r)
		}
		if r := QuantileRanks(n-1, p, 0.95); r.HasLo() && r.HasHi() {
			t.Errorf("p=%v n=%d: %+v, want one end missing", p, n-1, r)
		}
	}
}

func TestQuantileEdges(t *testing.T) {
	inf := math.Inf(1)
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %v, want NaN", got)
	}
	for _, tt := range []struct {
		x       []float64
		p, want float64
	}{
		{[]float64{1, inf, inf}, 0.75, inf}, {[]float64{-inf, 1}, 0.5, -inf}, {[]float64{-inf, -inf}, 0.3, -inf},
		{[]float64{1, 2}, -1, 1}, {[]float64{1, 2}, 2, 2}, {[]float64{1, 2, inf}, 0.5, 2},
	} {
		if got := Quantile(tt.x, tt.p); got != tt.want {
			t.Errorf("%v at %v: %v, want %v", tt.x, tt.p, got, tt.want)
		}
	}
}

func TestWeightedQuantileEdges(t *testing.T) {
	if got := WeightedQuantile([]float64{1, 2}, []float64{0, 0}, 0.5); !math.IsNaN(got) {
		t.Errorf("without weight: %v, want NaN", got)
	}
	if got := WeightedQuantile([]float64{1, 2, 3}, []float64{0, 1, 0}, 0); got != 2 {
		t.Errorf("p0: %v, want 2: the first value with weight", got)
	}
	if got := WeightedQuantile([]float64{1, 2, 3}, []float64{0.1, 0.1, 0.1}, 1); got != 3 {
		t.Errorf("p100: %v, want 3", got)
	}
}

func TestMoments(t *testing.T) {
	mean, std := Moments([]float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16})
	if mean != 1e9+10 || math.Abs(std-math.Sqrt(22.5)) > 1e-12 {
		t.Errorf("mean %v std %v, want 1000000010 and √22.5", mean, std)
	}
	if m, s := Moments(nil); !math.IsNaN(m) || !math.IsNaN(s) {
		t.Errorf("of nothing: %v, %v", m, s)
	}
	if m, s := Moments([]float64{5}); m != 5 || s != 0 {
		t.Errorf("of one: %v, %v", m, s)
	}
	if m, s := Moments([]float64{-1e308, 1e308, 1e308, 1e308}); math.Abs(m-5e307) > 1e295 || math.Abs(s/8.660254037844386e307-1) > 1e-12 {
		t.Errorf("of great values: %v, %v", m, s)
	}
	if got := Sum([]float64{1e100, 1, -1e100}); got != 1 {
		t.Errorf("sum %v, want 1", got)
	}
}

// acf returns the sample autocorrelation of a series at a lag:
// Σ (y_t-m)(y_{t+lag}-m) / Σ (y_t-m)². It is NaN for a constant series.
//
// Source: Box and Jenkins, Time Series Analysis, 2.1.5.
func acf(y []float64, lag int) float64 {
	if lag < 0 || lag >= len(y) {
		return math.NaN()
	}
	m := Sum(y) / float64(len(y))
	var num, den compensated
	for t, v := range y {
		den.add((v - m) * (v - m))
		if t+lag < len(y) {
			num.add((v - m) * (y[t+lag] - m))
		}
	}
	if !(den.value() > 0) {
		return math.NaN()
	}
	return num.value() / den.value()
}

func TestIndicatorACF1(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 200 {
		x, y := make([]float64, 1+r.Intn(40)), []float64(nil)
		for i := range x {
			x[i] = float64(r.Intn(4))
			if x[i] > 1 {
				y = append(y, 1)
			} else {
				y = append(y, 0)
			}
		}
		got, want := IndicatorACF1(x, 1), acf(y, 1)
		if len(x) == 1 {
			want = math.NaN()
		}
		if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v: %v, want %v", x, got, want)
		}
	}
}

func TestWilsonEdges(t *testing.T) {
	for _, tt := range []struct {
		k, n   int64
		lo, hi float64
	}{{0, 0, 0, 1}, {0, 10, 0, 0.27754}, {10, 10, 0.72246, 1}} {
		lo, hi := Wilson(tt.k, tt.n, 0.95)
		if math.Abs(lo-tt.lo) > 1e-5 || math.Abs(hi-tt.hi) > 1e-5 {
			t.Errorf("%d of %d: %v to %v, want %v to %v", tt.k, tt.n, lo, hi, tt.lo, tt.hi)
		}
	}
	if _, hi := Wilson(7, 7, 0.95); hi != 1 {
		t.Errorf("all of 7: upper end %v, want exactly 1", hi)
	}
}

func TestQuantileQuality(t *testing.T) {
	for _, tt := range []struct {
		n       int64
		p       float64
		half    float64
		bounded bool
		acf1    float64
		want    Quality
	}{
		{367, 0.99, 0.1, false, 0, Unsupported},
		{367, 0.99, 0.1, false, 0.9, Unsupported},
		{368, 0.99, 0.1, true, 0, Weak},
		{368, 0.99, 0.1, true, 0.9, Weak}, // an autocorrelation of three values
		{999, 0.99, 0.1, true, 0, Weak},
		{1000, 0.99, 0.1, true, 0, OK},
		{1000, 0.99, 0.26, true, 0, Weak},
		{1000, 0.99, 0.26, true, 0.3, Autocorrelated},
		{1000, 0.99, 0.1, true, 0.2, OK},
		{1000, 0.99, 0.1, true, 0.21, Autocorrelated},
		{30, 0.5, 0.1, true, 0.3, OK}, // by chance
		{30, 0.5, 0.1, true, 0.4, Autocorrelated},
	} {
		if got := QuantileQuality(tt.n, tt.p, 1, 1-tt.half, 1+tt.half, tt.bounded, tt.acf1); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

func TestFrontSweepIsTheDefinition(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		points := make([][]float64, r.Intn(20))
		for i := range points {
			points[i] = []float64{float64(r.Intn(6)), float64(r.Intn(6))}
			if r.Intn(9) == 0 {
				points[i][r.Intn(2)] = math.NaN()
			}
		}
		var want []int
		for i, p := range points {
			if complete(p) && !slices.ContainsFunc(points, func(q []float64) bool { return dominates(q, p) && complete(q) }) {
				want = append(want, i)
			}
		}
		if got := Front(points); !slices.Equal(got, want) {
			t.Fatalf("%v: front %v, want %v", points, got, want)
		}
	}
}

func TestDominance(t *testing.T) {
	// Throughput is to be maximized: negated. The tolerance is of the size of a
	// value, whatever its sign.
	points := [][]float64{{-100, 20}, {-99, 20}, {-80, 20}, {-120, math.NaN()}, {-100, 20}, {-50, 10}}
	got := Dominance(points, []float64{0.03, 0.03})
	want := []Class{Frontier, Tied, Dominated, "", Frontier, Frontier}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// saturationKnee returns the saturation knee N* alone, of a sweep in any order;
// repeats of a level are the same n.
func saturationKnee(n, x []float64) Knee {
	levels, repeats := levelsOf(n, x)
	return FindKnees(levels, repeats).Saturation
}

// levelsOf orders a sweep by load and collects repeats.
func levelsOf(n, x []float64) (levels []float64, repeats [][]float64) {
	at := map[float64][]float64{}
	for i := range n {
		at[n[i]] = append(at[n[i]], x[i])
	}
	for l := range at {
		levels = append(levels, l)
	}
	slices.Sort(levels)
	for _, l := range levels {
		repeats = append(repeats, at[l])
	}
	return levels, repeats
}

func TestSaturation(t *testing.T) {
	for _, tt := range []struct {
		name string
		n, x []float64
		want float64
		conf Confidence
	}{
		{"plateau", []float64{1, 2, 4, 8, 16, 32, 64, 128}, []float64{90, 180, 360, 720, 1440, 1440, 1440, 1440}, 16, High},
		{"any order", []float64{128, 1, 64, 2, 4, 32, 8, 16}, []float64{1440, 90, 1440, 180, 360, 1440, 720, 1440}, 16, High},
		{"median of repeats", []float64{1, 1, 1, 2, 4, 8, 16, 32, 64, 128}, []float64{90, 5, 500, 180, 360, 720, 1440, 1440, 1440, 1440}, 16, High},
		{"three levels", []float64{1, 2, 2, 4}, []float64{1, 2, 2, 2}, math.NaN(), NotReached},
		{"rising", []float64{1, 2, 4, 8}, []float64{10, 20, 40, 43}, math.NaN(), NotReached},
		{"rising a little", []float64{1, 2, 4, 8}, []float64{10, 20, 40, 41}, 4.1, High},
		{"nothing", nil, nil, math.NaN(), NotReached},
		{"no numbers", []float64{0, -1, math.NaN(), math.Inf(1), 1}, []float64{1, 1, 1, 1, 0}, math.NaN(), NotReached},
	} {
		k := saturationKnee(tt.n, tt.x)
		if k.Confidence != tt.conf || math.IsNaN(k.N) != math.IsNaN(tt.want) || math.Abs(k.N-tt.want) > 1e-9 || k.Reason == "" {
			t.Errorf("%s: %+v, want %v %s", tt.name, k, tt.want, tt.conf)
		}
	}
}

// Where throughput still rises at the last level its highest is not known, and with it
// no saturation; power may have passed its maximum by then.
func TestPowerOfARisingSweep(t *testing.T) {
	curve := func(n []float64, t1 float64) (x []float64) { // X = N/(t0 + t1·N), of greatest power at N = t0/t1
		for _, v := range n {
			x = append(x, v/(1+t1*v))
		}
		return x
	}
	wide, narrow, high := []float64{4, 8, 16, 32, 64, 128}, []float64{1, 2, 4, 8, 16}, []float64{64, 128, 256, 512, 1024}
	for _, tt := range []struct {
		name string
		n, x []float64
		want float64
		conf Confidence
		says string
	}{
		{"inside", wide, curve(wide, 1.0/16), 16, Medium, "which would check it, are not reached"},
		{"beyond the sweep", narrow, curve(narrow, 1.0/50), math.NaN(), NotReached, "at 16 or above"},
		{"below the sweep", high, []float64{100, 112, 126, 142, 160}, math.NaN(), NotReached, "at 64 or below"},
		{"from one request on", []float64{1, 2, 4, 8}, []float64{100, 112, 126, 142}, 1, Medium, "are not reached"},
		{"level up to the end", []float64{1, 4, 16, 64}, []float64{10, 20, 40, 79}, math.NaN(), NotReached, "does not fall clearly"},
		{"three levels", []float64{1, 8, 64}, []float64{10, 40, 60}, math.NaN(), NotReached, "at least 4"},
	} {
		k := FindKnees(tt.n, single(tt.x))
		if math.IsNaN(k.Power.N) != math.IsNaN(tt.want) || k.Power.N != tt.want && !math.IsNaN(tt.want) || k.Power.Confidence != tt.conf || !strings.Contains(k.Power.Reason, tt.says) {
			t.Errorf("%s: %+v, want %v %s for %q", tt.name, k.Power, tt.want, tt.conf, tt.says)
		}
		for name, o := range map[string]Knee{"saturation": k.Saturation, "usl": k.USL, "kneedle": k.Kneedle} {
			if o.Confidence != NotReached || !math.IsNaN(o.N) {
				t.Errorf("%s: %s is %+v while throughput rises", tt.name, name, o)
			}
		}
	}
}

// single are levels without repeats.
func single(x []float64) (out [][]float64) {
	for _, v := range x {
		out = append(out, []float64{v})
	}
	return out
}

func TestKneedleOfNothing(t *testing.T) {
	for _, v := range [][]float64{nil, {1}, {1, 2}, {1, 1, 1}} {
		if k, ok := Kneedle(v, v, ConcaveIncreasing, 1); ok {
			t.Errorf("%v: knee at %v", v, k)
		}
	}
}

func BenchmarkQuantileRanks(b *testing.B) {
	for b.Loop() {
		QuantileRanks(50_000_000, 0.99, 0.95)
	}
}
