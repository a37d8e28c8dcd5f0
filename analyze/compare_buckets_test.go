package analyze

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// histServer is a server of which one scrape is known: observations of TTFT by
// bucket, and prompts of one mean length.
func histServer(model string, in float64, counts ...float64) *serving.Server {
	bounds := []float64{.05, .1, .2, .4, .8, 1.6, math.Inf(1)}
	cum := make([]float64, len(bounds))
	n := 0.0
	for i := range bounds {
		if i < len(counts) {
			n += counts[i]
		}
		cum[i] = n
	}
	h := func(m serving.MetricKey, bounds, cum []float64, sum float64) serving.HistogramSeries {
		return serving.HistogramSeries{Metric: m, Bounds: bounds, Counts: [][]float64{cum}, Sum: []float64{sum}, Count: []float64{n}}
	}
	return &serving.Server{ID: "s", Label: "s", Engine: "vllm", Model: serving.Some(model), Times: []int64{0}, Relative: true,
		Info:       []serving.Setting{{Key: "gpu_memory_utilization", Value: "0.9"}, {Key: "num_gpu_blocks", Value: fmt.Sprint(n)}},
		Histograms: []serving.HistogramSeries{h(serving.TTFT, bounds, cum, n*.1), h(serving.PromptTokens, []float64{math.Inf(1)}, []float64{n}, n*in)}}
}

func comparedServers(t *testing.T, before, after *serving.Server) *Comparison {
	t.Helper()
	rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{{Servers: []*serving.Server{before}}, {Servers: []*serving.Server{after}}}}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return Value[Comparison](rep)
}

// Of two sides that are scrapes alone there is a change only where the buckets do not
// overlap, as far as the observations say in which bucket the quantile is, and only
// where the requests are alike.
func TestCompareHistograms(t *testing.T) {
	p95 := verdict.Figure{Metric: serving.TTFT, Stat: "p95"}
	low := func() *serving.Server { return histServer("m", 500, 0, 900, 100) }
	for _, tt := range []struct {
		name          string
		before, after *serving.Server
		want          verdict.Call
		verdict       Verdict
		why           string
	}{
		{"the same", low(), low(), verdict.Undecided, VerdictUndecided, "bucket resolution"},
		{"neighbours", low(), histServer("m", 500, 0, 0, 900, 100), verdict.Undecided, VerdictUndecided, "bucket resolution"},
		{"far apart", low(), histServer("m", 500, 0, 0, 0, 900, 100), verdict.Slower, VerdictWorse, "do not overlap"},
		{"far apart, the other way", histServer("m", 500, 0, 0, 0, 900, 100), low(), verdict.Faster, VerdictBetter, "do not overlap"},
		{"beyond the last bucket", low(), histServer("m", 500, 0, 0, 0, 0, 0, 0, 1000), verdict.Slower, VerdictWorse, "do not overlap"},
		{"ten observations", histServer("m", 500, 0, 9, 1), histServer("m", 500, 0, 0, 0, 9, 1), verdict.Undecided, VerdictUndecided, "bucket resolution"},
		{"longer prompts", low(), histServer("m", 3000, 0, 0, 0, 900, 100), verdict.Undecided, VerdictUndecided, "other lengths"},
		{"longer prompts, yet faster", histServer("m", 500, 0, 0, 0, 900, 100), histServer("m", 3000, 0, 900, 100), verdict.Faster, VerdictBetter, "do not overlap"},
	} {
		c := comparedServers(t, tt.before, tt.after)
		r := rowOf(c.Headline, p95)
		if r == nil || r.Call != tt.want || !strings.Contains(r.Why, tt.why) || c.Verdict != tt.verdict {
			t.Errorf("%s: %s, row %+v; want %s and %s (%s)", tt.name, c.Verdict, r, tt.verdict, tt.want, tt.why)
		}
	}
	// What lies beyond the last bucket has no value, and the sentence says so.
	c := comparedServers(t, low(), histServer("m", 500, 0, 0, 0, 0, 0, 0, 1000))
	if want := "TTFT p95 by at least × 8"; !strings.HasSuffix(c.Title, want) {
		t.Errorf("title %q, want …%q", c.Title, want)
	}
}

// Engines state their model and settings in their scrapes. What follows from the
// machine is no setting.
func TestCompareNamesWhatServersState(t *testing.T) {
	after := histServer("n", 500, 0, 900, 50)
	after.Info[0].Value = "0.8"
	c := comparedServers(t, histServer("m", 500, 0, 900, 100), after)
	var keys []string
	for _, x := range c.Changed {
		keys = append(keys, x.Key)
	}
	if want := []string{"gpu_memory_utilization", "model"}; !slices.Equal(keys, want) {
		t.Errorf("changed %q, want %q", keys, want)
	}
	if len(c.Cautions) == 0 || !strings.Contains(c.Cautions[0], "2 things were changed at once") {
		t.Errorf("cautions %q", c.Cautions)
	}
}

// A server that served nobody is named; it is no missing level of load.
func TestCompareIdleServer(t *testing.T) {
	c := comparedServers(t, histServer("m", 500), histServer("m", 500, 0, 900, 100))
	if want := "the servers of before finished no request"; c.Verdict != VerdictUndecided || !strings.Contains(c.Title, want) {
		t.Errorf("%s: %q, want undecided and %q", c.Verdict, c.Title, want)
	}
}
