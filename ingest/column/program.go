package column

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// BadInt stands for a count or an instant that a decoder could not convert: a
// fraction, or a value beyond 64 bits. The program turns it into a missing
// value and a problem.
const BadInt = math.MinInt64

// A Program is what a scan of some columns takes: sources to decode, then
// derivations and checks to run on each batch. It owns the vectors of one
// batch, so each goroutine has its own.
type Program struct {
	plan  *Plan
	dicts *Dicts
	nodes []*node
	index map[nodeKey]int
	out   []int // nodes, as wanted
	batch serving.Batch
}

// A nodeKey names a node: a column as it is offered, as it is before filters, or a
// check of it. A column of the file may be called anything.
type nodeKey struct {
	name string
	as   int
}

const (
	offered = iota
	plain
	doubted
)

// A node is one column of a batch in the making.
type node struct {
	name   string
	source int // of Plan.Sources, or -1
	in     []int
	run    func(f *frame, in []*serving.Vector, out *serving.Vector)
	rule   int  // counted in Plan.touched; -1 for none
	fine   bool // of a source: Look found nothing to clean
	vec    serving.Vector
	ins    []*serving.Vector
}

// A Place says where a batch lies, for the positions of problems.
type Place struct {
	Path string
	Base int64 // rows of the file before the part
	Row  int64 // first row within the part
	// Lines are the 1-based lines of a text file that the rows start on; nil
	// where rows have none.
	Lines []int
}

// A frame is the batch that is being worked on.
type frame struct {
	Place
	N        int
	problems *serving.Problems
	node     *node
}

// problem records what is wrong with row i, by kind.
func (f *frame) problem(kind string, i int, field, format string, args ...any) {
	if f.problems == nil {
		return
	}
	at := serving.Pos{Path: f.Path, Row: f.Base + f.Row + int64(i) + 1, Field: field}
	if f.Lines != nil {
		at.Row, at.Line = 0, f.Lines[i]
	}
	f.problems.AddKind(kind, serving.Problem{At: at, Message: fmt.Sprintf(format, args...), Count: 1})
}

// Program compiles a scan of the wanted columns. An unknown column is an error
// that lists what there is.
func (p *Plan) Program(dicts *Dicts, want []string) (*Program, error) {
	g := &Program{plan: p, dicts: dicts, index: map[nodeKey]int{}}
	for _, w := range want {
		if u, ok := p.under[w]; ok {
			w = u
		}
		i, ok := g.column(w)
		if !ok {
			return nil, fmt.Errorf("there is no column %q, did you mean %q?", w, nearest(w, p.columnNames()))
		}
		g.out = append(g.out, i)
	}
	g.addDoubts()
	for _, n := range g.nodes {
		for _, i := range n.in {
			n.ins = append(n.ins, &g.nodes[i].vec)
		}
	}
	return g, nil
}

func (p *Plan) columnNames() []string {
	var out []string
	for _, c := range p.Columns {
		out = append(out, c.Name)
	}
	return out
}

// Sources returns the indexes into Plan.Sources of what has to be decoded, and
// the vectors to decode it into.
func (g *Program) Sources() (sources []int, into []*serving.Vector) {
	for _, n := range g.nodes {
		if n.source >= 0 {
			sources = append(sources, n.source)
			into = append(into, &n.vec)
		}
	}
	return sources, into
}

// Look looks at the values of the first rows of the i-th source, as Sources lists
// them, which were just decoded: what is fine, Run need not look at again.
func (g *Program) Look(i, rows int) {
	for _, n := range g.nodes {
		if n.source < 0 {
			continue
		}
		if i == 0 {
			n.fine = allFine(&g.plan.Sources[n.source], &n.vec, rows)
			return
		}
		i--
	}
}

// Run derives and checks a batch of n rows whose sources were decoded, and
// returns it. The batch is valid until the next call. problems may be nil.
func (g *Program) Run(at Place, n int, problems *serving.Problems) *serving.Batch {
	f := &frame{Place: at, N: n, problems: problems}
	for _, x := range g.nodes {
		f.node = x
		if x.source >= 0 {
			if x.fine {
				x.fine = false
				continue
			}
			clean(f, g.plan.Sources[x.source], &x.vec)
			continue
		}
		x.run(f, x.ins, &x.vec)
		if x.rule >= 0 && problems != nil {
			g.plan.touch(x.rule, n, &x.vec)
		}
	}
	b := &g.batch
	b.Row, b.N = at.Row, n
	b.Cols = grow(b.Cols, len(g.out))
	for i, k := range g.out {
		b.Cols[i] = g.nodes[k].vec
	}
	return b
}

// Vector returns a column of the batch that was run last, or nil.
func (g *Program) Vector(name string) *serving.Vector {
	for _, key := range []nodeKey{{name, offered}, {name, plain}} {
		if i, ok := g.index[key]; ok {
			return &g.nodes[i].vec
		}
	}
	return nil
}

