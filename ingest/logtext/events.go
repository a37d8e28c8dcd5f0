package logtext

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// Bounds on what a log's failures may make us remember. Beyond them nothing is
// left out: lines of one kind are counted together over longer stretches.
const (
	maxNotes   = 1 << 15 // while reading
	maxEvents  = 500     // of a log
	maxAnswers = 2000    // stretches of a log
	maxNames   = 256     // pods
	together   = 10 * time.Second
)

// Events gathers what the lines of one log tell of failures. Lines come in the
// order of the file; the zero value with a Calendar is ready.
type Events struct {
	Path string
	Cal  *Calendar

	head    []byte // of the last line that says a time
	stamped Stamp  // of headOf
	headOf  []byte
	first   Stamp // of the log
	have    bool
	fails   notes
	served  notes
	begun   notes // starts of processes
	names   map[string]bool
	killed  int // index + 1 in fails.list of a killed container whose end comes on a line of its own
}

// A note is lines of one kind and, mostly, one second.
type note struct {
	kind     serving.EventKind
	what     string
	replica  string
	line     int
	at, to   Stamp
	count    int64
	bad      int64
	untimed  bool // no line before it says a time
	atOfText string
}

// notes are bounded: from maxNotes on, a line is counted with the last one of its
// kind.
type notes struct {
	list []note
	last map[string]int
}

func (n *notes) add(x note) {
	if n.last == nil {
		n.last = map[string]int{}
	}
	key := x.what + "\x00" + x.replica
	if i, ok := n.last[key]; ok {
		if o := &n.list[i]; len(n.list) >= maxNotes || o.atOfText == x.atOfText {
			o.to, o.count, o.bad = x.to, o.count+x.count, o.bad+x.bad
			return
		}
	}
	if len(n.list) >= 2*maxNotes { // as many kinds and pods as that are no log's
		return
	}
	n.last[key] = len(n.list)
	n.list = append(n.list, x)
}

// Line takes a line: as it stands in the file, and without what was put around
// it. name is the pod or container it is of.
func (e *Events) Line(no int, name string, raw, text []byte) {
	timed := e.clock(text) || e.clock(raw)
	if status, ok := answer(text); ok {
		e.note(&e.served, note{what: "answers", replica: "", line: no, count: 1, bad: errorOf(status)})
		if status >= 500 {
			e.note(&e.fails, note{kind: serving.EventError, what: fmt.Sprintf("requests were answered with status %d", status), replica: e.name(name), line: no, count: 1})
		}
		return
	}
	if startsIn(text) {
		e.note(&e.begun, note{kind: serving.EventRestart, what: "the server was started again", replica: e.name(name), line: no, count: 1})
		return
	}
	if e.killed > 0 && bytes.Contains(text, finishedMark) {
		// kubectl describe: "Reason: OOMKilled", and some lines below "Finished: …".
		n := &e.fails.list[e.killed-1]
		n.at, n.to, n.untimed = e.stamp(), e.stamp(), len(e.head) == 0
		e.killed = 0
		return
	}
	if f := failureIn(text, timed); f != nil {
		e.note(&e.fails, note{kind: f.kind, what: f.what, replica: e.name(name), line: no, count: 1})
		if bytes.Contains(text, reasonMark) {
			e.killed = len(e.fails.list)
		}
	}
}

// startMarks are what servers print once a start: uvicorn and TGI.
var startMarks = [][]byte{[]byte("Started server process ["), []byte("text_generation_launcher: Args {")}

func startsIn(text []byte) bool { return containsAny(text[:min(len(text), 300)], startMarks) }

// What kubectl describe prints of a container's end.
var (
	reasonMark   = []byte("Reason: ")
	finishedMark = []byte("Finished: ")
)

func errorOf(status int) int64 {
	if status >= 500 {
		return 1
	}
	return 0
}

// name bounds the names of pods.
func (e *Events) name(s string) string {
	if e.names == nil {
		e.names = map[string]bool{}
	}
	if !e.names[s] && len(e.names) >= maxNames {
		return ""
	}
	e.names[s] = true
	return s
}

func (e *Events) note(n *notes, x note) {
	x.atOfText = string(e.head)
	if x.untimed = len(e.head) == 0; !x.untimed {
		// A line without a time happened when the last one with a time did.
		x.at = e.stamp()
		x.to = x.at
	}
	n.add(x)
}

// stamp is the time of the line read last that says one.
func (e *Events) stamp() Stamp {
	if !bytes.Equal(e.head, e.headOf) {
		e.stamped, e.headOf = StampOf(string(e.head)), append(e.headOf[:0], e.head...)
	}
	return e.stamped
}

