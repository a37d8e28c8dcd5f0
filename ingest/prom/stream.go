package prom

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A stream is the scrapes of one endpoint: they share their times, their order
// and the restarts of the process behind it.
type stream struct {
	replica  string // what tells it from other streams: a pod's name; "" where nothing does
	scrapes  []*facts
	sequence bool // the file names number the scrapes

	times    []int64
	relative bool
	rule     string
	gaps     []serving.Gap
}

// facts are a scrape with what grouping and ordering need of it.
type facts struct {
	*Scrape
	name    nameInfo
	start   float64 // process_start_time_seconds; 0 where it has none
	models  string  // the engines and models in it
	number  int64   // of a numbered file
	counter map[counterKey]float64
}

// A counterKey says which counter a sample is of, whichever decoder read it.
// Series that differ in other labels add up.
type counterKey struct {
	row        *row
	family, by string
	id         identity
}

func factsOf(s *Scrape) *facts {
	f := &facts{Scrape: s, name: readName(s.Path)}
	for i, se := range s.series {
		if se.row.kind == startTime {
			f.start = max(f.start, s.values[i])
		}
	}
	return f
}

// modelsOf lists the engines and models of a list of series.
func modelsOf(layout []*series) string {
	seen := map[identity]bool{}
	var names []string
	for _, se := range layout {
		if id := (identity{engine: se.id.engine, model: se.id.model}); id.model != "" && !seen[id] {
			seen[id] = true
			names = append(names, id.engine+" "+id.model)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// counters returns the counters of a scrape, those of histograms too.
func (f *facts) counters() map[counterKey]float64 {
	if f.counter == nil {
		f.counter = map[counterKey]float64{}
		for i, se := range f.series {
			if se.row.kind == counter || se.part == partCount {
				f.counter[counterKey{se.row, se.family, se.by, se.id}] += f.values[i]
			}
		}
	}
	return f.counter
}

// streams sorts scrapes into endpoints. What decides, in this order: the pod in
// a header comment; several scrapes in one file; file names that differ in a
// time or a number only; for the rest the process itself (see related).
func streams(scrapes []*Scrape) []*stream {
	all := make([]*facts, len(scrapes))
	templates := map[string]int{}
	var layout []*series
	models := ""
	for i, s := range scrapes {
		all[i] = factsOf(s)
		if i == 0 || !slices.Equal(layout, s.series) {
			layout, models = s.series, modelsOf(s.series)
		}
		all[i].models = models
	}
	all = withoutRepeats(all)
	for _, f := range all {
		templates[f.templateKey()]++
	}
	sort.SliceStable(all, func(i, j int) bool { return pathLess(all[i].Scrape, all[j].Scrape) })

	byKey := map[string]*stream{}
	var out []*stream
	join := func(key, replica string, sequence bool, f *facts) {
		st := byKey[key]
		if st == nil {
			st = &stream{replica: replica, sequence: sequence}
			byKey[key] = st
			out = append(out, st)
		}
		st.scrapes = append(st.scrapes, f)
	}
	var loose []*facts
	for _, f := range all {
		switch {
		case f.Pod.OK:
			join("pod "+f.Pod.V, f.Pod.V, false, f)
		case f.partial:
			// A query a file: the figures of one server lie side by side.
			join("queries "+filepath.Dir(f.Path), "", false, f)
		case !f.only:
			join("file "+f.Path, "", false, f)
		case f.name.timed:
			join(f.timedKey(), f.name.before, false, f)
		case len(f.name.numbers) > 0 && templates[f.templateKey()] > 1:
			join(f.templateKey(), f.name.template, true, f)
		default:
			loose = append(loose, f)
		}
	}
	for i := 0; i < len(out); i++ {
		if st := out[i]; st.sequence && !st.numbered() {
			loose = append(loose, st.scrapes...)
			out = slices.Delete(out, i, i+1)
			i--
		}
	}
	sort.SliceStable(loose, func(i, j int) bool { return pathLess(loose[i].Scrape, loose[j].Scrape) })
	return append(out, related(loose)...)
}

// withoutRepeats takes the scrape of a file that holds it several times once,
// where the file is one of a series: its place in the series says when the scrape
// was taken, and by itself it would be a server of its own.
func withoutRepeats(all []*facts) []*facts {
	byFile, files := map[string][]*facts{}, map[string]map[string]bool{}
	for _, f := range all {
		byFile[f.Path] = append(byFile[f.Path], f)
		k := f.seriesKey()
		if files[k] == nil {
			files[k] = map[string]bool{}
		}
		files[k][f.Path] = true
	}
	return slices.DeleteFunc(all, func(f *facts) bool {
		first := byFile[f.Path][0]
		again := func(g *facts) bool { return g.same(first) && g.Header == first.Header && g.Stamp == first.Stamp }
		if k := f.seriesKey(); f.only || k == "" || len(files[k]) < 2 || !every(byFile[f.Path], again) {
			return false
		}
		if f == first {
			one := *f.Scrape
			one.only = true
			f.Scrape = &one
			return false
		}
		return true
	})
}

func every(fs []*facts, ok func(*facts) bool) bool {
	return !slices.ContainsFunc(fs, func(f *facts) bool { return !ok(f) })
}

// seriesKey is common to the files of a series by their names; "" for a file that
// is in none.
func (f *facts) seriesKey() string {
	switch {
	case f.name.timed:
		return f.timedKey()
	case len(f.name.numbers) > 0:
		return f.templateKey()
	}
	return ""
}

func (f *facts) timedKey() string {
	return "timed " + f.name.dir + "/" + f.name.before + "#" + f.name.after
}

func (f *facts) templateKey() string { return "numbered " + f.name.dir + "/" + f.name.template }

func pathLess(a, b *Scrape) bool {
	if a.Path != b.Path {
		return naturalLess(a.Path, b.Path) || !naturalLess(b.Path, a.Path) && a.Path < b.Path
	}
	return a.Index < b.Index
}

// numbered finds the one number in which the file names of a sequence differ.
// Names that differ in several numbers are no sequence, nor are scrapes of which
// each comes from another process: pod-0, pod-1, pod-2.
func (st *stream) numbered() bool {
	at := -1
	first := st.scrapes[0].name.numbers
	for _, f := range st.scrapes {
		for i, n := range f.name.numbers {
			if n != first[i] {
				if at >= 0 && at != i {
					return false
				}
				at = i
			}
		}
	}
	if at < 0 {
		return false
	}
	starts, numbers := map[float64]bool{}, map[int64]bool{}
	models := map[string]bool{}
	for _, f := range st.scrapes {
		f.number = f.name.numbers[at]
		starts[f.start], numbers[f.number], models[f.models] = true, true, true
	}
	if len(numbers) < len(st.scrapes) || len(models) == len(st.scrapes) {
		return false
	}
	return starts[0] || len(starts) < len(st.scrapes)
}

// related puts loose scrapes together that come from the same process or are
// the two sides of a run. Scrapes of different processes stay apart: a
// difference between two servers is no change of one.
func related(loose []*facts) []*stream {
	var out []*stream
	for _, f := range loose {
		st := find(out, f)
		if st == nil {
			st = &stream{replica: cmp.Or(withoutPhase(f.name.stem), f.name.stem)}
			out = append(out, st)
		}
		st.scrapes = append(st.scrapes, f)
	}
	return out
}

func find(sts []*stream, f *facts) *stream {
	for _, st := range sts {
		related := true
		for _, g := range st.scrapes {
			related = related && f.related(g)
		}
		if related {
			return st
		}
	}
	return nil
}

func (f *facts) related(g *facts) bool {
	if f.models != g.models {
		return false
	}
	if p, q := phaseOf(f.Path), phaseOf(g.Path); p >= 0 && q >= 0 && p != q && withoutPhase(f.Path) == withoutPhase(g.Path) {
		return true
	}
	switch {
	case f.start > 0 && g.start > 0:
		return sameStart(f.start, g.start) && f.ordered(g) != disordered
	case f.start > 0 || g.start > 0:
		return false
	}
	return f.alike(g) && (f.ordered(g) == earlier || f.ordered(g) == later)
}

// sameStart allows for exporters that compute the start from the uptime.
func sameStart(a, b float64) bool { return a-b < 1 && b-a < 1 }

// alike reports whether two scrapes have nearly the same counters.
func (f *facts) alike(g *facts) bool {
	both, fs, gs := 0, f.counters(), g.counters()
	for k := range fs {
		if _, ok := gs[k]; ok {
			both++
		}
	}
	return both > 0 && 10*both >= 8*max(len(fs), len(gs))
}

type order int8

const (
	equal order = iota
	earlier
	later
	disordered
)

// ordered compares two scrapes of one process by its counters, which never fall.
// disordered says that some rose while others fell: it is not one process.
func (f *facts) ordered(g *facts) order {
	up, down := 0, 0
	gs := g.counters()
	for k, v := range f.counters() {
		w, ok := gs[k]
		switch {
		case !ok:
		case w > v:
			up++
		case w < v:
			down++
		}
	}
	switch {
	case up > 0 && down > 0:
		return disordered
	case up > 0:
		return earlier
	case down > 0:
		return later
	}
	return equal
}

func (f *facts) where() string {
	if f.only || f.Line == 0 {
		return f.Path
	}
	return fmt.Sprintf("%s:%d", f.Path, f.Line)
}
