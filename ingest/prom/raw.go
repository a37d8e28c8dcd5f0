package prom

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/vreport/vreport/ingest/serving"
)

// maxRaw bounds the samples of raw series, 8 to 16 bytes each.
const maxRaw = 16 << 20

// rawDecoders are apart from the others, which forget what they have no use for.
var rawDecoders = decoderList{raw: true}

// rawRow is what a series is that nothing is made of.
var rawRow = row{kind: unused}

// ParseRaw is Parse for scrapes that RawSeries is to be called with: it keeps
// every series, not only those that a figure is made of.
func ParseRaw(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*Scrape, error) {
	return parseWith(ctx, &rawDecoders, path, r, in)
}

// withLabels returns the series, or one that stands for none, with its labels.
func withLabels(s *series, key []byte) *series {
	ls, err := seriesLabels(key)
	if err != nil { // it was parsed before
		return s
	}
	return labelled(s, ls)
}

func labelled(s *series, ls labels.Labels) *series {
	if s == nil {
		s = &series{row: &rawRow, bound: math.NaN()}
	}
	s.labels = ls
	return s
}

// RawSeries puts the series of scrapes that were read with ParseRaw on their time
// axes, as the exporters name them. Where there are several endpoints, series
// without the label instance get one that tells them apart, as Prometheus would
// have given them. Where a scrape lacks a series that the one before it had, a
// stale marker ends it.
//
// Endpoints whose times are unknown are left out where those of others are known.
func RawSeries(scrapes []*Scrape, opt AssembleOptions) (serving.Raw, []serving.Problem) {
	var known serving.Problems // Assemble tells those
	var sts []*stream
	timed := false
	for _, st := range streams(scrapes) {
		st.order(opt, &known)
		sts = append(sts, st.splitProcesses()...)
		timed = timed || !st.relative
	}
	var ps serving.Problems
	named := namesDiffer(sts)
	left := maxRaw
	var raw serving.Raw
	for _, st := range sts {
		if st.relative && timed {
			report(&ps, st.scrapes[0], "PromQL expressions leave these scrapes out: nothing tells when they were taken")
			continue
		}
		instance := ""
		if named {
			instance = st.replica
		}
		var all bool
		raw.Series, all = st.raw(raw.Series, instance, &left)
		if !all {
			report(&ps, st.scrapes[0], fmt.Sprintf("PromQL expressions see the first %d samples only, the limit: read fewer scrapes at once", maxRaw))
			break
		}
	}
	raw.Relative = !timed && len(sts) > 0
	return raw, ps.List()
}

// A rawLine is a series being collected. While no scrape lacks it, its times are
// a piece of the stream's, which all series share.
type rawLine struct {
	labels labels.Labels
	first  int // scrape
	next   int // scrape that follows the last one with it
	times  []int64
	values []float64
}

// raw appends the stream's series to out and reports whether all fitted.
func (st *stream) raw(out []serving.RawSeries, instance string, left *int) (_ []serving.RawSeries, all bool) {
	keep, times := st.millis()
	byLabels := map[string]*rawLine{}
	var lines []*rawLine
	var layout []*series
	var to []*rawLine // of layout
	all = true
fill:
	for i, f := range keep {
		if !slices.Equal(layout, f.series) {
			layout, to = f.series, to[:0:0]
			for _, s := range layout {
				if s.labels.IsEmpty() { // read without being kept
					to = append(to, nil)
					continue
				}
				k := s.labels.String()
				if byLabels[k] == nil {
					byLabels[k] = &rawLine{labels: s.labels, first: i, next: i}
					lines = append(lines, byLabels[k])
				}
				to = append(to, byLabels[k])
			}
		}
		for k, l := range to {
			if l == nil {
				continue
			}
			if *left == 0 {
				all = false
				break fill
			}
			*left--
			l.add(keep, times, i, f.values[k])
		}
	}
	for _, l := range lines {
		l.close(keep, times)
		if l.times == nil {
			l.times = times[l.first:l.next:l.next]
		}
		out = append(out, serving.RawSeries{Labels: l.named(instance), T: l.times, V: l.values})
	}
	return out, all
}

// millis are the stream's scrapes and their times; one a millisecond.
func (st *stream) millis() (keep []*facts, times []int64) {
	for i, f := range st.scrapes {
		t := st.times[i] / 1e6
		if n := len(times); n > 0 && t <= times[n-1] {
			continue
		}
		keep, times = append(keep, f), append(times, t)
	}
	return keep, times
}

func (l *rawLine) add(scrapes []*facts, times []int64, i int, v float64) {
	if i < l.next {
		return // twice in one scrape
	}
	l.end(scrapes, times, i)
	if l.times != nil {
		l.times = append(l.times, times[i])
	}
	l.values = append(l.values, v)
	l.next = i + 1
}

// end marks the series as stale at the first scrape before i that lacks it. A
// damaged scrape may have lost it, which says nothing.
func (l *rawLine) end(scrapes []*facts, times []int64, i int) {
	if l.next == i {
		return
	}
	if l.times == nil {
		l.times = slices.Clone(times[l.first:l.next])
	}
	for k := l.next; k < i; k++ {
		if !scrapes[k].Damaged {
			l.times = append(l.times, times[k])
			l.values = append(l.values, math.Float64frombits(value.StaleNaN))
			return
		}
	}
}

// close marks a series that the last scrapes lack.
func (l *rawLine) close(scrapes []*facts, times []int64) { l.end(scrapes, times, len(times)) }

func (l *rawLine) named(instance string) map[string]string {
	out := l.labels.Map()
	if instance != "" && out["instance"] == "" {
		out["instance"] = instance
	}
	return out
}
