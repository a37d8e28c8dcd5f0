package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/serving"
)

// Span implements serving.Surveyed, by the footer's statistics.
func (p *part) Span(name string) (from, to int64, ok bool) {
	c, m, ok := p.plainColumn(name, serving.KindTime)
	if !ok || c.leaf.physical != format.Int64 || c.leaf.unsigned {
		return 0, 0, false
	}
	least, most := m.Statistics.MinValue, m.Statistics.MaxValue
	if len(least) != 8 || len(most) != 8 || p.limit.Load() != p.Rows() {
		return 0, 0, false
	}
	bounds := []int64{int64(binary.LittleEndian.Uint64(least)), int64(binary.LittleEndian.Uint64(most))}
	c.scaleInts(bounds)
	if slices.Contains(bounds, badInt) || bounds[0] > bounds[1] {
		return 0, 0, false
	}
	return bounds[0], bounds[1], true
}

// allTexts is what Texts finds out, for all pieces of a row group.
type allTexts struct {
	codes       []int32
	missing, ok bool
}

// Texts implements serving.Surveyed, by the column's dictionary where all its
// pages use it.
func (p *part) Texts(ctx context.Context, name string) (codes []int32, missing, ok bool) {
	if name == serving.ColStreaming {
		if _, made := p.table.plan.Source(name); made {
			return []int32{0, 1}, true, true // no, yes: whatever the file calls them
		}
	}
	if slices.Contains([]string{serving.ColOutcome, serving.ColStreaming, serving.ColPhase}, name) || ctx.Err() != nil {
		return nil, false, false // made of what the file has
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, known := p.texts[name]
	if !known {
		t = p.textsOf(name)
		if p.texts == nil {
			p.texts = map[string]allTexts{}
		}
		p.texts[name] = t
	}
	return t.codes, t.missing, t.ok
}

// textsOf reads the dictionary of a column's chunk.
func (g *rowGroup) textsOf(name string) allTexts {
	c, m, ok := g.plainColumn(name, serving.KindText)
	if !ok || !c.leaf.textual() || !inDictionary(m) {
		return allTexts{}
	}
	codes, err := c.dictionary(g.file.R, m, g.file.Size)
	if err != nil || slices.Contains(codes, noCode) {
		return allTexts{} // the scan will say what is wrong
	}
	// A null count of 0 is told from none by the bounds beside it.
	none := len(m.Statistics.MinValue) > 0 && m.Statistics.NullCount == 0
	return allTexts{slices.Clip(codes), c.leaf.maxDef > 0 && !none, true}
}

// plainColumn returns a cursor for a column that is simply read, without lists,
// and what the footer says of its chunk.
func (g *rowGroup) plainColumn(name string, kind serving.ColumnKind) (*cursor, *format.ColumnMetaData, bool) {
	t := g.table
	src, ok := t.plan.Source(name)
	if !ok || t.plan.Sources[src].Kind != kind {
		return nil, nil, false
	}
	so := t.plan.Sources[src]
	l := g.file.byName[t.plan.Raws[so.Raw].Name]
	if l == nil || l.maxRep > 0 || g.file.checkColumn(l) != nil {
		return nil, nil, false
	}
	c := t.cursor(newConverter(l, so, newInterner(t.dicts.Source(src), &t.full[src])))
	return c, g.chunk(l), true
}

// inDictionary reports whether a chunk says that all its data pages hold indexes
// into a dictionary.
func inDictionary(m *format.ColumnMetaData) bool {
	data := 0
	for _, s := range m.EncodingStats {
		if s.PageType == format.DictionaryPage || s.Count == 0 {
			continue
		}
		if s.Encoding != format.RLEDictionary && s.Encoding != plainDictionary {
			return false
		}
		data++
	}
	return data > 0
}

// dictionary reads the texts of a chunk's dictionary, which comes first.
func (c *cursor) dictionary(r io.ReaderAt, m *format.ColumnMetaData, size int64) (codes []int32, err error) {
	defer func() {
		c.pages.release()
		if recover() != nil {
			err = errPastPage
		}
	}()
	if err := c.open(r, m, size); err != nil {
		return nil, err
	}
	h, pg, err := c.pages.next()
	if err != nil {
		return nil, err
	}
	if h.Type != format.DictionaryPage {
		return nil, errors.New("its first page is no dictionary")
	}
	if err := c.loadDictionary(pg); err != nil {
		return nil, err
	}
	return c.lutCodes, nil
}
