package prom

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// The rules that decide when a scrape was taken, as Server.TimeRule names them.
const (
	ruleHeader   = "header"
	ruleStamps   = "timestamps"
	ruleName     = "file name"
	ruleSequence = "number in the file name (order only)"
	ruleFile     = "order in the file (order only)"
	ruleCounters = "counters (order only)"
	ruleNames    = "order of the file names (order only)"
	ruleElapsed  = "time since the start of the file"
	ruleMTime    = "mtime"
	ruleNone     = "none"

	assumedUTC = ", taken as UTC"
)

// order puts a stream's scrapes in order of time and fills in its times.
func (st *stream) order(opt AssembleOptions, ps *serving.Problems) {
	timed := 0
	for _, f := range st.scrapes {
		if _, _, ok := f.time(); ok {
			timed++
		}
	}
	switch n := len(st.scrapes); {
	case timed == n:
		st.byTime()
	case timed > n/2:
		st.dropUntimed(ps)
		st.byTime()
	case opt.UseMTime && st.byMTime(opt):
	default:
		if timed > 0 {
			report(ps, st.scrapes[0], fmt.Sprintf("only %d of the %d scrapes of this server have a time; all are taken in their order alone", timed, n))
		}
		st.byOrder(ps)
	}
	st.mergeEqualTimes(ps)
	st.findGaps()
}

func report(ps *serving.Problems, f *facts, msg string) {
	ps.Add(serving.Problem{At: serving.Pos{Path: f.Path, Line: f.Line}, Message: msg})
}

// time returns the best time of a scrape and the rule behind it.
func (f *facts) time() (ns int64, rule string, ok bool) {
	zone := func(rule string, zoned bool) string {
		if zoned {
			return rule
		}
		return rule + assumedUTC
	}
	switch {
	case f.Header.OK:
		return f.Header.V, zone(ruleHeader, f.Zoned), true
	case f.Stamp.OK && f.elapsed:
		return f.Stamp.V, ruleElapsed, true
	case f.Stamp.OK:
		return f.Stamp.V, zone(ruleStamps, f.Zoned), true
	case f.name.timed && f.only:
		return f.name.stamp.nanos, zone(ruleName, f.name.stamp.zoned), true
	}
	return 0, "", false
}

func (st *stream) byTime() {
	sort.SliceStable(st.scrapes, func(i, j int) bool {
		a, _, _ := st.scrapes[i].time()
		b, _, _ := st.scrapes[j].time()
		return a < b
	})
	var rules []string
	for _, f := range st.scrapes {
		t, rule, _ := f.time()
		st.times = append(st.times, t)
		st.relative = st.relative || f.elapsed
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	slices.Sort(rules)
	st.rule = strings.Join(rules, " and ")
}

func (st *stream) dropUntimed(ps *serving.Problems) {
	st.scrapes = slices.DeleteFunc(st.scrapes, func(f *facts) bool {
		_, _, ok := f.time()
		if !ok {
			report(ps, f, "this scrape has no time while the others of its server have one; it is left out")
		}
		return !ok
	})
}

// byMTime takes the times at which the files were last written. It cannot for
// files with several scrapes, nor for copies that all got the same time.
func (st *stream) byMTime(opt AssembleOptions) bool {
	mtime := opt.MTime
	if mtime == nil {
		mtime = fileMTime
	}
	type timed struct {
		f *facts
		t int64
	}
	var ts []timed
	for _, f := range st.scrapes {
		t, ok := mtime(f.Path)
		if !ok || !f.only {
			return false
		}
		ts = append(ts, timed{f, t})
	}
	sort.SliceStable(ts, func(i, j int) bool { return ts[i].t < ts[j].t })
	for i, t := range ts {
		if i > 0 && t.t == ts[i-1].t {
			return false
		}
	}
	for i, t := range ts {
		st.scrapes[i] = t.f
		st.times = append(st.times, t.t)
	}
	st.rule = ruleMTime
	return true
}

func fileMTime(path string) (int64, bool) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return fi.ModTime().UnixNano(), true
}

const second = int64(1e9)

// byOrder makes do without a time: one second from scrape to scrape, or from
// number to number where the files are numbered, and Relative says so.
func (st *stream) byOrder(ps *serving.Problems) {
	st.relative = true
	switch {
	case len(st.scrapes) == 1:
		st.rule = ruleNone
	case st.sequence:
		st.rule = ruleSequence
		sort.SliceStable(st.scrapes, func(i, j int) bool { return st.scrapes[i].number < st.scrapes[j].number })
		if lo, hi := st.scrapes[0].number, st.scrapes[len(st.scrapes)-1].number; hi < 1<<31 {
			for _, f := range st.scrapes {
				st.times = append(st.times, (f.number-lo)*second)
			}
			return
		}
	case st.oneFile():
		st.rule = ruleFile
		st.dropCopies(ps)
	default:
		st.byCounters(ps)
	}
	for i := range st.scrapes {
		st.times = append(st.times, int64(i)*second)
	}
}

// dropCopies leaves out scrapes that stand in a file once more after others:
// taken in its order they would look like a server that went back in time.
// Scrapes that follow each other are the same where nothing happened.
func (st *stream) dropCopies(ps *serving.Problems) {
	seen := map[uint64][]*facts{}
	var last *facts
	st.scrapes = slices.DeleteFunc(st.scrapes, func(f *facts) bool {
		key := f.digest()
		at := slices.IndexFunc(seen[key], f.same)
		if at >= 0 && !f.same(last) {
			report(ps, f, "this scrape is the one at "+seen[key][at].where()+" once more; it is left out")
			return true
		}
		if at < 0 {
			seen[key] = append(seen[key], f)
		}
		last = f
		return false
	})
}