// clock keeps the head of a line that says a time.
func (e *Events) clock(line []byte) bool {
	at := clockIn(line)
	if at < 0 {
		return false
	}
	head := line[:min(len(line), at+20)]
	s := Stamp{}
	if !e.have {
		if s = StampOf(string(head)); s.zero() {
			return false
		}
		e.first, e.have = s, true
	}
	e.head = append(e.head[:0], head...)
	return true
}

// clockIn finds dd:dd:dd near the start of a line: where it ends, -1 for nowhere.
func clockIn(line []byte) int {
	line = line[:min(len(line), 160)]
	digit := func(i int) bool { return line[i] >= '0' && line[i] <= '9' }
	for i := 2; i+6 <= len(line); i++ {
		if line[i] == ':' && line[i+3] == ':' && digit(i-2) && digit(i-1) && digit(i+1) && digit(i+2) && digit(i+4) && digit(i+5) {
			return i + 6
		}
	}
	return -1
}

// Log turns what was read into events. like are the times of the log's series,
// by whose rule the events are dated; without series the log's own.
func (e *Events) Log(like []Stamp) *serving.EventLog {
	out := &serving.EventLog{Path: e.Path}
	if len(e.fails.list)+len(e.served.list)+len(e.begun.list) == 0 {
		return nil
	}
	var d dating
	if e.have {
		if len(like) == 0 {
			like = []Stamp{e.first, e.stamp()}
		}
		d = e.Cal.dating(like)
	}
	out.Timed, out.Yearless, out.Assumed = d.ok, d.ok && d.year == 0 && !d.full, d.assumed
	if d.ok {
		out.From, out.To = d.instant(e.first), d.instant(e.stamp())
		out.From, out.To = min(out.From, out.To), max(out.From, out.To)
	}
	for _, w := range d.join(e.fails.list, e.first, maxEvents) {
		out.Events = append(out.Events, serving.Event{At: w.at, To: w.to, Kind: w.kind, What: w.what, Replica: w.replica, Source: serving.Pos{Path: e.Path, Line: w.line}, Count: w.count})
	}
	out.Events = append(out.Events, e.restarts(d)...)
	slices.SortStableFunc(out.Events, func(a, b serving.Event) int { return cmp.Compare(a.At, b.At) })
	for _, w := range d.join(e.served.list, e.first, maxAnswers) {
		if d.ok {
			out.Answers = append(out.Answers, serving.Answers{At: w.at, To: w.to, Count: w.count, Errors: w.bad})
		}
	}
	return out
}

// oneStart is how long the processes of one start take to come up: each of them
// says so.
const oneStart = int64(2 * time.Minute)

// restarts are the starts of a replica after its first one. Without times there
// is no telling a restart from a second worker.
func (e *Events) restarts(d dating) []serving.Event {
	if !d.ok {
		return nil
	}
	var out []serving.Event
	last := map[string]int64{}
	for _, w := range d.join(e.begun.list, e.first, maxEvents) {
		at, ok := last[w.replica]
		last[w.replica] = w.to
		if ok && w.at-at > oneStart {
			out = append(out, serving.Event{At: w.at, To: w.to, Kind: w.kind, What: w.what, Replica: w.replica, Source: serving.Pos{Path: e.Path, Line: w.line}, Count: 1})
		}
	}
	return out
}

// A dated note.
type dated struct {
	note
	at, to int64
}

// join dates notes, puts them in order of time and counts together what stands
// close together: over ten seconds, or so much longer that not more than most
// remain.
func (d dating) join(list []note, first Stamp, most int) []dated {
	var all []dated
	for _, n := range list {
		w := dated{note: n}
		switch {
		case !d.ok:
		case n.untimed: // before the first line that says a time
			w.at = d.instant(first)
			w.to = w.at
		default:
			w.at, w.to = d.instant(n.at), d.instant(n.to)
			w.at, w.to = min(w.at, w.to), max(w.at, w.to)
		}
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b dated) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.line, b.line)) })
	for window := int64(together); ; window *= 2 {
		out := joined(all, window)
		if len(out) <= most || window > int64(24*365*time.Hour) {
			return out[:min(len(out), most)]
		}
	}
}

func joined(all []dated, window int64) []dated {
	var out []dated
	last := map[string]int{}
	for _, w := range all {
		key := w.what + "\x00" + w.replica
		if i, ok := last[key]; ok && w.at-out[i].at < window {
			out[i].to, out[i].count, out[i].bad = max(out[i].to, w.to), out[i].count+w.count, out[i].bad+w.bad
			continue
		}
		last[key] = len(out)
		out = append(out, w)
	}
	return out
}

// Tells reports whether a line would be counted: a failure, or an answer to a
// user, in the form that logs have.
func (e *Events) Tells(raw, text []byte) bool {
	timed := clockIn(text) >= 0 || clockIn(raw) >= 0
	if _, ok := answer(text); ok {
		return true
	}
	return (timed || level.Match(text[:min(len(text), 200)]) || kubernetes.Match(text)) && failureIn(text, timed) != nil
}
