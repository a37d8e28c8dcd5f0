package trace

import (
	"context"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// What makes a text column one of labels: a region or a tier, which a reader
// wants to see slices of without asking, and no id, prompt or message.
const (
	mostLabels   = 24   // distinct values among those looked at
	longestLabel = 64   // bytes
	labelRows    = 1024 // looked at in each place
	labelGroups  = 4    // row groups looked into, twice each
	labelColumns = 64   // columns without a meaning that are looked at
)

// A tally tells labels from ids by some of a column's values.
type tally struct {
	seen   map[string]struct{}
	n      int
	others bool // too many or too long values
}

func (t *tally) add(b []byte) {
	if t.others {
		return
	}
	t.n++
	if _, ok := t.seen[string(b)]; ok {
		return
	}
	if len(b) > longestLabel || len(t.seen) == mostLabels {
		t.others, t.seen = true, nil
		return
	}
	if t.seen == nil {
		t.seen = map[string]struct{}{}
	}
	t.seen[string(b)] = struct{}{}
}

// labels reports whether the values name few things again and again. A column of
// one value has nothing to tell apart.
func (t *tally) labels() bool {
	return !t.others && len(t.seen) > 1 && 2*len(t.seen) <= t.n
}

// isLabel looks into the row groups of a table's files, from the first to the
// last: a table that is sorted by a label shows one value in each place.
func (t *Table) isLabel(name string) bool {
	if t.looked++; t.looked > labelColumns {
		return false
	}
	type place struct {
		file  *opened
		group int
	}
	var places []place
	for _, f := range t.files {
		l := f.byName[name]
		if l == nil || l.maxRep > 0 || l.opaque || f.checkColumn(l) != nil {
			continue
		}
		for i := range f.meta.RowGroups {
			if f.meta.RowGroups[i].NumRows > 0 {
				places = append(places, place{f, i})
			}
		}
	}
	var found tally
	step := max(1, (len(places)-1)/(labelGroups-1))
	for i := 0; i < len(places) && !found.others; i += step {
		t.tallyGroup(&found, places[i].file, places[i].group, name)
	}
	return found.labels()
}

// tallyGroup adds values of the start and the middle of a row group. What cannot
// be read is left to the scan, which reports it.
func (t *Table) tallyGroup(into *tally, f *opened, group int, name string) {
	defer func() { _ = recover() }()
	l, g := f.byName[name], &f.meta.RowGroups[group]
	dict := serving.NewDict()
	c := t.cursor(converter{leaf: l, to: toCodes, mul: 1, div: 1, intern: newInterner(dict, new(atomic.Bool))})
	defer c.pages.release()
	if c.open(f.R, &g.Columns[l.index].MetaData, f.Size) != nil {
		return
	}
	var v serving.Vector
	row := int64(0)
	for _, at := range []int64{0, g.NumRows / 2} {
		if at < row {
			break
		}
		if c.skip(context.Background(), at-row) != nil {
			return
		}
		n, err := c.fill(&v, int(min(g.NumRows-at, labelRows)))
		row = at + int64(n)
		for k := range n {
			if v.Has(k) {
				into.add([]byte(dict.Name(v.Codes[k])))
			}
		}
		if err != nil || into.others {
			return
		}
	}
}

// partitionLabel reports whether the directories of a table give a column two
// values or more, none among them.
func partitionLabel(files []*opened, name string) bool {
	values := map[string]bool{}
	for _, f := range files {
		v, ok := f.partition(name)
		if !ok {
			v = hiveNull
		}
		values[v] = true
	}
	return len(values) > 1
}

// mayLabel reports whether a column of a kind can hold labels.
func mayLabel(k column.Kind) bool { return k == column.Text || k == column.Bool }
