package analyze

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// sliceFigures are compared slice by slice.
var sliceFigures = []verdict.Figure{
	{Metric: serving.TTFT, Stat: "p50"}, {Metric: serving.TTFT, Stat: "p95"}, {Metric: serving.TPOT, Stat: "p50"}, {Metric: serving.TPOT, Stat: "p95"}, {Metric: verdict.FailedShare},
}

// minSlice is the number of completed requests a slice needs in each run.
const minSlice = 20

// maxSliceTests bounds the slices that are tested: those with the most requests.
// A thousand slices with three requests each only make the others unprovable.
const maxSliceTests = 60

// A sliceKey is a slice's dimensions and values.
type sliceKey string

func keyOf(by []serving.Term) sliceKey {
	var parts []string
	for _, t := range by {
		parts = append(parts, t.Dim+"\x00"+t.Value)
	}
	slices.Sort(parts) // a file may list the dimensions in another order
	return sliceKey(strings.Join(parts, "\x01"))
}

// A sliced is one slice on both sides, level by level.
type sliced struct {
	by    []serving.Term
	sent  [2]int64
	total [2]int64
	cells map[*unit]*Slice
	also  [][]serving.Term // other slices that hold the same requests
}

func (s *sliced) share() float64 {
	share := func(i int) float64 {
		if s.total[i] == 0 {
			return 0
		}
		return float64(s.sent[i]) / float64(s.total[i])
	}
	return (share(before) + share(after)) / 2
}

// slices compares slice by slice, over all levels.
func (c *comparing) slices() {
	all := distinctSlices(c.telling(c.sliced()))
	var big []*sliced
	for _, s := range all {
		ref := func(side int) SliceRef {
			return SliceRef{By: s.by, Sent: s.sent[side], Share: float64(s.sent[side]) / float64(max(1, s.total[side]))}
		}
		switch {
		case s.sent[before] == 0:
			c.out.New = append(c.out.New, ref(after))
		case s.sent[after] == 0:
			c.out.Gone = append(c.out.Gone, ref(before))
		case c.smallSlice(s):
			c.out.TooSmall = append(c.out.TooSmall, ref(after))
		default:
			big = append(big, s)
		}
	}
	slices.SortStableFunc(big, func(a, b *sliced) int { return cmp.Compare(b.share(), a.share()) })
	for _, s := range big[:min(len(big), maxSliceTests)] {
		c.sliceLengths[keyOf(s.by)] = s.lengths()
		c.sliceRows(s)
	}
	for _, s := range big[min(len(big), maxSliceTests):] {
		c.out.TooSmall = append(c.out.TooSmall, SliceRef{By: s.by, Sent: s.sent[after], Share: s.share()})
	}
	plain := plainRows(c.out.Slices)
	verdict.Moderate(plain)
	verdict.DecideEach(plain)
	c.sortSlices()
}

// sortSlices puts first what changed, of that what changed by itself, and of that
// what matters most to all users.
func (c *comparing) sortSlices() {
	slices.SortStableFunc(c.out.Slices, func(a, b *CompareRow) int {
		return cmp.Or(cmp.Compare(callRank(a.Call), callRank(b.Call)), cmp.Compare(a.apartRank(), b.apartRank()), cmp.Compare(b.weight(), a.weight()))
	})
}

// apartRank puts what stands out from its siblings first.
func (r *CompareRow) apartRank() int {
	if r.apart {
		return 0
	}
	return 1
}

// callRank puts what changed first.
func callRank(c verdict.Call) int {
	return slices.Index([]verdict.Call{verdict.Slower, verdict.Faster, verdict.Undecided, verdict.Equivalent}, c)
}

// weight is effect × share of the requests, what a change means to all users; where
// the slice stands out, of the effect what its siblings do not share.
func (r *CompareRow) weight() float64 {
	if r.apart {
		return math.Abs(r.Effect()-r.Rest.V) * r.Share
	}
	return math.Abs(r.Effect()) * r.Share
}

