package serving

import (
	"context"
	"math/rand"
	"testing"
)

// The buckets follow each other without gaps, and hold what they say.
func TestRollupBuckets(t *testing.T) {
	next := int64(0)
	for b := range MaxRollupBucket + 1 {
		least, most := RollupBounds(b)
		if least != next || most < least {
			t.Fatalf("bucket %d is from %d to %d, want from %d", b, least, most, next)
		}
		if RollupBucket(least) != b || RollupBucket(most) != b {
			t.Fatalf("bucket %d: its bounds are in %d and %d", b, RollupBucket(least), RollupBucket(most))
		}
		if float64(most-least) >= float64(max(least, 1))*RollupError {
			t.Fatalf("bucket %d, %d to %d, is wider than 1/128", b, least, most)
		}
		next = most + 1
	}
	if next != rollupMax+1 {
		t.Errorf("the buckets end at %d, want %d", next-1, int64(rollupMax))
	}
}

func rolledUp(values ...int64) *Rollup {
	r := &Rollup{Rows: int64(len(values)), Spec: RollupSpec{Layout: RollupLayout, Dims: []string{"workload"}, Groupings: [][]string{{}, {"workload"}}, StepUS: 2e6, Columns: []string{"ttft"}}}
	for _, by := range []string{"", "chat"} {
		c := &RollupCell{By: []string{by}, Metrics: map[MetricKey]RollupHistogram{}}
		for _, v := range values {
			c.Outcomes[OK]++
			c.Metrics[TTFT] = c.Metrics[TTFT].Plus(RollupHistogram{{RollupBucket(v), 1, v, float64(v) * float64(v), v, v}})
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

// Parts add up to the whole.
func TestRollupAdd(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	var all []int64
	for range 500 {
		all = append(all, rnd.Int63n(2_000_000))
	}
	whole, sum := rolledUp(all...), rolledUp(all[:200]...)
	if err := sum.Add(context.Background(), rolledUp(all[200:]...)); err != nil {
		t.Fatal(err)
	}
	if sum.Rows != 500 || len(sum.Cells) != 2 {
		t.Fatalf("%d rows in %d cells", sum.Rows, len(sum.Cells))
	}
	for i, c := range sum.Cells {
		w := whole.Cells[i]
		if c.Sent() != w.Sent() || len(c.Metrics[TTFT]) != len(w.Metrics[TTFT]) {
			t.Fatalf("cell %q differs", c.Key())
		}
		for k, b := range c.Metrics[TTFT] {
			if x := w.Metrics[TTFT][k]; b.N != x.N || b.Total != x.Total || b.Least != x.Least || b.Most != x.Most {
				t.Fatalf("bucket %+v, want %+v", b, x)
			}
		}
	}
}

// What cannot be added says what differs.
func TestRollupDiffers(t *testing.T) {
	for what, change := range map[string]func(*RollupSpec){
		"bucket layout: log-linear/7 against log-linear/5":         func(s *RollupSpec) { s.Layout = "log-linear/5" },
		"objectives (--slo): none against [ttft:p99<1s]":           func(s *RollupSpec) { s.SLOs = []string{"ttft:p99<1s"} },
		"bounds of --buckets: none against map[prompt_tokens:[9]]": func(s *RollupSpec) { s.Buckets = map[string][]int64{"prompt_tokens": {9}} },
		"": func(s *RollupSpec) { s.StepUS = 5e6 },
	} {
		a, b := rolledUp(1).Spec, rolledUp(1).Spec
		change(&b)
		if got := a.Differs(&b); got != what {
			t.Errorf("got %q, want %q", got, what)
		}
	}
}
