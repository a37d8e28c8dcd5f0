package analyze

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Numbers in sentences. Package render formats figures; findings are sentences
// of their own, and their numbers are written here and nowhere else.

// seconds writes a duration.
func seconds(v float64) string {
	if math.Abs(v) < 1 {
		return number(v*1000) + " ms"
	}
	return number(v) + " s"
}

// percent writes a share.
func percent(v float64) string { return number(v*100) + " %" }

// number writes a number with four significant digits and thousands separators.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 {
		return grouped(strconv.FormatFloat(math.Round(v), 'f', 0, 64))
	}
	return fmt.Sprintf("%.4g", v)
}

// grouped puts a comma between groups of three digits.
func grouped(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// plural writes a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(float64(n)) + " " + many
}

// signed writes a number with its sign and one digit.
func signed(v float64) string {
	switch s := fmt.Sprintf("%.1f", math.Abs(v)); {
	case s == "0.0":
		return "±0"
	case v < 0:
		return "−" + s
	default:
		return "+" + s
	}
}

// ratioText writes a ratio as a change, as tables do: 1.121 → +12.1 %, 3.2 → × 3.2.
func ratioText(ratio float64) string {
	if ratio >= 2.5 {
		return "× " + number(ratio)
	}
	return signed((ratio-1)*100) + " %"
}
