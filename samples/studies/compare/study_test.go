package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The planted differences are found and nothing else is, of a seed each.
func TestStudyOfOneSeed(t *testing.T) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := r.run(1, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range r.counts {
				if !c.wanted.met(got.hits[i], got.trials) {
					t.Errorf("%s: %d of %d, want %s: %s", c.of, got.hits[i], got.trials, c.wanted, got.odd)
				}
			}
		})
	}
}

func TestStudyPrintsATable(t *testing.T) {
	var b strings.Builder
	missed, err := study(&b, 2, 2, "settings", true)
	if err != nil || missed != 0 {
		t.Fatalf("%d missed, %v", missed, err)
	}
	if out := b.String(); !strings.Contains(out, "| 2–2 | a cause is named | never | 0 of 1: 0.0 % | met |") || !strings.Contains(out, "power") {
		t.Errorf("printed\n%s", out)
	}
}

// The power is that of tables: three against three, a shift of 3.27 standard errors.
func TestPower(t *testing.T) {
	for _, tc := range []struct{ ratio, alpha, lo, hi float64 }{{1, 0.05, 0.0249, 0.0251}, {1.12, 0.05, 0.995, 1}, {1.0631, 0.05, 0.79, 0.81}} {
		if p := power(tc.ratio, tc.alpha); p < tc.lo || p > tc.hi {
			t.Errorf("power of %v at %v is %v, want %v to %v", tc.ratio, tc.alpha, p, tc.lo, tc.hi)
		}
	}
}

// The published table is of the rows and seeds that the command runs by itself.
func TestPublishedTable(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/compare-study.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		for _, c := range r.counts {
			line := fmt.Sprintf("| %s | %d–%d | %s | %s |", r.what, r.first, r.first+uint64(r.most)-1, c.of, c.wanted)
			if !strings.Contains(string(doc), line) {
				t.Errorf("docs/compare-study.md lacks %s", line)
			}
		}
	}
	if !strings.Contains(string(doc), powerText()) {
		t.Errorf("docs/compare-study.md lacks the power: %s", powerText())
	}
}
