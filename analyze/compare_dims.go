package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// A benchmark states what it measured once, a trace with each of its requests: the
// model, the engine, whose requests they were. Of those the values are compared, and
// their shares of the requests.

// A rowFact is a fact that requests state one by one.
type rowFact struct {
	key, dim string
	kind     ChangeKind
}

// rowFacts are the facts of requests, in the order they are listed. Of replicas only
// the number means anything to the other side. The cache state follows from the engine
// as well as from the requests: it is a condition of the measurement.
var rowFacts = []rowFact{
	{factModel, serving.ColModel, ChangedModel},
	{factEngine, serving.ColEngine, ChangedVersion},
	{"replicas", serving.ColReplica, ChangedHardware},
	{factWorkload, serving.ColWorkload, ChangedWorkload},
	{"streaming", serving.ColStreaming, ChangedWorkload},
	{"cache state", cube.DimCache, ChangedMethod},
}

// changedRows compares what the requests of the paired runs and traces state, where
// the runs themselves do not.
func (c *comparing) changedRows() {
	for _, f := range rowFacts {
		if len(c.values(before, f.key))+len(c.values(after, f.key)) > 0 {
			continue // told by the runs
		}
		b, a := c.sharesOf(before, f.dim), c.sharesOf(after, f.dim)
		x := Changed{Kind: f.kind, Key: f.key, Before: f.text(b, a), After: f.text(a, b)}
		switch {
		case !b.stated() && !a.stated():
		case !b.stated() || !a.stated():
			c.out.NotStated = append(c.out.NotStated, x)
		case f.differ(b, a):
			c.out.Changed = append(c.out.Changed, x)
		default:
			c.out.Same = append(c.out.Same, x)
		}
	}
}

// differ reports whether a fact is another on the second side.
func (f rowFact) differ(b, a valueShares) bool {
	if f.dim == serving.ColReplica {
		return b.values() != a.values()
	}
	return b.differ(a)
}

// text writes a fact of one side; the other side says which values are worth a word.
func (f rowFact) text(s, other valueShares) string {
	switch {
	case !s.stated():
		return orMissing(nil)
	case f.dim == serving.ColReplica:
		return number(float64(s.values()))
	}
	return s.text(other)
}

// valueShares are how many requests of a side have each value of a dimension.
type valueShares struct {
	of     map[string]int64
	total  int64
	folded int // values that stand together as one, beyond the first
}

// sharesOf counts over the paired runs and traces of a side. Requests that do not say
// are of no value, and count.
func (c *comparing) sharesOf(side int, dim string) valueShares {
	s := valueShares{of: map[string]int64{}}
	for _, p := range c.out.Pairs {
		for _, u := range p.units[side] {
			s.add(u, dim)
		}
	}
	return s
}

func (s *valueShares) add(u *unit, dim string) {
	said := int64(0)
	count := func(value string, sent int64) {
		if value != cube.Unknown {
			s.of[value] += sent
			said += sent
		}
	}
	switch {
	case u.table != nil:
		if g, ok := u.table.alone[dim]; ok {
			for _, cell := range u.table.cube.Groups[g].Cells {
				count(cell.Key[0], cell.Sent)
			}
			s.folded = max(s.folded, u.table.cube.Groups[g].Folded[dim]-1)
		}
	case u.run != nil:
		for _, x := range u.run.Run.Slices {
			if len(x.By) == 1 && x.By[0].Dim == dim {
				count(x.By[0].Value, x.Sent.Or(0))
			}
		}
	}
	s.total += max(said, u.slicedOf()) // those that do not say, too
}

// stated reports whether any request says.
func (s valueShares) stated() bool { return len(s.of) > 0 }

// values is the number of values that occur.
func (s valueShares) values() int { return len(s.of) + max(s.folded, 0) }

func (s valueShares) share(value string) float64 {
	return float64(s.of[value]) / float64(max(1, s.total))
}

// Limits of shares (judgement): moves below minMoved are not worth a word, and those
// within chanceErrors standard errors may be the luck of which requests came.
const (
	minMoved     = 0.05
	chanceErrors = 3
)

// differ reports whether the sides have no value in common, or one whose share moved
// further than chance takes it.
func (s valueShares) differ(o valueShares) bool {
	common := false
	for v := range s.of {
		common = common || o.of[v] > 0
	}
	return !common || slices.ContainsFunc(s.both(o), func(v string) bool { return s.moved(o, v) })
}

func (s valueShares) moved(o valueShares, value string) bool {
	x, y := s.share(value), o.share(value)
	p := float64(s.of[value]+o.of[value]) / float64(max(1, s.total+o.total))
	chance := math.Sqrt(p * (1 - p) * (1/float64(max(1, s.total)) + 1/float64(max(1, o.total))))
	return math.Abs(x-y) > max(minMoved, chanceErrors*chance)
}

// both lists the values of two sides, those that moved most first.
func (s valueShares) both(o valueShares) []string {
	var out []string
	for _, of := range []map[string]int64{s.of, o.of} {
		for v := range of {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(math.Abs(s.share(b)-o.share(b)), math.Abs(s.share(a)-o.share(a))), strings.Compare(a, b))
	})
	return out
}

// maxShown is how many values of a dimension are written.
const maxShown = 4

// text writes the values that moved most with their shares: chat 90 %, rag 10 %. One
// value that all requests have stands alone.
func (s valueShares) text(o valueShares) string {
	var parts []string
	all := s.both(o)
	for _, v := range all[:min(len(all), maxShown)] {
		switch {
		case s.of[v] == 0:
		case s.of[v] == s.total:
			parts = append(parts, v)
		default:
			parts = append(parts, v+" "+percent(round3(s.share(v))))
		}
	}
	if n := len(all) - maxShown; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, ", ")
}
