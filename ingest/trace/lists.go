package trace

import (
	"errors"
	"io"

	"github.com/vreport/vreport/ingest/serving"
)

// maxGaps is how many list elements a batch holds before it is cut short, and
// about how many a row may have: a few bytes of a file may claim billions of them.
const maxGaps = 1 << 20

// errNoBeginning is of levels that go on with a row that was never begun.
var errNoBeginning = errors.New("a list without a beginning")

// fillLists fills rows of lists of numbers. A row may go on into the next page, so
// it ends where the next one starts. Rows whose lists are too long have none, and
// are noted.
func (c *cursor) fillLists(v *serving.Vector, n int) (rows int, nulls bool, err error) {
	v.Offsets, v.Floats, c.long = growSlice(v.Offsets, n+1), v.Floats[:0], c.long[:0]
	tooLong := false // the row that is open
	for full := false; !full; {
		if err := c.needLevels(); err == io.EOF {
			break
		} else if err != nil {
			return max(rows-1, 0), nulls, err
		}
		var wanted int
		base := len(v.Floats)
		before := rows
		if wanted, full, err = c.listLevels(v, n, &rows, &nulls, tooLong); err != nil {
			return 0, nulls, err
		}
		tooLong = tooLong && rows == before
		v.Floats = growKeep(v.Floats, base+wanted)
		if err := c.valuesFloats(v.Floats[base:]); err != nil {
			return max(rows-1, 0), nulls, err
		}
		if rows == 0 {
			continue
		}
		from := int(v.Offsets[rows-1])
		if !tooLong && len(v.Floats)-from > maxGaps {
			tooLong, nulls = true, true
			c.valid.Clear(rows - 1)
			c.long = append(c.long, rows-1)
		}
		if tooLong {
			v.Floats = v.Floats[:from]
		}
	}
	if rows == 0 {
		return 0, nulls, early(io.EOF)
	}
	v.Offsets = v.Offsets[:rows+1]
	v.Offsets[rows] = int32(len(v.Floats))
	return rows, nulls, nil
}

// listLevels goes over the levels of a block and says how many values they have. It
// stops before the row that has no room in the batch any more, and before the one
// that follows a list whose values are not wanted.
func (c *cursor) listLevels(v *serving.Vector, n int, rows *int, nulls *bool, drop bool) (wanted int, full bool, err error) {
	elem, list := uint32(c.leaf.maxDef), uint32(c.leaf.listDef)
	for base := len(v.Floats); c.blockAt < c.blockLen; c.blockAt++ {
		i := c.blockAt
		switch {
		case c.reps[i] > 0 && *rows == 0:
			return 0, false, errNoBeginning
		case c.reps[i] > 0:
		case *rows == n || *rows > 0 && base+wanted >= maxGaps:
			return wanted, true, nil
		case drop && wanted > 0:
			return wanted, false, nil
		default:
			drop = false
			v.Offsets[*rows] = int32(base + wanted)
			if c.defs[i]+1 < list {
				c.valid.Clear(*rows)
				*nulls = true
			}
			*rows++
		}
		if c.defs[i] == elem {
			wanted++
		}
	}
	return wanted, false, nil
}

// A first is the first text of a row's list: where it stands among a block's.
type first struct{ row, at int }

// fillFirsts fills rows of lists of texts with the first of each.
func (c *cursor) fillFirsts(v *serving.Vector, n int) (rows int, err error) {
	v.Codes, c.codes = growSlice(v.Codes, n), c.codes[:0]
	open := -1 // the row whose first text is not known yet
	for full := false; !full; {
		if err := c.needLevels(); err == io.EOF {
			break
		} else if err != nil {
			return max(rows-1, 0), err
		}
		wanted := 0
		c.firsts = c.firsts[:0]
		for ; c.blockAt < c.blockLen; c.blockAt++ {
			switch {
			case c.reps[c.blockAt] > 0 && rows == 0:
				return 0, errNoBeginning
			case c.reps[c.blockAt] > 0:
			case rows == n:
				full = true
			default:
				c.valid.Clear(rows)
				open = rows
				rows++
			}
			if full {
				break
			}
			if c.defs[c.blockAt] == uint32(c.leaf.maxDef) {
				if open >= 0 {
					c.firsts = append(c.firsts, first{open, wanted})
					open = -1
				}
				wanted++
			}
		}
		c.codes = growSlice(c.codes, wanted)
		if err := c.valuesCodes(c.codes); err != nil {
			return max(rows-1, 0), err
		}
		for _, f := range c.firsts {
			if c.codes[f.at] != noCode {
				v.Codes[f.row] = c.codes[f.at]
				c.valid.Set(f.row)
			}
		}
	}
	if rows == 0 {
		return 0, early(io.EOF)
	}
	return rows, nil
}

// needLevels reads the next block of levels where the last is used up. It returns
// io.EOF after the last.
func (c *cursor) needLevels() error {
	if c.blockAt < c.blockLen {
		return nil
	}
	return c.loadBlock()
}

// loadBlock reads the next levels of a list column.
func (c *cursor) loadBlock() error {
	if c.left == 0 {
		if err := c.nextPage(); err != nil {
			return err
		}
	}
	k := min(c.left, levelBlock)
	c.defs, c.reps = growSlice(c.defs, levelBlock)[:k], growSlice(c.reps, levelBlock)[:k]
	if err := c.rep.read(c.reps); err != nil {
		return err
	}
	if err := c.def.read(c.defs); err != nil {
		return err
	}
	c.left -= k
	c.blockAt, c.blockLen = 0, k
	return nil
}

func growKeep[T any](s []T, n int) []T {
	if cap(s) < n {
		t := make([]T, n, n+n/2)
		copy(t, s)
		return t
	}
	return s[:n]
}
