package prom

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// AssembleOptions are the choices of Assemble.
type AssembleOptions struct {
	UseMTime bool                            // the time a file was written is the time of its scrape, where nothing better is known
	MTime    func(path string) (int64, bool) // when a file was written, ns; nil asks the file system
}

// Assemble makes servers of scrapes: one for each engine of each endpoint, in a
// fixed order that does not depend on that of the scrapes. Scrapes without any
// series of an engine make none. ID is left to the caller.
//
// The problems are doubts about the scrapes as a whole: their order, their times
// and values that cannot be.
func Assemble(scrapes []*Scrape, opt AssembleOptions) ([]*serving.Server, []serving.Problem) {
	var ps serving.Problems
	var sts []*stream
	for _, st := range streams(scrapes) {
		st.order(opt, &ps)
		sts = append(sts, st.splitProcesses()...)
	}
	sts = slices.DeleteFunc(sts, func(st *stream) bool { return !st.hasEngine() })
	named := namesDiffer(sts)
	var out []*serving.Server
	r := newRoom()
	for _, st := range sts {
		if !named && !st.scrapes[0].Pod.OK {
			st.replica = "" // a name is of use only beside others
		}
		out = append(out, st.servers(r, &ps)...)
	}
	if len(r.lost) > 0 {
		ps.Add(serving.Problem{Message: fmt.Sprintf("the scrapes hold more series than fit into memory, among them of %s; those that came last are left out: read fewer scrapes at once",
			strings.Join(slices.Sorted(maps.Keys(r.lost)), ", "))})
	}
	if len(r.crowded) > 0 {
		ps.Add(serving.Problem{Message: fmt.Sprintf("one figure is split into more than %d parts or buckets (%s); those beyond are left out: look for a label with a value of its own in each series",
			maxParts, strings.Join(slices.Sorted(maps.Keys(r.crowded)), ", "))})
	}
	slices.SortStableFunc(out, compareServers)
	return out, ps.List()
}

func compareServers(a, b *serving.Server) int {
	return cmp.Or(
		cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Model.V, b.Model.V),
		natural(a.Replica.V, b.Replica.V), natural(a.Sources[0], b.Sources[0]), natural(a.Label, b.Label))
}

func natural(a, b string) int {
	switch {
	case naturalLess(a, b):
		return -1
	case naturalLess(b, a):
		return 1
	}
	return cmp.Compare(a, b)
}

func (st *stream) hasEngine() bool {
	for _, f := range st.scrapes {
		for _, se := range f.series {
			if se.id.engine != "" || se.row.host {
				return true
			}
		}
	}
	return false
}

// namesDiffer reports whether there are several streams, so that each needs a
// name, and makes their names ready. Names that are the same in different directories get the directory.
func namesDiffer(sts []*stream) bool {
	count := map[string]int{}
	for _, st := range sts {
		count[st.replica]++
	}
	for _, st := range sts {
		if count[st.replica] > 1 && !st.scrapes[0].Pod.OK {
			st.replica = strings.TrimSuffix(filepath.ToSlash(st.scrapes[0].Path), "/")
		}
		if !st.scrapes[0].Pod.OK {
			st.replica = strings.Trim(strings.ReplaceAll(st.replica, "#", ""), "_-. ")
		}
		if st.replica == "" {
			st.replica = filepath.Base(st.scrapes[0].Path)
		}
	}
	return len(sts) > 1
}

// servers makes the servers of one stream.
func (st *stream) servers(r *room, ps *serving.Problems) []*serving.Server {
	groups := groupEngines(st, r, ps)
	var out []*serving.Server
	for _, g := range groups {
		s := g.server(st, len(groups) > 1, ps)
		out = append(out, s)
	}
	return out
}

// An engine is the series of one engine, or of the process in front of several.
type engine struct {
	id    identity
	room  *room
	slots map[slotKey]*slot
	keys  []slotKey // in order of appearance
	start []float64 // process start a scrape, NaN where unknown
	info  []serving.Setting
}

