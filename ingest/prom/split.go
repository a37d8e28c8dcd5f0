package prom

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A building is the scrape that is being read.
//
// Nothing in the text format says where one scrape ends and the next begins, so
// files that were appended to are split where the scrape begins to repeat
// itself: at its first series, or, should the next one begin otherwise, once a
// good part of it was repeated. A few repeated series are an exporter's mistake
// and no new scrape.
type building struct {
	number  uint64
	line    int
	samples int
	bad     int  // number of the last line that could not be read
	closed  bool // # EOF was read
	header  header
	stamp   int64
	stamped bool
	series  []*series
	values  []float64

	anchor      *entry // the first series
	anchorMeta  *entry // the first HELP or TYPE, where it precedes every sample
	again       mark   // where anchorMeta was repeated last
	last        mark   // where the latest sample begins
	firstRepeat mark
	firstAgain  *entry // the series that was repeated first, beside the anchor
	repeats     int
	repeated    []int // positions in series of samples that were there already
}

// A mark is a place in a building: what came before it.
type mark struct {
	set           bool
	samples, used int
	line          int
	stamp         int64
	stamped       bool
}

type addition uint8

const (
	isNew addition = iota
	repeatsSome
	repeatsAnchor
	repeatsMany
)

func (b *building) here(line int) mark {
	return mark{set: true, samples: b.samples, used: len(b.series), line: line, stamp: b.stamp, stamped: b.stamped}
}

// meta notes a HELP or TYPE comment.
func (b *building) meta(e *entry, line int) {
	switch {
	case b.samples == 0 && b.anchorMeta == nil:
		b.anchorMeta = e
	case b.samples > 0 && e == b.anchorMeta:
		b.again = b.here(line)
	}
}

// add takes a sample, and says whether the scrape has begun to repeat itself.
func (b *building) add(e *entry, r reading, line int) addition {
	b.last = b.here(line)
	seen := e.scrape == b.number
	e.scrape = b.number
	b.samples++
	if b.anchor == nil {
		b.anchor = e
	}
	if e.series != nil {
		if seen {
			b.repeated = append(b.repeated, len(b.series))
		}
		b.series = append(b.series, e.series)
		b.values = append(b.values, r.value)
	}
	if r.hasStamp && (!b.stamped || r.stamp > b.stamp) {
		b.stamp, b.stamped = r.stamp, true
	}
	if !seen {
		return isNew
	}
	if e == b.anchor {
		return repeatsAnchor
	}
	if b.repeats++; b.repeats == 1 {
		b.firstRepeat, b.firstAgain = b.last, e
	}
	if b.repeats >= 8 && b.repeats >= (b.samples-b.repeats)/4 {
		return repeatsMany
	}
	return repeatsSome
}

// boundary moves a split back to the comments that begin the scrape: where the
// first series of the file was damaged, its second coming is not recognized but
// its HELP line is.
func (b *building) boundary(at mark) mark {
	const near = 32 // samples of the damaged first family; further up it was another repetition
	if b.again.set && b.again.samples <= at.samples && at.samples-b.again.samples <= near {
		return b.again
	}
	return at
}

// begin starts a scrape at a line.
func (p *parser) begin(line int) {
	p.d.scrape++
	b := &p.cur
	*b = building{number: p.d.scrape, line: line, series: b.series[:0], values: b.values[:0], repeated: b.repeated[:0]}
}

// split ends the scrape at a mark and begins the next one with what came after.
func (p *parser) split(at mark, anchor *entry) {
	b := &p.cur
	series, values := slices.Clone(b.series[at.used:]), slices.Clone(b.values[at.used:])
	samples, anchorMeta, bad := b.samples-at.samples, b.anchorMeta, b.bad
	stamp, stamped := b.stamp, b.stamped
	b.series, b.values, b.samples = b.series[:at.used], b.values[:at.used], at.samples
	b.stamp, b.stamped = at.stamp, at.stamped
	b.repeated = slices.DeleteFunc(b.repeated, func(i int) bool { return i >= at.used })
	p.end()
	p.begin(at.line)
	b.series, b.values, b.samples = append(b.series, series...), append(b.values, values...), samples
	b.anchor, b.anchorMeta = anchor, anchorMeta
	anchor.scrape, p.d.prev.scrape = b.number, b.number
	if stamped && samples > 0 {
		b.stamp, b.stamped = stamp, true
	}
	if bad >= at.line {
		b.bad = bad
	}
}

// end finishes the scrape. Without a sample it is none: its header then belongs
// to the scrape above, if that has no time of its own.
func (p *parser) end() {
	b := &p.cur
	if b.samples == 0 {
		if n := len(p.scrapes); b.header.hasTime && n > 0 && !p.scrapes[n-1].Header.OK && n == 1 {
			p.scrapes[n-1].Header, p.scrapes[n-1].Zoned = serving.Some(b.header.stamp.nanos), b.header.stamp.zoned
		}
		return
	}
	if len(b.repeated) > 0 {
		p.dropRepeated()
	}
	s := &Scrape{Path: p.path, Line: b.line, Index: len(p.scrapes), Samples: b.samples, Damaged: b.bad > 0, Zoned: true}
	if b.header.hasTime {
		s.Header, s.Zoned = serving.Some(b.header.stamp.nanos), b.header.stamp.zoned
	}
	if b.header.pod != "" {
		s.Pod = serving.Some(b.header.pod)
	}
	if b.stamped {
		s.Stamp = serving.Some(b.stamp)
	}
	s.values = slices.Clone(b.values)
	s.series = p.layout()
	p.scrapes = append(p.scrapes, s)
}

// layout returns the series of the scrape. Scrapes of one server have the same
// ones in the same order, so that most share one list.
func (p *parser) layout() []*series {
	if l := p.d.layout; slices.Equal(l, p.cur.series) {
		return l
	}
	p.d.layout = slices.Clone(p.cur.series)
	return p.d.layout
}

// dropRepeated keeps the first of samples that one scrape has twice.
func (p *parser) dropRepeated() {
	b := &p.cur
	name := b.series[b.repeated[0]].family
	n, next := 0, 0
	for i := range b.series {
		if next < len(b.repeated) && b.repeated[next] == i {
			next++
			continue
		}
		b.series[n], b.values[n] = b.series[i], b.values[i]
		n++
	}
	p.in.Problems.AddKind("repeated", serving.Problem{
		At: serving.Pos{Path: p.path, Line: b.firstRepeat.line}, Count: len(b.repeated),
		Message: fmt.Sprintf("%s: the same series stands twice in one scrape; its first value is taken", name),
	})
	b.series, b.values = b.series[:n], b.values[:n]
}
