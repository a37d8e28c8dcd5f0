package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// FormatJSONL is the contract's name for a request trace as JSON: a record a
// line, an array of records, or OpenTelemetry spans.
const FormatJSONL = "trace-jsonl"

// SniffJSONL reports whether the start of a file is that of a trace in JSON, and
// why not. whole says that head is the whole file; open gives a stream of it,
// which is read where a collector's spans of LLM requests may come later.
func SniffJSONL(head []byte, whole bool, open func() (io.ReadCloser, error), opt Options) (ok bool, why string) {
	if isOTLP(head) {
		return sniffOTLP(head, open)
	}
	t := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(t) == 0 || t[0] != '{' && t[0] != '[' {
		return false, "no JSON object or array at the start"
	}
	j := &jsonTable{}
	l, err := j.learnFrom(context.Background(), bytes.NewReader(head), sniffRecords)
	if err == nil && l.rows == 0 && !whole { // the first record is longer than that
		if head, whole, err = startOf(open); err == nil {
			l, err = j.learnFrom(context.Background(), bytes.NewReader(head), sniffRecords)
		}
	}
	switch {
	case err != nil:
		return false, err.Error()
	case l.rows == 0:
		return false, "no whole record at the start"
	}
	if w := j.others(); w != "" {
		return false, w
	}
	if ok, why := judge(l, opt); !ok {
		return false, why
	}
	if j.single(whole) && !j.oneRequest() {
		return false, "one object that names no request: a summary, not a trace"
	}
	return true, ""
}

// sniffRecords is how many records a sniffer looks at.
const sniffRecords = 512

// OpenJSONL opens a request trace in JSON. Errors are as those of Open.
func OpenJSONL(ctx context.Context, f TextFile, opt Options) (*Text, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(r, head)
	r.Close()
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if isOTLP(head[:n]) {
		return openText(ctx, f, FormatJSONL, &otlpTable{path: f.Path}, opt)
	}
	return openText(ctx, f, FormatJSONL, &jsonTable{}, opt)
}

// A jsonTable is the shape of a file of JSON records: a tree of names. It grows
// while the start of the file is read; afterwards each scan has a copy.
type jsonTable struct {
	root    *jsonNode
	columns []*guess
	events  bool // Dynamo's: other things than requests are among the records
	whole   bool
	lines   bool
	array   bool
}

// A jsonNode is a name in the tree.
type jsonNode struct {
	steps []string // the keys down to it
	key   string
	path  string
	kids  []*jsonNode
	next  int // the child that is expected: records repeat their order
	raw   int // index of its column, -1 for none

	guess  *guess // while learning
	cell   *cell  // while scanning
	useful bool   // it or something below it is wanted
	event  bool   // the name that tells requests from other events
}

const maxPaths = 2048

// learn implements source.
func (j *jsonTable) learn(ctx context.Context, r io.Reader) (learned, error) {
	return j.learnFrom(ctx, r, 1<<62)
}

// learnFrom reads so many records, or sampleBytes: names may be left out of a
// record that has no value for them, an error's above all, so that the first
// few thousand do not show them all.
func (j *jsonTable) learnFrom(ctx context.Context, in io.Reader, most int64) (l learned, err error) {
	j.root, j.columns = &jsonNode{raw: -1}, nil
	r := newJSONReader(in)
	w := &jsonWalk{grow: j}
	bytesRead := 0
	for {
		more, err := r.next(func(s *jsonScan) error {
			w.reject = false
			w.record++
			if whole := *s; errors.Is(whole.skip(), errShortJSON) {
				return errShortJSON // count nothing twice
			}
			from := s.i
			err := w.object(s, j.root, 0)
			bytesRead += s.i - from
			return err
		})
		if err != nil {
			return l, err
		}
		if !more {
			l.whole = r.err == nil
			break
		}
		if r.damage == "" && !w.reject {
			l.rows++
		}
		if l.rows >= most || bytesRead > sampleBytes || r.read > sampleSpan || ctx.Err() != nil {
			break
		}
	}
	j.whole, j.lines, j.array = l.whole, r.lines, r.array
	l.columns = j.columns
	if j.events {
		l.notes = append(l.notes, "events other than request_end are no requests and not counted")
	}
	if r.err != nil && l.rows == 0 {
		return l, r.err
	}
	return l, ctx.Err()
}

