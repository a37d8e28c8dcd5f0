package render

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

func TestFormatDuration(t *testing.T) {
	for _, c := range []struct {
		sec  float64
		want string
	}{
		{0.1863, "186.3 ms"},
		{0.28217, "282.2 ms"},
		{0.04185, "41.85 ms"},
		{0.0031, "3.10 ms"},
		{0.0000363, "0.036 ms"},
		{0.00000363, "0.0036 ms"},
		{0, "0 ms"},
		{-0.012, "−12.00 ms"},
		{2.42, "2.42 s"},
		{0.99994, "999.9 ms"},
		{0.99996, "1.00 s"}, // never 1,000.0 ms
		{9.999, "10.0 s"},
		{86.4, "86.4 s"},
		{999.96, "1,000 s"},
		{1234.5, "1,234 s"},
		{604800, "604,800 s"},
		{math.NaN(), Missing},
		{math.Inf(1), Missing},
	} {
		if got := FormatDuration(c.sec); got != c.want {
			t.Errorf("FormatDuration(%v) = %q, want %q", c.sec, got, c.want)
		}
	}
}

// A page must show 282.17 ms as a figure that a script can look for.
func TestDurationIsFindable(t *testing.T) {
	if s := FormatDuration(0.28217); !regexp.MustCompile(`\b282(\.\d+)?\b`).MatchString(s) {
		t.Errorf("%q does not show 282", s)
	}
	s := CommonScale(serving.Seconds, []float64{0.05, 0.28217, 2.5})
	if got := s.Format(0.28217); !strings.HasPrefix(got, "282") {
		t.Errorf("on a common scale: %q", got)
	}
}

func TestFormatSpan(t *testing.T) {
	for sec, want := range map[float64]string{
		86.4: "86.4 s", 599.4: "599.4 s", 600: "10 min", 1000: "16 min 40 s", 7500: "2 h 5 min",
		86400: "24 h", 273600: "3 d 4 h", -1: Missing,
	} {
		if got := FormatSpan(sec); got != want {
			t.Errorf("FormatSpan(%v) = %q, want %q", sec, got, want)
		}
	}
	if got := FormatSpan(math.Inf(1)); got != Missing {
		t.Errorf("infinite span: %q", got)
	}
}

func TestFormatNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{FormatCount(0), "0"},
		{FormatCount(999), "999"},
		{FormatCount(1024000), "1,024,000"},
		{FormatCount(-1234), "−1,234"},
		{FormatCount(math.MinInt64), "−9,223,372,036,854,775,808"},
		{FormatCountOpt(serving.None[int64]()), Missing},
		{FormatTokens(1024), "1,024"},
		{FormatTokens(512.5), "512.5"},
		{FormatTokens(512.04), "512"},
		{FormatTokens(1.2345), "1.23"},
		{FormatRate(11.574, "req"), "11.57 req/s"},
		{FormatRate(1481.48, "tok"), "1,481 tok/s"},
		{FormatRate(0.5, "req"), "0.5 req/s"},
		{FormatRate(0.01234, "req"), "0.0123 req/s"},
		{FormatRate(math.NaN(), "req"), Missing},
		{FormatRateOpt(serving.None[float64](), "req"), Missing},
		{FormatNumber(13333.333), "13,333"},
		{FormatNumber(1e-12), "1e-12"},
		{FormatNumber(1e300), "1e+300"},
		{FormatNumber(999.97), "1,000"},
		{FormatShare(0.971), "97.1 %"},
		{FormatShare(0), "0 %"},
		{FormatShare(1), "100 %"},
		{FormatShare(0.99996), "99.996 %"},
		{FormatShare(0.9999999), "99.99999 %"},
		{FormatShare(0.0004), "0.04 %"},
		{FormatShare(0.996), "99.6 %"},
		{FormatShare(1.5), "150.0 %"},
		{FormatShareOpt(serving.None[float64]()), Missing},
		{FormatBytes(1.5e9), "1.50 GB"},
		{FormatBytes(80e9), "80.0 GB"},
		{FormatBytes(999), "999 B"},
		{FormatBytes(999999), "1.00 MB"},
		{FormatBinaryBytes(80 * (1 << 30)), "80.0 GiB"},
		{FormatBinaryBytes(1.5e9), "1.40 GiB"},
		{FormatBinaryBytes(math.NaN()), Missing},
		{FormatValue(serving.Tokens, serving.Some(1.0)), "1 token"},
		{FormatValue(serving.Tokens, serving.Some(512.0)), "512 tokens"},
		{FormatValue(serving.RequestsUnit, serving.Some(3.0)), "3 requests"},
		{FormatValue(serving.Seconds, serving.None[float64]()), Missing},
		{FormatValue(serving.Share, serving.Some(0.972)), "97.2 %"},
		{FormatValue(serving.Bytes, serving.Some(2e9)), "2.00 GB"},
		{FormatValue(serving.NoUnit, serving.Some(1.5)), "1.50"},
		{FormatValue(unitOf(serving.TTFT), serving.Some(0.1863)), "186.3 ms"},
		{FormatFigure("requests_per_s", serving.PerSecond, serving.Some(11.574)), "11.57 req/s"},
		{FormatFigure("output_tokens_per_s", serving.PerSecond, serving.Some(1481.48)), "1,481 tok/s"},
		{FormatFigure("ttft", serving.Seconds, serving.Some(0.1863)), "186.3 ms"},
		{FormatValue(unitOf(serving.PromptTokens), serving.Some(850.0)), "850 tokens"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestFormatInterval(t *testing.T) {
	some, none := serving.Some[float64], serving.None[float64]()
	for _, c := range []struct {
		u      serving.Unit
		lo, hi serving.Opt[float64]
		want   string
	}{
		{serving.Seconds, some(0.2761), some(0.3012), "[276, 301] ms"},
		{serving.Seconds, some(0.0412), some(0.0435), "[41.2, 43.5] ms"},
		{serving.Seconds, some(0.2761), none, "[276.1, –] ms"},
		{serving.Seconds, none, none, Missing},
		{serving.Seconds, some(1.5), some(2.5), "[1.5, 2.5] s"},
		{serving.Seconds, some(5), some(10), "[5.0, 10.0] s"},
		{serving.Share, some(0.92575), some(0.95487), "[92.6, 95.5] %"},
		{serving.Tokens, some(800), some(900), "[800, 900] tokens"},
		{serving.Seconds, some(math.NaN()), some(math.Inf(1)), Missing},
		{serving.Seconds, some(0.01), some(0.01), "[10.0, 10.0] ms"},
	} {
		if got := FormatInterval(c.u, c.lo, c.hi); got != c.want {
			t.Errorf("FormatInterval(%v, %v) = %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}

func TestFormatQuantile(t *testing.T) {
	some := serving.Some[float64]
	for _, c := range []struct {
		q    analyze.Quantile
		want string
	}{
		{analyze.Quantile{P: .99, Value: some(0.2)}, "200.0 ms"},
		{analyze.Quantile{P: .99, Lo: some(10)}, "≥ 10.0 s"},
		{analyze.Quantile{P: .99}, Missing},
		{analyze.Quantile{P: .99, Lo: some(math.Inf(1))}, Missing},
	} {
		if got := FormatQuantile(serving.Seconds, c.q); got != c.want {
			t.Errorf("FormatQuantile(%+v) = %q, want %q", c.q, got, c.want)
		}
	}
}

func TestCommonScale(t *testing.T) {
	for _, c := range []struct {
		u      serving.Unit
		values []float64
		unit   string
		want   []string
	}{
		{serving.Seconds, []float64{0.1863, 0.84187}, "ms", []string{"186.3", "841.9"}},
		{serving.Seconds, []float64{0.0412, 2.42}, "ms", []string{"41.2", "2,420.0"}},
		{serving.Seconds, []float64{1.5, 12}, "s", []string{"1.50", "12.00"}},
		{serving.Seconds, []float64{0.05, 2000}, "s", []string{"0.050", "2,000.000"}},
		{serving.Seconds, []float64{0, math.NaN()}, "s", []string{"0.00", Missing}},
		{serving.Tokens, []float64{128, 4096}, "tokens", []string{"128", "4,096"}},
		{serving.Share, []float64{0.971, 1}, "%", []string{"97.1", "100.0"}},
		{serving.Bytes, []float64{1.5e9, 80e9}, "GB", []string{"1.50", "80.00"}},
	} {
		s := CommonScale(c.u, c.values)
		if s.Unit != c.unit {
			t.Errorf("CommonScale(%v).Unit = %q, want %q", c.values, s.Unit, c.unit)
		}
		for i, v := range c.values {
			if got := s.Format(v); got != c.want[i] {
				t.Errorf("CommonScale(%v).Format(%v) = %q, want %q", c.values, v, got, c.want[i])
			}
		}
	}
}

func TestFormatTimes(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 5, 0, time.FixedZone("KST", 9*3600)).UnixNano()
	for _, c := range []struct{ got, want string }{
		{FormatInstant(at), "2026-01-31T03:00:05Z"},
		{FormatInstant(at + 250e6), "2026-01-31T03:00:05.25Z"},
		{FormatInstantShort(at), "2026-01-31 03:00:05 UTC"},
		{FormatOffset(12.5e9), "+12.5 s"},
		{FormatOffset(0), "+0 s"},
		{FormatOffset(-2e9), "−2 s"},
		{FormatOffset(1000e9), "+16 min 40 s"},
		{FormatTime(at, false), "2026-01-31 03:00:05 UTC"},
		{FormatTime(5e9, true), "+5 s"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestFormatObjectives(t *testing.T) {
	for expr, want := range map[string]string{
		"ttft:p99<500ms":              "TTFT p99 < 500 ms",
		"tpot:p99.9<=0.05s":           "TPOT p99.9 < 50 ms",
		"workload=chat:e2el:mean<15s": "workload=chat: E2E mean < 15 s",
		"itl:median<1.25ms":           "ITL p50 < 1.25 ms",
	} {
		slo, err := serving.ParseSLO(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatSLO(slo); got != want {
			t.Errorf("FormatSLO(%s) = %q, want %q", expr, got, want)
		}
	}
}

func TestFormatLoad(t *testing.T) {
	n, r := serving.Some[int64], serving.Some[float64]
	noN, noR := serving.None[int64](), serving.None[float64]()
	for _, c := range []struct {
		l    serving.Load
		sent serving.Opt[int64]
		want string
	}{
		{serving.LoadOf(n(64), noR, true), n(500), "64 concurrent"},
		{serving.LoadOf(noN, r(10), false), n(500), "10 req/s"},
		{serving.LoadOf(n(64), r(2.5), false), n(500), "2.50 req/s, ≤ 64 concurrent"},
		{serving.LoadOf(noN, noR, true), n(1500), "1,500 at once"},
		{serving.LoadOf(noN, noR, true), noN, "all at once"},
		{serving.LoadOf(noN, noR, false), n(5), Missing},
	} {
		if got := FormatLoad(c.l, c.sent); got != c.want {
			t.Errorf("FormatLoad(%+v) = %q, want %q", c.l, got, c.want)
		}
	}
}

func TestRawValue(t *testing.T) {
	if got := RawValue(serving.Seconds, serving.Some(0.28217)); got != "282.17" {
		t.Errorf("RawValue = %q, want 282.17", got)
	}
	if got := RawValue(serving.Seconds, serving.Some(math.NaN())); got != "" {
		t.Errorf("RawValue(NaN) = %q", got)
	}
}

// A quality without a mark and a text would be silently trusted.
func TestEveryQualityIsExplained(t *testing.T) {
	texts, marks := map[string]bool{}, map[string]bool{}
	for _, q := range []analyze.Quality{
		analyze.QualityWeak, analyze.QualityUnsupported, analyze.QualityAutocorrelated, analyze.QualityCoarse,
	} {
		if QualityMark(q) == "" || marks[QualityMark(q)] {
			t.Errorf("%s: mark %q is empty or not its own", q, QualityMark(q))
		}
		if QualityText(q) == "" || texts[QualityText(q)] {
			t.Errorf("%s: text is empty or not its own", q)
		}
		marks[QualityMark(q)], texts[QualityText(q)] = true, true
	}
}

// FuzzFormatDuration: whatever the number, the text says it within half a
// digit and never shows a NaN or a rounded-up "1,000 ms".
func FuzzFormatDuration(f *testing.F) {
	for _, v := range []float64{0, 0.1863, 0.99996, 9.9996, 1e-9, 1e15, -3, 999.96} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		s := FormatDuration(v)
		if !finite(v) || math.Abs(v) > 1e15 {
			return
		}
		num, unit, _ := strings.Cut(s, " ")
		x, err := strconv.ParseFloat(strings.NewReplacer(",", "", "−", "-").Replace(num), 64)
		if err != nil {
			t.Fatalf("FormatDuration(%v) = %q: %v", v, s, err)
		}
		if unit == "ms" {
			if math.Abs(x) >= 1000 {
				t.Errorf("FormatDuration(%v) = %q", v, s)
			}
			x /= 1000
		}
		if d := math.Abs(x - v); d > 0.051*math.Abs(v) && d > 1e-12 {
			t.Errorf("FormatDuration(%v) = %q is off by %v", v, s, d)
		}
	})
}

// Rounding by arithmetic is rounding by text, or none.
func TestQuickRoundingIsThatOfText(t *testing.T) {
	byText := func(v float64) float64 {
		r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 14, 64), 64)
		must(t, err)
		return r
	}
	r, quick := rand.New(rand.NewPCG(7, 8)), 0
	check := func(v float64) {
		if got, ok := quickRound15(v); ok {
			quick++
			if want := byText(v); got != want || math.Signbit(got) != math.Signbit(want) {
				t.Fatalf("%v is rounded to %v, want %v", v, got, want)
			}
		}
	}
	const n = 300_000
	for range n {
		check(math.Exp(r.NormFloat64()*6) * float64(1-2*r.IntN(2)))
		// Decimals in the middle between two of fifteen digits, and powers of ten.
		middle := (math.Floor(r.Float64()*1e15) + .5) / math.Pow10(r.IntN(20))
		power := math.Pow10(r.IntN(26) - 9)
		for _, v := range []float64{middle, power, float64(r.IntN(1e6)) / 1e3} {
			check(v)
			check(math.Nextafter(v, math.Inf(1)))
			check(math.Nextafter(v, 0))
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324} {
		check(v)
	}
	if quick < 5*n {
		t.Errorf("only %d of %d were rounded by arithmetic", quick, 10*n)
	}
}
