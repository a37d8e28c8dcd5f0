package main

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// called reports whether anything was called a change.
func called(c *analyze.Comparison) bool {
	return c.Verdict != analyze.VerdictEquivalent && c.Verdict != analyze.VerdictUndecided
}

// found reports whether the slice was found: something is worse, and it is what is
// called slower.
func found(c *analyze.Comparison) bool {
	return called(c) && c.Verdict != analyze.VerdictBetter && slices.ContainsFunc(c.Slices, func(r *analyze.CompareRow) bool {
		return ofRag(r) && r.Call == verdict.Slower && (r.Figure.Metric == serving.TTFT || r.Figure.Metric == serving.TPOT)
	})
}

// elsewhere reports whether a slice is called that nothing was done to. All of rag
// has long prompts and nothing else has: those are the same slice.
func elsewhere(c *analyze.Comparison) bool {
	return slices.ContainsFunc(c.Slices, func(r *analyze.CompareRow) bool {
		return !ofRag(r) && (r.Call == verdict.Slower || r.Call == verdict.Faster)
	})
}

// shortly says what a comparison made of the slice.
func shortly(c *analyze.Comparison) string {
	s := fmt.Sprintf("%s, cause %q: %s", c.Verdict, c.Cause, c.Title)
	for _, r := range c.Slices {
		if ofRag(r) && r.PAdjusted.OK && !r.Figure.IsShare() {
			s += fmt.Sprintf("; %s × %.3f p %.2g adjusted %.2g %s", r.Figure, r.Ratio.V, r.P.V, r.PAdjusted.V, r.Call)
		}
	}
	return s
}

func ofRag(r *analyze.CompareRow) bool {
	rag := []serving.Term{{Dim: serving.ColWorkload, Value: "rag"}}
	return slices.Equal(r.By, rag) || slices.ContainsFunc(r.Also, func(by []serving.Term) bool { return slices.Equal(by, rag) })
}

// mix reports whether a change is put down to the mix of requests.
func mix(c *analyze.Comparison) bool { return c.Cause == "mix" && !called(c) }

// caused reports whether a cause is named although several things were changed.
func caused(c *analyze.Comparison) bool { return c.Cause != "several" }