// A jsonWalk reads one record: while learning into guesses, while scanning into
// cells.
type jsonWalk struct {
	grow   *jsonTable // nil while scanning
	b      *batch
	reject bool  // the record is no request
	record int64 // while learning: which one it is
	late   map[string]bool
}

func (w *jsonWalk) object(s *jsonScan, n *jsonNode, depth int) error {
	if depth > maxNesting {
		return damageError("nested deeper than 64 objects")
	}
	return s.object(func(key []byte) error {
		kid := n.find(key)
		if kid == nil {
			if w.grow == nil {
				w.unknown(n, key)
				return s.skip()
			}
			if kid = w.grow.add(n, key); kid == nil {
				return s.skip()
			}
		}
		return w.value(s, kid, depth)
	})
}

// find returns the child of a name, by way of the one that came next last time.
func (n *jsonNode) find(key []byte) *jsonNode {
	if n.next < len(n.kids) && n.kids[n.next].key == string(key) {
		n.next++
		return n.kids[n.next-1]
	}
	for i, k := range n.kids {
		if k.key == string(key) {
			n.next = i + 1
			return k
		}
	}
	return nil
}

// add makes a new child, nil where there are too many.
func (j *jsonTable) add(n *jsonNode, key []byte) *jsonNode {
	if len(j.columns) >= maxPaths || len(key) > 256 {
		return nil
	}
	path := string(key)
	if n.path != "" {
		path = n.path + "." + path
	}
	for _, g := range j.columns {
		if g.name == path { // a.b inside of an object and as one name: the first counts
			return nil
		}
	}
	k := &jsonNode{key: string(key), path: path, raw: len(j.columns), guess: newGuess(path, false)}
	k.steps = append(slices.Clip(n.steps), k.key)
	if len(k.steps) > 1 {
		k.guess.steps = k.steps
	}
	k.event = path == "event_type"
	n.kids = append(n.kids, k)
	j.columns = append(j.columns, k.guess)
	return k
}

func (w *jsonWalk) value(s *jsonScan, n *jsonNode, depth int) error {
	switch c := s.b[s.i]; {
	case w.grow == nil && !n.useful:
		return s.skip()
	case c == '{':
		if n.guess != nil {
			n.guess.objects++
			n.guess.n++
		}
		return w.object(s, n, depth+1)
	case c == '[':
		from := s.i
		if err := s.skip(); err != nil {
			return err
		}
		w.put(n, s.b[from:s.i])
	case c == '"':
		raw, escaped, err := s.text()
		if err != nil {
			return err
		}
		if escaped && (n.cell != nil || n.guess != nil || n.event) {
			raw = s.unquote(raw)
		}
		w.put(n, raw)
	default:
		word, err := s.word()
		if err != nil {
			return err
		}
		w.put(n, word)
	}
	return nil
}

const requestEnd = "request_end"

func (w *jsonWalk) put(n *jsonNode, text []byte) {
	if w.grow != nil {
		if n.path == "schema" && bytes.HasPrefix(text, []byte("dynamo.request.trace.")) {
			w.grow.events = true
		}
		if n.event && w.grow.events && string(text) != requestEnd {
			w.reject = true
		}
		if !w.reject {
			n.guess.twice = n.guess.twice || n.guess.record == w.record
			n.guess.record = w.record
			n.guess.add(text)
		}
		return
	}
	if n.event && string(text) != requestEnd {
		w.reject = true
	}
	if n.cell != nil {
		w.b.set(n.cell, text)
	}
}