// groupEngines finds the engines behind a stream and hands each its samples.
func groupEngines(st *stream, r *room, ps *serving.Problems) []*engine {
	ids := engineIDs(st, ps)
	engines := make([]*engine, len(ids))
	for i, id := range ids {
		engines[i] = &engine{id: id, room: r, slots: map[slotKey]*slot{}, start: nans(len(st.scrapes))}
	}
	// Where series belong is asked once a series, not once a sample: scrapes of
	// one server share their list of series.
	var layout []*series
	var to []target
	for t, f := range st.scrapes {
		if !slices.Equal(layout, f.series) {
			layout = f.series
			to = targets(layout, &engines, len(st.scrapes))
		}
		for _, x := range to {
			x.put(t, f.values[x.at])
		}
	}
	return slices.DeleteFunc(engines, func(e *engine) bool { return len(e.slots) == 0 && e.info == nil })
}

// engineIDs are the complete identities in a stream. A series that lacks a label
// which others have (vllm:cache_config_info has no model_name) is no engine of
// its own as long as there is one it can belong to.
//
// Without an engine, what is said of machines and devices is a server by itself.
func engineIDs(st *stream, ps *serving.Problems) []identity {
	seen, hosts := map[identity]bool{}, map[identity]bool{}
	var layout []*series
	for _, f := range st.scrapes {
		if slices.Equal(layout, f.series) {
			continue
		}
		layout = f.series
		for _, se := range layout {
			if se.id.engine == "" && se.row.host && len(hosts) < maxEngines {
				hosts[se.id] = true
			}
			if se.id.engine == "" || seen[se.id] {
				continue
			}
			if len(seen) == maxEngines {
				ps.AddKind("engines", serving.Problem{At: serving.Pos{Path: f.Path, Line: f.Line},
					Message: fmt.Sprintf("there are more than %d engines and models behind one endpoint; the others are left out", maxEngines)})
				break
			}
			seen[se.id] = true
		}
	}
	if len(seen) == 0 {
		seen = hosts
	}
	var ids []identity
	for id := range seen {
		covered := false
		for other := range seen {
			covered = covered || id != other && id.within(other)
		}
		if !covered {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), natural(a.replica, b.replica), natural(a.model, b.model), natural(a.rank, b.rank))
	})
	return ids
}

// within reports whether what is known of id fits other.
func (id identity) within(other identity) bool {
	fits := func(a, b string) bool { return a == "" || a == b }
	return fits(id.engine, other.engine) && fits(id.replica, other.replica) && fits(id.model, other.model) && fits(id.rank, other.rank)
}

// A target is where a sample goes.
type target struct {
	at  int // position in the scrape
	put func(t int, v float64)
}

func targets(layout []*series, engines *[]*engine, n int) []target {
	out := make([]target, 0, len(layout))
	h := &homes{engines: engines, known: map[homeKey]home{}}
	for i, se := range layout {
		switch se.row.kind {
		case unused: // kept for users' expressions alone
		case startTime: // below, when all engines are there
		case info:
			for _, e := range h.candidates(se.id) {
				if se.id.within(e.id) {
					out = append(out, target{i, func(int, float64) { e.info = se.info }})
				}
			}
		default:
			if e := h.of(se, n); e != nil {
				out = append(out, e.targets(i, se, n)...)
			}
		}
	}
	for i, se := range layout {
		if se.row.kind != startTime {
			continue
		}
		for _, e := range *engines {
			if se.id.replica == "" || e.id.replica == "" || se.id.replica == e.id.replica {
				out = append(out, target{i, e.putStart})
			}
		}
	}
	return out
}

// homes finds the engine that a series belongs to. Thousands of series have the
// same identity, so each is asked once; and since a scrape can name more replicas
// than are kept, an identity with a replica asks the engines of that one alone.
type homes struct {
	engines   *[]*engine
	known     map[homeKey]home
	byReplica map[string][]*engine
	counted   int // engines that byReplica holds
}

type homeKey struct {
	id   identity
	host bool
}

type home struct{ e *engine } // nil where there is none

// of returns the engine a series belongs to, or the one that stands for what
// several engines share, such as the HTTP server of a data-parallel group.
// Giving it to each of them would count it several times. It is nil for series
// beyond maxEngines.
func (h *homes) of(se *series, n int) *engine {
	k := homeKey{se.id, se.row.host}
	if x, ok := h.known[k]; ok {
		return x.e
	}
	before := len(*h.engines)
	e := h.find(se, n)
	if len(*h.engines) > before { // others may belong to the new one
		clear(h.known)
	}
	if len(h.known) < 4*maxEngines {
		h.known[k] = home{e}
	}
	return e
}

