package cube

import (
	"sort"

	"github.com/vreport/vreport/ingest/serving"
)

// A slowList keeps the slowest completed requests of a stream in one metric,
// with all that an example tells of them.
type slowList struct {
	metric int
	limit  int
	top    []slow
}

// A slow request.
type slow struct {
	value float64
	part  int
	row   int64 // 0-based in its part
	Example
}

// before orders by value, slowest first, then by place in the source.
func (a *slow) before(b *slow) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	return a.part < b.part || a.part == b.part && a.row < b.row
}

func (l *slowList) take(c *chunk) {
	v := c.values[l.metric]
	if l.limit <= 0 || len(v) == 0 {
		return
	}
	for row, x := range v {
		if len(l.top) == l.limit && !(x >= l.top[l.limit-1].value) || x != x || !c.ok(row) {
			continue
		}
		s := slow{value: x, part: c.part, row: c.position(row)}
		if len(l.top) == l.limit && !s.before(&l.top[l.limit-1]) {
			continue
		}
		s.Example = c.describe(row)
		s.Rank = c.lay.metrics[l.metric].key
		l.insert(s)
	}
}

func (l *slowList) insert(s slow) {
	i := sort.Search(len(l.top), func(i int) bool { return s.before(&l.top[i]) })
	if len(l.top) < l.limit {
		l.top = append(l.top, slow{})
	} else if i == l.limit {
		return
	}
	copy(l.top[i+1:], l.top[i:])
	l.top[i] = s
}

// position returns the 0-based place of a chunk's row in its part.
func (c *chunk) position(at int) int64 {
	r := sort.Search(len(c.runs), func(r int) bool { return c.runs[r].at > at }) - 1
	return c.runs[r].row + int64(at-c.runs[r].at)
}

// describe returns what an example tells of a row, but for its place.
func (t *table) describe(row int) Example {
	e := Example{Values: map[serving.MetricKey]float64{}, Dims: map[string]string{}}
	if len(t.arrival) > 0 && t.arrival[row] != noTime {
		e.At = serving.Some(t.arrival[row])
	}
	for i, m := range t.lay.metrics {
		// Of gaps it is the worst one of the row.
		if v := t.values[i]; (m.kind != serving.KindGaps || m.worst) && v[row] == v[row] {
			e.Values[m.key] = v[row]
		}
	}
	for i, d := range t.lay.dims {
		if d.folds() && t.codes[i] != nil && t.codes[i][row] >= 0 {
			e.Dims[d.name] = d.label(t.codes[i][row], nil)
		}
	}
	return e
}
