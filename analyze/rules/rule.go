package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
)

// A Predicate holds a fact against a threshold. Its strength grows from 0 at Lo
// to 1 at Hi; Hi below Lo makes small values count. A limit (of Required,
// Refutes and Needs) holds from Hi on.
type Predicate struct {
	Fact   Key
	Lo, Hi float64
	Weight float64 // of evidence; 0 of a limit
}

// AtLeast and AtMost are limits.
func AtLeast(k Key, v float64) Predicate { return Predicate{Fact: k, Lo: v, Hi: v} }

// AtMost holds for values up to v.
func AtMost(k Key, v float64) Predicate { return Predicate{Fact: k, Lo: math.Inf(1), Hi: v} }

// holds reports whether a limit holds; known is false where the fact is missing.
func (p Predicate) holds(facts Facts) (holds, known bool) {
	f, ok := facts[p.Fact]
	if !ok {
		return false, false
	}
	if p.Lo > p.Hi {
		return f.Value <= p.Hi, true
	}
	return f.Value >= p.Hi, true
}

// A Need says that a fact must be known before a hypothesis may be supported,
// when something was seen that it could explain otherwise.
type Need struct {
	When Predicate
	Fact Key
}

// A Remedy is something to try, with its price.
type Remedy struct{ Text, Price string }

// A Rule is one hypothesis.
type Rule struct {
	ID, Case, Cause string
	Title           string
	Required        []Predicate // one that does not hold: not supported; one that is not known: cannot tell
	Supports        []Predicate // evidence, with weights
	Against         []Predicate // counter-evidence, with weights
	Refutes         []Predicate // one that holds: refuted
	Needs           []Need
	Next            []string
	Remedies        []Remedy
}

// Status is what became of a hypothesis.
type Status string

// The statuses, best first.
const (
	Supported    Status = "supported"
	CannotTell   Status = "cannot_tell"
	NotSupported Status = "not_supported"
	Refuted      Status = "refuted"
)

// Limits of the verdict (judgement; tuned on seeds 1 to 10 of the simulator).
const (
	LeastScore    = 0.4
	LeastCoverage = 0.5
)

// A Reading is a predicate with what was found.
type Reading struct {
	Predicate
	Known    bool
	Got      Fact
	Strength float64 // 0…1
	Kind     string  // required, supports, against, refutes
}

// A Verdict is a rule applied to facts.
type Verdict struct {
	Rule     *Rule
	Status   Status
	Score    stat.Score
	Readings []Reading
	Missing  []Key // unknown evidence, the heaviest first
}

// Judge applies every rule and orders the verdicts, the best supported first.
func Judge(table []Rule, facts Facts) []Verdict {
	var out []Verdict
	for i := range table {
		out = append(out, judge(&table[i], facts))
	}
	order := []Status{Supported, CannotTell, NotSupported, Refuted}
	slices.SortStableFunc(out, func(a, b Verdict) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)),
			cmp.Compare(b.Score.Score, a.Score.Score),
			cmp.Compare(b.Score.Coverage, a.Score.Coverage))
	})
	return out
}

func judge(r *Rule, facts Facts) Verdict {
	v := Verdict{Rule: r}
	var evidence, counter []stat.Evidence
	read := func(ps []Predicate, kind string, into *[]stat.Evidence) {
		for _, p := range ps {
			got, known := facts[p.Fact]
			rd := Reading{Predicate: p, Known: known, Got: got, Kind: kind}
			e := stat.Evidence{Weight: p.Weight, Value: math.NaN(), Lo: p.Lo, Hi: p.Hi}
			if known {
				e.Value = got.Value
				rd.Strength = e.Strength()
			}
			if into == nil {
				holds, _ := p.holds(facts)
				rd.Strength = 0
				if holds {
					rd.Strength = 1
				}
			} else {
				*into = append(*into, e)
			}
			v.Readings = append(v.Readings, rd)
		}
	}
	read(r.Required, "required", nil)
	read(r.Supports, "supports", &evidence)
	read(r.Against, "against", &counter)
	read(r.Refutes, "refutes", nil)
	v.Score = stat.ScoreOf(evidence, counter)
	v.Missing = missing(r, facts)
	v.decide(facts)
	return v
}

