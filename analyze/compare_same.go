package analyze

import (
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// What differs means something only beside what was looked at: nothing is "the same"
// that the files do not state.

// A basicFact is one that a reader takes for compared unless told otherwise.
type basicFact struct {
	key string
	is  func(Changed) bool
}

var basicFacts = []basicFact{
	{factModel, ofKind(ChangedModel)},
	{factVersion, func(x Changed) bool { return x.Kind == ChangedVersion && x.Key != factEngine }},
	{"settings", ofKind(ChangedSetting)},
	{factWorkload, ofKind(ChangedWorkload)},
}

func ofKind(k ChangeKind) func(Changed) bool { return func(x Changed) bool { return x.Kind == k } }

// notStated adds the basic facts that neither side states.
func (c *comparing) notStated() {
	known := slices.Concat(c.out.Changed, c.out.Same, c.out.NotStated)
	for _, f := range basicFacts {
		if !slices.ContainsFunc(known, f.is) {
			c.out.NotStated = append(c.out.NotStated, Changed{Kind: kindOf(f.key), Key: f.key, Before: orMissing(nil), After: orMissing(nil)})
		}
	}
}

// leastOverlap is the share of the requests in workloads that both sides have below
// which the totals are of other requests altogether (judgement).
const leastOverlap = 0.1

// unsplit warns where the sides have other requests and hardly a workload in common:
// what is left are totals, of which nobody can say what the requests did and what the
// server.
func (c *comparing) unsplit() {
	b, a := c.sharesOf(before, serving.ColWorkload), c.sharesOf(after, serving.ColWorkload)
	if !b.stated() || !a.stated() || b.overlap(a) >= leastOverlap {
		return
	}
	c.out.Cautions = append(c.out.Cautions, "hardly a request is of a workload that both sides have: what the requests did and what the server did cannot be told apart, and equal figures do not show an equal server")
}

// overlap is the share of the requests that fall on the same values on both sides.
func (s valueShares) overlap(o valueShares) float64 {
	sum := 0.0
	for _, v := range s.both(o) {
		sum += min(s.share(v), o.share(v))
	}
	return sum
}
