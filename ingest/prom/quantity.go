package prom

import (
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A scaleUnit is what a suffix of a number, or a word of a column's name, says:
// how much of the program's unit it is. Percent is kept apart, since a share may
// be written as either.
type scaleUnit struct {
	unit    serving.Unit
	scale   float64
	percent bool
}

// suffixes are the units Grafana and nvidia-smi print behind numbers.
var suffixes = map[string]scaleUnit{
	"ns": {serving.Seconds, 1e-9, false}, "µs": {serving.Seconds, 1e-6, false}, "us": {serving.Seconds, 1e-6, false}, "μs": {serving.Seconds, 1e-6, false},
	"ms": {serving.Seconds, 1e-3, false}, "s": {serving.Seconds, 1, false}, "min": {serving.Seconds, 60, false}, "mins": {serving.Seconds, 60, false},
	"hour": {serving.Seconds, 3600, false}, "hours": {serving.Seconds, 3600, false}, "day": {serving.Seconds, 86400, false}, "days": {serving.Seconds, 86400, false},
	"%": {serving.Share, 0.01, true},
	"B": {serving.Bytes, 1, false}, "bytes": {serving.Bytes, 1, false}, "KiB": {serving.Bytes, 1 << 10, false}, "MiB": {serving.Bytes, 1 << 20, false},
	"GiB": {serving.Bytes, 1 << 30, false}, "TiB": {serving.Bytes, 1 << 40, false},
	"kB": {serving.Bytes, 1e3, false}, "KB": {serving.Bytes, 1e3, false}, "MB": {serving.Bytes, 1e6, false}, "GB": {serving.Bytes, 1e9, false}, "TB": {serving.Bytes, 1e12, false},
	"K": {serving.NoUnit, 1e3, false}, "k": {serving.NoUnit, 1e3, false}, "Mil": {serving.NoUnit, 1e6, false}, "M": {serving.NoUnit, 1e6, false},
	"Bil": {serving.NoUnit, 1e9, false}, "W": {serving.NoUnit, 1, false}, "mW": {serving.NoUnit, 1e-3, false}, "kW": {serving.NoUnit, 1e3, false},
	"req/s": {serving.PerSecond, 1, false}, "reqps": {serving.PerSecond, 1, false}, "ops/s": {serving.PerSecond, 1, false}, "tok/s": {serving.PerSecond, 1, false},
	"tokens/s": {serving.PerSecond, 1, false}, "/s": {serving.PerSecond, 1, false}, "c/s": {serving.PerSecond, 1, false},
}

// A quantity is a number with what is written behind it.
type quantity struct {
	value  float64 // as written
	suffix string  // "" for none
}

// parseQuantity reads 12.5, 1,234 and 3.2 ms. ok is false for what is no
// number; an unknown unit makes it none.
func parseQuantity(s string) (q quantity, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 48 {
		return q, false
	}
	if v, err := parseFloat([]byte(s)); err == nil {
		return quantity{value: v}, true
	}
	i := 0
	for i < len(s) && (isDigit(s[i]) || strings.IndexByte("+-.,", s[i]) >= 0 || (s[i] == 'e' || s[i] == 'E') && i > 0 && i+1 < len(s) && (isDigit(s[i+1]) || s[i+1] == '-')) {
		i++
	}
	num, suffix := s[:i], strings.TrimSpace(s[i:])
	if strings.ContainsRune(num, ',') {
		if num, ok = withoutThousands(num); !ok {
			return q, false
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return q, false
	}
	if suffix == "" {
		return quantity{value: v}, true
	}
	// K req/s is a thousand of them.
	if _, known := suffixes[suffix]; !known {
		head, tail, found := strings.Cut(suffix, " ")
		m, okHead := suffixes[head]
		_, okTail := suffixes[tail]
		if !found || !okHead || !okTail || m.unit != serving.NoUnit {
			return q, false
		}
		v, suffix = v*m.scale, tail
	}
	return quantity{v, suffix}, true
}

// withoutThousands removes separators in groups of three. 0,53 is a decimal
// comma, which is not guessed at.
func withoutThousands(s string) (string, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	groups := strings.Split(strings.TrimLeft(whole, "+-"), ",")
	for i, g := range groups {
		if i == 0 && (len(g) == 0 || len(g) > 3) || i > 0 && len(g) != 3 {
			return "", false
		}
	}
	if groups[0] == "0" || strings.ContainsRune(frac, ',') {
		return "", false
	}
	return strings.ReplaceAll(s, ",", ""), true
}

// isBlankCell reports what stands for no value.
func isBlankCell(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "null", "nan", "none", "na", "n/a", "undefined", "-", "[n/a]", "[not supported]":
		return true
	}
	return false
}
