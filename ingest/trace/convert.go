package trace

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

const badInt = column.BadInt

// A target is what a column's values become.
type target uint8

const (
	toInts   target = iota // counts, instants
	toFloats               // durations, shares, numbers, gaps
	toCodes                // texts
)

// A converter turns physical values of one column into what its source wants.
type converter struct {
	leaf   *leaf
	to     target
	count  bool    // an integer without a unit
	mul    int64   // of instants: nanoseconds in one of the file's unit
	div    float64 // of durations and decimals: file's units in a base unit
	intern *interner
	ints   []int64
	floats []float64
}

func newConverter(l *leaf, s column.Source, in *interner) converter {
	c := converter{leaf: l, intern: in, mul: 1, div: 1}
	switch s.Kind {
	case serving.KindTime:
		// The type of this very file decides: files of one table may differ.
		u := s.Unit
		if l.kind == column.Instant {
			u = l.unit
		}
		c.to, c.mul = toInts, u.Nanoseconds()
		if l.days {
			c.mul = 86400e9
		}
	case serving.KindCount:
		c.to, c.count = toInts, true
	case serving.KindText:
		c.to = toCodes
	default:
		c.to = toFloats
		if s.Kind == serving.KindDuration || s.Kind == serving.KindGaps {
			u := s.Unit
			if l.unit != column.NoUnit {
				u = l.unit
			}
			c.div = u.PerSecond()
		}
	}
	if l.scale > 0 {
		c.div *= math.Pow10(l.scale)
	}
	return c
}

// fractional and textual tell how a stream has to be read; whole numbers are
// the rest.
func (l *leaf) fractional() bool {
	switch l.physical {
	case format.Float, format.Double:
		return true
	case format.ByteArray, format.FixedLenByteArray:
		return l.decimal || l.float16 || l.interval
	}
	return false
}

func (l *leaf) textual() bool {
	return (l.physical == format.ByteArray || l.physical == format.FixedLenByteArray) && !l.fractional()
}

// readInts reads counts or instants.
func (c *converter) readInts(s *stream, dst []int64) error {
	switch {
	case c.leaf.textual():
		for i := range dst {
			b, err := s.bytes()
			if err != nil {
				return err
			}
			dst[i] = badInt
			if ns, ok := column.ParseInstant(string(b)); ok && !c.count {
				dst[i] = ns
			}
		}
	case c.leaf.fractional():
		c.floats = growSlice(c.floats, len(dst))
		if err := s.floats(c.floats, c.div); err != nil {
			return err
		}
		for i, x := range c.floats {
			dst[i] = c.whole(x)
		}
	default:
		if err := s.ints(dst); err != nil {
			return err
		}
		c.scaleInts(dst)
	}
	return nil
}

// scaleInts turns the file's integers into counts or nanoseconds.
func (c *converter) scaleInts(dst []int64) {
	if c.leaf.unsigned && c.leaf.physical == format.Int64 {
		for i, x := range dst {
			if x < 0 {
				dst[i] = badInt // beyond 2⁶³
			}
		}
	}
	if c.div != 1 { // a decimal
		for i, x := range dst {
			dst[i] = c.whole(float64(x) / c.div)
		}
		return
	}
	if c.mul == 1 {
		return
	}
	most := math.MaxInt64 / c.mul
	for i, x := range dst {
		if x > most || x < -most {
			dst[i] = badInt
			continue
		}
		dst[i] = x * c.mul
	}
}

// whole converts a number: an instant is rounded to the nanosecond, a count
// has to be one.
func (c *converter) whole(x float64) int64 {
	if c.count && x != math.Trunc(x) {
		return badInt
	}
	x = math.Round(x * float64(c.mul))
	if !(math.Abs(x) < 1<<63) {
		return badInt
	}
	return int64(x)
}

func (c *converter) readFloats(s *stream, dst []float64) error {
	switch {
	case c.leaf.textual():
		return errNotNumbers
	case c.leaf.fractional():
		if err := s.floats(dst, c.div); err != nil {
			return err
		}
		return nil
	default:
		c.ints = growSlice(c.ints, len(dst))
		if err := s.ints(c.ints); err != nil {
			return err
		}
		big := c.leaf.unsigned && c.leaf.physical == format.Int64
		for i, x := range c.ints {
			dst[i] = float64(x)
			if big {
				dst[i] = float64(uint64(x))
			}
		}
	}
	if c.div != 1 {
		for i := range dst {
			dst[i] /= c.div
		}
	}
	return nil
}

