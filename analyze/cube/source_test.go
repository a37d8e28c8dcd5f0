package cube

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// memory is a table of requests in memory that is cut into any number of parts
// and batches.
type memory struct {
	name    string
	cols    []serving.Column
	data    map[string]*column
	dicts   map[string]*serving.Dict
	n       int
	parts   int
	batch   int // rows a batch; 0: serving.BatchRows
	once    bool
	failAt  map[int]error // by part: after its first batch
	damaged map[int]string
}

// A column has one slice by kind; missing says which rows have no value.
type column struct {
	ints    []int64
	floats  []float64
	texts   []string
	gaps    [][]float64
	missing []bool
	codes   []int32 // of texts, where they were interned before
}

func newMemory(n int) *memory {
	return &memory{name: "memory", n: n, parts: 1, data: map[string]*column{}, dicts: map[string]*serving.Dict{}}
}

func (m *memory) add(c serving.Column, d *column) {
	m.cols = append(m.cols, c)
	if d.missing == nil {
		d.missing = make([]bool, m.n)
	}
	m.data[c.Name] = d
	if c.Kind == serving.KindText {
		m.dicts[c.Name] = serving.NewDict()
		if c.Name == serving.ColOutcome {
			m.dicts[c.Name] = serving.NewOutcomeDict()
		}
	}
}

func (m *memory) Name() string                   { return m.name }
func (m *memory) Side() serving.Side             { return serving.Client }
func (m *memory) Columns() []serving.Column      { return m.cols }
func (m *memory) Rescannable() bool              { return !m.once }
func (m *memory) Dict(name string) *serving.Dict { return m.dicts[name] }

func (m *memory) Parts() []serving.Part {
	var out []serving.Part
	for i := range m.parts {
		out = append(out, &memoryPart{m, i, m.n * i / m.parts, m.n * (i + 1) / m.parts})
	}
	return out
}

type memoryPart struct {
	m        *memory
	i        int
	from, to int
}

func (p *memoryPart) Source() string { return "file" }
func (p *memoryPart) Rows() int64    { return int64(p.to - p.from) }

func (p *memoryPart) Scan(ctx context.Context, want []string, problems *serving.Problems, yield func(*serving.Batch) error) error {
	if s := p.m.damaged[p.i]; s != "" && problems != nil {
		problems.AddKind("damaged", serving.Problem{At: serving.Pos{Path: p.Source(), Row: 1}, Message: s})
	}
	size := p.m.batch
	if size == 0 {
		size = serving.BatchRows
	}
	for from := p.from; from < p.to; from += size {
		to := min(from+size, p.to)
		b := &serving.Batch{Row: int64(from - p.from), N: to - from}
		for _, name := range want {
			b.Cols = append(b.Cols, p.m.vector(name, from, to))
		}
		if err := yield(b); err != nil {
			return err
		}
		if err := p.m.failAt[p.i]; err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *memory) vector(name string, from, to int) serving.Vector {
	i := slices.IndexFunc(m.cols, func(c serving.Column) bool { return c.Name == name })
	d := m.data[name]
	v := serving.Vector{Kind: m.cols[i].Kind}
	if slices.Contains(d.missing[from:to], true) {
		v.Valid = serving.NewBitmap(to - from)
		for i := from; i < to; i++ {
			if !d.missing[i] {
				v.Valid.Set(i - from)
			}
		}
	}
	switch v.Kind {
	case serving.KindTime, serving.KindCount:
		v.Ints = d.ints[from:to]
	case serving.KindText:
		if d.codes != nil {
			v.Codes = d.codes[from:to]
			break
		}
		for i := from; i < to; i++ {
			code := int32(-7) // slots without a value hold anything
			if !d.missing[i] {
				code = m.dicts[name].Code(d.texts[i])
			}
			v.Codes = append(v.Codes, code)
		}
	case serving.KindGaps:
		v.Offsets = []int32{0}
		for i := from; i < to; i++ {
			v.Floats = append(v.Floats, d.gaps[i]...)
			v.Offsets = append(v.Offsets, int32(len(v.Floats)))
		}
	default:
		v.Floats = d.floats[from:to]
	}
	return v
}

// intern makes the codes of all texts, for benchmarks.
func (m *memory) intern() {
	for name, d := range m.data {
		for _, s := range d.texts {
			d.codes = append(d.codes, m.dicts[name].Code(s))
		}
	}
}

// randomTable returns a table with every kind of column. full leaves no value
// out and makes texts short, for benchmarks.
func randomTable(r *rand.Rand, n int, full bool) *memory {
	m := newMemory(n)
	missing := func(share float64) []bool {
		out := make([]bool, n)
		for i := range out {
			out[i] = !full && r.Float64() < share
		}
		return out
	}
	text := func(name string, values ...string) {
		d := &column{texts: make([]string, n), missing: missing(0.1)}
		for i := range d.texts {
			d.texts[i] = values[r.Intn(len(values))]
		}
		m.add(serving.Column{Name: name, Kind: serving.KindText}, d)
	}
	count := func(name string, top int64) {
		d := &column{ints: make([]int64, n), missing: missing(0.1)}
		for i := range d.ints {
			d.ints[i] = int64(math.Exp(r.Float64() * math.Log(float64(top))))
			if r.Intn(8) == 0 {
				d.ints[i] = int64(r.Intn(3))
			}
		}
		m.add(serving.Column{Name: name, Kind: serving.KindCount}, d)
	}
	duration := func(name serving.MetricKey, scale float64) {
		d := &column{floats: make([]float64, n), missing: missing(0.1)}
		for i := range d.floats {
			d.floats[i] = scale * math.Exp(r.NormFloat64())
			if !full && r.Intn(3) == 0 {
				d.floats[i] = scale * float64(r.Intn(4)) // ties and zeros
			}
		}
		m.add(serving.Column{Name: string(name), Kind: serving.KindDuration}, d)
	}
	arrival := &column{ints: make([]int64, n), missing: missing(0.05)}
	for i := range arrival.ints {
		arrival.ints[i] = 1_700_000_000e9 + int64(i)*20e6 + r.Int63n(1e9)
	}
	m.add(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime}, arrival)
	text(serving.ColWorkload, "chat", "rag", "code", "batch")
	text(serving.ColModel, "llama", "qwen")
	text(serving.ColReplica, "a", "b", "c", "d", "e", "f", "g", "h")
	text(serving.ColStreaming, "yes", "no")
	text(serving.ColOutcome, "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "error", "timeout", "cancelled", "incomplete")
	count("prompt_tokens", 200_000)
	count("output_tokens", 6000)
	count("cached_tokens", 100_000)
	duration(serving.TTFT, 0.2)
	duration(serving.TPOT, 0.02)
	duration(serving.E2E, 5)
	duration(serving.Queue, 0.1)
	duration(serving.Prefill, 0.1)
	if full {
		return m
	}
	text(serving.ColPhase, "profiling", "profiling", "profiling", "profiling", "Warm-Up")
	count("tenant", 30)
	ids := &column{texts: make([]string, n)}
	itl := &column{gaps: make([][]float64, n), missing: missing(0.1)}
	for i := range n {
		ids.texts[i] = fmt.Sprintf("req-%d", i)
		for range r.Intn(5) {
			itl.gaps[i] = append(itl.gaps[i], float64(r.Intn(20))/1000)
		}
	}
	m.add(serving.Column{Name: serving.ColRequestID, Kind: serving.KindText}, ids)
	m.add(serving.Column{Name: string(serving.ITL), Kind: serving.KindGaps}, itl)
	return m
}
