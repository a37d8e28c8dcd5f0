package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// Reading text costs many times what reading columns does, and a report reads
// its tables several times over. So the first whole scan of a text keeps the
// columns that a report may ask for as a spool: blocks of a batch each, in memory
// up to a bound, then in a temporary file that has no name any more. Later scans
// take what they want from there. Where there is no room for it, text is read
// again, as is a column that the spool does not have.

// Bounds of a spool. The tests lower them.
var (
	spoolMemory int64 = 32 << 20
	spoolFile   int64 = 1 << 30
	smallRows   int64 = sampleLines // of a file that is not worth a spool
)

// A spool holds the values of sources before derivations and checks.
type spool struct {
	sources map[int]int // of the plan: position in a block
	blocks  []block
	used    int64 // bytes in memory
	file    *os.File
	size    int64 // of file
}

// A block is one batch.
type block struct {
	row   int64
	n     int
	mem   []byte  // the columns, or nil: they are in the file
	at    int64   // there
	cols  []int32 // where each starts, and the end
	lines []int32 // of the rows; one, where each row stands on the next line; none
	notes []note  // what was wrong with the text
}

// A note is a problem of the text of a block, and which column it is about: -1
// for the record.
type note struct {
	pending
	count int
}

var errNoRoom = errors.New("no room for a spool")

// add keeps a batch whose cells were filled.
func (s *spool) add(b *batch, cells []*cell) error {
	k := block{row: b.row, n: b.n, notes: b.notes}
	var buf []byte
	for _, c := range cells {
		k.cols = append(k.cols, int32(len(buf)))
		buf = appendVector(buf, c.v, b.n)
	}
	k.cols = append(k.cols, int32(len(buf)))
	k.lines = shortLines(b.lines[:b.n])
	if len(buf) > math.MaxInt32 {
		return errNoRoom
	}
	if s.used += int64(len(buf)); s.used <= spoolMemory {
		k.mem = slices.Clip(buf)
	} else if err := s.write(&k, buf); err != nil {
		return err
	}
	s.blocks = append(s.blocks, k)
	return nil
}

// write puts a block's columns into the file.
func (s *spool) write(k *block, buf []byte) error {
	if s.size+int64(len(buf)) > spoolFile {
		return errNoRoom
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "vreport-columns-*")
		if err != nil {
			return err
		}
		os.Remove(f.Name()) // the open file stays readable; nothing is left behind
		s.file = f
	}
	k.at = s.size
	if _, err := s.file.WriteAt(buf, s.size); err != nil {
		return err
	}
	s.size += int64(len(buf))
	return nil
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// shortLines keeps the lines of a batch: the first only where no record takes
// more than one, none where there are none.
func shortLines(lines []int) []int32 {
	if len(lines) == 0 || lines[0] == 0 || lines[len(lines)-1] > math.MaxInt32 {
		return nil
	}
	out := []int32{int32(lines[0])}
	if lines[len(lines)-1]-lines[0] == len(lines)-1 {
		return out
	}
	for _, l := range lines[1:] {
		out = append(out, int32(l))
	}
	return out
}

func longLines(into []int, short []int32, n int) []int {
	switch len(short) {
	case 0:
		return nil
	case n:
		into = resize(into, n)
		for i, l := range short {
			into[i] = int(l)
		}
	default:
		into = resize(into, n)
		for i := range into {
			into[i] = int(short[0]) + i
		}
	}
	return into
}

