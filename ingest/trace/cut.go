package trace

import (
	"context"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/serving"
)

// A row group may be the whole file. It is read in pieces, for a goroutine each.

// pieceRows is how many rows a piece has at most.
var pieceRows int64 = 256 << 10

// Rows are what a file claims: there are no more pieces than this of a row group,
// and row groups stay whole where a table has many parts.
const (
	mostPieces = 1 << 10
	mostParts  = 1 << 16
)

// dearCuts is the share of a row group's pages, by size, that may be read by two
// goroutines: those that hold the end of a piece and the start of the next.
const dearCuts = 0.25

// addParts makes the parts of all files.
func (t *Table) addParts(ctx context.Context) error {
	groups := t.rowGroups()
	cuts := make([][]int64, len(groups))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(groups)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(groups)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if cuts[i] = groups[i].cuts(ctx); cuts[i] == nil {
					groups[i].walks = nil // which a whole one has no use for
				}
			}
		})
	}
	all.Wait()
	for i, g := range groups {
		if len(t.parts) > mostParts {
			cuts[i] = nil
		}
		from := int64(0)
		for _, to := range append(cuts[i], g.meta.NumRows) {
			p := &part{rowGroup: g, from: from, to: to}
			p.limit.Store(to - from)
			t.parts = append(t.parts, p)
			from = to
		}
	}
	return ctx.Err()
}

// rowGroups are those of all files that have rows.
func (t *Table) rowGroups() (out []*rowGroup) {
	for _, f := range t.files {
		var base int64
		for i := range f.meta.RowGroups {
			g := &rowGroup{table: t, file: f, meta: &f.meta.RowGroups[i], index: i, base: base}
			if g.meta.NumRows > 0 {
				out = append(out, g)
			}
			base += g.meta.NumRows
		}
	}
	return out
}

// cuts returns where a row group is cut into pieces; none where it is small or
// cutting it would cost more than it helps.
func (g *rowGroup) cuts(ctx context.Context) []int64 {
	rows := g.meta.NumRows
	most := max(pieceRows, rows/mostPieces)
	if rows <= most+most/2 {
		return nil
	}
	walks, ok := g.mainWalks(ctx)
	if !ok {
		return nil
	}
	var cuts []int64
	shared, whole := int64(0), int64(0)
	for from := int64(0); rows-from > most; from = cuts[len(cuts)-1] {
		to, cost := bestCut(walks, from, rows-from, most)
		cuts, shared = append(cuts, to), shared+cost
	}
	for _, w := range walks {
		for _, s := range w.steps {
			whole += s.size
		}
	}
	if float64(shared) > dearCuts*float64(whole) {
		return nil
	}
	return cuts
}

// mainWalks are the walks over the columns that scans read. It is false where there
// are lists, for it takes their levels to find a row, where there is a dictionary
// every few rows, and where the context ends.
func (g *rowGroup) mainWalks(ctx context.Context) (walks []*walk, ok bool) {
	plan := g.table.plan
	for _, s := range plan.Sources {
		l := g.file.byName[plan.Raws[s.Raw].Name]
		switch {
		case l == nil:
			continue
		case l.maxRep > 0:
			return nil, false
		case !isCanonical(plan, s.Name) || s.Name == serving.ColRequestID: // single ids are looked up
			continue
		}
		w, err := g.walk(ctx, l)
		if err != nil || w.err == errSteps {
			return nil, false
		}
		walks = append(walks, w)
	}
	return walks, true
}

// bestCut returns where the piece that starts at a row ends best, of the rest of
// the rows, which are more than it may have. It is where a page starts, if there
// is one, and such that the least of other columns' pages is read twice.
func bestCut(walks []*walk, from, rest, most int64) (to, cost int64) {
	lo, hi := from+most/2, from+min(most, rest-most/4)
	to, cost = hi, costOf(walks, hi)
	for _, w := range walks {
		first := sort.Search(len(w.steps), func(i int) bool { return w.steps[i].row > lo })
		for _, s := range w.steps[first:] {
			at := s.row
			if at > hi {
				break
			}
			c := costOf(walks, at)
			a, b := float64(c)*float64(to-from), float64(cost)*float64(at-from) // by row
			if a < b || a == b && at > to {
				to, cost = at, c
			}
		}
	}
	return to, cost
}

// costOf is the size of the pages that hold the rows at both sides of a cut.
func costOf(walks []*walk, at int64) (size int64) {
	for _, w := range walks {
		if s, err := w.find(at); err == nil && s.row < at {
			size += s.size
		}
	}
	return size
}
