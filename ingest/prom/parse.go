package prom

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/vreport/vreport/ingest/serving"
)

// Format is the contract's name of what this package reads.
const Format = "prometheus-text"

const (
	maxScrapes  = 250_000  // in one file: a month of them at ten seconds
	maxCached   = 64 << 20 // bytes of lines a decoder remembers within a file
	maxRetained = 8 << 20  // and from file to file
	maxFields   = 2_000    // families an input lists
	checkEvery  = 1 << 12  // lines between two looks at the context
)

// decoders keeps what was learned of series from file to file. Nothing a caller
// sees depends on it but the speed. It is a list and no sync.Pool, which forgets
// at every other garbage collection.
var decoders decoderList

type decoderList struct {
	mu   sync.Mutex
	free []*decoder
	raw  bool // decoders keep every series
}

func (l *decoderList) get() *decoder {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		d := l.free[n-1]
		l.free = l.free[:n-1]
		return d
	}
	d := newDecoder()
	d.raw = l.raw
	return d
}

func (l *decoderList) put(d *decoder) {
	const most = 4
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) < most {
		l.free = append(l.free, d)
	}
}

// Parse reads one file, which may hold several scrapes one after another, and
// fills in.Records, in.Fields, in.Note and in.Problems. A line that cannot be
// read is skipped and reported. A file without a single valid sample is a
// *serving.FormatError. path is used in positions only.
func Parse(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*Scrape, error) {
	return parseWith(ctx, &decoders, path, r, in)
}

func parseWith(ctx context.Context, list *decoderList, path string, r io.Reader, in *serving.Input) ([]*Scrape, error) {
	d := list.get()
	defer func() { list.put(d.retire()) }()
	p := &parser{d: d, path: path, in: in, lines: lineReader{r: d.buffered(r)}}
	d.file++
	d.prev = &d.first
	p.begin(1)
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	p.end()
	if len(p.scrapes) == 0 {
		return nil, &serving.FormatError{
			At: serving.Pos{Path: path}, Format: Format, Found: "no line could be read as a sample",
			Want: `lines such as vllm:num_requests_running{model_name="m"} 3`, Remedy: "save a scrape with curl -s http://HOST:PORT/metrics",
		}
	}
	for _, s := range p.scrapes {
		s.only = len(p.scrapes) == 1
	}
	if in.Format == "" {
		in.Format = Format
	}
	in.Records = int64(len(p.scrapes))
	p.fields()
	return p.scrapes, nil
}

// A decoder remembers lines by their bytes.
type decoder struct {
	buf    *bufio.Reader
	known  map[string]*entry
	names  map[string]*sampleName
	cached int // bytes in known
	file   uint32
	scrape uint64    // a number for each scrape ever begun
	first  entry     // before the first line
	prev   *entry    // the line before this one
	layout []*series // of the latest scrape
	raw    bool      // series that nothing is made of are kept too
}

// An entry is a line seen before: the series part of a sample, or a whole HELP
// or TYPE comment.
type entry struct {
	bytes  string
	series *series     // nil: of no use
	name   *sampleName // of a sample
	typed  string      // family of a TYPE comment whose samples have suffixes
	next   *entry      // the line that followed it last time
	scrape uint64      // the last scrape it was in
	file   uint32      // the last file it was in
	isMeta bool
}

// A sampleName is a metric name and the last file it was in.
type sampleName struct {
	name string
	file uint32
}

func newDecoder() *decoder {
	return &decoder{known: map[string]*entry{}, names: map[string]*sampleName{}, buf: bufio.NewReaderSize(nil, 128<<10)}
}

func (d *decoder) buffered(r io.Reader) *bufio.Reader {
	d.buf.Reset(r)
	return d.buf
}

// retire readies the decoder for the next file, without the memory of a
// monstrous one.
func (d *decoder) retire() *decoder {
	d.buf.Reset(nil)
	if d.cached > maxRetained {
		d.known, d.names, d.cached = map[string]*entry{}, map[string]*sampleName{}, 0
		d.first.next = nil
	}
	d.prev = nil
	return d
}

