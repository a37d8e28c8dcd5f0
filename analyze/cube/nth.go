package cube

import "slices"

// nth returns the value at rank k of x in ascending order. It reorders x so that
// nothing before k is greater than it and nothing behind is less.
func nth(x []float64, k int) float64 {
	at := k
	for len(x) > 32 {
		n := len(x)
		// The median of three, of places that do not depend on values: x comes
		// in an order that the scan made, and the answer is the same for any.
		p := median(x[n/4], x[n/2], x[3*n/4])
		// Three ways, for ties are many: counts, rounded times.
		lt, i, gt := 0, 0, n
		for i < gt {
			switch v := x[i]; {
			case v < p:
				x[lt], x[i] = v, x[lt]
				lt++
				i++
			case v > p:
				gt--
				x[i], x[gt] = x[gt], v
			default:
				i++
			}
		}
		switch {
		case at < lt:
			x = x[:lt]
		case at < gt:
			return p
		default:
			x, at = x[gt:], at-gt
		}
	}
	slices.Sort(x)
	return x[at]
}

func median(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}
