package promql

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// scrapes makes a histogram and a counter of a simulated server: n scrapes 15 s
// apart, restarting now and then.
func scrapes(rng *rand.Rand, n int) (bounds []float64, rows [][]float64, counter []float64) {
	bounds = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, math.Inf(+1)}[rng.IntN(5):]
	row, c := make([]float64, len(bounds)), float64(rng.IntN(1000))
	for i := range row {
		row[i] = float64(i * rng.IntN(20))
	}
	for i := 1; i < len(row); i++ {
		row[i] = max(row[i], row[i-1])
	}
	for range n {
		rows, counter = append(rows, append([]float64(nil), row...)), append(counter, c)
		if rng.IntN(6) == 0 {
			clear(row)
			c = 0
		}
		more := 0.0
		for b := range row {
			more += float64(rng.IntN(30))
			row[b] += more
		}
		c += float64(rng.IntN(5000))
	}
	return bounds, rows, counter
}

// Our figures come from stat, users' expressions from the engine: both must say
// the same of the same scrapes, where the window begins 1 ms before the first
// scrape and ends with the last one.
func TestStatAgreesWithTheEngine(t *testing.T) {
	const step = 15 * time.Second
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 2 + rng.IntN(30)
		bounds, rows, counter := scrapes(rng, n)
		all := []serving.RawSeries{raw(step, "x_total", counter...)}
		for b, le := range bounds {
			v := make([]float64, n)
			for i := range v {
				v[i] = rows[i][b]
			}
			all = append(all, raw(step, fmt.Sprintf(`h_bucket{le="%v"}`, le), v...))
		}
		db := New(all)
		end := start.Add(time.Duration(n-1) * step)
		window := fmt.Sprintf("%dms", (end.Sub(start) + time.Millisecond).Milliseconds())
		ask := func(expr string, repaired bool) float64 {
			got, warn, err := db.Instant(t.Context(), expr, end)
			if err != nil || len(got) > 1 || repaired != (len(warn) > 0) {
				t.Fatalf("seed %d: %s: %v, %q, %v", seed, expr, got, warn, err)
			}
			if len(got) == 0 {
				return math.NaN()
			}
			return got[0].V[0]
		}
		same := func(what string, ours, theirs float64) {
			if math.Abs(ours-theirs) > 1e-9*max(1, math.Abs(ours)) && !(math.IsNaN(ours) && math.IsNaN(theirs)) {
				t.Errorf("seed %d, %d scrapes: %s is %v, the engine says %v", seed, n, what, ours, theirs)
			}
		}
		inc, resets := stat.IncreaseAcross(counter, nil)
		// The window is 1 ms longer than the samples reach: the engine adds that
		// millisecond's share unless the counter would have begun below zero.
		theirs := ask("increase(x_total["+window+"])", false)
		slack := 1 / float64(end.Sub(start).Milliseconds())
		if theirs < inc*(1-1e-9) || theirs > inc*(1+slack)*(1+1e-9) {
			t.Errorf("seed %d: the increase is %v, the engine says %v", seed, inc, theirs)
		}
		same("the number of restarts", float64(resets), ask("resets(x_total["+window+"])", false))
		for i := 1; i < n; i++ {
			one, _ := stat.IncreaseAcross(counter[i-1:i+1], nil)
			got, _, err := db.Instant(t.Context(), "irate(x_total[16s])", start.Add(time.Duration(i)*step))
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			same("an increase between two scrapes", one/step.Seconds(), got[0].V[0])
		}
		delta, _ := stat.BucketDeltaAcross(bounds, rows, nil)
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			// A restart that not every bucket shows is seen by stat, which looks at
			// the histogram; the engine looks at one bucket at a time.
			if !eachBucketFell(rows) {
				continue
			}
			ours := stat.BucketQuantile(q, bounds, delta)
			theirs := ask(fmt.Sprintf("histogram_quantile(%v, increase(h_bucket[%s]))", q, window), ours.Raised)
			if math.Abs(ours.Value-theirs) > 2*slack*max(1, theirs) && !(math.IsNaN(ours.Value) && math.IsNaN(theirs)) {
				t.Errorf("seed %d: the %v quantile is %v, the engine says %v", seed, q, ours.Value, theirs)
			}
		}
		for i, row := range rows {
			for _, q := range []float64{0.25, 0.5, 0.95} {
				got, _, err := db.Instant(t.Context(), fmt.Sprintf("histogram_quantile(%v, h_bucket)", q), start.Add(time.Duration(i)*step))
				if err != nil || len(got) != 1 {
					t.Fatal(got, err)
				}
				same("a quantile of one scrape", stat.BucketQuantile(q, bounds, row).Value, got[0].V[0])
			}
		}
	}
}

// eachBucketFell reports that at each restart every bucket fell, so that a look
// at single buckets finds what a look at the histogram finds.
func eachBucketFell(rows [][]float64) bool {
	for i := 1; i < len(rows); i++ {
		fell := 0
		for b := range rows[i] {
			if rows[i][b] < rows[i-1][b] {
				fell++
			}
		}
		if fell != 0 && fell != len(rows[i]) {
			return false
		}
	}
	return true
}
