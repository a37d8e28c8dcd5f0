package promql

import (
	"slices"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// FuzzExpression asks whatever a user may type: it ends, and answers are in order.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"rate(x_total[1m])", "sum by (a) (increase(x_total[15s]))", "histogram_quantile(0.9, sum by (le) (rate(h_bucket[$__rate_interval])))",
		"x_total @ end() offset -1m", "max_over_time(rate(x_total[1m])[10m:1m])", "x_total[2*30s]", "absent(nope)", "{__name__=~\".+\"}",
		"topk(2, x_total) / on(a) group_left g", "label_replace(x_total, \"b\", \"$1\", \"a\", \"(.*)\")", "time()", "vector(1) or g", "$x", "\"s\"", "avg_over_time(g[5s] @ 0)",
		"count_values(\"v\", x_total)", "quantile_over_time(2, g[1m])", "-g", "g > bool 1", "info(g)", "first_over_time(g[1h:])",
	} {
		f.Add(s)
	}
	db := New([]serving.RawSeries{
		raw(15*time.Second, `x_total{a="1"}`, steady(20, 0, 3)...), raw(15*time.Second, `x_total{a="2"}`, steady(20, 5, 1)...), raw(15*time.Second, `g{a="1"}`, 1, 2, 3, 2, 1),
		raw(15*time.Second, `h_bucket{le="1"}`, steady(20, 0, 1)...), raw(15*time.Second, `h_bucket{le="+Inf"}`, steady(20, 0, 2)...),
	})
	f.Fuzz(func(t *testing.T, expr string) {
		rs, _, err := db.Range(t.Context(), expr, start, start.Add(5*time.Minute), 30*time.Second)
		if err != nil {
			return
		}
		for _, r := range rs {
			if len(r.T) != len(r.V) || len(r.T) == 0 || !slices.IsSorted(r.T) {
				t.Errorf("%s: %d times, %d values", expr, len(r.T), len(r.V))
			}
		}
	})
}
