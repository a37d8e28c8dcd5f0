package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

var errNotNumbers = errors.New("it holds text, want numbers")

// levelBlock is how many levels are looked at at a time.
const levelBlock = 4096

// A cursor walks one column of a row group, page by page, and fills batches.
type cursor struct {
	converter
	pages  pages
	stream stream
	dict   stream // scratch of the dictionary page

	left     int // levels of the page that are not used
	rep, def levels
	isDict   bool
	index    hybrid
	have     bool // a dictionary was read
	lutInts  []int64
	lutReals []float64
	lutCodes []int32

	defs, reps []uint32 // a block of levels
	blockAt    int
	blockLen   int
	indexes    []uint32
	codes      []int32
	firsts     []first // scratch of fillFirsts
	valid      serving.Bitmap
	long       []int // rows of the batch whose lists are too long
}

// cursor returns one whose pages are within the table's bounds.
func (t *Table) cursor(c converter) *cursor {
	return &cursor{converter: c, pages: pages{budget: &t.budget, maxPage: t.opt.MaxPage}}
}

// levels reads repetition or definition levels, in either encoding.
type levels struct {
	hybrid
	flat []uint32 // of the deprecated BIT_PACKED encoding
}

func (l *levels) read(dst []uint32) error {
	if l.flat == nil {
		return l.hybrid.read(dst)
	}
	if len(l.flat) < len(dst) {
		return errShort
	}
	copy(dst, l.flat)
	l.flat = l.flat[len(dst):]
	return nil
}

// open starts on a column chunk.
func (c *cursor) open(r io.ReaderAt, m *format.ColumnMetaData, size int64) error {
	c.left, c.blockAt, c.blockLen, c.have, c.isDict = 0, 0, 0, false, false
	c.lutInts, c.lutReals, c.lutCodes = c.lutInts[:0], c.lutReals[:0], c.lutCodes[:0]
	return c.pages.open(r, m, size)
}

// nextPage moves to the next data page that has values, loading a dictionary
// on the way. It returns io.EOF after the last.
func (c *cursor) nextPage() error {
	for {
		h, pg, err := c.pages.next()
		if err != nil {
			return err
		}
		if h.Type == format.DictionaryPage {
			if err := c.loadDictionary(pg); err != nil {
				return fmt.Errorf("dictionary: %w", err)
			}
			continue
		}
		if pg.values == 0 {
			continue
		}
		c.left = pg.values
		return c.startPage(pg)
	}
}

func (c *cursor) startPage(pg page) (err error) {
	data := pg.data
	if pg.v1 {
		if data, err = cutLevels(&c.rep, c.leaf.repWidth, pg.repEnc, pg.values, data); err != nil {
			return err
		}
		if data, err = cutLevels(&c.def, c.leaf.defWidth, pg.defEnc, pg.values, data); err != nil {
			return err
		}
	} else {
		c.rep.flat, c.def.flat = nil, nil
		c.rep.reset(pg.rep, c.leaf.repWidth)
		c.def.reset(pg.def, c.leaf.defWidth)
	}
	c.isDict = pg.encoding == format.RLEDictionary || pg.encoding == plainDictionary
	if !c.isDict {
		return c.stream.open(c.leaf, pg.encoding, data, pg.values)
	}
	if !c.have {
		return errors.New("a page with a dictionary that is not there")
	}
	if len(data) == 0 {
		c.index.reset(nil, 0) // all null
		return nil
	}
	if data[0] > 32 {
		return fmt.Errorf("dictionary indexes of %d bits", data[0])
	}
	c.index.reset(data[1:], uint(data[0]))
	return nil
}