// appendVector encodes n rows: a byte that says whether some have no value, the
// bits for that, then a width and the values.
func appendVector(b []byte, v *serving.Vector, n int) []byte {
	if v.Valid == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		for _, w := range v.Valid[:(n+63)/64] {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	switch v.Kind {
	case serving.KindTime, serving.KindCount:
		return appendInts(b, v.Ints[:n])
	case serving.KindText:
		return appendCodes(b, v.Codes[:n])
	case serving.KindGaps:
		b = appendCodes(b, v.Offsets[:n+1])
		return appendFloats(b, v.Floats[:v.Offsets[n]])
	}
	return appendFloats(b, v.Floats[:n])
}

func appendFloats(b []byte, v []float64) []byte {
	at := len(b)
	b = slices.Grow(b, 8*len(v))[:at+8*len(v)]
	for i, x := range v {
		binary.LittleEndian.PutUint64(b[at+8*i:], math.Float64bits(x))
	}
	return b
}

// appendInts writes differences to the least value in four bytes where they fit.
func appendInts(b []byte, v []int64) []byte {
	lo, hi := int64(0), int64(0)
	if len(v) > 0 {
		lo, hi = slices.Min(v), slices.Max(v)
	}
	if uint64(hi-lo) <= math.MaxUint32 && hi >= lo {
		b = binary.LittleEndian.AppendUint64(append(b, 4), uint64(lo))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(x-lo))
		}
		return b
	}
	b = append(b, 8)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// appendCodes writes numbers from 0 in as few bytes as the greatest takes.
func appendCodes(b []byte, v []int32) []byte {
	switch hi := slices.Max(append(v, 0)); {
	case hi < 1<<8:
		b = append(b, 1)
		for _, x := range v {
			b = append(b, byte(x))
		}
	case hi < 1<<16:
		b = append(b, 2)
		for _, x := range v {
			b = binary.LittleEndian.AppendUint16(b, uint16(x))
		}
	default:
		b = append(b, 4)
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		}
	}
	return b
}

// readVector decodes what appendVector made. bits is where the validity goes.
func readVector(b []byte, v *serving.Vector, bits *serving.Bitmap, n int) {
	v.Valid = nil
	if b[0] == 1 {
		words := (n + 63) / 64
		*bits = resize(*bits, words)
		for i := range *bits {
			(*bits)[i] = binary.LittleEndian.Uint64(b[1+8*i:])
		}
		v.Valid = *bits
		b = b[8*words:]
	}
	b = b[1:]
	switch v.Kind {
	case serving.KindTime, serving.KindCount:
		v.Ints = resize(v.Ints, n)
		readInts(b, v.Ints)
	case serving.KindText:
		v.Codes = resize(v.Codes, n)
		readCodes(b, v.Codes)
	case serving.KindGaps:
		v.Offsets = resize(v.Offsets, n+1)
		b = readCodes(b, v.Offsets)
		v.Floats = resize(v.Floats, int(v.Offsets[n]))
		readFloats(b, v.Floats)
	default:
		v.Floats = resize(v.Floats, n)
		readFloats(b, v.Floats)
	}
}

func readFloats(b []byte, v []float64) {
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
}

