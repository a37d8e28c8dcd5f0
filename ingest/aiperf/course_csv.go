package aiperf

import (
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// sliceRows reads time slices from a CSV with a row a figure:
//
//	Timeslice,Metric,Unit,Stat,Value
//	Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value
type sliceRows struct {
	*slicer
	columns map[string]int // of the header; nil: the file has no slices
	at      map[string]int // slices by their number in the file
}

// head takes the header.
func (d *sliceRows) head(header []string) {
	d.c.Rounded, d.columns = true, map[string]int{}
	for i, h := range header {
		d.columns[strings.Clone(h)] = i
		switch h {
		case "Timeslice":
			d.s.field(h, "order", "", "dialect")
		case "Start_NS", "End_NS":
			d.s.field(strings.Clone(h), strings.ToLower(strings.TrimSuffix(h, "_NS")), "ns", "dialect")
		}
	}
}

// row reads one figure.
func (d *sliceRows) row(row []string, line int) {
	get := func(name string) string {
		if i, ok := d.columns[name]; ok && i < len(row) {
			return row[i]
		}
		return ""
	}
	at := serving.Pos{Path: d.s.path, Line: line}
	i, ok := d.slice(row[0], get, at)
	if !ok {
		return
	}
	name := get("Metric")
	m, ok := d.known(name)
	if !ok {
		return
	}
	stat, ok := statOf(get("Stat"))
	if !ok {
		return // sum
	}
	at.Field = "Value"
	if v, ok := d.s.cell(get("Value"), at); ok {
		d.add(i, block{name: name, unit: get("Unit"), at: at, stats: []statistic{{stat: stat, v: v}}}, m)
	}
}

// slice is the slice of a number, which begins with its first row.
func (d *sliceRows) slice(number string, get func(string) string, at serving.Pos) (int, bool) {
	if i, ok := d.at[number]; ok {
		return i, true
	}
	s := d.begin(at)
	if s == nil {
		return 0, false
	}
	i := len(d.c.Slices) - 1
	d.at[strings.Clone(jsonscan.Cut(number, maxID))] = i
	s.Index = int(whole(number).Or(int64(i)))
	d.times(s, get("Start_NS"), get("End_NS"), at)
	return i, true
}
