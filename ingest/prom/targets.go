package prom

import (
	"cmp"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A targetKey names what a server scraped: a page of metrics.
type targetKey struct{ job, instance string }

// A blockTarget is the series of one target.
type blockTarget struct {
	key     targetKey
	columns []column
}

// A column is a series' samples, ms ascending.
type column struct {
	series *series
	t      []int64
	v      []float64
}

// sort puts samples of overlapping chunks in order; of two at one time the first
// stays.
func (c *column) sort() {
	ordered := true
	for i := 1; i < len(c.t); i++ {
		ordered = ordered && c.t[i] > c.t[i-1]
	}
	if ordered {
		return
	}
	at := make([]int, len(c.t))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(c.t[i], c.t[j]) })
	t, v := make([]int64, 0, len(at)), make([]float64, 0, len(at))
	for _, i := range at {
		if n := len(t); n == 0 || t[n-1] != c.t[i] {
			t, v = append(t, c.t[i]), append(v, c.v[i])
		}
	}
	c.t, c.v = t, v
}

// scrapes turns the columns into rows: the server gives all samples of one page
// the same time. first is the number of scrapes before them in the block.
func (b *blockTarget) scrapes(path string, first int) []*Scrape {
	times := b.times()
	width := make([]int, len(times))
	b.each(times, func(row int, _ *series, _ float64) { width[row]++ })
	out := make([]*Scrape, len(times))
	for i, t := range times {
		// Blocks may overlap, and one that was filled in later may hold other series
		// of the same time.
		out[i] = &Scrape{Path: path, Index: first + i, Samples: width[i], Zoned: true, Stamp: serving.Some(t * 1e6), partial: true,
			series: make([]*series, 0, width[i]), values: make([]float64, 0, width[i])}
		if name := cmp.Or(b.key.instance, b.key.job); name != "" {
			out[i].Pod = serving.Some(name)
		}
	}
	b.each(times, func(row int, s *series, v float64) {
		out[row].series, out[row].values = append(out[row].series, s), append(out[row].values, v)
	})
	for i := 1; i < len(out); i++ {
		if slices.Equal(out[i].series, out[i-1].series) {
			out[i].series = out[i-1].series // one list for all
		}
	}
	return out
}

// each goes through all samples, column by column.
func (b *blockTarget) each(times []int64, sample func(row int, s *series, v float64)) {
	for _, c := range b.columns {
		row := 0
		for i, t := range c.t {
			for times[row] < t {
				row++
			}
			sample(row, c.series, c.v[i])
		}
	}
}

// times are the times of all columns. Nearly always they are those of the first.
func (b *blockTarget) times() []int64 {
	all := slices.Clone(b.columns[0].t)
	for i := 1; i < len(b.columns); i++ {
		if !slices.Equal(b.columns[i].t, b.columns[i-1].t) {
			all = append(all, b.columns[i].t...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