// sample finds the series of a sample line and the rest of the line. Scrapes
// repeat themselves: the line after this one is nearly always the one that came
// after it last time, and comparing is cheaper than looking up.
func (d *decoder) sample(line []byte) (e *entry, rest []byte, err error) {
	if e = d.prev.next; e != nil && !e.isMeta && len(line) > len(e.bytes) && isBlank(line[len(e.bytes)]) && string(line[:len(e.bytes)]) == e.bytes {
		return e, line[len(e.bytes):], nil
	}
	n := seriesEnd(line)
	if n < 0 {
		return nil, nil, errNoSeries
	}
	key := line[:n]
	if e = d.known[string(key)]; e != nil {
		return e, line[n:], nil
	}
	name, s, err := parseSeries(key)
	if err != nil {
		return nil, nil, err
	}
	if d.raw {
		s = withLabels(s, key)
	}
	e = &entry{bytes: string(key), series: s, name: d.name(name)}
	d.remember(e)
	return e, line[n:], nil
}

func (d *decoder) name(name string) *sampleName {
	n := d.names[name]
	if n == nil {
		n = &sampleName{name: name}
		if d.cached < maxCached {
			d.names[name] = n
			d.cached += len(name) + 64
		}
	}
	return n
}

func (d *decoder) remember(e *entry) {
	if d.cached < maxCached {
		d.known[e.bytes] = e
		d.cached += len(e.bytes) + 128
	}
}

// meta finds a HELP or TYPE comment; nil for other comments.
func (d *decoder) meta(line []byte) *entry {
	if e := d.prev.next; e != nil && e.isMeta && string(line) == e.bytes {
		return e
	}
	if e := d.known[string(line)]; e != nil {
		return e
	}
	family, kind, ok := metaComment(line)
	if !ok {
		return nil
	}
	e := &entry{bytes: string(line), isMeta: true}
	if kind == "histogram" || kind == "summary" {
		e.typed = family
	}
	d.remember(e)
	return e
}

// metaComment splits `# HELP name text` and `# TYPE name kind`; kind is "" for
// HELP.
func metaComment(line []byte) (family, kind string, ok bool) {
	tok, rest := nextToken(line)
	if string(tok) != "#" {
		return "", "", false
	}
	tok, rest = nextToken(rest)
	name, rest := nextToken(rest)
	if seriesEnd(name) != len(name) {
		return "", "", false
	}
	switch string(tok) {
	case "HELP":
		return string(name), "", true
	case "TYPE":
		kind, rest := nextToken(rest)
		if more, _ := nextToken(rest); len(more) > 0 {
			return "", "", false
		}
		return string(name), string(kind), typeNames[string(kind)]
	case "UNIT":
		return string(name), "", true
	}
	return "", "", false
}

// typeNames are the types of the text format and of OpenMetrics.
var typeNames = map[string]bool{
	"counter": true, "gauge": true, "histogram": true, "summary": true, "untyped": true,
	"unknown": true, "info": true, "stateset": true, "gaugehistogram": true,
}

// A parser reads one file.
type parser struct {
	d       *decoder
	path    string
	in      *serving.Input
	lines   lineReader
	scrapes []*Scrape
	cur     building
	inHTTP  bool
	names   []string        // of samples, in order of appearance
	typed   map[string]bool // families of histograms and summaries
	floats  int             // values written with a point, exponent or as a name
	ints    int
}

func (p *parser) run(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		l, err := p.lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.path, p.lines.line+1, err)
		}
		if len(p.scrapes) >= maxScrapes {
			p.problem(fmt.Sprintf("only the first %d scrapes of the file are read", maxScrapes))
			return nil
		}
		switch {
		case l.tooLong:
			p.inHTTP = false
			p.bad(l.text, fmt.Errorf("it is longer than %d bytes", maxLine))
		case len(l.text) == 0:
			p.inHTTP = false
		case l.text[0] == '#':
			p.inHTTP = false
			p.comment(l.text)
		default:
			p.sampleLine(l)
		}
	}
}

func (p *parser) comment(line []byte) {
	if e := p.d.meta(line); e != nil {
		p.follow(e)
		if e.file != p.d.file && e.typed != "" {
			if p.typed == nil {
				p.typed = map[string]bool{}
			}
			if len(p.typed) < 10*maxFields {
				p.typed[e.typed] = true
			}
		}
		e.file = p.d.file
		p.cur.meta(e, p.lines.line)
		return
	}
	if h, ok := headerComment(line); ok {
		p.header(h)
	} else if string(line) == "# EOF" {
		p.cur.closed = true
	}
}

func (p *parser) follow(e *entry) {
	p.d.prev.next = e
	p.d.prev = e
}