func missing(r *Rule, facts Facts) []Key {
	unknown := slices.DeleteFunc(slices.Clone(r.Supports), func(p Predicate) bool { _, ok := facts[p.Fact]; return ok })
	slices.SortStableFunc(unknown, func(a, b Predicate) int { return cmp.Compare(b.Weight, a.Weight) })
	var out []Key
	for _, p := range unknown {
		out = append(out, p.Fact)
	}
	for _, p := range r.Required {
		if _, ok := facts[p.Fact]; !ok && !slices.Contains(out, p.Fact) {
			out = append(out, p.Fact)
		}
	}
	return out
}

// decide sets the status: a required observation that is not there before a
// refuter, a refuter before what is missing, what is missing before the score.
func (v *Verdict) decide(facts Facts) {
	for _, p := range v.Rule.Required {
		if holds, known := p.holds(facts); known && !holds {
			v.Status = NotSupported
			v.Score.Score = 0
			return
		}
	}
	for _, p := range v.Rule.Refutes {
		if holds, _ := p.holds(facts); holds {
			v.Status = Refuted
			v.Score.Score = 0
			return
		}
	}
	for _, n := range v.Rule.Needs {
		_, known := facts[n.Fact]
		if holds, _ := n.When.holds(facts); holds && !known {
			v.Status = CannotTell
			if !slices.Contains(v.Missing, n.Fact) {
				v.Missing = append([]Key{n.Fact}, v.Missing...)
			}
			return
		}
	}
	unknown := slices.ContainsFunc(v.Rule.Required, func(p Predicate) bool { _, known := p.holds(facts); return !known })
	switch {
	case unknown:
		v.Status = CannotTell
	case v.Score.Coverage < LeastCoverage || v.known() < leastEvidence:
		v.Status = CannotTell
	case v.Score.Score >= LeastScore:
		v.Status = Supported
	default:
		v.Status = NotSupported
	}
}

// leastEvidence is how many observations a verdict takes: nothing is concluded
// from one figure, whatever its weight.
const leastEvidence = 2

// known counts the evidence that is there.
func (v *Verdict) known() int {
	n := 0
	for _, r := range v.Readings {
		if r.Kind == "supports" && r.Known {
			n++
		}
	}
	return n
}

// Separate names the one fact that would tell two rivals apart: unknown before
// known, and the one whose weights differ most.
func Separate(a, b Verdict) (Key, bool) {
	weight := map[Key]float64{}
	add := func(v Verdict, sign float64) {
		for _, r := range v.Readings {
			w := r.Weight
			if r.Kind == "refutes" || r.Kind == "required" {
				w = 3
			}
			if r.Kind == "against" || r.Kind == "refutes" {
				w = -w
			}
			if r.Hi < r.Lo {
				w = -w
			}
			weight[r.Fact] += sign * w
		}
	}
	add(a, 1)
	add(b, -1)
	unknown := map[Key]bool{}
	for _, v := range []Verdict{a, b} {
		for _, r := range v.Readings {
			unknown[r.Fact] = !r.Known
		}
	}
	best, found := Key(""), false
	for _, k := range sortedKeys(weight) {
		better := !found || unknown[k] != unknown[best] && unknown[k] || unknown[k] == unknown[best] && math.Abs(weight[k]) > math.Abs(weight[best])
		if math.Abs(weight[k]) > 0.5 && better {
			best, found = k, true
		}
	}
	return best, found
}

func sortedKeys(m map[Key]float64) []Key {
	var out []Key
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Key) int { return strings.Compare(string(a), string(b)) })
	return out
}
