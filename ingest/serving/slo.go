package serving

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An SLO is an objective for one metric at one percentile, for all requests or
// for one slice: `ttft:p99<500ms`, `workload=chat:ttft:p95<250ms`.
type SLO struct {
	Expr   string // as written
	By     []Term // the slice it is for; empty for all
	Metric MetricKey
	P      float64 // 0…1, exclusive; the share of *sent* requests that must be within Limit
	Mean   bool    // the mean instead of a percentile
	Limit  float64 // in the metric's own unit: seconds for durations
}

// A Term fixes one dimension to one value.
type Term struct{ Dim, Value string }

// sloMetrics are the metrics an objective may name, with vLLM's spelling too.
var sloMetrics = map[string]MetricKey{
	"ttft": TTFT, "tpot": TPOT, "itl": ITL, "e2e": E2E, "e2el": E2E,
	"queue": Queue, "prefill": Prefill, "decode": Decode, "normalized": Normalized,
}

// ParseSLO reads an objective. The grammar is
//
//	[dim=value:]… metric ":" ("p" number | "mean" | "median") ("<" | "<=") number unit
//
// where unit is us, ms, s or m (ms where it is left out would be a guess, so a
// unit is required for durations).
func ParseSLO(s string) (SLO, error) {
	fail := func(format string, a ...any) (SLO, error) {
		return SLO{}, fmt.Errorf("objective %q: %s, want e.g. ttft:p99<500ms or workload=chat:ttft:p95<250ms", s, fmt.Sprintf(format, a...))
	}
	slo := SLO{Expr: strings.TrimSpace(s)}
	head, limit, ok := strings.Cut(slo.Expr, "<")
	if !ok {
		return fail("no \"<\"")
	}
	limit = strings.TrimPrefix(limit, "=")
	parts := strings.Split(head, ":")
	if len(parts) < 2 {
		return fail("no percentile")
	}
	for _, t := range parts[:len(parts)-2] {
		d, v, ok := strings.Cut(t, "=")
		if !ok || d == "" {
			return fail("%q is no dim=value", t)
		}
		slo.By = append(slo.By, Term{strings.TrimSpace(d), strings.TrimSpace(v)})
	}
	name := strings.TrimSpace(parts[len(parts)-2])
	m, ok := sloMetrics[strings.ToLower(name)]
	if !ok {
		return fail("unknown metric %q (one of ttft, tpot, itl, e2e, queue, prefill, decode, normalized)", name)
	}
	slo.Metric = m
	if err := slo.setStat(strings.ToLower(strings.TrimSpace(parts[len(parts)-1]))); err != nil {
		return fail("%v", err)
	}
	v, err := ParseSeconds(limit)
	if err != nil {
		return fail("%v", err)
	}
	slo.Limit = v
	return slo, nil
}

func (s *SLO) setStat(stat string) error {
	if stat == "mean" {
		s.Mean = true
		return nil
	}
	p, ok := QuantileOf(stat)
	switch {
	case !ok && !strings.HasPrefix(stat, "p"):
		return fmt.Errorf("%q is neither a percentile nor mean", stat)
	case !ok || p <= 0 || p >= 1:
		return fmt.Errorf("%q is no percentile between p0 and p100", stat)
	}
	s.P = p
	return nil
}

// Stat returns the statistic's name: p99, p99.9, mean.
func (s SLO) Stat() string {
	if s.Mean {
		return "mean"
	}
	return QuantileName(s.P)
}

// QuantileName returns the JSON name of a quantile: 0.99 → p99, 0.999 → p99.9.
func QuantileName(p float64) string {
	return "p" + strconv.FormatFloat(math.Round(p*1e8)/1e6, 'f', -1, 64)
}

// QuantileOf reads a quantile's name: p99 → 0.99, median → 0.5. It is the
// inverse of QuantileName: p99.9 is the very float of the literal 0.999.
func QuantileOf(name string) (float64, bool) {
	if name == "median" {
		return 0.5, true
	}
	digits, ok := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(p >= 0 && p <= 100) {
		return 0, false
	}
	return math.Round(p*1e8) / 1e10, true
}

// StatName returns the program's name of a statistic as the harnesses write it:
// mean, median, std, min, max or pNN, of which p0 and p100 are the ends.
func StatName(word string) (string, bool) {
	switch word {
	case "mean", "std", "min", "max":
		return word, true
	}
	p, ok := QuantileOf(word)
	switch {
	case !ok:
		return "", false
	case p == 0:
		return "min", true
	case p == 1:
		return "max", true
	}
	return QuantileName(p), true
}

// ParseSeconds reads a duration with its unit (us, µs, ms, s, m, min, h) into
// seconds. A bare number is refused: its unit would be a guess.
func ParseSeconds(s string) (float64, error) {
	s = strings.TrimSpace(s)
	i := len(s)
	for i > 0 && !strings.ContainsRune("0123456789.", rune(s[i-1])) {
		i--
	}
	v, err := strconv.ParseFloat(s[:i], 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no duration (want a number and a unit, such as 500ms or 1.5s)", s)
	}
	per := map[string]float64{"us": 1e6, "µs": 1e6, "μs": 1e6, "ms": 1e3, "s": 1, "m": 1. / 60, "min": 1. / 60, "h": 1. / 3600}
	f, ok := per[strings.TrimSpace(s[i:])]
	if !ok {
		return 0, fmt.Errorf("%q has no known unit (us, ms, s, m, h)", s)
	}
	return v / f, nil
}

// A Condition is one condition of a goodput: a request is good when each of its
// metrics is within its limit.
type Condition struct {
	Metric MetricKey
	Limit  float64 // seconds
}

// ParseGoodput reads goodput conditions in vLLM's spelling: `ttft:500,tpot:50`,
// comma- or space-separated, in milliseconds; e2el and e2e are the same.
func ParseGoodput(s string) ([]Condition, error) {
	var out []Condition
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, lim, ok := strings.Cut(f, ":")
		m := sloMetrics[strings.ToLower(name)]
		v, err := strconv.ParseFloat(lim, 64)
		if !ok || (m != TTFT && m != TPOT && m != E2E) {
			return nil, fmt.Errorf("goodput %q: %q is no condition, want ttft, tpot or e2el and a limit in ms, e.g. ttft:500,tpot:50", s, f)
		}
		if err != nil || !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("goodput %q: %q is no limit in ms", s, lim)
		}
		for _, c := range out {
			if c.Metric == m {
				return nil, fmt.Errorf("goodput %q: %s is given twice", s, m)
			}
		}
		out = append(out, Condition{m, v / 1000})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("goodput %q: no condition, want e.g. ttft:500,tpot:50", s)
	}
	return out, nil
}