func (h *homes) find(se *series, n int) *engine {
	var fit []*engine
	for _, e := range h.candidates(se.id) {
		if se.id.within(e.id) {
			fit = append(fit, e)
		}
	}
	switch {
	case len(fit) == 0 && se.id.engine != "":
		return nil
	case len(fit) == 1:
		return fit[0]
	}
	id := se.id
	if !se.row.host && len(*h.engines) > 0 {
		id.engine = cmp.Or(id.engine, (*h.engines)[0].id.engine)
	}
	for _, e := range *h.engines {
		if e.id == id {
			return e
		}
	}
	if len(*h.engines) == 0 || len(*h.engines) >= 2*maxEngines {
		return nil
	}
	e := &engine{id: id, room: (*h.engines)[0].room, slots: map[slotKey]*slot{}, start: nans(n)}
	*h.engines = append(*h.engines, e)
	return e
}

// candidates are the engines an identity can be within: all of them, unless it
// names its replica.
func (h *homes) candidates(id identity) []*engine {
	if id.replica == "" {
		return *h.engines
	}
	if h.byReplica == nil {
		h.byReplica = map[string][]*engine{}
	}
	for ; h.counted < len(*h.engines); h.counted++ {
		e := (*h.engines)[h.counted]
		h.byReplica[e.id.replica] = append(h.byReplica[e.id.replica], e)
	}
	return h.byReplica[id.replica]
}

func (e *engine) putStart(t int, v float64) {
	if !(e.start[t] >= v) {
		e.start[t] = v
	}
}

// server turns an engine's samples into a server.
func (e *engine) server(st *stream, several bool, ps *serving.Problems) *serving.Server {
	s := &serving.Server{
		Engine: e.id.engine, Times: slices.Clone(st.times), Relative: st.relative, TimeRule: st.rule,
		Info: e.info, Gaps: st.gaps,
	}
	if e.id.model != "" {
		s.Model = serving.Some(e.id.model)
	}
	for _, f := range st.scrapes {
		if len(s.Sources) == 0 || s.Sources[len(s.Sources)-1] != f.Path {
			s.Sources = append(s.Sources, f.Path)
		}
	}
	s.Replica = e.replica(st, several)
	s.Label = e.label(s)
	b := builder{e: e, st: st, s: s, ps: ps, restart: e.restarts(st)}
	b.build()
	return s
}

// replica is the pod and, where there are several, the rank.
func (e *engine) replica(st *stream, several bool) serving.Opt[string] {
	var parts []string
	if r := cmp.Or(e.id.replica, st.replica); r != "" {
		parts = append(parts, r)
	}
	switch {
	case several && e.id.rank != "":
		parts = append(parts, "engine "+e.id.rank)
	case several && e.id.rank == "" && e.id.model == "" && e.id.replica == "":
		if e.id.engine == "" {
			parts = append(parts, "machine")
		} else {
			parts = append(parts, "front end")
		}
	}
	if len(parts) == 0 {
		return serving.None[string]()
	}
	return serving.Some(strings.Join(parts, ", "))
}

func (e *engine) label(s *serving.Server) string {
	var parts []string
	for _, p := range []string{s.Model.V, s.Replica.V} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return strings.TrimSuffix(filepath.Base(s.Sources[0]), filepath.Ext(s.Sources[0]))
	}
	return strings.Join(parts, " · ")
}

// selector is the series as a query, without a range.
func selector(family string, terms []serving.Term) string {
	var b strings.Builder
	b.WriteString(family)
	for i, t := range terms {
		if i == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%s", t.Dim, strconv.Quote(t.Value))
	}
	if len(terms) > 0 {
		b.WriteByte('}')
	}
	return b.String()
}

// multiSelector selects the series of several families.
func multiSelector(families []string, terms []serving.Term) string {
	rest := strings.TrimPrefix(selector("", terms), "{")
	if rest == "" {
		rest = "}"
	} else {
		rest = "," + rest
	}
	return "{__name__=~" + strconv.Quote(strings.Join(families, "|")) + rest
}
