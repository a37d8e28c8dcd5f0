package render

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// minus is the sign of negative changes: a hyphen is lost beside digits.
const minus = "−"

// FormatChange writes a ratio as a change: 1.121 → +12.1 %, 3.2 → × 3.2.
func FormatChange(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return Missing
	case ratio >= 2.5:
		return "× " + FormatNumber(ratio)
	}
	return signedText((ratio-1)*100, 1) + " %"
}

// FormatPoints writes a difference of shares in percentage points.
func FormatPoints(d float64) string { return signedText(d*100, 1) + " pp" }

// FormatDelta writes a difference in a metric's unit, with its sign.
func FormatDelta(u serving.Unit, v float64) string {
	s := FormatValue(u, serving.Some(math.Abs(v)))
	if s == Missing {
		return s
	}
	if v < 0 {
		return minus + s
	}
	return "+" + s
}

// FormatP writes a p value.
func FormatP(p serving.Opt[float64]) string {
	switch {
	case !p.OK:
		return Missing
	case p.V < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p.V)
}

func signedText(v float64, digits int) string {
	s := fmt.Sprintf("%.*f", digits, math.Abs(v))
	switch {
	case s == fmt.Sprintf("%.*f", digits, 0.0):
		return "±0"
	case v < 0:
		return minus + s
	}
	return "+" + s
}