// column returns the node that holds a column as it is offered, adding it and
// what it needs.
func (g *Program) column(name string) (int, bool) {
	if i, ok := g.index[nodeKey{name, offered}]; ok {
		return i, true
	}
	switch name {
	case serving.ColOutcome:
		return g.outcome()
	case serving.ColStreaming:
		return g.streaming()
	case serving.ColPhase:
		if _, ok := g.plan.byName[serving.ColPhase]; !ok {
			return g.warmup()
		}
	case ttft, tpot, itl:
		return g.streamedOnly(name)
	case cachedTokens:
		return g.cached()
	}
	return g.plain(name)
}

// plain is a column before filters: read, or made by its rule.
func (g *Program) plain(name string) (int, bool) {
	key := nodeKey{name, plain}
	if i, ok := g.index[key]; ok {
		return i, true
	}
	if i, ok := g.plan.byName[name]; ok {
		s := g.plan.Sources[i]
		return g.add(key, &node{name: g.plan.Raws[s.Raw].Name, source: i, rule: -1, vec: serving.Vector{Kind: s.Kind}}), true
	}
	r := g.plan.ruleFor(name)
	if r < 0 {
		return 0, false
	}
	n := &node{name: name, source: -1, rule: r, run: rules[r].run, vec: serving.Vector{Kind: kindOf(name)}}
	for _, from := range rules[r].from {
		// TTFT before the streaming filter: the filter is applied to what is
		// made of it, once.
		i, ok := g.plain(from)
		if !ok {
			return 0, false
		}
		n.in = append(n.in, i)
	}
	return g.add(key, n), true
}

func kindOf(name string) serving.ColumnKind {
	for _, c := range canons {
		if c.name == name {
			return c.kind
		}
	}
	return serving.KindNumber
}

func (g *Program) add(key nodeKey, n *node) int {
	g.nodes = append(g.nodes, n)
	g.index[key] = len(g.nodes) - 1
	return len(g.nodes) - 1
}

// outcome adds the outcome column, always the program's own dictionary.
func (g *Program) outcome() (int, bool) {
	o := &outcomeOf{out: -1, e2e: -1, ttft: -1}
	n := &node{name: serving.ColOutcome, source: -1, rule: -1, run: o.run, vec: serving.Vector{Kind: serving.KindText}}
	for _, c := range outcomeColumns {
		i, ok := g.plan.byName[c.name]
		if !ok {
			continue
		}
		k, _ := g.plain(c.name)
		n.in = append(n.in, k)
		o.judges = append(o.judges, &judge{
			name: g.plan.Raws[g.plan.Sources[i].Raw].Name, dict: g.dicts.Source(i), verdict: c.judge,
			strict: c.name == colStatus || c.name == serving.ColOutcome,
		})
	}
	for _, c := range []struct {
		name string
		at   *int
	}{{outputTokens, &o.out}, {e2e, &o.e2e}, {ttft, &o.ttft}} {
		if k, ok := g.plain(c.name); ok {
			*c.at = len(n.in)
			n.in = append(n.in, k)
		}
	}
	if len(n.in) == 0 {
		return 0, false
	}
	return g.add(nodeKey{serving.ColOutcome, offered}, n), true
}

// streaming adds the streaming column as yes or no.
func (g *Program) streaming() (int, bool) {
	return g.truthOf(serving.ColStreaming, serving.ColStreaming)
}

// warmup adds a phase column made of a warm-up flag.
func (g *Program) warmup() (int, bool) {
	return g.truthOf(serving.ColPhase, colWarmup)
}

// truthOf adds a column that is 1 where a source says yes and 0 where it says no.
func (g *Program) truthOf(name, source string) (int, bool) {
	i, ok := g.plan.byName[source]
	if !ok {
		return 0, false
	}
	k, _ := g.plain(source)
	j := &judge{dict: g.dicts.Source(i), verdict: func(s string) int {
		switch v, ok := truth(s); {
		case !ok:
			return undecided
		case v:
			return 1
		}
		return 0
	}}
	run := func(f *frame, in []*serving.Vector, out *serving.Vector) {
		both(f.N, out, in[0])
		out.Codes = grow(out.Codes, f.N)
		codes, known := out.Codes, in[0].Codes[:f.N]
		if j.all(codes, known) {
			return
		}
		for i, code := range known {
			if uint(code) < uint(len(j.seen)) && j.seen[code] >= 0 {
				codes[i] = j.seen[code] // of a missing value, whatever it is
				continue
			}
			if !out.Valid.Get(i) {
				continue
			}
			v := j.of(code)
			if v == undecided {
				out.Valid.Clear(i)
				f.problem(name, i, g.plan.Raws[g.plan.Sources[g.plan.byName[source]].Raw].Name, "%q is neither yes nor no", j.dict.Name(in[0].Codes[i]))
				continue
			}
			codes[i] = int32(v)
		}
	}
	return g.add(nodeKey{name, offered}, &node{name: name, source: -1, in: []int{k}, run: run, rule: -1, vec: serving.Vector{Kind: serving.KindText}}), true
}

