package cube

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"

	"github.com/vreport/vreport/ingest/serving"
)

// examples finds the slowest completed requests by TTFT, by E2E and by their
// worst gap between tokens, slowest first; equals in the order of the source.
func (t *table) examples(ctx context.Context, src serving.Requests, plan *Plan) ([]Example, error) {
	var out []Example
	var rows []int
	for _, m := range t.lay.ranks() {
		for _, row := range t.slowest(m, plan.Examples) {
			out = append(out, t.example(m, row))
			rows = append(rows, row)
		}
	}
	return out, t.addIDs(ctx, src, out, rows)
}

// slowest returns at most k rows, by value descending, then by row.
func (t *table) slowest(m, k int) []int {
	v := t.values[m]
	if k <= 0 || len(v) == 0 {
		return nil
	}
	var top []int
	for row := range t.n {
		if !t.ok(row) || v[row] != v[row] || len(top) == k && v[row] <= v[top[k-1]] {
			continue
		}
		i := sort.Search(len(top), func(i int) bool { return v[top[i]] < v[row] })
		if len(top) < k {
			top = append(top, 0)
		}
		copy(top[i+1:], top[i:])
		top[i] = row
	}
	return top
}

func (t *table) example(m, row int) Example {
	part, pos := t.where(row)
	e := t.describe(row)
	e.Rank, e.Source, e.Row = t.lay.metrics[m].key, t.chunks[part].source, t.fileRow(part, pos)
	return e
}

// errFound ends a scan that has all it came for.
var errFound = errors.New("found")

// addIDs looks the requests' ids up. Millions of ids are not worth keeping for
// a handful of requests, so the parts these are in are scanned again, where the
// source can be.
func (t *table) addIDs(ctx context.Context, src serving.Requests, out []Example, rows []int) error {
	if t.lay.id >= 0 {
		names := src.Dict(serving.ColRequestID)
		if names == nil {
			return nil
		}
		for i, row := range rows {
			if c := t.ids[row]; c >= 0 {
				out[i].ID = names.Name(c)
			}
		}
		return nil
	}
	wanted := map[int]map[int64][]int{} // by part and position: examples
	for i, row := range rows {
		part, pos := t.where(row)
		if wanted[part] == nil {
			wanted[part] = map[int64][]int{}
		}
		wanted[part][pos] = append(wanted[part][pos], i)
	}
	return t.lay.findIDs(ctx, src, wanted, out)
}

// findIDs scans for the ids of rows, wanted by part and position.
func (lay *layout) findIDs(ctx context.Context, src serving.Requests, wanted map[int]map[int64][]int, out []Example) error {
	if c, ok := lay.columns[serving.ColRequestID]; !ok || c.Kind != serving.KindText {
		return nil
	}
	return findIDsIn(ctx, src, wanted, out)
}

// A Place is a row of a table: its part, and its 0-based index within that.
type Place struct {
	Part int
	Row  int64
}

// IDs looks up the request ids of some rows, "" where there is none. The parts
// that they lie in are scanned again.
func IDs(ctx context.Context, src serving.Requests, places []Place) ([]string, error) {
	found := make([]Example, len(places))
	wanted := map[int]map[int64][]int{}
	for i, p := range places {
		if wanted[p.Part] == nil {
			wanted[p.Part] = map[int64][]int{}
		}
		wanted[p.Part][p.Row] = append(wanted[p.Part][p.Row], i)
	}
	out := make([]string, len(places))
	if len(places) == 0 || !slices.ContainsFunc(src.Columns(), func(c serving.Column) bool { return c.Name == serving.ColRequestID && c.Kind == serving.KindText }) {
		return out, nil
	}
	err := findIDsIn(ctx, src, wanted, found)
	for i := range found {
		out[i] = found[i].ID
	}
	return out, err
}

func findIDsIn(ctx context.Context, src serving.Requests, wanted map[int]map[int64][]int, out []Example) error {
	names := src.Dict(serving.ColRequestID)
	if names == nil {
		return nil
	}
	for i, p := range src.Parts() {
		if len(wanted[i]) == 0 {
			continue
		}
		if q, ok := p.(picker); ok {
			err := pickIDs(ctx, q, wanted[i], out)
			if err == nil {
				continue
			}
			if !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
		}
		if err := findIDs(ctx, p, wanted[i], names, out); err != nil {
			return err
		}
	}
	return nil
}

func findIDs(ctx context.Context, p serving.Part, at map[int64][]int, names *serving.Dict, out []Example) error {
	left := len(at)
	err := p.Scan(ctx, []string{serving.ColRequestID}, nil, func(b *serving.Batch) error {
		v := &b.Cols[0]
		for pos, examples := range at {
			i := int(pos - b.Row)
			if i < 0 || i >= b.N {
				continue
			}
			left--
			if v.Has(i) && v.Codes[i] >= 0 {
				for _, e := range examples {
					out[e].ID = names.Name(v.Codes[i])
				}
			}
		}
		if left == 0 {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// A picker is a part that looks single texts up: rows are 0-based and ascending.
// Where it cannot, the error is errors.ErrUnsupported.
type picker interface {
	TextAt(ctx context.Context, column string, rows []int64) ([]string, error)
}

func pickIDs(ctx context.Context, p picker, at map[int64][]int, out []Example) error {
	rows := slices.Sorted(maps.Keys(at))
	ids, err := p.TextAt(ctx, serving.ColRequestID, rows)
	if err != nil {
		return err
	}
	for i, row := range rows {
		for _, e := range at[row] {
			out[e].ID = ids[i]
		}
	}
	return nil
}
