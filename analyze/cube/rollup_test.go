package cube

import (
	"context"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

func rollupSource(n int) *memory { return randomTable(rand.New(rand.NewSource(7)), n, true) }

func rollupOf(t *testing.T, src serving.Requests, plan Plan) *serving.Rollup {
	t.Helper()
	r, err := RollUp(context.Background(), src, plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Spec.SLOs = []string{"ttft:p99<200ms", "tpot:p99<20ms", "itl:p99<15ms", "decode:p99<1s", "workload=chat:cache=warm:e2e:p99<5s", "prompt_tokens=128-511:e2e:p99<5s", "workload=no such:e2e:p99<5s"}
	return r
}

// A cube of a rollup says what the cube of the requests says: the counts exactly,
// the quantiles within the width of a bucket.
func TestRollupEqualsRequests(t *testing.T) {
	src, plan := rollupSource(3000), wholePlan()
	plan.Examples = 0
	want := fill(t, src, plan)
	got, err := FromRollup(rollupOf(t, src, plan), plan)
	if err != nil {
		t.Fatal(err)
	}
	for g := range plan.Groupings {
		a, b := want.Groups[g].Cells, got.Groups[g].Cells
		if len(a) != len(b) {
			t.Fatalf("%v: %d cells, want %d", plan.Groupings[g], len(b), len(a))
		}
		for i := range a {
			x, y := a[i], b[i]
			if !slices.Equal(x.Key, y.Key) || x.Window != y.Window || x.Sent != y.Sent || x.Outcomes != y.Outcomes || x.Good != y.Good ||
				!slices.Equal(x.Within, y.Within) || !slices.Equal(x.Of, y.Of) || x.Input != y.Input || x.Output != y.Output || x.Cached != y.Cached || x.CachedOf != y.CachedOf {
				t.Fatalf("%v: cell %+v, want %+v", plan.Groupings[g], y, x)
			}
			for k, s := range x.Summaries {
				compareRolled(t, k, s, y.Summaries[k])
			}
		}
	}
}

func compareRolled(t *testing.T, k serving.MetricKey, want, got *Summary) {
	t.Helper()
	if want == nil || want.N == 0 {
		return
	}
	if got == nil || got.N != want.N {
		t.Fatalf("%s: %+v, want %+v", k, got, want)
	}
	unit := 1 / serving.RollupUnits(k) // a value was rounded to a whole number
	if math.Abs(got.Mean-want.Mean) > unit || math.Abs(got.Min-want.Min) > unit || math.Abs(got.Max-want.Max) > unit || math.Abs(got.Std-want.Std) > 2*unit+1e-6*want.Max {
		t.Errorf("%s: mean %v std %v, want %v, %v", k, got.Mean, got.Std, want.Mean, want.Std)
	}
	for i, q := range want.Quantiles {
		r := got.Quantiles[i]
		if math.Abs(r.Value-q.Value) > q.Value*serving.RollupError+unit {
			t.Errorf("%s: p%v is %v, want %v", k, q.P, r.Value, q.Value)
		}
		if q.Lo.OK && (!r.Lo.OK || r.Lo.V > q.Lo.V+1e-12) || q.Hi.OK && (!r.Hi.OK || r.Hi.V < q.Hi.V-1e-12) {
			t.Errorf("%s: interval of p%v from %v to %v does not hold %v to %v", k, q.P, r.Lo, r.Hi, q.Lo, q.Hi)
		}
	}
}

// The rollup does not depend on how many workers there are.
func TestRollupWorkers(t *testing.T) {
	src, plan := rollupSource(2000), wholePlan()
	plan.Workers = 1
	want := rollupOf(t, src, plan)
	plan.Workers = 4
	if d := cmp.Diff(want, rollupOf(t, src, plan)); d != "" {
		t.Error(d)
	}
}

// A limit that was not counted when the rollup was made is read off the buckets;
// the truth lies in what they leave open.
func TestRollupOtherLimits(t *testing.T) {
	src, plan := rollupSource(3000), wholePlan()
	r := rollupOf(t, src, plan)
	for _, ms := range []float64{50, 123.456, 250, 1000} {
		plan.Limits = []Limit{{Metric: serving.Queue, Max: ms / 1000}, {Metric: serving.E2E, Max: ms / 100}, {Metric: serving.E2E, Max: ms / 100, By: []serving.Term{{Dim: "workload", Value: "chat"}}}}
		want := fill(t, src, plan).Groups[0].Cells[0]
		c, err := FromRollup(r, plan)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Groups[0].Cells[0]
		for l := range plan.Limits {
			if got.Of[l] != want.Of[l] && len(plan.Limits[l].By) == 0 || want.Within[l] < got.Within[l] || want.Within[l] > got.Within[l]+got.Slack[l] {
				t.Errorf("limit %d at %v ms: %d to %d of %d, want %d of %d", l, ms, got.Within[l], got.Within[l]+got.Slack[l], got.Of[l], want.Within[l], want.Of[l])
			}
		}
	}
}
