package vllm

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/logtext"
	"github.com/vreport/vreport/ingest/serving"
)

// Bounds on what a log may make us remember.
const (
	maxLogLine = 64 << 10 // of a line; what follows is passed over
	maxSamples = 2 << 20  // periodic lines
	maxGroups  = 1024     // engines
	maxSources = 256      // pods
)

// SniffLog says whether a text holds a periodic line of vLLM, or at least the
// lines that a vLLM server starts with.
func SniffLog(head []byte) (ok bool, why string) {
	started := false
	f := newLogFacts()
	for rest := head; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		_, text := logtext.Unwrap(line)
		if _, _, ok := periodic(text); ok {
			return true, ""
		}
		started = f.see(text, 0, "") || started
	}
	if started {
		return true, ""
	}
	return false, `no "Avg prompt throughput: … Running: …" line of vLLM and none that its server starts with`
}

// ScanLog looks for a periodic line beyond the head of a text: a log may start
// with a megabyte of requests. It reads at most max bytes.
func ScanLog(r io.Reader, max int64) bool {
	br := bufio.NewReaderSize(io.LimitReader(r, max), maxLogLine)
	for {
		line, err := br.ReadSlice('\n')
		if _, _, ok := periodic(line); ok {
			return true
		}
		if err != nil && err != bufio.ErrBufferFull {
			return false
		}
	}
}

// DecodeLog reads an engine log of vLLM, V0 or V1: a server for each engine that
// prints periodic lines, whose figures are its series. Counts that a line states
// for its interval (preemptions, drafted tokens) become counters.
//
// It fills in Records (periodic lines), Fields, Note and Problems of the input.
// Lines that tell of failures are problems, counted by kind, and counted in the
// servers' Info; when they happened is in the event log, nil where there is none. A
// log that ends before the first periodic line gives no server, and Note has what
// its start says.
func DecodeLog(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Server, *serving.EventLog, error) {
	d := &logDecoder{path: path, in: in, groups: map[groupKey]*group{}, sources: map[string]*source{}, seen: map[string]bool{}, cal: logtext.Calendar{Path: path}}
	d.events = logtext.Events{Path: path, Cal: &d.cal}
	br := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := br.ReadSlice('\n')
		if len(line) > 0 {
			d.no++
			if d.no&checkEvery == 0 && ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			d.line(bytes.TrimRight(line, "\r\n"))
		}
		for err == bufio.ErrBufferFull {
			_, err = br.ReadSlice('\n')
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			in.Problems.Add(serving.Problem{At: serving.Pos{Path: path, Line: d.no + 1}, Message: "reading ends here: " + err.Error() + "; what stands before it is kept"})
			break
		}
	}
	var like []logtext.Stamp
	if len(d.order) > 0 {
		for _, s := range d.order[0].list {
			like = append(like, s.at)
		}
	}
	events := d.events.Log(like)
	servers, err := d.servers()
	if err != nil && events != nil && len(events.Events) > 0 {
		d.in.Note, err = "no periodic line, and failures", nil
	}
	return servers, events, err
}

type logDecoder struct {
	path    string
	in      *serving.Input
	no      int // line
	cal     logtext.Calendar
	events  logtext.Events
	sources map[string]*source
	groups  map[groupKey]*group
	order   []*group
	last    *group // of the last periodic line
	seen    map[string]bool
	samples int
}

// A source is a pod, a container or a host, where several write into one log.
type source struct {
	name    string
	facts   *logFacts
	trouble [8]int // by index into troubles
}

// A groupKey tells engines apart. Process ids are part of it until the end: two
// servers may write into one log, or one may start twice.
type groupKey struct{ source, process, engine string }

// A group is the periodic lines of one engine of one process.
type group struct {
	key    groupKey
	pid    string
	source *source
	first  int // line
	last   int
	list   []sample
}

// A sample is one periodic line and those that belong to it.
type sample struct {
	line    int
	at      logtext.Stamp
	restart bool
	values  []value
}

type value struct {
	col *logColumn
	v   float64
}

func (d *logDecoder) line(raw []byte) {
	d.cal.See(raw)
	name, text := logtext.Unwrap(raw)
	if before, stats, ok := periodic(text); ok {
		d.events.Line(d.no, name, raw, before)
		d.periodic(name, before, stats)
		return
	}
	d.events.Line(d.no, name, raw, text)
	if bytes.Contains(text[:min(len(text), maxBefore)], receivedMark) {
		return
	}
	for _, m := range specMarks {
		if i := bytes.Index(text, m); i >= 0 && i <= maxBefore {
			d.add(string(text[i+len(m):]), specByKey)
			return
		}
	}
	if i := bytes.Index(text, prefixMark); i >= 0 && i <= maxBefore {
		gpu, _, _ := strings.Cut(string(text[i+len(prefixMark):]), ",")
		d.add("Prefix cache hit rate: "+gpu, periodicByKey)
		return
	}
	if i := bytes.Index(text, preemptMark); i >= 0 {
		d.preempted(text)
		return
	}
	s := d.source(name)
	s.facts.see(text, d.no, pidOf(text))
	for _, k := range troublesIn(text) {
		s.trouble[k]++
		d.in.Problems.AddKind(troubles[k].key, troubles[k].problem(serving.Pos{Path: d.path, Line: d.no}, text))
	}
}