// unknown tells of a name that first appears behind the start of the file and
// would have had a meaning.
func (w *jsonWalk) unknown(n *jsonNode, key []byte) {
	if w.b == nil || w.b.problems == nil || len(key) > 256 || len(w.late) > 1024 {
		return
	}
	path := string(key)
	if n.path != "" {
		path = n.path + "." + path
	}
	known, seen := w.late[path]
	if !seen {
		name, _ := column.Means(path)
		known = name != ""
		if w.late == nil {
			w.late = map[string]bool{}
		}
		w.late[path] = known
	}
	if known {
		w.b.problem("late "+path, serving.Problem{At: w.b.at(path), Count: 1,
			Message: "this name appears far behind the start of the file only, where its columns were decided: it is not read"})
	}
}

// copy makes the tree of one scan.
func (j *jsonTable) copy(n *jsonNode, b *batch) *jsonNode {
	out := &jsonNode{key: n.key, path: n.path, raw: n.raw, event: n.event && j.events}
	if n.raw >= 0 {
		out.cell = b.byRaw[n.raw]
	}
	out.useful = out.cell != nil || out.event
	for _, k := range n.kids {
		kid := j.copy(k, b)
		out.useful = out.useful || kid.useful
		out.kids = append(out.kids, kid)
	}
	return out
}

// scan implements source.
func (j *jsonTable) scan(ctx context.Context, in io.Reader, b *batch) error {
	root := j.copy(j.root, b)
	r := newJSONReader(in)
	w := &jsonWalk{b: b}
	var failed error
	for {
		more, err := r.next(func(s *jsonScan) error {
			if b.n < b.room {
				b.drop() // what an attempt that ended with the buffer has set
			}
			w.reject = false
			b.begin(r.at)
			return w.object(s, root, 0)
		})
		if err != nil {
			return err
		}
		if !more {
			failed = r.err
			break
		}
		switch {
		case r.damage != "":
			if b.n < b.room {
				b.drop()
			}
			b.lost("json "+r.damage, r.at, r.damage)
			continue
		case w.reject:
			b.drop()
			continue
		}
		if err := b.commit(); err != nil {
			return err
		}
	}
	if b.n < b.room {
		b.drop()
	}
	b.line = r.line
	if failed != nil {
		return b.brokenStream(failed)
	}
	return nil
}

// producers that other decoders read, by names that their records have together.
var otherRecords = []struct {
	what  string
	paths []string
}{
	{"records of AIPerf", []string{"metadata.request_start_ns", "metrics"}},
	{"records of AIPerf", []string{"metadata.record_processor_id"}}, // 0.2
	{"records of inference-perf", []string{"info.response_metrics"}},
	{"records of inference-perf", []string{"info.output_token_times"}},
	{"records of inference-perf", []string{"info.input_tokens", "request", "response"}},
	{"a result of SGLang's benchmark", []string{"sharegpt_output_len"}},
	{"a result of SGLang's benchmark", []string{"run_name", "batch_size"}},
	{"a result of a benchmark", []string{"request_throughput"}},
	{"a result of a benchmark", []string{"output_throughput", "completed"}},
	{"a GuideLLM report", []string{"benchmarks"}},
	{"GPU telemetry", []string{"telemetry_data"}},
	{"samples of metrics", []string{"source_metrics"}},
}

// others says whose records these are where another decoder reads them.
func (j *jsonTable) others() string {
	has := func(p string) bool {
		return slices.ContainsFunc(j.columns, func(g *guess) bool {
			return g.name == p || strings.HasPrefix(g.name, p+".")
		})
	}
	for _, o := range otherRecords {
		if !slices.ContainsFunc(o.paths, func(p string) bool { return !has(p) }) {
			return o.what
		}
	}
	return ""
}

// single reports whether the file holds one record that is not in an array.
func (j *jsonTable) single(whole bool) bool {
	return !j.array && j.whole && whole && len(j.columns) > 0 && j.records() <= 1
}

func (j *jsonTable) records() int {
	n := 0
	for _, g := range j.columns {
		n = max(n, g.n)
	}
	return n
}

// oneRequest reports whether a record names itself, or says when it arrived.
func (j *jsonTable) oneRequest() bool {
	return slices.ContainsFunc(j.columns, func(g *guess) bool {
		m, _ := column.Means(g.name)
		return g.n > 0 && (m == serving.ColRequestID || m == serving.ColArrival)
	})
}