// sliced gathers the slices of the paired units: the cross and each dimension
// alone.
func (c *comparing) sliced() []*sliced {
	index := map[sliceKey]*sliced{}
	var out []*sliced
	for _, p := range c.out.Pairs {
		for _, us := range p.units {
			for _, u := range us {
				for _, s := range u.slices(c.in.Opt) {
					k := keyOf(s.By)
					if index[k] != nil && index[k].cells[u] != nil {
						continue // the cross of one dimension is that dimension alone
					}
					if index[k] == nil {
						index[k] = &sliced{by: s.By, cells: map[*unit]*Slice{}}
						out = append(out, index[k])
					}
					index[k].cells[u] = s
					index[k].sent[u.side] += s.Counts.Sent.Or(0)
				}
			}
		}
	}
	for _, s := range out {
		for _, p := range c.out.Pairs {
			for side, us := range p.units {
				for _, u := range us {
					s.total[side] += u.slicedOf()
				}
			}
		}
	}
	return out
}

// distinctSlices drops slices that are the same requests as another: where all of
// rag has long prompts, rag and long prompts are one question, not two. The one
// with the fewest dimensions stays and knows the others.
func distinctSlices(all []*sliced) []*sliced {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *sliced) int { return cmp.Compare(len(a.by), len(b.by)) })
	var out []*sliced
	for _, s := range sorted {
		if i := slices.IndexFunc(out, func(o *sliced) bool { return o.sameRequests(s) }); i >= 0 {
			out[i].also = append(out[i].also, s.by)
			continue
		}
		out = append(out, s)
	}
	return out
}

// sameRequests reports whether two slices hold the same requests, by their counts
// and moments in every run.
func (s *sliced) sameRequests(o *sliced) bool {
	if s.sent != o.sent || len(s.cells) != len(o.cells) {
		return false
	}
	for u, a := range s.cells {
		b := o.cells[u]
		if b == nil || a.Counts.Completed != b.Counts.Completed || a.Input != b.Input || a.Output != b.Output || len(a.Dists) != len(b.Dists) {
			return false
		}
		for i, d := range a.Dists {
			if e := b.Dists[i]; d.Metric != e.Metric || d.Mean != e.Mean || d.Min != e.Min || d.Max != e.Max {
				return false
			}
		}
	}
	return true
}

// slices are those that a unit's requests fall into, or that its file states.
func (u *unit) slices(opt Options) []*Slice {
	if u.table != nil {
		return u.table.comparedSlices(opt)
	}
	if u.run == nil {
		return nil
	}
	var out []*Slice
	for _, x := range u.run.Run.Slices {
		if len(x.By) == 1 && !comparedDim(x.By[0].Dim) {
			continue
		}
		out = append(out, &Slice{By: x.By, Counts: Counts{Sent: x.Sent, Completed: x.Completed, Failed: x.Failed}, Input: x.Input.V, Output: x.Output.V,
			Dists: reportedDists(x.Reported, serving.Client, x.Completed)})
	}
	return withoutOther(out)
}

// slicedOf is the number of requests that a unit's slices are shares of.
func (u *unit) slicedOf() int64 {
	switch {
	case u.table != nil:
		return u.table.total().Sent
	case u.run != nil && len(u.run.Run.Slices) > 0:
		return u.counts().Sent.Or(0)
	}
	return 0
}

// comparedDim reports whether a dimension is one of the workload. How a request
// ended, and how long its answer came out, is a result.
func comparedDim(name string) bool {
	return name != serving.ColOutcome && name != serving.ColFinish && name != string(serving.OutputTokens)
}

func withoutOther(list []*Slice) []*Slice {
	return slices.DeleteFunc(list, func(s *Slice) bool {
		return slices.ContainsFunc(s.By, func(b serving.Term) bool { return b.Value == cube.Other })
	})
}

