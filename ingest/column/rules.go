package column

import (
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// A rule makes a canonical column out of others. The first rule of a column
// whose inputs exist is the one that is used, for the whole table: rows are
// never filled from different definitions.
type rule struct {
	name  string // as Touched reports it
	makes string
	from  []string
	// clocks: the first two inputs are instants and must be of one clock.
	clocks bool
	// but is a further condition on the plan.
	but func(p *Plan) bool
	run func(f *frame, in []*serving.Vector, out *serving.Vector)
}

// rules in order of preference for each column.
//
// TPOT is vLLM's definition, (E2E − TTFT) / (output tokens − 1): the first
// token is TTFT's. Queue, prefill and decode are vLLM's intervals between
// queued, scheduled, first token and last token (vllm/v1/metrics/stats.py).
// Where a trace has an engine's own clock beside a wall-clock arrival, TTFT and
// E2E are counted from queueing: the two clocks must not be subtracted.
var rules []rule

func init() { // breaks the initialization cycle rules → frontend → rules
	rules = []rule{
		{name: "ttft = first token − arrival", makes: ttft, from: []string{serving.ColFirstToken, serving.ColArrival}, clocks: true, run: elapsed},
		{name: "ttft = first token − queued", makes: ttft, from: []string{serving.ColFirstToken, colQueued}, clocks: true, run: elapsed},
		{name: "e2e = end − arrival", makes: e2e, from: []string{serving.ColEnd, serving.ColArrival}, clocks: true, run: elapsed},
		{name: "e2e = last token − arrival", makes: e2e, from: []string{colLastToken, serving.ColArrival}, clocks: true, run: elapsed},
		{name: "e2e = last token − queued", makes: e2e, from: []string{colLastToken, colQueued}, clocks: true, run: elapsed},
		{name: "e2e = end − queued", makes: e2e, from: []string{serving.ColEnd, colQueued}, clocks: true, run: elapsed},
		{name: "queue = scheduled − queued", makes: queue, from: []string{colScheduled, colQueued}, clocks: true, run: elapsed},
		{name: "prefill = first token − scheduled", makes: prefill, from: []string{serving.ColFirstToken, colScheduled}, clocks: true, run: elapsed},
		{name: "decode = last token − first token", makes: decode, from: []string{colLastToken, serving.ColFirstToken}, clocks: true, run: elapsed},
		{name: "decode = end − first token", makes: decode, from: []string{serving.ColEnd, serving.ColFirstToken}, clocks: true, run: elapsed},
		{name: "tpot = (e2e − ttft) / (output tokens − 1)", makes: tpot, from: []string{e2e, ttft, outputTokens}, run: tpotOf},
		{name: "tpot = decode / (output tokens − 1)", makes: tpot, from: []string{decode, outputTokens}, run: tpotOfDecode},
		{name: "frontend = e2e − queue − prefill − decode", makes: frontend, from: []string{e2e, queue, prefill, decode},
			but: func(p *Plan) bool { return !p.fromQueued(e2e) }, run: frontendOf},
		{name: "normalized = e2e / output tokens", makes: normalized, from: []string{e2e, outputTokens}, run: normalizedOf},
		{name: "cached tokens = hit rate × prompt tokens", makes: cachedTokens, from: []string{colHitRatio, promptTokens}, run: cachedOf},
	}
}

// applies reports whether a rule's inputs exist, read or derived.
func (p *Plan) applies(r rule) bool {
	for _, n := range r.from {
		if !p.makes(n) {
			return false
		}
	}
	if r.clocks && !p.sameClock(r.from[0], r.from[1]) {
		return false
	}
	return r.but == nil || r.but(p)
}

// makes reports whether a canonical column can be had.
func (p *Plan) makes(name string) bool {
	if _, ok := p.byName[name]; ok {
		return true
	}
	return p.ruleFor(name) >= 0
}

// ruleFor returns the rule that makes a column that is not read, or -1.
func (p *Plan) ruleFor(name string) int {
	if _, ok := p.byName[name]; ok {
		return -1
	}
	return slices.IndexFunc(rules, func(r rule) bool { return r.makes == name && p.applies(r) })
}

// fromQueued reports whether a column is derived from the time of queueing, so
// that nothing before it is inside.
func (p *Plan) fromQueued(name string) bool {
	i := p.ruleFor(name)
	return i >= 0 && slices.Contains(rules[i].from, colQueued)
}

func (p *Plan) sameClock(a, b string) bool {
	i, ok1 := p.byName[a]
	j, ok2 := p.byName[b]
	return ok1 && ok2 && p.Sources[i].clock == p.Sources[j].clock
}

// both sets out's validity to the rows that all inputs have.
func both(n int, out *serving.Vector, in ...*serving.Vector) {
	out.Valid = grow(out.Valid, (n+63)/64)
	for i := range out.Valid {
		out.Valid[i] = ^uint64(0)
	}
	for _, v := range in {
		if v.Valid == nil {
			continue
		}
		for i := range out.Valid {
			out.Valid[i] &= v.Valid[i]
		}
	}
	if r := uint(n) & 63; r != 0 && n > 0 {
		out.Valid[len(out.Valid)-1] &= 1<<r - 1
	}
}

func grow[S ~[]T, T any](s S, n int) S {
	if cap(s) < n {
		return make(S, n, n+n/8)
	}
	return s[:n]
}

// elapsed is in[0] − in[1] of two instants. A negative one is a problem: the
// clocks are not the same after all, or the record is damaged.
func elapsed(f *frame, in []*serving.Vector, out *serving.Vector) {
	both(f.N, out, in...)
	out.Floats = grow(out.Floats, f.N)
	a, b := in[0].Ints, in[1].Ints
	for i := range f.N {
		d := a[i] - b[i]
		out.Floats[i] = float64(d) / 1e9
		if (d < 0 || (a[i] > 0) != (b[i] > 0) && d > math.MaxInt64/2) && out.Valid.Get(i) {
			out.Valid.Clear(i)
			f.problem("elapsed "+f.node.name, i, f.node.name, "ends %g s before it starts", -out.Floats[i])
		}
	}
}

func tpotOf(f *frame, in []*serving.Vector, out *serving.Vector) {
	both(f.N, out, in...)
	out.Floats = grow(out.Floats, f.N)
	e, t, n := in[0].Floats, in[1].Floats, in[2].Ints
	for i := range f.N {
		out.Floats[i] = (e[i] - t[i]) / float64(n[i]-1)
		if n[i] < 2 || e[i] < t[i] {
			out.Valid.Clear(i) // TTFT > E2E is reported as such
		}
	}
}

func tpotOfDecode(f *frame, in []*serving.Vector, out *serving.Vector) {
	both(f.N, out, in...)
	out.Floats = grow(out.Floats, f.N)
	d, n := in[0].Floats, in[1].Ints
	for i := range f.N {
		out.Floats[i] = d[i] / float64(n[i]-1)
		if n[i] < 2 {
			out.Valid.Clear(i)
		}
	}
}

// frontendSlack is how far the stages may exceed E2E by rounding, in seconds.
const frontendSlack = 1e-3

func frontendOf(f *frame, in []*serving.Vector, out *serving.Vector) {
	both(f.N, out, in...)
	out.Floats = grow(out.Floats, f.N)
	e, q, p, d := in[0].Floats, in[1].Floats, in[2].Floats, in[3].Floats
	for i := range f.N {
		x := e[i] - q[i] - p[i] - d[i]
		if x < 0 && x >= -frontendSlack {
			x = 0
		}
		out.Floats[i] = x
		if x < 0 && out.Valid.Get(i) {
			out.Valid.Clear(i)
			f.problem("frontend", i, frontend, "queue, prefill and decode together exceed E2E by %g s", -x)
		}
	}
}

func normalizedOf(f *frame, in []*serving.Vector, out *serving.Vector) {
	both(f.N, out, in...)
	out.Floats = grow(out.Floats, f.N)
	e, n := in[0].Floats[:f.N], in[1].Ints[:f.N]
	wide.Ratios(out.Floats, e, n)
	none := make([]uint64, len(out.Valid))
	wide.Below(none, n, 1)
	for w := range out.Valid {
		out.Valid[w] &^= none[w]
	}
}

func cachedOf(f *frame, in []*serving.Vector, out *serving.Vector) {
	both(f.N, out, in...)
	out.Ints = grow(out.Ints, f.N)
	for i := range f.N {
		out.Ints[i] = int64(math.Round(in[0].Floats[i] * float64(in[1].Ints[i])))
	}
}
