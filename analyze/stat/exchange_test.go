package stat

import (
	"fmt"
	"testing"
)

// All exchanges are listed once; of many pairs they are drawn.
func TestExchanges(t *testing.T) {
	for pairs, want := range map[int]int{1: 2, 6: 64, 12: 4096, 40: 4096} {
		all := Exchanges(pairs, 1)
		if len(all) != want || len(all[0]) != pairs {
			t.Errorf("%d pairs: %d exchanges of %d, want %d", pairs, len(all), len(all[0]), want)
		}
		seen := map[string]bool{}
		for _, x := range all {
			seen[fmt.Sprint(x)] = true
		}
		if len(seen) != want {
			t.Errorf("%d pairs: %d different exchanges, want %d", pairs, len(seen), want)
		}
		for _, on := range all[0] {
			if on {
				t.Errorf("%d pairs: the first exchanges one", pairs)
			}
		}
	}
}