func readInts(b []byte, v []int64) {
	if b[0] == 4 {
		lo := int64(binary.LittleEndian.Uint64(b[1:]))
		b = b[9:]
		for i := range v {
			v[i] = lo + int64(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return
	}
	b = b[1:]
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
}

func readCodes(b []byte, v []int32) []byte {
	w := int(b[0])
	b = b[1:]
	for i := range v {
		switch w {
		case 1:
			v[i] = int32(b[i])
		case 2:
			v[i] = int32(binary.LittleEndian.Uint16(b[2*i:]))
		default:
			v[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
	return b[w*len(v):]
}

// A spooled text is what a Text knows of its spool.
type spooled struct {
	mu    sync.Mutex
	state spoolState
	spool *spool
}

type spoolState uint8

const (
	noSpool     spoolState = iota // not tried
	beingMade                     // by another scan
	wholeSpool                    // there
	neverASpool                   // it has no room
)

// claim says whether a scan is to make the spool. A file that was read whole to
// learn its columns is not worth one.
func (s *spooled) claim() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != noSpool {
		return false
	}
	s.state = beingMade
	return true
}

// settle ends the making of a spool: nil where it came to nothing, and forever
// where it has no room.
func (s *spooled) settle(made *spool, never bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state = noSpool; {
	case made != nil:
		s.state, s.spool = wholeSpool, made
	case never:
		s.state = neverASpool
	}
}

// of returns the spool if it is there and has the sources.
func (s *spooled) of(sources []int) *spool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != wholeSpool {
		return nil
	}
	for _, i := range sources {
		if _, ok := s.spool.sources[i]; !ok {
			return nil
		}
	}
	return s.spool
}

// Close lets go of the spool.
func (s *spooled) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spool != nil {
		s.spool.close()
		s.spool, s.state = nil, neverASpool
	}
	return nil
}

// worthKeeping lists the sources that a report may ask for in its further scans:
// those with a meaning and columns of labels, but no ids.
func (t *Text) worthKeeping() []int {
	var out []int
	label := map[string]bool{}
	for _, c := range t.plan.Columns {
		label[c.Name] = c.Label
	}
	for i, s := range t.plan.Sources {
		switch {
		case s.Kind == serving.KindText && t.ids[s.Raw], s.Name == serving.ColRequestID, s.Name == serving.ColSession:
		case label[s.Name], isCanonical(t.plan, s.Name):
			out = append(out, i)
		}
	}
	return out
}

// replay scans a spool.
func (t *Text) replay(ctx context.Context, s *spool, g *column.Program, problems *serving.Problems, yield func(*serving.Batch) error) error {
	sources, into := g.Sources()
	wanted := map[int]bool{-1: true}
	for _, i := range sources {
		wanted[t.plan.Sources[i].Raw] = true
	}
	bits := make([]serving.Bitmap, len(sources))
	var buf []byte
	var lines []int
	for k := range s.blocks {
		b := &s.blocks[k]
		if err := ctx.Err(); err != nil {
			return err
		}
		if problems != nil {
			for _, n := range b.notes {
				if wanted[n.raw] {
					p := n.p
					p.Count = n.count
					problems.AddKind(n.kind, p)
				}
			}
		}
		if b.n == 0 {
			continue
		}
		for j, i := range sources {
			at := s.sources[i]
			from, to := b.cols[at], b.cols[at+1]
			col := b.mem
			if col != nil {
				col = col[from:to]
			} else {
				buf = resize(buf, int(to-from))
				if n, err := s.file.ReadAt(buf, b.at+int64(from)); n < len(buf) {
					return errors.Join(errors.New("the temporary file of columns cannot be read"), err, io.ErrUnexpectedEOF)
				}
				col = buf
			}
			readVector(col, into[j], &bits[j], b.n)
		}
		at := column.Place{Path: t.file.Path, Row: b.row}
		if problems != nil {
			lines = longLines(lines, b.lines, b.n)
			at.Lines = lines
		}
		if err := yield(g.Run(at, b.n, problems)); err != nil {
			return err
		}
	}
	t.tellFull(problems)
	return nil
}

// TextAt returns the texts of single rows, ascending and 0-based, "" where a row
// has none, without keeping all the others: see part.TextAt.
func (t *Text) TextAt(ctx context.Context, name string, rows []int64) ([]string, error) {
	dict := serving.NewDict()
	g, err := t.plan.Program(t.dicts, []string{name})
	if err != nil {
		return nil, err
	}
	sources, into := g.Sources()
	if len(sources) != 1 || t.plan.Sources[sources[0]].Kind != serving.KindText {
		return nil, errors.ErrUnsupported
	}
	out := make([]string, len(rows))
	if len(rows) == 0 {
		return out, nil
	}
	at := 0
	b := newBatch(ctx, t, g, nil, func(b *serving.Batch) error {
		for ; at < len(rows) && rows[at] < b.Row+int64(b.N); at++ {
			if i := int(rows[at] - b.Row); into[0].Has(i) {
				out[at] = dict.Name(into[0].Codes[i])
			}
		}
		if at == len(rows) {
			return errStop
		}
		return nil
	})
	b.pick, b.picked = rows, newInterner(dict, new(atomic.Bool))
	r, err := t.file.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err = t.rows.scan(ctx, r, b); err == nil {
		err = b.flush()
	}
	if err == errStop {
		err = nil
	}
	return out, err
}