// digest is the same for scrapes with the same values.
func (f *facts) digest() uint64 {
	h := uint64(len(f.values))
	for _, v := range f.values {
		h = (h ^ math.Float64bits(v)) * 0x100000001b3 // FNV's prime
		h ^= h >> 29
	}
	return h
}

// same reports whether two scrapes have the same values of the same series.
func (f *facts) same(o *facts) bool {
	return slices.Equal(f.series, o.series) && slices.EqualFunc(f.values, o.values, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

func (st *stream) oneFile() bool {
	for _, f := range st.scrapes {
		if f.Path != st.scrapes[0].Path {
			return false
		}
	}
	return true
}

// byCounters orders by process start, and within one process by its counters:
// each never falls, so neither does their sum. Scrapes in which no counter moved
// keep the order of their names, before ahead of after.
func (st *stream) byCounters(ps *serving.Problems) {
	type keyed struct {
		f   *facts
		sum float64
	}
	ks := make([]keyed, len(st.scrapes))
	for i, f := range st.scrapes {
		ks[i].f = f
	}
	common := st.commonCounters()
	for i := range ks {
		for _, k := range common {
			ks[i].sum += ks[i].f.counters()[k]
		}
	}
	sort.SliceStable(ks, func(i, j int) bool {
		a, b := ks[i], ks[j]
		switch {
		case a.f.start > 0 && b.f.start > 0 && !sameStart(a.f.start, b.f.start):
			return a.f.start < b.f.start
		case a.sum != b.sum:
			return a.sum < b.sum
		}
		if p, q := phaseOf(a.f.Path), phaseOf(b.f.Path); p >= 0 && q >= 0 && p != q {
			return p < q
		}
		return pathLess(a.f.Scrape, b.f.Scrape)
	})
	st.rule = ruleCounters
	for i, k := range ks {
		st.scrapes[i] = k.f
		if i > 0 && k.sum == ks[i-1].sum && (k.f.start == 0 || sameStart(k.f.start, ks[i-1].f.start)) {
			st.rule = ruleNames
		}
	}
	if st.rule == ruleNames {
		report(ps, st.scrapes[0], "neither a time nor a counter says in which order the scrapes of this server were taken; they are taken in the order of their names")
	}
}

// commonCounters are the counters that every scrape has, in a fixed order: sums
// of floats depend on it.
func (st *stream) commonCounters() []counterKey {
	var out []counterKey
	for k := range st.scrapes[0].counters() {
		everywhere := true
		for _, f := range st.scrapes[1:] {
			if _, ok := f.counters()[k]; !ok {
				everywhere = false
				break
			}
		}
		if everywhere {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b counterKey) int {
		return strings.Compare(fmt.Sprint(a.family, "\x00", a.by, "\x00", a.id), fmt.Sprint(b.family, "\x00", b.by, "\x00", b.id))
	})
	return out
}

// mergeEqualTimes leaves one scrape a time: axes ascend, and rates divide by
// their steps.
func (st *stream) mergeEqualTimes(ps *serving.Problems) {
	n := 0
	for i, f := range st.scrapes {
		if n > 0 && st.times[i] == st.times[n-1] && f.partial && st.scrapes[n-1].partial {
			st.scrapes[n-1] = st.scrapes[n-1].joined(f)
			continue
		}
		if n > 0 && st.times[i] == st.times[n-1] {
			report(ps, f, fmt.Sprintf("this scrape has the same time as %s; the first is taken", st.scrapes[n-1].where()))
			continue
		}
		st.scrapes[n], st.times[n] = f, st.times[i]
		n++
	}
	st.scrapes, st.times = st.scrapes[:n], st.times[:n]
}

// findGaps marks steps without the scrapes that should be there. Numbered files
// tell exactly; otherwise a step of more than 2.5 times the usual one is a gap.
func (st *stream) findGaps() {
	n := len(st.times)
	if n < 3 || st.relative && st.rule != ruleSequence {
		return
	}
	steps := make([]int64, n-1)
	for i := range steps {
		steps[i] = st.times[i+1] - st.times[i]
	}
	var limit int64
	if st.rule == ruleSequence {
		for _, s := range steps {
			limit = gcd(limit, s)
		}
	} else {
		sorted := slices.Clone(steps)
		slices.Sort(sorted)
		limit = sorted[(len(sorted)-1)/2] / 2 * 5
	}
	for i, s := range steps {
		if s > limit {
			st.gaps = append(st.gaps, serving.Gap{From: st.times[i], To: st.times[i+1]})
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// splitProcesses separates processes that take turns behind one address: were
// they one server that restarted, a later start would never give way to an
// earlier one. It works on scrapes in order of time.
func (st *stream) splitProcesses() []*stream {
	var starts []float64
	turns := false
	for i, f := range st.scrapes {
		if f.start == 0 {
			return []*stream{st}
		}
		if at := slices.IndexFunc(starts, func(s float64) bool { return sameStart(s, f.start) }); at < 0 {
			starts = append(starts, f.start)
		} else if i > 0 && !sameStart(st.scrapes[i-1].start, f.start) {
			turns = true
		}
	}
	if !turns {
		return []*stream{st}
	}
	out := make([]*stream, len(starts))
	for i, f := range st.scrapes {
		at := slices.IndexFunc(starts, func(s float64) bool { return sameStart(s, f.start) })
		if out[at] == nil {
			out[at] = &stream{replica: fmt.Sprintf("%s (process of %.0f)", st.replica, starts[at]), rule: st.rule, relative: st.relative, sequence: st.sequence}
		}
		out[at].scrapes, out[at].times = append(out[at].scrapes, f), append(out[at].times, st.times[i])
	}
	for _, o := range out {
		o.findGaps()
	}
	return out
}
