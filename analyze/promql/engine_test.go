package promql

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"

	"github.com/vreport/vreport/ingest/serving"
)

var start = time.UnixMilli(1_764_417_600_000)

// raw makes a series of values 15 s apart; NaNs are scrapes without it.
func raw(step time.Duration, text string, values ...float64) serving.RawSeries {
	r := serving.RawSeries{Labels: map[string]string{}}
	name, rest, _ := strings.Cut(text, "{")
	r.Labels["__name__"] = name
	for _, pair := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			r.Labels[k] = strings.Trim(v, `"`)
		}
	}
	for i, v := range values {
		if !math.IsNaN(v) || value.IsStaleNaN(v) {
			r.T, r.V = append(r.T, start.Add(time.Duration(i)*step).UnixMilli()), append(r.V, v)
		}
	}
	return r
}

func steady(n int, from, by float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = from + float64(i)*by
	}
	return out
}

func show(rs []Result) string {
	var lines []string
	for _, r := range rs {
		var ls []string
		for _, t := range r.Labels {
			ls = append(ls, t.Dim+"="+t.Value)
		}
		lines = append(lines, fmt.Sprintf("{%s} %v", strings.Join(ls, ","), r.V))
	}
	return strings.Join(lines, "\n")
}

func TestRange(t *testing.T) {
	const step = 15 * time.Second
	nan := math.NaN()
	stale := math.Float64frombits(value.StaleNaN)
	db := New([]serving.RawSeries{
		raw(step, `tokens_total{engine="1"}`, steady(5, 100, 30)...),
		raw(step, `tokens_total{engine="0"}`, steady(5, 0, 15)...),
		raw(step, `waiting{engine="0",empty=""}`, 0, 4, 8, 2, 1),
		raw(step, `gone`, 1, 2, stale, nan, nan),
		raw(step, `gap`, 1, 2, nan, nan, nan, nan, nan, nan, 3),
		raw(step, `x_seconds_bucket{le="1"}`, 0, 0, 0, 0, 2),
		raw(step, `x_seconds_bucket{le="2"}`, 0, 0, 0, 0, 4),
		raw(step, `x_seconds_bucket{le="+Inf"}`, 0, 0, 0, 0, 4),
	})
	for _, c := range []struct{ expr, want string }{
		{"waiting", "{__name__=waiting,engine=0} [0 4 8 2 1]"},
		{"sum(rate(tokens_total[30s]))", "{} [2.5 3 3 3]"},
		{"increase(tokens_total[16s])", "{engine=0} [15 16 16 16]\n{engine=1} [32 32 32 32]"},
		{"avg_over_time(waiting[1m])", "{engine=0} [0 2 4 3.5 3.75]"},
		{"gone", "{__name__=gone} [1 2]"},
		{"gap", "{__name__=gap} [1 2 2]"}, // carried over one scrape, not over the gap
		{`x_seconds_bucket{le="1.0"}`, "{__name__=x_seconds_bucket,le=1.0} [0 0 0 0 2]"},
		{"histogram_quantile(0.75, sum by (le) (increase(x_seconds_bucket[30s]))) > 0", "{} [1.5]"},
		{"waiting offset 15s", "{__name__=waiting,engine=0} [0 4 8 2]"},
		{"waiting @ start()", "{__name__=waiting,engine=0} [0 0 0 0 0]"},
		{"1 + 1", "{} [2 2 2 2 2]"},
		{"max_over_time(rate(tokens_total{engine=\"0\"}[$__rate_interval])[1m:15s])", "{engine=0} [0.25 0.5 0.75 1]"},
	} {
		got, _, err := db.Range(t.Context(), c.expr, start, start.Add(4*step), step)
		for i := range got {
			for k, v := range got[i].V {
				got[i].V[k] = math.Round(v*1e6) / 1e6
			}
		}
		if err != nil || show(got) != c.want {
			t.Errorf("%s: %v, %v\nwant %s", c.expr, show(got), err, c.want)
		}
	}
	got, _, err := db.Instant(t.Context(), "tokens_total", start.Add(2*step))
	if want := "{__name__=tokens_total,engine=0} [30]\n{__name__=tokens_total,engine=1} [160]"; err != nil || show(got) != want {
		t.Errorf("%s, %v", show(got), err)
	}
	if a, b := db.Span(); !a.Equal(start) || !b.Equal(start.Add(8*step)) || db.Interval() != step || db.Len() != 8 {
		t.Errorf("span %v–%v, interval %v, %d series", a, b, db.Interval(), db.Len())
	}
}