// comparedSlices are a table's slices by the cross of --group-by and by each
// dimension alone. How a request ended, and how long its answer came out, is a
// result and no slice of the workload.
func (t *table) comparedSlices(opt Options) []*Slice {
	var out []*Slice
	if t.cross >= 0 {
		out = t.slicesOf(t.cross, opt)
	}
	for _, name := range t.aloneDims(opt) {
		if !comparedDim(name) {
			continue
		}
		out = append(out, t.slicesOf(t.alone[name], opt)...)
	}
	return withoutOther(out)
}

// smallSlice reports whether any run of the slice's levels has too few of its
// requests.
func (c *comparing) smallSlice(s *sliced) bool {
	for _, p := range c.out.Pairs {
		if c.slicePair(s, p) {
			return false
		}
	}
	return true
}

// slicePair reports whether every run of a level has enough of a slice.
func (c *comparing) slicePair(s *sliced, p *Pair) bool {
	for _, us := range p.units {
		for _, u := range us {
			if x := s.cells[u]; x == nil || x.Counts.Completed.Or(0) < minSlice {
				return false
			}
		}
	}
	return true
}

func (c *comparing) sliceRows(s *sliced) {
	for _, f := range sliceFigures {
		var strata []verdict.Stratum
		for level, p := range c.out.Pairs {
			if c.slicePair(s, p) && comparable(f, p) {
				b, a := s.sample(p.units[before], f), s.sample(p.units[after], f)
				if p.replays(before) {
					b.Replayed = choiceOf(s.cells[p.units[before][0]].Dists, f)
				}
				if p.replays(after) {
					a.Replayed = choiceOf(s.cells[p.units[after][0]].Dists, f)
				}
				strata = append(strata, verdict.Stratum{Before: b, After: a, Level: level})
			}
		}
		row := &CompareRow{By: s.by, Also: s.also, Share: s.share()}
		r, ok := verdict.Compare(f, c.in.Opt.thresholdIn(row, f), strata, len(sliceFigures))
		if !ok {
			continue
		}
		if c.out.SameFiles {
			r.Method = verdict.SameFiles
		}
		row.Row = r
		c.out.Slices = append(c.out.Slices, row)
	}
}

// sample gathers a figure of a slice over a level's units.
func (s *sliced) sample(units []*unit, f verdict.Figure) verdict.Sample {
	var out verdict.Sample
	for _, u := range units {
		x := s.cells[u]
		if f.Metric == verdict.FailedShare {
			if x.Counts.Failed.OK {
				out.N, out.Of = out.N+x.Counts.Failed.V, out.Of+x.Counts.Sent.V
				out.Each = append(out.Each, verdict.Count{N: x.Counts.Failed.V, Of: x.Counts.Sent.V})
			}
			out.Values = append(out.Values, 0)
			continue
		}
		out.Values = append(out.Values, x.figure(f))
	}
	if len(units) == 1 {
		s.inside(units[0], f, &out)
	}
	return out
}

// figure is a slice's value, where its requests carry the quantile at all.
func (s *Slice) figure(f verdict.Figure) float64 {
	d := s.Dists.Of(f.Metric)
	p, ok := serving.QuantileOf(f.Stat)
	if d == nil || !ok || d.Count.Or(0) < stat.MinNOneSided(p, verdict.Confidence) {
		return math.NaN()
	}
	return s.Dists.stat(f.Metric, f.Stat).Or(math.NaN())
}

func (s *sliced) inside(u *unit, f verdict.Figure, out *verdict.Sample) {
	out.Halves = u.halves.of(s.by, f)
	p, ok := serving.QuantileOf(f.Stat)
	d := s.cells[u].Dists.Of(f.Metric)
	if !ok || d == nil {
		return
	}
	q, _ := d.Q(p)
	out.Lo, out.Hi, out.Drift = q.Lo, q.Hi, u.table.drift(f.Metric, p)
	if out.Halves == nil {
		out.Drift.Halves = max(out.Drift.Halves, u.halves.apart(s.by, f))
	}
}
