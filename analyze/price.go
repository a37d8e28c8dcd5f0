package analyze

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Price is what one GPU costs for an hour.
type Price struct {
	PerGPUHour float64
	Currency   string // as a code: USD, EUR
}

// currencies are the signs that stand for a code.
var currencies = map[string]string{"$": "USD", "€": "EUR", "£": "GBP", "₩": "KRW", "¥": "JPY"}

// ParsePrice reads 2.5/gpu-hour, with a currency before or behind the number
// where it is not USD: EUR 2.5/gpu-hour, 2.5EUR/gpu-hour.
func ParsePrice(s string) (Price, error) {
	const want = "want e.g. 2.5/gpu-hour, or EUR 2.5/gpu-hour"
	amount, per, ok := strings.Cut(s, "/")
	switch strings.ToLower(strings.TrimSpace(per)) {
	case "gpu-hour", "gpu-h", "gpuhour", "gpu hour":
	default:
		if !ok {
			return Price{}, fmt.Errorf("%q does not say per what, %s", s, want)
		}
		return Price{}, fmt.Errorf("%q is per %q, which is not known, %s", s, strings.TrimSpace(per), want)
	}
	amount = strings.TrimSpace(amount)
	digits := strings.IndexAny(amount, "0123456789.")
	if digits < 0 {
		return Price{}, fmt.Errorf("%q has no amount, %s", s, want)
	}
	end := strings.LastIndexAny(amount, "0123456789.") + 1
	before, after := strings.TrimSpace(amount[:digits]), strings.TrimSpace(amount[end:])
	if before != "" && after != "" {
		return Price{}, fmt.Errorf("%q has two currencies, %s", s, want)
	}
	v, err := strconv.ParseFloat(amount[digits:end], 64)
	if err != nil || v <= 0 || math.IsInf(v, 0) {
		return Price{}, fmt.Errorf("%q has no amount above 0, %s", s, want)
	}
	p := Price{PerGPUHour: v, Currency: "USD"}
	if c := before + after; c != "" {
		if code, ok := currencies[c]; ok {
			c = code
		}
		if c = strings.ToUpper(c); len(c) != 3 || strings.Trim(c, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return Price{}, fmt.Errorf("%q: %q is no currency of three letters, %s", s, before+after, want)
		}
		p.Currency = c
	}
	return p, nil
}
