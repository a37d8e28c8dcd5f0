package serving

import (
	"context"
	"math/bits"
	"sync"
)

// Requests is a table of requests that is read in columns. Decoders implement
// it, analyze/cube calls it, and neither imports the other.
//
// The columns are canonical (see the Col constants) after aliases, units and
// derivations were resolved, or raw columns under their own names, which the
// user may choose as dimensions.
type Requests interface {
	// Name is what the dataset is called: a label or a path.
	Name() string
	// Side says where its times were measured.
	Side() Side
	// Columns lists what can be scanned, in a fixed order, with where each
	// came from.
	Columns() []Column
	// Parts returns the parts in a fixed order: files, then row groups. Parts
	// may be scanned concurrently, each by one goroutine.
	Parts() []Part
	// Rescannable says whether a second scan gives the same rows again.
	Rescannable() bool
	// Dict returns the intern table of a text column, shared by all parts.
	Dict(column string) *Dict
}

// A Part is a piece of a table that one goroutine scans.
type Part interface {
	// Source is the file it lies in.
	Source() string
	// Rows is the number of rows, or -1 where it is known only after a scan.
	Rows() int64
	// Scan calls yield with batches of the wanted columns, in row order and in
	// the order of want. The batch and its slices are valid during the call
	// only. A damaged record goes to problems and the scan goes on; problems
	// may be nil (a second pass). An error ends the scan.
	Scan(ctx context.Context, want []string, problems *Problems, yield func(*Batch) error) error
}

// A Surveyed part can tell something of its columns without a look at its rows, as
// a file with a footer can. A reader that relies on it has to notice rows that are
// otherwise: a file may be wrong about itself.
type Surveyed interface {
	Part
	// Span returns bounds of the instants of a column, ns; ok is false where it
	// does not know.
	Span(column string) (from, to int64, ok bool)
	// Texts returns the codes of all texts that rows may have in a column, and
	// whether there may be rows without one; ok is false where it takes a scan.
	Texts(ctx context.Context, column string) (codes []int32, missing, ok bool)
}

// ColumnKind is the type of a column's values.
type ColumnKind uint8

// The kinds of columns and which slice of a Vector holds them.
const (
	KindTime     ColumnKind = iota // Ints: nanoseconds since the epoch, or since the start where Column.Relative
	KindDuration                   // Floats: seconds
	KindCount                      // Ints
	KindRatio                      // Floats: 0…1
	KindNumber                     // Floats: a raw number without a known meaning
	KindText                       // Codes into Dict
	KindGaps                       // Floats and Offsets: a list of durations (seconds) a row
)

// HowPartition is the How of a column that the names of directories give.
const HowPartition = "partition"

// A Column is one column a table offers.
type Column struct {
	Name     string     // canonical, or the raw name
	Kind     ColumnKind //
	Relative bool       // a time counted from an arbitrary origin
	From     string     // the file's own name(s), "" where it is made up
	Unit     string     // the file's unit as resolved, "" where it has none
	How      string     // what decided it: map, logical-type, sibling, suffix, dialect, derived, partition
	Gaps     string     // of itl: token or chunk
	Label    bool       // a text without a known meaning that names few things, or a partition: worth slices unasked
}

// Canonical column names. Metrics use their MetricKey as column name: ttft,
// tpot, itl, e2e, queue, prefill, decode, frontend, normalized, prompt_tokens,
// output_tokens, cached_tokens.
const (
	ColArrival    = "arrival_time"
	ColFirstToken = "first_token_time"
	ColEnd        = "end_time"
	ColRequestID  = "request_id"
	ColModel      = "model"
	ColReplica    = "replica"
	ColEngine     = "engine"
	ColWorkload   = "workload"
	ColSession    = "session_id"
	ColTenant     = "tenant"
	ColStreaming  = "streaming" // text: "yes" or "no"
	ColOutcome    = "outcome"   // text with OutcomeDict: the code is the Outcome
	ColFinish     = "finish_reason"
	ColError      = "error"
	ColPreempt    = "preemptions"
	ColPhase      = "phase" // warmup rows are left out of figures and counted
)

// BatchRows is the number of rows a full batch aims at: large enough to
// amortize a call, small enough to stay in cache and to keep scratch memory at
// a page of values rather than a row group.
const BatchRows = 16 << 10

// A Batch is a run of consecutive rows.
type Batch struct {
	Row  int64 // 0-based index of the first row within its part
	N    int
	Cols []Vector // as wanted

	// Lasting says that the table is in memory: the Floats stay as they are after
	// the call, so that nobody has to copy millions of gaps.
	Lasting bool
}

// A Vector is one column of a batch. Valid has a bit a row; nil means that all
// rows have a value. Slots of rows without a value hold anything.
type Vector struct {
	Kind    ColumnKind
	Ints    []int64
	Floats  []float64
	Codes   []int32
	Offsets []int32 // KindGaps: N+1 offsets into Floats
	Valid   Bitmap
}

// Has reports whether row i has a value.
func (v *Vector) Has(i int) bool { return v.Valid == nil || v.Valid.Get(i) }

// A Bitmap holds a bit a row.
type Bitmap []uint64

// NewBitmap returns n cleared bits.
func NewBitmap(n int) Bitmap { return make(Bitmap, (n+63)/64) }

// Get returns bit i.
func (b Bitmap) Get(i int) bool { return b[i>>6]>>(uint(i)&63)&1 != 0 }

// Set sets bit i.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (uint(i) & 63) }

// Clear clears bit i.
func (b Bitmap) Clear(i int) { b[i>>6] &^= 1 << (uint(i) & 63) }

// Count returns the number of set bits.
func (b Bitmap) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// A Dict interns the strings of one text column over all parts of a table. It
// is safe for concurrent use. Codes depend on the order of a parallel scan:
// nothing that reaches a report may depend on them, only on the strings.
type Dict struct {
	mu    sync.RWMutex
	codes map[string]int32
	names []string
}

// NewDict returns a table that holds the given strings as codes 0, 1, ….
func NewDict(names ...string) *Dict {
	d := &Dict{codes: make(map[string]int32, len(names))}
	for _, n := range names {
		d.Code(n)
	}
	return d
}

// Code returns the code of s, interning it if new.
func (d *Dict) Code(s string) int32 {
	d.mu.RLock()
	c, ok := d.codes[s]
	d.mu.RUnlock()
	if ok {
		return c
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.codes[s]; ok {
		return c
	}
	c = int32(len(d.names))
	d.names = append(d.names, s)
	d.codes[s] = c
	return c
}

// Find returns the code of s without interning it.
func (d *Dict) Find(s string) (code int32, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	code, ok = d.codes[s]
	return code, ok
}

// Name returns the string of a code.
func (d *Dict) Name(code int32) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.names[code]
}

// Len returns the number of strings.
func (d *Dict) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.names)
}

// NewOutcomeDict returns the intern table of an outcome column: the code of a
// name is its Outcome.
func NewOutcomeDict() *Dict { return NewDict(outcomeNames[:]...) }
