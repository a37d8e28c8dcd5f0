package prom

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// fields lists what became of each family of the file, in order of appearance.
// Families are put together at the end of the file, when all that can tell a
// histogram's series has been seen: its TYPE, or its buckets in a dump without.
func (p *parser) fields() {
	histograms := map[string]bool{}
	for _, n := range p.names {
		if f, ok := strings.CutSuffix(n, "_bucket"); ok {
			histograms[f] = true
		}
	}
	families, seen := []serving.Field{}, map[string]bool{}
	used, engines := 0, 0
	for _, n := range p.names {
		f, isCreated := foldName(n, func(f string) bool { return histograms[f] || p.typed[f] })
		if seen[f.Name] || isCreated {
			continue
		}
		seen[f.Name] = true
		if f.As != "" {
			used++
			if m, ok := meaningOf(n); ok && (m.row.engine != "" || m.row.host) {
				engines++
			}
		}
		families = append(families, f)
	}
	if engines == 0 {
		// Figures of a process are of use beside those of its engine only.
		for i := range families {
			families[i].As, families[i].Unit, families[i].How = "", "", ""
		}
		used = 0
	}
	p.in.Note = note(families, used)
	if n := len(families); n > maxFields {
		// Those in use first: they are what a reader looks for.
		slices.SortStableFunc(families, func(a, b serving.Field) int { return boolInt(a.As == "") - boolInt(b.As == "") })
		families = families[:maxFields]
		p.in.Note += fmt.Sprintf("; %d further families are not listed", n-maxFields)
	}
	p.in.Fields = families
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// foldName returns the family a sample belongs to and what it was taken for.
// The _created gauges that prometheus_client adds to each family are no family.
func foldName(name string, isHistogram func(string) bool) (f serving.Field, created bool) {
	if m, ok := meaningOf(name); ok {
		f = serving.Field{Name: familyOf(name, m.part), As: m.row.figures(), Unit: unitName(m.row.unit), How: "dialect"}
		switch m.row.kind {
		case info:
			f.As, f.Unit = "info", "" // its value is always 1
		case startTime:
			f.As, f.Unit = "restarts", "s"
		}
		if strings.HasSuffix(m.row.name, "_total_count") {
			f.Name = strings.TrimSuffix(name, "_count")
		}
		return f, false
	}
	if strings.HasSuffix(name, "_created") {
		return f, true
	}
	for _, suffix := range [...]string{"_bucket", "_sum", "_count"} {
		base, ok := strings.CutSuffix(name, suffix)
		if !ok {
			continue
		}
		if _, known := byName[canonical(base)+"_count"]; known {
			return foldName(base+"_count", isHistogram)
		}
		if isHistogram(base) || unusedWhy[canonical(base)] != "" {
			name = base
			break
		}
	}
	return serving.Field{Name: name, How: unusedWhy[canonical(name)]}, false
}

// note says what was behind the endpoint and how much of it is used.
func note(families []serving.Field, used int) string {
	var names []string
	for _, f := range families {
		if e := exporterOf(f.Name); e != "" && !slices.Contains(names, e) {
			names = append(names, e)
		}
	}
	from := ""
	if len(names) > 0 {
		slices.Sort(names)
		from = strings.Join(names, ", ") + ": "
	}
	if used == 0 {
		return fmt.Sprintf("%snone of its %d families is used", from, len(families))
	}
	return fmt.Sprintf("%s%d of %d families are used", from, used, len(families))
}
