package prom

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vreport/vreport/ingest/serving"
)

// A recording is series with samples at their own times, as a database keeps
// them and a query returns them. It becomes scrapes, so that whatever a server
// is made of is the same, however its figures were kept.
type recording struct {
	path   string
	in     *serving.Input
	format string

	series  map[string]*recorded // by their text
	tracks  map[trackKey]*recorded
	order   []*recorded
	names   []string // of all series, in order of appearance
	known   map[string]bool
	left    int  // samples there is room for
	full    bool // and was not
	elapsed bool // the times count from a start that is not known
	local   bool // the times say no zone
	raw     bool // every series is kept: see ParseRaw
	records int64
}

// maxRecorded bounds the samples of one file: 16 bytes each.
const maxRecorded = 16 << 20

// A recorded is one series with its samples; without a meaning it keeps none.
type recorded struct {
	target string // what tells its server from others
	*series
	times  []int64
	values []float64
}

// A trackKey tells series apart that the program tells apart.
type trackKey struct {
	target string
	series string
}

func newRecording(path string, in *serving.Input, format string) *recording {
	return &recording{path: path, in: in, format: format, series: map[string]*recorded{}, tracks: map[trackKey]*recorded{},
		known: map[string]bool{}, left: maxRecorded}
}

// maxSeries bounds the series of one file.
const maxSeries = 1 << 20

// add takes a series; text is what is written of it, by which it is found again.
func (r *recording) add(text, name string, s *series, ls labels.Labels) *recorded {
	if r.raw && ls.Get(nameLabel) != "" {
		s = labelled(s, ls)
	}
	t := &recorded{series: s, target: targetOf(ls)}
	if s != nil {
		// The scrape that hands a series on compares it by its address, so that
		// equal ones are made one.
		key := trackKey{t.target, ls.String()}
		if name != "" && ls.Get(nameLabel) == "" {
			key.series = name + key.series
		}
		if have := r.tracks[key]; have != nil {
			t = have
		} else {
			r.tracks[key] = t
			r.order = append(r.order, t)
		}
	}
	if len(r.series) < maxSeries {
		r.series[text] = t
	}
	if !r.known[name] && len(r.names) < 10*maxFields {
		r.known[name] = true
		r.names = append(r.names, name)
	}
	return t
}

// put takes a sample; NaN is what Prometheus writes where a series ends, and is
// none.
func (r *recording) put(t *recorded, when int64, v float64) {
	r.records++
	if t.series == nil || v != v {
		return
	}
	if r.left == 0 {
		r.full = true
		return
	}
	r.left--
	t.times, t.values = append(t.times, when), append(t.values, v)
}

// targetLabels name the server behind a series, the most telling first.
var targetLabels = []string{"pod", "pod_name", "kubernetes_pod_name", "k8s_pod_name", "instance", "Hostname"}

func targetOf(ls labels.Labels) string {
	for _, l := range targetLabels {
		if v := ls.Get(l); v != "" {
			return v
		}
	}
	return ""
}

// scrapes lays the series of each server on one time axis. The axis is that of
// its engine: another exporter of the same pod is asked at other moments, and
// what it said last stands, as it does in a query.
func (r *recording) scrapes() []*Scrape {
	byTarget := map[string][]*recorded{}
	for _, t := range r.order {
		if len(t.times) > 0 {
			r.contradicted(t, t.sort())
			byTarget[t.target] = append(byTarget[t.target], t)
		}
	}
	var out []*Scrape
	for _, target := range slices.Sorted(maps.Keys(byTarget)) {
		out = append(out, r.lay(target, byTarget[target])...)
	}
	for i, s := range out {
		s.Index, s.only = i, len(out) == 1
	}
	return out
}

// sort puts samples in order of time, the first of those of one time only.
// sort brings the samples in order and keeps the first of each moment. It returns
// of how many moments there were others.
func (t *recorded) sort() int {
	if slices.IsSorted(t.times) {
		return t.dedupe()
	}
	at := make([]int, len(t.times))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(t.times[a], t.times[b]) })
	times, values := make([]int64, len(at)), make([]float64, len(at))
	for i, j := range at {
		times[i], values[i] = t.times[j], t.values[j]
	}
	t.times, t.values = times, values
	return t.dedupe()
}