func TestTooShortARange(t *testing.T) {
	const step = 15 * time.Second
	jitter := serving.RawSeries{Labels: map[string]string{"__name__": "late_total"}}
	for i, d := range []int64{0, 15_000, 30_200, 45_000, 60_000} {
		jitter.T, jitter.V = append(jitter.T, start.UnixMilli()+d), append(jitter.V, float64(i))
	}
	db := New([]serving.RawSeries{
		raw(step, "x_total", steady(9, 0, 1)...), raw(step, "g", steady(9, 0, 1)...), raw(step, "once_total", 1),
		raw(100*time.Millisecond, "quick_total", steady(40, 0, 1)...), jitter,
	})
	for _, c := range []struct {
		expr, err, warn string
		off             time.Duration // of the steps against the scrapes
	}{
		{"rate(x_total[15s])", "fewer than two samples at 8 of 8 points: scrapes are 15s apart, and a range leaves out its first moment; the smallest range that works is [16s]", "", 0},
		{"sum(increase(x_total[10s])) / 3", "the smallest range that works is [16s]", "", 0},
		{"rate(x_total[16s])", "", "", 0},
		{"rate(x_total[16s])", "smallest range that works is [23s]", "", 7 * time.Second},
		{"rate(x_total[23s])", "", "", 7 * time.Second},
		{"rate(x_total[15s] offset 30s)", "[16s]", "", 0},
		{"avg_over_time(g[15s])", "", "", 0}, // one sample is enough
		{"avg_over_time(g[5s])", "no sample at 8 of 8 points", "", 7 * time.Second},
		{"rate(once_total[5m])", "no series has more than one: scrape at least twice", "", 0},
		{"rate(late_total[16s])", "", "fewer than two samples at 1 of 4 points", 0},
		{"max_over_time(rate(x_total[15s])[1m:15s])", "[30s]", "", 0},
		{"rate(nothing_total[15s])", "", "no series fits nothing_total", 0},
		{`x_total{engine="7"}`, "", "although 1 are called x_total", 0},
		{"histogram_quantile(2, x_total)", "", "quantile", 0},
	} {
		_, warn, err := db.Range(t.Context(), c.expr, start.Add(c.off), start.Add(c.off+8*step), step)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.expr, err, c.err)
		}
		if c.warn == "" && len(warn) > 0 || c.warn != "" && !strings.Contains(strings.Join(warn, "\n"), c.warn) {
			t.Errorf("%s: warnings %q, want %q", c.expr, warn, c.warn)
		}
	}
	_, _, err := db.Range(t.Context(), "rate(quick_total[100ms])", start, start.Add(time.Second), 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "the smallest range that works is [101ms]") {
		t.Error(err)
	}
	// What the error proposes works.
	got, warn, err := db.Range(t.Context(), "rate(x_total[16s])", start, start.Add(8*step), step)
	if err != nil || len(warn) > 0 || len(got) != 1 || len(got[0].V) != 8 {
		t.Errorf("%s, %q, %v", show(got), warn, err)
	}
}

func TestRefused(t *testing.T) {
	db := New([]serving.RawSeries{raw(time.Second, "x_total", steady(100, 0, 1)...)})
	end := start.Add(99 * time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		expr string
		step time.Duration
		to   time.Time
		ctx  context.Context
		want string
	}{
		{"rate(x_total[5m]", time.Second, end, nil, "1:17: parse error"},
		{"x_total{a=\"$pod\"", time.Second, end, nil, "a dashboard's variable"},
		{"rate(x_total)", time.Second, end, nil, "expected type range vector"},
		{"x_total[5m]", time.Second, end, nil, "range vector"},
		{`"text"`, time.Second, end, nil, "string"},
		{"x_total", 0, end, nil, "want at least 1ms"},
		{"x_total", time.Millisecond, end, nil, "take a longer step"},
		{"x_total", time.Second, start.Add(-time.Hour), nil, "before it begins"},
		{"count_over_time(x_total[1y:1ms])", time.Second, end, nil, "want at most 50000"},
		{"max_over_time(count_over_time(x_total[10m:1ms])[10m:1ms])", time.Second, end, nil, "want at most 50000"},
		{"x_total", time.Second, end, ctx, "canceled"},
	} {
		use := c.ctx
		if use == nil {
			use = t.Context()
		}
		got, _, err := db.Range(use, c.expr, start, c.to, c.step)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v, want %q", c.expr, show(got), err, c.want)
		}
	}
	empty := New(nil)
	if got, warn, err := empty.Instant(t.Context(), "x", start); len(got) > 0 || err != nil || len(warn) != 1 {
		t.Errorf("an empty database: %v, %q, %v", got, warn, err)
	}
}

func TestExpand(t *testing.T) {
	db := New([]serving.RawSeries{raw(15*time.Second, "x_total", steady(9, 0, 1)...)})
	for in, want := range map[string]string{
		"rate(x[$__rate_interval])":   "rate(x[1m])",
		"rate(x[${__rate_interval}])": "rate(x[1m])",
		"rate(x[$__interval])":        "rate(x[30s])",
		"delta(x[$__range])":          "delta(x[2m])",
		"x * $__interval_ms":          "x * $__interval_ms",
		`x{a="$b"}`:                   `x{a="$b"}`,
	} {
		if got := db.Expand(in, 30*time.Second); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if got := New(nil).Expand("x[$__rate_interval]", 0); got != "x[$__rate_interval]" {
		t.Errorf("without a scrape interval: %s", got)
	}
}

// Neither the order of the series nor samples that come twice change an answer.
func TestSeriesInDisorder(t *testing.T) {
	a := raw(time.Second, `x_total{a="1"}`, 1, 2, 3, 4)
	b := raw(time.Second, `x_total{a="2"}`, 5, 6, 7, 8)
	late := serving.RawSeries{Labels: a.Labels, T: []int64{a.T[3] + 2000, a.T[3] + 1000, a.T[3]}, V: []float64{6, 5, 99}}
	want := "{__name__=x_total,a=1} [1 2 3 4 5 6]\n{__name__=x_total,a=2} [5 6 7 8 8]"
	for _, all := range [][]serving.RawSeries{{a, b, late}, {b, a, late}} {
		db := New(all)
		got, _, err := db.Range(t.Context(), "x_total", start, start.Add(5*time.Second), time.Second)
		if err != nil || !strings.HasPrefix(show(got), want) {
			t.Errorf("%s, %v", show(got), err)
		}
	}
	if !slices.Equal(late.V, []float64{6, 5, 99}) {
		t.Error("the caller's samples were changed")
	}
}