// streamedOnly adds a token time without the rows that were not streamed, whose
// TTFT is their E2E, and without the zeros that failed requests carry.
func (g *Program) streamedOnly(name string) (int, bool) {
	base, ok := g.plain(name)
	if !ok {
		return 0, false
	}
	_, streams := g.plan.byName[serving.ColStreaming]
	zeros := name == ttft && len(g.plan.outcomeInputs()) > 0
	if !streams && !zeros {
		g.index[nodeKey{name, offered}] = base
		return base, true
	}
	n := &node{name: name, source: -1, in: []int{base}, rule: -1, vec: serving.Vector{Kind: kindOf(name)}}
	s, o := -1, -1
	if streams {
		k, _ := g.column(serving.ColStreaming)
		s = len(n.in)
		n.in = append(n.in, k)
	}
	if zeros {
		k, _ := g.column(serving.ColOutcome)
		o = len(n.in)
		n.in = append(n.in, k)
	}
	plan := g.plan
	var zero []uint64 // a bit a row
	n.run = func(f *frame, in []*serving.Vector, out *serving.Vector) {
		out.Floats, out.Offsets = in[0].Floats, in[0].Offsets
		both(f.N, out, in[0])
		dropped := 0
		if s >= 0 {
			dropped = dropUnstreamed(out.Valid, in[s], f.N)
		}
		if o >= 0 {
			zero = grow(zero, len(out.Valid))
			wide.Zeros(zero, in[0].Floats[:f.N])
			for w, valid := range out.Valid {
				for left := zero[w] & valid; left != 0; left &= left - 1 {
					if i := w<<6 + bits.TrailingZeros64(left); in[o].Codes[i] != int32(serving.OK) {
						out.Valid.Clear(i)
						f.problem("ttft 0", i, f.node.name, "TTFT of 0 s of a request that did not go well: not measured")
					}
				}
			}
		}
		if f.problems != nil && name == ttft {
			plan.unstreamed.Add(int64(dropped))
		}
	}
	return g.add(nodeKey{name, offered}, n), true
}

// dropUnstreamed clears the bits of rows whose code is 0, 64 rows at a time, and
// returns how many that were.
func dropUnstreamed(valid serving.Bitmap, v *serving.Vector, n int) int {
	zero, dropped := grow([]uint64(nil), len(valid)), 0
	wide.Equal(zero, v.Codes[:n], 0)
	for w, z := range zero {
		if v.Valid != nil {
			z &= v.Valid[w]
		}
		dropped += bits.OnesCount64(valid[w] & z)
		valid[w] &^= z
	}
	return dropped
}

// cached adds cached tokens without the rows that claim more than the prompt.
func (g *Program) cached() (int, bool) {
	base, ok := g.plain(cachedTokens)
	if !ok {
		return 0, false
	}
	prompt, ok := g.plain(promptTokens)
	if !ok {
		g.index[nodeKey{cachedTokens, offered}] = base
		return base, true
	}
	n := &node{name: cachedTokens, source: -1, in: []int{base, prompt}, rule: -1, vec: serving.Vector{Kind: serving.KindCount}}
	var above []uint64 // a bit a row
	n.run = func(f *frame, in []*serving.Vector, out *serving.Vector) {
		out.Ints = in[0].Ints
		both(f.N, out, in[0])
		above = grow(above, len(out.Valid))
		wide.Above(above, in[0].Ints[:f.N], in[1].Ints[:f.N])
		for w, valid := range out.Valid {
			for left := above[w] & valid; left != 0; left &= left - 1 {
				if i := w<<6 + bits.TrailingZeros64(left); in[1].Has(i) {
					out.Valid.Clear(i)
					f.problem("cached", i, cachedTokens, "%d cached tokens of a prompt of %d: taken as unknown", in[0].Ints[i], in[1].Ints[i])
				}
			}
		}
	}
	return g.add(nodeKey{cachedTokens, offered}, n), true
}

// addDoubts adds checks that only report: of columns the scan has anyway.
func (g *Program) addDoubts() {
	e, ok1 := g.index[nodeKey{e2e, plain}]
	t, ok2 := g.index[nodeKey{ttft, plain}]
	if !ok1 || !ok2 {
		return
	}
	g.add(nodeKey{ttft, doubted}, &node{name: ttft, source: -1, in: []int{e, t}, rule: -1, run: func(f *frame, in []*serving.Vector, _ *serving.Vector) {
		if f.problems == nil {
			return
		}
		e, t := in[0].Floats, in[1].Floats
		t = t[:f.N]
		for i, e := range e[:f.N] {
			if t[i] > e*(1+1e-6)+1e-6 && in[0].Has(i) && in[1].Has(i) {
				f.problem("ttft > e2e", i, ttft, "TTFT of %g s is longer than E2E of %g s", t[i], e)
			}
		}
	}})
}