// header takes what a line says of the scrape that follows it.
func (p *parser) header(h header) {
	if p.cur.samples > 0 {
		p.end()
		p.begin(p.lines.line)
	}
	p.cur.header.merge(h)
}

func (p *parser) sampleLine(l textLine) {
	line := l.text
	if p.inHTTP = p.inHTTP && isHTTPHeader(line); p.inHTTP || line[0] == 'H' && isHTTPStatus(line) {
		p.http(line)
		return
	}
	e, rest, err := p.d.sample(line)
	if err != nil {
		p.noSeries(line, err)
		return
	}
	v, err := parseReading(rest)
	if err == nil && l.cut {
		err = p.looksCut(rest)
	}
	if err != nil {
		p.noSeries(line, err)
		return
	}
	if v.noTime {
		p.in.Problems.AddKind("stamp", serving.Problem{At: serving.Pos{Path: p.path, Line: p.lines.line},
			Message: "the timestamp is beyond the year 280000, want milliseconds since 1970; the value is taken without a time"})
	}
	p.style(rest)
	p.follow(e)
	if e.name.file != p.d.file {
		e.name.file = p.d.file
		if len(p.names) < 10*maxFields {
			p.names = append(p.names, e.name.name)
		}
	}
	if p.cur.closed { // after OpenMetrics' # EOF
		p.end()
		p.begin(p.lines.line)
	}
	switch p.cur.add(e, v, p.lines.line) {
	case repeatsAnchor:
		p.split(p.cur.boundary(p.cur.last), e)
	case repeatsMany:
		p.split(p.cur.boundary(p.cur.firstRepeat), p.cur.firstAgain)
	}
}

// noSeries handles a line that is no sample: a time that a script wrote between
// two scrapes, the dressing of a terminal, or damage.
func (p *parser) noSeries(line []byte, err error) {
	if len(line) <= 40 {
		if t, ok := parseStamp(string(line)); ok {
			p.header(header{stamp: t, hasTime: true})
			return
		}
	}
	if isDressing(line) {
		return
	}
	p.bad(line, err)
}

func (p *parser) http(line []byte) {
	if !p.inHTTP {
		p.inHTTP = true
		if p.cur.samples > 0 {
			p.end()
			p.begin(p.lines.line)
		}
		if c := httpStatus(line); c >= 300 {
			p.problem(fmt.Sprintf("the scrape was answered with HTTP status %d, want 200", c))
		}
		return
	}
	if h, ok := httpDate(line); ok {
		p.header(h)
	}
}

var errNoSeries = fmt.Errorf("no metric name begins it")

// looksCut says whether the last line of a file, which has no line end, lost
// digits too. Many tools strip the last line end, so that alone is no reason;
// but exporters that write 12.0 for 12 never write 12.
func (p *parser) looksCut(rest []byte) error {
	tok, _ := nextToken(rest)
	if c := tok[len(tok)-1]; c == '.' || p.floats > 0 && p.ints == 0 && isInt(tok) {
		return fmt.Errorf("the file ends within the number")
	}
	return nil
}

func isInt(tok []byte) bool { return len(bytes.Trim(tok, "0123456789+-")) == 0 }

func (p *parser) style(rest []byte) {
	if p.ints > 0 || p.floats > 64 { // settled
		return
	}
	if tok, _ := nextToken(rest); isInt(tok) {
		p.ints++
	} else {
		p.floats++
	}
}

func (p *parser) bad(line []byte, err error) {
	p.cur.bad = p.lines.line
	p.problem(fmt.Sprintf("cannot read %q: %s, want name{label=\"value\"} number; the line is left out", excerpt(line), shortened(err)))
}

func (p *parser) problem(msg string) {
	p.in.Problems.Add(serving.Problem{At: serving.Pos{Path: p.path, Line: p.lines.line}, Message: msg})
}

// excerpt is as much of a line as a message can hold.
func excerpt(line []byte) string {
	const most = 60
	if len(line) <= most {
		return string(line)
	}
	return strings.ToValidUTF8(string(line[:most]), "\uFFFD") + "…"
}

// shortened is an error without the line that Prometheus' parser repeats in it.
func shortened(err error) string {
	s := err.Error()
	if i := strings.Index(s, " while parsing:"); i > 0 {
		s = s[:i]
	}
	if i := strings.Index(s, " (\""); i > 0 {
		s = s[:i]
	}
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "\uFFFD") + "…"
	}
	return s
}