func (t *recorded) dedupe() (others int) {
	n := 0
	for i := range t.times {
		if n > 0 && t.times[n-1] == t.times[i] {
			if t.values[n-1] != t.values[i] {
				others++
			}
			continue
		}
		t.times[n], t.values[n] = t.times[i], t.values[i]
		n++
	}
	t.times, t.values = t.times[:n], t.values[:n]
	return others
}

// contradicted tells of a series that has several values at one moment.
func (r *recording) contradicted(t *recorded, moments int) {
	if moments > 0 {
		r.in.Problems.AddKind("contradicted", serving.Problem{At: serving.Pos{Path: r.path}, Count: moments,
			Message: fmt.Sprintf("%s: the same series stands in the file twice, with other values for the same time; the first is taken", t.family)})
	}
}

func (r *recording) lay(target string, tracks []*recorded) []*Scrape {
	axis, moments := axisOf(tracks)
	if len(axis) > maxScrapes {
		r.in.Problems.Add(serving.Problem{At: serving.Pos{Path: r.path}, Message: "there are more times than can be held; the last ones are left out"})
		axis = axis[:maxScrapes]
	}
	at := make([]int, len(tracks)) // samples taken so far
	var layout []*series
	out := make([]*Scrape, 0, len(axis))
	for _, when := range axis {
		s := &Scrape{Path: r.path, Stamp: serving.Some(when), Zoned: !r.local, partial: true, elapsed: r.elapsed}
		if target != "" {
			s.Pod = serving.Some(target)
		}
		var series []*series
		for i, t := range tracks {
			for at[i] < len(t.times) && t.times[at[i]] <= when {
				at[i]++
			}
			k := at[i] - 1
			if k < 0 || t.times[k] != when && (!moments[i] || when-t.times[k] > t.stale()) {
				continue
			}
			series, s.values = append(series, t.series), append(s.values, t.values[k])
		}
		if s.Samples = len(series); s.Samples == 0 {
			continue
		}
		if !slices.Equal(layout, series) {
			layout = series
		}
		s.series = layout
		out = append(out, s)
	}
	return out
}

// axisOf are the times of the engine's series and of those that share a time with
// them; of all where there is no engine. It also says which tracks have moments of
// their own.
func axisOf(tracks []*recorded) (axis []int64, moments []bool) {
	moments = make([]bool, len(tracks))
	engine := slices.ContainsFunc(tracks, func(t *recorded) bool { return t.id.engine != "" })
	take := func(t *recorded) {
		axis = append(axis, t.times...)
		if len(axis) > 4*maxScrapes {
			axis = compact(axis)
		}
	}
	for _, t := range tracks {
		if t.id.engine != "" || !engine {
			take(t)
		}
	}
	axis = compact(axis)
	main := axis
	for i, t := range tracks {
		if t.id.engine != "" || !engine {
			continue
		}
		moments[i] = !slices.ContainsFunc(t.times, func(at int64) bool { _, ok := slices.BinarySearch(main, at); return ok })
		if !moments[i] {
			take(t)
		}
	}
	return compact(axis), moments
}

// compact sorts times into a list of their own, each once.
func compact(times []int64) []int64 {
	times = slices.Clone(times)
	slices.Sort(times)
	return slices.Compact(times)
}

// stale is how long a sample stands: two of its usual steps, five minutes at most
// like in Prometheus.
func (t *recorded) stale() int64 {
	const most = 300 * second
	if len(t.times) < 2 {
		return most
	}
	n := len(t.times)
	return min(most, 2*(t.times[n-1]-t.times[0])/int64(n-1))
}