// preemptMark is in V0's warning about a preemption, which is printed for each
// fiftieth of them with the number since the start.
var (
	preemptMark  = []byte("total_num_cumulative_preemption=")
	preemptTotal = regexp.MustCompile(`total_num_cumulative_preemption=(\d+)`)
	preemptions0 = &logColumn{key: "total_num_cumulative_preemption", name: serving.Preemptions, unit: serving.NoUnit, per: 1, count: sinceStart}
)

func (d *logDecoder) preempted(text []byte) {
	m := preemptTotal.FindSubmatch(text)
	if m == nil || d.last == nil {
		return
	}
	total, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil || math.IsInf(total, 0) {
		return
	}
	s := &d.last.list[len(d.last.list)-1]
	s.values = append(s.values, value{preemptions0, total})
	d.field(preemptions0.key, preemptions0)
}

func (d *logDecoder) source(name string) *source {
	s := d.sources[name]
	if s == nil {
		if len(d.sources) >= maxSources {
			name = ""
			if s = d.sources[name]; s != nil {
				return s
			}
		}
		s = &source{name: name, facts: newLogFacts()}
		d.sources[name] = s
	}
	return s
}

var (
	processID  = regexp.MustCompile(`\bpid=(\d+)(?:, ip=([\w.:]+))?\)`)
	engineName = regexp.MustCompile(`(?:Engine (\w+)|(\d+) Engines Aggregated): $`)
)

// pidOf is the process that printed a line, where its prefix says: (APIServer pid=1).
func pidOf(text []byte) string {
	if m := processID.FindSubmatch(text[:min(len(text), 160)]); m != nil {
		return string(m[1])
	}
	return ""
}

// periodic reads a periodic line.
func (d *logDecoder) periodic(name string, before, stats []byte) {
	if d.samples++; d.samples > maxSamples {
		d.in.Problems.AddKind("samples", serving.Problem{At: serving.Pos{Path: d.path, Line: d.no}, Message: fmt.Sprintf("more than %d periodic lines: these are left out; cut the log into pieces", maxSamples)})
		return
	}
	key := groupKey{source: name}
	pid := ""
	if m := processID.FindSubmatch(before); m != nil {
		pid = string(m[1])
		key.process = pid
		if len(m[2]) > 0 {
			key.source = strings.TrimSpace(name + " " + string(m[2]))
		}
	}
	if m := engineName.FindSubmatch(before); m != nil {
		key.engine = string(m[1])
		if len(m[2]) > 0 {
			key.engine = string(m[2]) + " engines aggregated"
		}
	}
	g := d.group(key, pid, name)
	if g == nil {
		return
	}
	s := sample{line: d.no, at: logtext.StampOf(string(before))}
	f := g.source.facts
	// A server that printed its start after this engine's last line began anew,
	// unless the start is another process'.
	s.restart = len(g.list) > 0 && f.bootAt > g.last && (f.pid == "" || pid == "" || f.pid == pid)
	f.ran = true
	g.list = append(g.list, s)
	g.last = d.no
	d.last = g
	d.add(string(stats), periodicByKey)
}

func (d *logDecoder) group(key groupKey, pid, name string) *group {
	g := d.groups[key]
	if g == nil {
		if len(d.groups) >= maxGroups {
			d.in.Problems.AddKind("engines", serving.Problem{At: serving.Pos{Path: d.path, Line: d.no}, Message: fmt.Sprintf("more than %d engines: the others are left out", maxGroups)})
			return nil
		}
		g = &group{key: key, pid: pid, source: d.source(name), first: d.no}
		d.groups[key] = g
		d.order = append(d.order, g)
	}
	return g
}

// add reads the figures of a line into the last sample: those about speculative
// decoding name no engine and follow their engine's periodic line.
func (d *logDecoder) add(text string, columns map[string]*logColumn) {
	if d.last == nil {
		return
	}
	s := &d.last.list[len(d.last.list)-1]
	pairs(text, func(key, val string) {
		c := columns[key]
		d.field(key, c)
		if c == nil {
			return
		}
		v, ok := c.number(val)
		if !ok {
			if !strings.HasPrefix(val, "nan") && !strings.HasPrefix(val, "-") {
				d.in.Problems.AddKind("figure "+key, serving.Problem{At: serving.Pos{Path: d.path, Line: d.no, Field: key}, Message: fmt.Sprintf("%q is no number: taken as missing", cutReason(val))})
			}
			return
		}
		if c.unit == serving.Share && v > 1.0005 {
			d.in.Problems.AddKind("share "+key, serving.Problem{At: serving.Pos{Path: d.path, Line: d.no, Field: key}, Message: fmt.Sprintf("%s is more than all: taken as missing", cutReason(val))})
			return
		}
		for _, have := range s.values {
			if have.col.name == c.name {
				return // the line says it twice; the first is the whole
			}
		}
		s.values = append(s.values, value{c, v})
	})
}

func (d *logDecoder) field(key string, c *logColumn) {
	if d.seen[key] || len(d.seen) >= maxFields || len(key) > 100 {
		return
	}
	d.seen[key] = true
	f := serving.Field{Name: key, How: "dialect"}
	if c != nil {
		f.As, f.Unit = string(c.name), c.word
	}
	d.in.Fields = append(d.in.Fields, f)
}

func nans(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}