func (c *converter) readCodes(s *stream, dst []int32) error {
	switch {
	case c.leaf.textual():
		for i := range dst {
			b, err := s.bytes()
			if err != nil {
				return err
			}
			if c.leaf.uuid {
				b = uuidText(b)
			}
			dst[i] = c.intern.bytes(b)
		}
		return nil
	case c.leaf.fractional():
		c.floats = growSlice(c.floats, len(dst))
		if err := s.floats(c.floats, c.div); err != nil {
			return err
		}
		for i, x := range c.floats {
			dst[i] = c.intern.text(strconv.FormatFloat(x, 'g', -1, 64))
		}
		return nil
	}
	c.ints = growSlice(c.ints, len(dst))
	if err := s.ints(c.ints); err != nil {
		return err
	}
	if c.leaf.physical == format.Boolean && len(dst) > 2 {
		codes := [2]int32{c.intern.int(c.ints[0], c.leaf), 0}
		known := [2]bool{true, false} // the first value's; the other's once it is met
		for i, x := range c.ints {
			k := int(x ^ c.ints[0])
			if !known[k] {
				known[k], codes[k] = true, c.intern.int(x, c.leaf)
			}
			dst[i] = codes[k]
		}
		return nil
	}
	for i, x := range c.ints {
		dst[i] = c.intern.int(x, c.leaf)
	}
	return nil
}

func uuidText(b []byte) []byte {
	h := make([]byte, 0, 36)
	for i, x := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			h = append(h, '-')
		}
		h = hex.AppendEncode(h, []byte{x})
	}
	return h
}

// Bounds of a text column. A column of prompts or of request ids must not fill
// the memory: what goes beyond has no value, and the first row says so.
const (
	maxDistinct = 1 << 20
	maxText     = 256 // bytes kept of a text; of a longer one a sum of all of it stands at the end
	maxCached   = 1 << 16

	maxFixedText = 1 << 20 // of a table that is no trace: a rollup has its spec in a text
)

// noCode marks a text that found no room in its table.
const noCode = -1

// An interner gives texts their codes, by way of a cache of its own: the shared
// table is locked for new texts only, and no string is made for known ones.
type interner struct {
	dict  *serving.Dict
	known map[string]int32
	nums  map[int64]int32
	full  *atomic.Bool // the table of this column is full
	most  int          // bytes kept of a text
}

func newInterner(d *serving.Dict, full *atomic.Bool) *interner {
	return &interner{dict: d, known: map[string]int32{}, nums: map[int64]int32{}, full: full, most: maxText}
}

// isFull reports whether there were texts that found no room.
func (n *interner) isFull() bool { return n != nil && n.full.Load() }

func (n *interner) bytes(b []byte) int32 {
	if n == nil {
		return 0 // a value that is passed over
	}
	if len(b) > n.most {
		b = shortened(b, n.most)
	}
	if c, ok := n.known[string(b)]; ok {
		return c
	}
	return n.text(string(b))
}

// shortened keeps the start of a text and a sum of all of it: two long texts that
// start alike are two still.
func shortened(b []byte, most int) []byte {
	sum := fnv.New64a()
	sum.Write(b)
	cut := most - len("…") - 2*sum.Size()
	for cut > 0 && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return fmt.Appendf(b[:cut:cut], "…%016x", sum.Sum64())
}

func (n *interner) text(s string) int32 {
	if n == nil {
		return 0
	}
	key := s
	if c, ok := n.known[key]; ok {
		return c
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	c, ok := n.dict.Find(s)
	if !ok {
		if n.dict.Len() >= maxDistinct {
			n.full.Store(true)
			return noCode
		}
		c = n.dict.Code(s)
	}
	if len(n.known) >= maxCached {
		clear(n.known)
	}
	n.known[key] = c
	return c
}

func (n *interner) int(x int64, l *leaf) int32 {
	if n == nil {
		return 0
	}
	if c, ok := n.nums[x]; ok {
		return c
	}
	var s string
	switch {
	case l.physical == format.Boolean:
		s = strconv.FormatBool(x != 0)
	case l.unsigned:
		s = strconv.FormatUint(uint64(x), 10)
	default:
		s = strconv.FormatInt(x, 10)
	}
	c := n.text(s)
	if len(n.nums) >= maxCached {
		clear(n.nums)
	}
	n.nums[x] = c
	return c
}