// cutLevels takes the levels off the front of a v1 page.
func cutLevels(l *levels, width uint, enc format.Encoding, values int, b []byte) ([]byte, error) {
	l.flat = nil
	if width == 0 {
		return b, nil
	}
	if enc == format.BitPacked {
		n := (values*int(width) + 7) / 8
		if n > len(b) {
			return nil, errShort
		}
		l.flat = make([]uint32, values)
		return b[n:], unpackBig(l.flat, b[:n], width)
	}
	if enc != format.RLE {
		return nil, fmt.Errorf("levels in encoding %s are not supported", enc)
	}
	if len(b) < 4 {
		return nil, errShort
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > int64(len(b)-4) {
		return nil, errShort
	}
	l.reset(b[4:4+n], width)
	return b[4+n:], nil
}

// plainDictionary is what writers of format version 1 call both the encoding of
// a dictionary and that of the indexes into it.
const plainDictionary format.Encoding = 2

// loadDictionary converts a dictionary once, so that a row costs a look-up.
func (c *cursor) loadDictionary(pg page) error {
	enc := pg.encoding
	if enc == plainDictionary {
		enc = format.Plain
	}
	if err := c.dict.open(c.leaf, enc, pg.data, pg.values); err != nil {
		return err
	}
	// Each value takes a byte at least (booleans are never in dictionaries of
	// more than two), so the page bounds what is allocated.
	if pg.values > len(pg.data) && pg.values > 2 {
		return errShort
	}
	c.have = true
	switch c.to {
	case toInts:
		c.lutInts = growSlice(c.lutInts, pg.values)
		return c.readInts(&c.dict, c.lutInts)
	case toFloats:
		c.lutReals = growSlice(c.lutReals, pg.values)
		return c.readFloats(&c.dict, c.lutReals)
	}
	c.lutCodes = growSlice(c.lutCodes, pg.values)
	return c.readCodes(&c.dict, c.lutCodes)
}

// lookedUp turns a look-up that failed into an error.
func lookedUp(ok bool, idx []uint32, size int) error {
	if ok {
		return nil
	}
	i := slices.IndexFunc(idx, func(x uint32) bool { return uint(x) >= uint(size) })
	return fmt.Errorf("index %d into a dictionary of %d", idx[i], size)
}

func (c *cursor) nextIndexes(n int) ([]uint32, error) {
	c.indexes = growSlice(c.indexes, n)
	return c.indexes, c.index.read(c.indexes)
}

func (c *cursor) valuesInts(dst []int64) error {
	if !c.isDict {
		return c.readInts(&c.stream, dst)
	}
	idx, err := c.nextIndexes(len(dst))
	if err != nil {
		return err
	}
	return lookedUp(wide.LookInts(dst, c.lutInts, idx), idx, len(c.lutInts))
}

func (c *cursor) valuesFloats(dst []float64) error {
	if !c.isDict {
		return c.readFloats(&c.stream, dst)
	}
	idx, err := c.nextIndexes(len(dst))
	if err != nil {
		return err
	}
	return lookedUp(wide.LookFloats(dst, c.lutReals, idx), idx, len(c.lutReals))
}

func (c *cursor) valuesCodes(dst []int32) error {
	if !c.isDict {
		return c.readCodes(&c.stream, dst)
	}
	idx, err := c.nextIndexes(len(dst))
	if err != nil {
		return err
	}
	return lookedUp(wide.LookCodes(dst, c.lutCodes, idx), idx, len(c.lutCodes))
}

// fill decodes the next rows into v, n at most, and says how many it got. Fewer
// than n without an error happens to lists only.
func (c *cursor) fill(v *serving.Vector, n int) (int, error) {
	c.valid = growSlice(c.valid, (n+63)/64)
	for i := range c.valid {
		c.valid[i] = ^uint64(0)
	}
	var nulls bool
	var rows int
	var err error
	switch {
	case c.leaf.maxRep == 0:
		rows, nulls, err = c.fillRows(v, n)
	case c.to == toCodes:
		rows, err = c.fillFirsts(v, n)
		nulls = true
	default:
		rows, nulls, err = c.fillLists(v, n)
	}
	v.Valid = nil
	if nulls {
		v.Valid = c.valid
	}
	return rows, err
}

func (c *cursor) fillRows(v *serving.Vector, n int) (done int, nulls bool, err error) {
	switch c.to {
	case toInts:
		v.Ints = growSlice(v.Ints, n)
	case toFloats:
		v.Floats = growSlice(v.Floats, n)
	default:
		v.Codes = growSlice(v.Codes, n)
	}
	for done < n {
		if c.left == 0 {
			if err := c.nextPage(); err != nil {
				return done, nulls, early(err)
			}
		}
		k := min(c.left, n-done)
		present := k
		if c.leaf.maxDef > 0 {
			k = min(k, levelBlock)
			if present, err = c.markNulls(done, k); err != nil {
				return done, nulls, err
			}
			nulls = nulls || present < k
		}
		missing := false
		switch c.to {
		case toInts:
			if err = c.valuesInts(v.Ints[done : done+present]); err == nil && present < k {
				spread(v.Ints[done:done+k], present, c.valid, done)
			}
		case toFloats:
			if err = c.valuesFloats(v.Floats[done : done+present]); err == nil && present < k {
				spread(v.Floats[done:done+k], present, c.valid, done)
			}
		default:
			if err = c.valuesCodes(v.Codes[done : done+present]); err == nil {
				if present < k {
					spread(v.Codes[done:done+k], present, c.valid, done)
				}
				missing = c.dropUncoded(v.Codes, done, k)
			}
		}
		if err != nil {
			return done, nulls, err
		}
		nulls = nulls || missing
		done += k
		c.left -= k
	}
	return done, nulls, nil
}

// early turns the end of a chunk before its rows are complete into an error.
func early(err error) error {
	if err == io.EOF {
		return errors.New("it ends before the row group does")
	}
	return err
}

// markNulls reads k definition levels, clears the bits of nulls and returns how
// many values there are.
func (c *cursor) markNulls(at, k int) (present int, err error) {
	top := uint32(c.leaf.maxDef)
	if c.def.flat == nil && c.def.same(k, top) {
		return k, nil
	}
	if c.def.flat == nil && c.def.width == 1 {
		return c.def.readBits(c.valid, at, k)
	}
	c.defs = growSlice(c.defs, levelBlock)[:k]
	if err := c.def.read(c.defs); err != nil {
		return 0, err
	}
	i := 0
	if at&63 == 0 { // a word at a time, without a branch that nulls make hard to foresee
		for ; i+64 <= k; i += 64 {
			word := uint64(0)
			for j, d := range c.defs[i : i+64] {
				x := d ^ top
				word |= uint64((x|-x)>>31^1) << j
			}
			c.valid[(at+i)>>6] = word
			present += bits.OnesCount64(word)
		}
	}
	for ; i < k; i++ {
		if c.defs[i] == top {
			present++
		} else {
			c.valid.Clear(at + i)
		}
	}
	return present, nil
}

// spread moves the first present values of dst apart to the rows that have one,
// from the back, in place. What the others are left with means nothing. valid has
// the row of dst[0] at a bit.
func spread[T int32 | int64 | float64](dst []T, present int, valid serving.Bitmap, at int) {
	end := at + len(dst)
	first, last := (at+63)>>6, end>>6 // whole words
	if first >= last {
		spreadWords(dst, present, valid, at, at>>6, (end-1)>>6)
		return
	}
	present = spreadWords(dst, present, valid, at, last, (end-1)>>6)
	present, words := wide.Spread(dst, present, valid[first:last], first<<6-at)
	spreadWords(dst, present, valid, at, at>>6, first+words-1)
}

// spreadWords is spread of the rows of some words of valid, and returns how many
// values are left for those before.
func spreadWords[T any](dst []T, present int, valid serving.Bitmap, at, from, to int) int {
	end := at + len(dst)
	for w := to; w >= from; w-- {
		word := valid[w]
		if over := (w+1)<<6 - end; over > 0 {
			word &= ^uint64(0) >> over
		}
		if under := at - w<<6; under > 0 {
			word &= ^uint64(0) << under
		}
		last := w<<6 + 63 - at
		for r := bits.Reverse64(word); r != 0; r &= r - 1 {
			present--
			dst[last-bits.TrailingZeros64(r)] = dst[present]
		}
	}
	return present
}

// dropUncoded clears rows whose text found no room.
func (c *cursor) dropUncoded(codes []int32, at, k int) bool {
	if !c.intern.isFull() {
		return false
	}
	missing := false
	for i := at; i < at+k; i++ {
		if codes[i] == noCode {
			codes[i] = 0
			c.valid.Clear(i)
			missing = true
		}
	}
	return missing
}

// levelWidth is the number of bits of levels up to most.
func levelWidth(most int) uint { return uint(bits.Len(uint(most))) }

// skip passes over n rows of a column without lists: whole pages where it can.
func (c *cursor) skip(ctx context.Context, n int64) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.left == 0 {
			c.pages.pass = n
			err := c.nextPage()
			n, c.pages.pass = c.pages.pass, 0
			if err == io.EOF && n == 0 {
				return nil // all there is
			}
			if err != nil {
				return early(err)
			}
			continue
		}
		k := int(min(n, int64(c.left), levelBlock))
		if err := c.drop(k); err != nil {
			return err
		}
		n -= int64(k)
	}
	return nil
}

// drop passes over rows of a page, levelBlock at most.
func (c *cursor) drop(k int) (err error) {
	present := k
	if c.leaf.maxDef > 0 {
		c.valid = growSlice(c.valid, levelBlock/64)
		if present, err = c.markNulls(0, k); err != nil {
			return err
		}
	}
	c.left -= k
	if c.isDict {
		return c.index.skip(present)
	}
	return c.stream.skip(present)
}
