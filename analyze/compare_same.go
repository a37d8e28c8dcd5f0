package analyze

import "slices"

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

// unsplit warns where the sides have other requests and none of a kind in common: what
// is left are totals, of which nobody can say what the requests did and what the server.
func (c *comparing) unsplit() {
	other := slices.ContainsFunc(c.out.Changed, func(x Changed) bool { return x.Key == factWorkload && x.Kind == ChangedWorkload })
	if !other || c.out.SameFiles || len(c.out.Mix) > 0 || !c.anyTable() {
		return
	}
	c.out.Cautions = append(c.out.Cautions, "hardly a kind of request is on both sides: what the requests did and what the server did cannot be told apart, and equal figures do not show an equal server")
}

func (c *comparing) anyTable() bool {
	return slices.ContainsFunc(c.out.Pairs, func(p *Pair) bool {
		return slices.ContainsFunc(slices.Concat(p.units[before], p.units[after]), func(u *unit) bool { return u.table != nil })
	})
}
