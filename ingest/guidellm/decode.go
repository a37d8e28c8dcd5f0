package guidellm

import (
	"context"
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// Bounds on what a report may make us remember.
const (
	maxScalars = 1 << 13 // of the report, and of each benchmark
	maxDepth   = 8       // of nested objects whose scalars are kept
	maxText    = 512     // of a scalar
	maxRuns    = 1 << 14
	maxReasons = 1000
)

// scalars are the scalars of an object under dotted names. Lists are left out.
type scalars map[string]jsonscan.Scalar

// text returns the first of the names that has a text.
func (s scalars) text(names ...string) serving.Opt[string] {
	for _, n := range names {
		if v := s[n]; !v.IsNull() && v.Text != "" {
			return serving.Some(v.Text)
		}
	}
	return serving.None[string]()
}

// number returns the first of the names that is a finite number.
func (s scalars) number(names ...string) (float64, bool) {
	for _, n := range names {
		if v, ok := s[n].Float(); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, true
		}
	}
	return 0, false
}

func (s scalars) count(names ...string) serving.Opt[int64] {
	if v, ok := s.number(names...); ok && v >= 0 && v < 1<<53 && v == math.Trunc(v) {
		return serving.Some(int64(v))
	}
	return serving.None[int64]()
}

type decoder struct {
	ctx        context.Context
	path       string
	r          *jsonscan.Reader
	in         *serving.Input
	top        scalars // of the report: metadata, args, config
	seen       map[string]bool
	benchmarks []*benchmark
}

func (d *decoder) field(name, as, unit, how string) {
	if !d.seen[name] && len(d.in.Fields) < 1000 {
		d.seen[name] = true
		d.in.Fields = append(d.in.Fields, serving.Field{Name: name, As: as, Unit: unit, How: how})
	}
}

// member reads one top-level member.
func (d *decoder) member(name string) error {
	if name != keyBenchmarks {
		return d.scalars(d.top, name, 0)
	}
	_, err := d.r.Array(func(i int) error {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if len(d.benchmarks) >= maxRuns {
			d.in.Problems.AddKind("many", d.r.Problemf("more than %d benchmarks: the rest is left out", maxRuns))
			return d.r.Skip()
		}
		b := &benchmark{decoder: d, at: serving.Pos{Path: d.path, Line: d.r.NextLine(), Field: fmt.Sprintf("benchmarks[%d]", i)},
			scalars: scalars{}, dists: map[string]*dist{}, rows: newRows()}
		ok, err := d.r.Object(b.member)
		if err != nil {
			return err
		}
		if !ok || len(b.dists) == 0 {
			d.in.Problems.AddKind("no benchmark", serving.Problem{At: b.at, Message: `the benchmark has no "metrics": left out`})
			return nil
		}
		d.benchmarks = append(d.benchmarks, b)
		return nil
	})
	return err
}

// scalars keeps the scalars of the next value under dotted names.
func (d *decoder) scalars(into scalars, name string, depth int) error {
	if d.r.Peek() == '{' && depth < maxDepth {
		_, err := d.r.Object(func(n string) error { return d.scalars(into, name+"."+n, depth+1) })
		return err
	}
	s, ok, err := d.r.Scalar(maxText)
	if err == nil && ok && (len(into) < maxScalars || !into[name].IsNull()) {
		into[name] = s
	}
	return err
}

// A benchmark is one load level as it stands in the file.
type benchmark struct {
	*decoder
	at      serving.Pos
	scalars scalars
	order   []string // of dists
	dists   map[string]*dist
	rows    *rows
}

// A dist is a distribution over the successful requests.
type dist struct {
	stats map[string]float64 // by the program's names
	names map[string]string  // the file's names of them
	order []string
	count float64
	sum   float64
	most  float64 // the maximum over all requests, whatever became of them; NaN
}

func (b *benchmark) member(name string) error {
	switch name {
	case keyMetrics:
		_, err := b.r.Object(b.metric)
		return err
	case keyRequests:
		_, err := b.r.Object(b.list)
		return err
	}
	return b.decoder.scalars(b.scalars, name, 0)
}

// metric reads one distribution: that of the successful requests.
func (b *benchmark) metric(name string) error {
	if name == "request_totals" {
		return b.decoder.scalars(b.scalars, name, 0) // from 0.4 on they stand here
	}
	ds := &dist{stats: map[string]float64{}, names: map[string]string{}, count: math.NaN(), sum: math.NaN(), most: math.NaN()}
	_, err := b.r.Object(func(group string) error {
		switch {
		case group == "successful":
			return b.dist(ds, name+".successful")
		case group == "total" && name == keyConcurrent:
			_, err := b.r.Object(func(n string) error {
				if n != "max" {
					return b.r.Skip()
				}
				v, ok, err := b.r.Float()
				if ok {
					ds.most = v
				}
				return err
			})
			return err
		}
		return b.r.Skip()
	})
	if err == nil && len(ds.order) > 0 {
		if b.dists[name] == nil {
			b.order = append(b.order, name)
		}
		b.dists[name] = ds
	}
	return err
}

func (b *benchmark) dist(ds *dist, path string) error {
	set := func(stat, name string) error {
		v, ok, err := b.r.Float()
		if err == nil && ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			if _, again := ds.stats[stat]; !again {
				ds.order = append(ds.order, stat)
			}
			ds.stats[stat], ds.names[stat] = v, name
		}
		return err
	}
	number := func(dst *float64) error {
		v, ok, err := b.r.Float()
		if ok {
			*dst = v
		}
		return err
	}
	_, err := b.r.Object(func(name string) error {
		switch {
		case stats[name] != "":
			return set(stats[name], path+"."+name)
		case name == "count":
			return number(&ds.count)
		case name == "total_sum":
			return number(&ds.sum)
		case name == "percentiles":
			_, err := b.r.Object(func(p string) error {
				if percentiles[p] == "" {
					return b.r.Skip()
				}
				return set(percentiles[p], path+".percentiles."+p)
			})
			return err
		}
		return b.r.Skip()
	})
	return err
}
