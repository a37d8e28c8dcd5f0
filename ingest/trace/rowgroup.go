package trace

import (
	"context"
	"sync"

	"github.com/parquet-go/parquet-go/format"
)

// A rowGroup is what the parts share that read it.
type rowGroup struct {
	table *Table
	file  *opened
	meta  *format.RowGroup
	index int
	base  int64 // rows of the file before it

	mu    sync.Mutex
	walks map[int]*walk       // by leaf
	texts map[string]allTexts // by column
}

// chunk returns what the footer says of a column's chunk.
func (g *rowGroup) chunk(l *leaf) *format.ColumnMetaData { return &g.meta.Columns[l.index].MetaData }

// walk returns where the rows of a column without lists lie. It is found out once.
func (g *rowGroup) walk(ctx context.Context, l *leaf) (*walk, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w := g.walks[l.index]; w != nil {
		return w, nil
	}
	p := pages{budget: &g.table.budget, maxPage: g.table.opt.MaxPage}
	defer p.release()
	w := walk{err: p.open(g.file.R, g.chunk(l), g.file.Size)}
	if w.err == nil {
		var err error
		if w, err = p.walk(ctx); err != nil {
			return nil, err
		}
	}
	if g.walks == nil {
		g.walks = map[int]*walk{}
	}
	g.walks[l.index] = &w
	return &w, nil
}