// finish fills the input in and returns the scrapes.
func (r *recording) finish(want string) ([]*Scrape, error) {
	if r.records == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: r.path}, Format: r.format, Found: "no sample", Want: want}
	}
	if r.full {
		r.in.Problems.Add(serving.Problem{At: serving.Pos{Path: r.path}, Message: "there are more samples than fit into memory; those that come last are left out: read a shorter time"})
	}
	if r.in.Format == "" {
		r.in.Format = r.format
	}
	r.in.Records = r.records
	p := &parser{in: r.in, names: r.names}
	p.fields()
	for _, t := range r.order {
		if t.row.own {
			p.own(t.row)
		}
	}
	return r.scrapes(), nil
}

// own lists a figure that is shown under its own name.
func (p *parser) own(r *row) {
	for i := range p.in.Fields {
		if f := &p.in.Fields[i]; f.Name == r.name {
			f.As, f.Unit, f.How = r.as, unitName(r.unit), "its own name"
			return
		}
	}
	if len(p.in.Fields) < maxFields {
		p.in.Fields = append(p.in.Fields, serving.Field{Name: r.name, As: r.as, Unit: unitName(r.unit), How: "its own name"})
	}
}

// joined is two scrapes of one time that different files hold: a query each, or
// blocks that overlap. What both hold is taken once.
func (f *facts) joined(g *facts) *facts {
	s := *f.Scrape
	s.series, s.values = slices.Clone(s.series), slices.Clone(s.values)
	have := map[seriesHash][]*series{}
	for _, se := range f.series {
		have[se.hash()] = append(have[se.hash()], se)
	}
	for i, se := range g.series {
		if !slices.ContainsFunc(have[se.hash()], se.same) {
			s.series, s.values = append(s.series, se), append(s.values, g.values[i])
		}
	}
	s.Samples = len(s.series)
	out := *f
	out.Scrape, out.counter, out.start = &s, nil, max(f.start, g.start)
	return &out
}

// A seriesHash is equal for series that are the same.
type seriesHash struct {
	family, by string
	part       part
	id         identity
}

func (s *series) hash() seriesHash { return seriesHash{s.family, s.by, s.part, s.id} }

// same reports whether two series, of different decoders, are one. Raw series
// are what their labels say.
func (s *series) same(o *series) bool {
	if s != o && !s.labels.IsEmpty() && !o.labels.IsEmpty() {
		return labels.Equal(s.labels, o.labels)
	}
	return s == o || s.row.as == o.row.as && s.row.kind == o.row.kind && s.part == o.part && s.family == o.family && s.by == o.by && s.id == o.id &&
		(s.bound == o.bound || s.bound != s.bound && o.bound != o.bound) && slices.Equal(s.selector, o.selector)
}

// ownGauge is a series that the vocabulary does not know, or an expression that
// was evaluated already: a level under its own name and labels, which nothing is
// computed from.
func ownGauge(rows map[string]*row, as, from string, ls labels.Labels, unit serving.Unit) *series {
	dim, by := ownSplit(ls)
	key := as + "\x00" + from + "\x00" + dim
	r := rows[key]
	if r == nil {
		r = &row{name: from, kind: gauge, as: as, unit: unit, dim: dim, host: true, own: true}
		rows[key] = r
	}
	s := &series{row: r, family: from, by: by, bound: nan}
	s.id.model = s.key(ls, modelLabels)
	s.id.rank = s.key(ls, rankLabels)
	s.id.replica = s.key(ls, replicaLabels)
	return s
}

// ownSplit makes one dimension of the labels that are no identity.
func ownSplit(ls labels.Labels) (dim, by string) {
	var parts []string
	ls.Range(func(l labels.Label) {
		if l.Name == nameLabel || l.Name == "job" || slices.Contains(modelLabels, l.Name) || slices.Contains(rankLabels, l.Name) || slices.Contains(replicaLabels, l.Name) {
			return
		}
		dim = l.Name
		parts = append(parts, l.Name+"="+l.Value)
	})
	switch len(parts) {
	case 0:
		return "", ""
	case 1:
		return dim, strings.TrimPrefix(parts[0], dim+"=")
	}
	return "labels", strings.Join(parts, ", ")
}