// clean removes values that cannot be from a decoded column.
func clean(f *frame, s Source, v *serving.Vector) {
	switch s.Kind {
	case serving.KindDuration, serving.KindRatio:
		for i, x := range v.Floats[:f.N] {
			if x >= 0 && x <= math.MaxFloat64 && (s.Kind != serving.KindRatio || x <= 1) {
				continue
			}
			if !v.Has(i) {
				continue
			}
			drop(f, v, i)
			f.problem("range "+s.Name, i, f.node.name, "%s, want %s", found(x, s), wantOf(s.Kind))
		}
	case serving.KindNumber:
		for i, x := range v.Floats[:f.N] {
			if !finite(x) && v.Has(i) {
				drop(f, v, i)
			}
		}
	case serving.KindTime:
		cleanTimes(f, s, v)
	case serving.KindCount:
		for i, x := range v.Ints[:f.N] {
			if x >= 0 || !v.Has(i) {
				continue
			}
			drop(f, v, i)
			if x == BadInt {
				f.problem("range "+s.Name, i, f.node.name, "not a whole number in range, want %s", wantOf(s.Kind))
			} else {
				f.problem("range "+s.Name, i, f.node.name, "%d is negative, want %s", x, wantOf(s.Kind))
			}
		}
	case serving.KindGaps:
		cleanGaps(f, v)
	}
}

// cleanTimes removes what is no time, and, of a column of dates, what lies outside of
// the years that are dates: a clock that was not set stands at 1970, or at 0001.
func cleanTimes(f *frame, s Source, v *serving.Vector) {
	for i, x := range v.Ints[:f.N] {
		switch {
		case x != BadInt && (!s.dated || inEra(x)) || !v.Has(i):
		case x == BadInt:
			drop(f, v, i)
			f.problem("range "+s.Name, i, f.node.name, "not a whole number in range, want %s", wantOf(s.Kind))
		default:
			drop(f, v, i)
			f.problem("era "+s.Name, i, f.node.name, "%s is no date of these years, want %s as the others", time.Unix(0, x).UTC().Format(time.RFC3339), wantOf(s.Kind))
		}
	}
}

func cleanGaps(f *frame, v *serving.Vector) {
	for i := range f.N {
		if !v.Has(i) {
			continue
		}
		for _, x := range v.Floats[v.Offsets[i]:v.Offsets[i+1]] {
			if !(x >= 0 && x <= math.MaxFloat64) {
				drop(f, v, i)
				f.problem("range itl", i, f.node.name, "%g is no gap between tokens, want seconds ≥ 0", x)
				break
			}
		}
	}
}

// drop makes row i missing; a vector whose rows are all valid gets its bitmap.
func drop(f *frame, v *serving.Vector, i int) {
	if v.Valid == nil {
		v.Valid = serving.NewBitmap(f.N)
		for k := range v.Valid {
			v.Valid[k] = ^uint64(0)
		}
	}
	v.Valid.Clear(i)
}

func found(x float64, s Source) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 0):
		return "infinite"
	case x < 0:
		return fmt.Sprintf("%g is negative", x*s.Unit.PerSecond())
	}
	return fmt.Sprintf("%g", x)
}

func wantOf(k serving.ColumnKind) string {
	switch k {
	case serving.KindDuration:
		return "a duration"
	case serving.KindRatio:
		return "a share of 0 to 1"
	case serving.KindCount:
		return "a count"
	}
	return "a time"
}

// A Touch tells how many rows a rule made or changed.
type Touch struct {
	Rule string
	Rows int64
}

// touched counts rows by rule over the scans that report problems.
type touched struct {
	rows       [32]atomic.Int64 // by index into rules
	unstreamed atomic.Int64
}

func (p *Plan) touch(rule, n int, v *serving.Vector) {
	if v.Valid != nil {
		n = v.Valid.Count()
	}
	p.rows[rule].Add(int64(n))
}

// Touched tells how many rows each rule made, over all scans that reported
// problems (the first pass of an analysis).
func (p *Plan) Touched() []Touch {
	var out []Touch
	for i, r := range rules {
		if n := p.rows[i].Load(); n > 0 {
			out = append(out, Touch{r.name, n})
		}
	}
	if n := p.unstreamed.Load(); n > 0 {
		out = append(out, Touch{"not streamed: no ttft, tpot and itl", n})
	}
	return out
}
