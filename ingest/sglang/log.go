package sglang

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/logtext"
	"github.com/vreport/vreport/ingest/serving"
)

// serverArgs opens the line on which a starting engine prints its arguments.
const serverArgs = "server_args=ServerArgs("

// SniffLog says whether a text is an engine's log: a batch line, or the line of
// its arguments where the model's loading fills the beginning.
func SniffLog(head []byte) bool {
	for raw := range bytes.Lines(head) {
		line := clean(raw)
		if i := strings.Index(line, serverArgs); i >= 0 && i <= maxPrefix && !strings.ContainsAny(line[:i], "\"'`") {
			return true
		}
		if _, ok := parseBatch(line); ok {
			return true
		}
	}
	return false
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// clean drops colours, and what a progress bar drew before it began the line
// again.
func clean(raw []byte) string {
	raw = bytes.TrimRight(raw, "\r\n")
	if i := bytes.LastIndexByte(raw, '\r'); i >= 0 {
		raw = raw[i+1:]
	}
	if bytes.IndexByte(raw, 0x1b) >= 0 {
		raw = ansi.ReplaceAll(raw, nil)
	}
	return string(raw)
}

// maxLine bounds a line; the rest of a longer one is passed over.
const maxLine = 1 << 20

// DecodeLog reads the batch lines of an engine's log into series, one server a
// data-parallel rank. Of the several lines of one instant the last counts for
// gauges; tokens and retractions are added up from the log's start.
//
// It fills in Records (batch lines), Fields and Problems of the input. What went
// wrong, and when, is in the event log, nil where there is none.
func DecodeLog(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Server, *serving.EventLog, error) {
	d := &logDecoder{path: path, in: in, fields: flat.Fields{In: in}, engines: map[string]*engine{}}
	d.events = logtext.Events{Path: path, Cal: &logtext.Calendar{Path: path}}
	br := bufio.NewReaderSize(r, 256<<10)
	var long []byte
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		raw, err := readLine(br, &long)
		if len(raw) > 0 {
			d.no++
			d.line(clean(raw))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			in.Problems.Add(serving.Problem{At: serving.Pos{Path: path, Line: d.no}, Message: "reading fails: " + err.Error() + "; what stands before it is kept"})
			break
		}
	}
	in.Records = int64(d.records)
	events := d.events.Log(nil)
	if d.records == 0 && events != nil && len(events.Events) > 0 {
		in.Note = "no batch line, and failures"
		return nil, events, nil
	}
	if d.records == 0 {
		return nil, nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatLog, Found: "no batch line in the log",
			Want: "lines such as \"Decode batch, #running-req: 1, …\"", Remedy: "log at level info, and keep the part in which requests ran"}
	}
	return d.servers(), events, nil
}

// readLine reads a line of at most maxLine bytes. Its result is valid until the
// next call.
func readLine(br *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	*long = append((*long)[:0], line...)
	for err == bufio.ErrBufferFull {
		line, err = br.ReadSlice('\n')
		if len(*long) < maxLine {
			*long = append(*long, line...)
		}
	}
	return *long, err
}

// A logDecoder follows one log.
type logDecoder struct {
	path    string
	in      *serving.Input
	fields  flat.Fields
	no      int // of the line
	records int
	skipped int // batch lines of later pipeline stages
	engines map[string]*engine
	order   []string

	clock   clock
	now     int64 // of the line read last
	hasTime bool
	before  int64 // the instant before now, for the point where counting starts
	started bool  // the log has an engine's start
	facts   facts
	events  logtext.Events
}

func (d *logDecoder) line(line string) {
	d.tick(line)
	b, ok := parseBatch(line)
	text := []byte(line)
	if ok {
		text = text[:min(len(text), 64)] // its time
	}
	_, inner := logtext.Unwrap(text)
	d.events.Line(d.no, "", text, inner)
	switch {
	case ok:
		d.batch(b)
	case strings.Contains(line, serverArgs):
		d.start(line)
	case strings.Contains(line, "#retracted_reqs: "):
		d.retract(line)
	default:
		d.facts.line(line)
	}
}

// tick keeps the time. A line without one happens when the last one did; without
// any, lines are counted.
func (d *logDecoder) tick(line string) {
	ns, c := stamp(line)
	if c == noClock || c < d.clock {
		return
	}
	if c > d.clock && d.clock != noClock && d.records > 0 {
		return // one clock for the whole log
	}
	fresh := !d.hasTime || c > d.clock
	d.clock = c
	switch {
	case fresh:
		d.now, d.before, d.hasTime = ns, ns, true
	case ns > d.now:
		d.before, d.now = d.now, ns
	case ns < d.now && d.now-ns > 2e9:
		d.in.Problems.AddKind("clock", serving.Problem{At: serving.Pos{Path: d.path, Line: d.no},
			Message: fmt.Sprintf("the clock goes back by %.0f s: taken as the time of the line before it", float64(d.now-ns)/1e9)})
	}
}

// time is the instant of a batch line.
func (d *logDecoder) time() int64 {
	if d.clock == noClock {
		return int64(d.records)
	}
	return d.now
}

func (d *logDecoder) batch(b batchLine) {
	rank := ranks(b.prefix)
	if pp := rank["PP"]; pp != "" && strings.Trim(pp, "0") != "" {
		d.skipped++ // the same requests, a stage later
		return
	}
	if d.clock != noClock {
		if _, c := stamp(b.prefix); c == noClock {
			d.in.Problems.AddKind("no time", serving.Problem{At: serving.Pos{Path: d.path, Line: d.no}, Message: "a batch line without a time: taken as that of the line before it"})
		}
	}
	d.records++
	e := d.engine(rank["DP"])
	if e == nil {
		return
	}
	row := e.at(d.time(), d.before)
	for _, f := range b.fields {
		d.field(e, row, b.decode, f)
	}
	e.close(row)
}

// maxEngines bounds the ranks a log may name.
const maxEngines = 1024

func (d *logDecoder) engine(dp string) *engine {
	if e := d.engines[dp]; e != nil {
		return e
	}
	if len(d.engines) >= maxEngines {
		return nil
	}
	e := &engine{rank: dp, decoder: d}
	d.engines[dp], d.order = e, append(d.order, dp)
	return e
}

// start notes that an engine starts: what follows is a new process.
func (d *logDecoder) start(line string) {
	d.started = true
	for _, e := range d.engines {
		e.restart()
	}
	d.facts.args(line)
}

var retracted = regexp.MustCompile(`#retracted_reqs: (\d{1,9})`)

// retract counts requests that lost their place in a full KV pool: SGLang's word
// for preemption.
func (d *logDecoder) retract(line string) {
	m := retracted.FindStringSubmatch(line)
	e := d.engine(ranks(line[:min(len(line), maxPrefix)])["DP"])
	if m == nil || e == nil {
		return
	}
	n := 0.0
	fmt.Sscan(m[1], &n)
	d.fields.Add(serving.Field{Name: "#retracted_reqs", As: string(serving.Preemptions), How: "dialect"})
	e.totals[cPreempt] += n
	e.retracts = true
	if len(e.times) > 0 {
		e.close(e.at(d.time(), d.before))
	}
}
