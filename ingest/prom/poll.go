package prom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	columns "github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/csvtext"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// FormatCSV is the contract's name of tables of gauges over time: Grafana's
// panels, and what scripts write that poll a server.
const FormatCSV = "metrics-csv"

// A poll is a table of numbers over time: a column a figure, a row a moment.
type poll struct {
	path string
	in   *serving.Input
	rec  *recording

	columns []*pollColumn
	byName  map[string]*pollColumn
	roles   map[string]role // of members of JSON records
	heads   []serving.Field // columns that are no figures: the time, and whom a row is about
	rows    []pollRow
	cells   int
	full    bool
	clock   int64 // what days to add to times of day
	last    int64
}

type pollRow struct {
	when   int64
	kind   timeKind
	labels labels.Labels
}

type pollColumn struct {
	name    string
	rows    []int32
	values  []float64
	suffix  string // unit behind the numbers
	mixed   bool   // numbers carry several units
	nonNums int
}

// timeKind is how a moment is written.
type timeKind uint8

const (
	noTime timeKind = iota
	epochTime
	localTime
	elapsedTime
	clockTime
)

// timeColumns are what columns of time are called, the best first.
var timeColumns = []string{"timestamp", "time", "datetime", "date_time", "ts", "observed_at", "scraped_at", "collected_at", "sampled_at", "timestamp_s", "timestamp_ms", "time_ms",
	"time_s", "unix_time", "epoch", "epoch_s", "wall_time", "date", "t", "elapsed", "elapsed_s", "elapsed_ms", "elapsed_sec", "elapsed_seconds", "relative_time", "seconds", "sec"}

// rowLabels are columns that say what a row is about.
var rowLabels = map[string]string{
	"model": "model", "model_name": "model_name", "pod": "pod", "instance": "instance", "replica": "replica", "host": "instance", "hostname": "instance",
	"engine_id": "engine", "dp_rank": "dp_rank", "gpu": "gpu", "gpu_id": "gpu", "gpu_index": "gpu", "index": "gpu",
}

// countColumns number the rows and are no figures.
var countColumns = []string{"sequence", "seq", "step", "row", "n", "i", "id", "sample", "iteration", "iter", "poll", "tick", "pid"}

func timeColumn(names []string) int {
	for _, want := range timeColumns {
		for i, n := range names {
			if plainName(n) == want {
				return i
			}
		}
	}
	return -1
}

// parseMoment reads a time; ms says that numbers are milliseconds.
func parseMoment(s string, ms bool) (ns int64, kind timeKind) {
	s = strings.TrimSpace(s)
	if t, ok := parseStamp(s); ok {
		if t.zoned {
			return t.nanos, epochTime
		}
		return t.nanos, localTime
	}
	if v, err := parseFloat([]byte(s)); err == nil && !math.IsNaN(v) && v >= 0 {
		switch {
		case v >= 1e9 && v < 4e9 && !ms:
			return secondsToNanos(v), epochTime
		case v >= 1e12 && v < 4e12:
			return int64(math.Round(v)) * 1e6, epochTime
		case ms && v < 1e12:
			return int64(math.Round(v * 1e6)), elapsedTime
		case v < 1e9:
			return secondsToNanos(v), elapsedTime
		}
		return 0, noTime
	}
	for _, l := range [...]string{"2006/01/02 15:04:05", "2006-01-02 15:04", "01/02/2006 15:04:05", "2006-01-02 15:04:05.999"} {
		if t, err := time.Parse(l, s); err == nil {
			return t.UnixNano(), localTime
		}
	}
	if t, err := time.Parse("15:04:05.999999999", s); err == nil {
		return t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)).Nanoseconds(), clockTime
	}
	return 0, noTime
}

func newPoll(path string, in *serving.Input) *poll {
	return &poll{path: path, in: in, byName: map[string]*pollColumn{}, roles: map[string]role{}, rec: newRecording(path, in, FormatCSV)}
}

// A role is what the name of a member makes of it beside a figure.
type role struct {
	label string
	time  bool
}

func (p *poll) role(name string) role {
	r, ok := p.roles[name]
	if !ok {
		r = role{rowLabels[plainName(name)], timeColumn([]string{name}) == 0}
		if len(p.roles) < maxColumns {
			p.roles[name] = r
		}
	}
	return r
}

// head lists a column that is no figure, once.
func (p *poll) head(name, as, unit string) {
	if len(p.heads) < 16 && !slices.ContainsFunc(p.heads, func(f serving.Field) bool { return f.Name == name }) {
		p.heads = append(p.heads, serving.Field{Name: name, As: as, Unit: unit, How: "name"})
	}
}

// timeUnit is how the times of the table are written.
func (p *poll) timeUnit(ms bool) string {
	if len(p.rows) == 0 {
		return ""
	}
	switch k := p.rows[0].kind; {
	case k == elapsedTime && ms:
		return "ms since the start"
	case k == elapsedTime:
		return "s since the start"
	case k == clockTime:
		return "time of day"
	case k == localTime:
		return "date and time, taken as UTC"
	}
	return "date and time"
}

// maxColumns bounds a table's width.
const maxColumns = 2_000

func (p *poll) column(name string) *pollColumn {
	c := p.byName[name]
	if c == nil && len(p.columns) < maxColumns {
		c = &pollColumn{name: name}
		p.byName[name] = c
		p.columns = append(p.columns, c)
	}
	return c
}

// row begins a row; false where its time cannot be read.
func (p *poll) row(moment string, ms bool, at serving.Pos, ls labels.Labels) bool {
	ns, kind := parseMoment(moment, ms)
	switch {
	case kind == noTime:
		p.in.Problems.AddKind("time", serving.Problem{At: at, Message: fmt.Sprintf("%q is no time; the row is left out", excerpt([]byte(moment)))})
		return false
	case len(p.rows) > 0 && (kind == elapsedTime || kind == clockTime) != (p.rows[0].kind == elapsedTime || p.rows[0].kind == clockTime):
		p.in.Problems.AddKind("clock", serving.Problem{At: at, Message: fmt.Sprintf("the time %q is of another kind than the first one; the row is left out", excerpt([]byte(moment)))})
		return false
	case len(p.rows) >= maxRecorded/4:
		p.full = true
		return false
	}
	if kind == clockTime { // after midnight the day begins anew
		ns += p.clock
		if ns < p.last-int64(12*time.Hour) {
			ns, p.clock = ns+int64(24*time.Hour), p.clock+int64(24*time.Hour)
		}
		p.last = ns
	}
	p.rows = append(p.rows, pollRow{ns, kind, ls})
	p.rec.local = p.rec.local || kind == localTime
	p.rec.elapsed = kind == elapsedTime || kind == clockTime
	return true
}

func (p *poll) cell(column, text string) {
	c := p.column(column)
	if c == nil || isBlankCell(text) {
		return
	}
	q, ok := parseQuantity(text)
	if !ok {
		c.nonNums++
		return
	}
	p.number(c, q)
}

func (p *poll) number(c *pollColumn, q quantity) {
	if p.cells >= maxRecorded {
		p.full = true
		return
	}
	p.cells++
	switch {
	case len(c.values) == 0:
		c.suffix = q.suffix
	case c.suffix != q.suffix && !c.mixed:
		// Grafana writes 900 ms and then 1.2 s: from here on in base units.
		c.mixed = true
		u, known := suffixes[c.suffix]
		for i := range c.values {
			if known {
				c.values[i] *= u.scale
			}
		}
	}
	v := q.value
	if c.mixed {
		if u, known := suffixes[q.suffix]; known {
			if v *= u.scale; c.suffix == "" {
				c.suffix = q.suffix
			}
		}
	}
	c.rows, c.values = append(c.rows, int32(len(p.rows)-1)), append(c.values, v)
}

// finish gives each column its meaning and returns the scrapes.
func (p *poll) finish() ([]*Scrape, error) {
	if p.full {
		p.in.Problems.Add(serving.Problem{At: serving.Pos{Path: p.path}, Message: "there are more numbers than fit into memory; those that come last are left out"})
	}
	rows := map[string]*row{}
	hows := slices.Clone(p.heads)
	for _, c := range p.columns {
		if f := p.use(c, rows); f.Name != "" {
			hows = append(hows, f)
		}
	}
	p.rec.dropOwn()
	scrapes, err := p.rec.finish("rows with a time and numbers")
	if err != nil {
		return nil, err
	}
	p.in.Records = int64(len(p.rows))
	shown := map[string]bool{}
	used := 0
	for _, t := range p.rec.order {
		shown[t.row.name] = true
	}
	for i := range hows {
		if f := &hows[i]; f.How == ownHow && !shown[f.Name] {
			f.As, f.Unit, f.How = "", "", fmt.Sprintf("one of more than %d columns without a meaning", maxOwn)
		}
		if hows[i].As != "" {
			used++
		}
	}
	p.in.Fields = hows
	p.in.Note = fmt.Sprintf("%d of %d columns are used", used, len(p.columns)+len(p.heads))
	return scrapes, nil
}

const ownHow = "its own name"

// use finds what a column is and records its numbers.
func (p *poll) use(c *pollColumn, rows map[string]*row) serving.Field {
	if len(c.values) == 0 || c.nonNums > len(c.values) {
		if len(c.values)+c.nonNums == 0 {
			return serving.Field{Name: c.name, How: "empty"}
		}
		return serving.Field{Name: c.name, How: "no numbers"}
	}
	suffix, hasSuffix := suffixes[c.suffix]
	if c.mixed {
		suffix.scale = 1 // they are in base units already
	}
	if name, ls, ok := exporterSeries(c.name); ok {
		if s, err := newSeries(name, ls); err == nil && s != nil && (s.row.kind != counter || rises(c.values)) {
			scale, how := 1.0, "dialect"
			switch {
			case s.row.unit == serving.Share && s.row.scale == 0 && (hasSuffix && suffix.percent || s.row.max == 0 && percentLooking(c.values)):
				scale, how = 0.01, "percent, since values exceed 1"
			case hasSuffix && suffix.unit == s.row.unit && s.row.scale == 0:
				scale, how = suffix.scale, "unit behind the numbers"
			}
			p.record(c, name, scale, func(l labels.Labels) *series { s, _ := newSeries(name, l); return s }, ls)
			return serving.Field{Name: c.name, As: s.row.as, Unit: unitName(s.row.unit), How: how}
		}
	}
	f, u, hasUnit := figureOf(c.name)
	if hasSuffix {
		u, hasUnit = suffix, true
		if f != nil && suffix.unit != f.unit && suffix.unit != serving.NoUnit {
			f = nil
		}
	}
	if f != nil && (!f.exact || hasUnit) && (f.kind != counter || rises(c.values)) {
		scale, how := 1.0, "name"
		if hasUnit {
			scale, how = u.scale, "suffix"
		}
		if f.unit == serving.Share && !u.percent && percentLooking(c.values) {
			scale, how = 0.01, "percent, since values exceed 1"
		}
		key := "\x00figure " + string(f.as) + "\x00" + c.name
		r := rows[key]
		if r == nil {
			r = &row{name: c.name, kind: f.kind, as: string(f.as), unit: f.unit, host: true}
			if f.over != overNothing {
				r.over, r.by, r.dim = f.over, gpuLabels, "gpu"
			}
			rows[key] = r
		}
		p.record(c, c.name, scale, func(l labels.Labels) *series { return columnSeries(r, l) }, labels.EmptyLabels())
		return serving.Field{Name: c.name, As: r.as, Unit: unitName(r.unit), How: how}
	}
	if slices.Contains(countColumns, plainName(c.name)) {
		return serving.Field{Name: c.name, How: "it numbers the rows"}
	}
	unit, scale := serving.NoUnit, 1.0
	if hasUnit {
		unit, scale = u.unit, u.scale
	}
	p.record(c, c.name, scale, func(l labels.Labels) *series {
		s := ownGauge(rows, c.name, c.name, l, unit)
		s.row.spare = true
		return s
	}, labels.EmptyLabels())
	return serving.Field{Name: c.name, As: c.name, Unit: unitName(unit), How: ownHow}
}

// columnSeries is a figure by a poller's name, of the server the row names.
func columnSeries(r *row, ls labels.Labels) *series {
	s := &series{row: r, family: r.name, bound: nan}
	for _, l := range r.by {
		if ls.Has(l) {
			s.by, s.byLabel = ls.Get(l), l
			break
		}
	}
	s.id.model, s.id.rank, s.id.replica = s.key(ls, modelLabels), s.key(ls, rankLabels), s.key(ls, replicaLabels)
	s.selector = nil // a table has no query
	return s
}

// percentLooking reports shares that can only be percentages.
func percentLooking(values []float64) bool {
	most := 0.0
	for _, v := range values {
		if v > 100 || v < -1 {
			return false
		}
		most = max(most, v)
	}
	return most > 1.5
}

// record puts a column's numbers into the recording, a series for each set of
// labels its rows have.
func (p *poll) record(c *pollColumn, name string, scale float64, make func(labels.Labels) *series, own labels.Labels) {
	var last *recorded
	lastRow := -1
	for i, at := range c.rows {
		row := &p.rows[at]
		if last == nil || !labels.Equal(p.rows[lastRow].labels, row.labels) {
			ls := row.labels
			own.Range(func(l labels.Label) {
				b := labels.NewBuilder(ls)
				b.Set(l.Name, l.Value)
				ls = b.Labels()
			})
			text := name + "\x00" + c.name + "\x00" + ls.String()
			if last = p.rec.series[text]; last == nil {
				last = p.rec.add(text, name, make(ls), ls)
			}
			lastRow = int(at)
		}
		p.rec.put(last, row.when, c.values[i]*scale)
	}
}

// SniffCSV reports whether a table of text is one of gauges over time: a column
// of time, and columns that pollers or exporters have names for, or the form of
// Grafana's export.
func SniffCSV(head []byte) (ok bool, why string) {
	t, err := openTable("", strings.NewReader(string(head)))
	if err != nil {
		return false, "no line of column names"
	}
	at := timeColumn(t.header)
	if at < 0 {
		return false, "no column of time among the column names"
	}
	rows, good := 0, 0
	for rows < 50 {
		rec, _, err := t.csv.Read()
		if err != nil {
			break
		}
		rows++
		if len(rec) != len(t.header) {
			continue
		}
		_, kind := parseMoment(rec[at], false)
		numbers, texts := 0, 0
		for i, c := range rec {
			if _, isNum := parseQuantity(c); i != at && isNum {
				numbers++
			} else if i != at && !isBlankCell(c) {
				texts++
			}
		}
		if kind != noTime && numbers > 0 {
			good++
		}
	}
	if good == 0 || 2*good < rows-1 {
		return false, "rows are no time with numbers"
	}
	return knownColumns(t.header, at)
}

// requestColumns are names that only a table of requests has.
var requestColumns = []string{"request_id", "req_id", "arrival_time", "arrived_at", "input_length", "output_length", "prompt_len", "output_len", "num_prefill_tokens", "num_decode_tokens",
	"input_tokens", "output_tokens", "contexttokens", "generatedtokens", "request_tokens", "response_tokens", "hash_ids", "session_id", "ttft", "ttft_ms", "e2e_ms"}

// knownColumns says whether columns beside that of time are gauges'.
func knownColumns(names []string, at int) (ok bool, why string) {
	known, request, series := 0, 0, 0
	for i, n := range names {
		if i == at {
			continue
		}
		if slices.Contains(requestColumns, plainName(n)) {
			request++
		}
		if name, _, ok := exporterSeries(n); ok && (strings.ContainsAny(n, ":{") || isGaugeName(name)) {
			known++
		} else if f, _, _ := figureOf(n); f != nil {
			known++
		} else if strings.HasSuffix(n, "}") {
			series++
		}
	}
	switch {
	case known > request:
		return true, ""
	case request == 0 && len(names) > 1 && (strings.TrimSpace(names[at]) == "Time" && at == 0 || series > 0):
		return true, ""
	}
	return false, "no column is named like a gauge of a server"
}

func isGaugeName(name string) bool {
	m, ok := meaningOf(name)
	return ok && m.row.kind == gauge
}

// A table is text in columns below a line of names.
type table struct {
	csv    *csvtext.Reader
	header []string
	above  []string // lines of something else that were skipped
}

func openTable(path string, r io.Reader) (*table, error) {
	b := newPeeker(r)
	first, err := b.firstLine()
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(first, "sep="); ok && len(strings.TrimSpace(rest)) == 1 { // Grafana, for Excel
		b.skipLine()
		if first, err = b.firstLine(); err != nil {
			return nil, err
		}
	}
	above := b.prelude()
	for range above {
		b.skipLine()
	}
	if len(above) > 0 {
		if first, err = b.firstLine(); err != nil {
			return nil, err
		}
	}
	c := csvtext.NewReader(path, b, csvtext.Form{Comma: separator(first), Lazy: true, Trim: true, Above: b.lines})
	header, _, err := c.Read()
	if err != nil {
		return nil, err
	}
	t := &table{csv: c, above: above}
	for _, h := range header {
		t.header = append(t.header, strings.TrimSpace(h))
	}
	if len(t.header) < 2 {
		return nil, errors.New("a single column")
	}
	return t, nil
}

// separator is what a line of column names is separated by.
func separator(line string) rune {
	comma := ','
	for _, sep := range []rune{';', '\t'} {
		if strings.Count(line, string(sep)) > strings.Count(line, string(comma)) {
			comma = sep
		}
	}
	return comma
}

// DecodeCSV reads a table of gauges over time into scrapes for Assemble.
func DecodeCSV(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*Scrape, error) {
	t, err := openTable(path, r)
	if err != nil {
		return nil, &serving.FormatError{At: serving.Pos{Path: path, Line: 1}, Format: FormatCSV, Found: "no line of column names", Want: "a column of time and columns of numbers"}
	}
	at := timeColumn(t.header)
	if at < 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path, Line: 1}, Format: FormatCSV, Found: "no column of time", Want: "one named time or timestamp"}
	}
	ms := strings.HasSuffix(plainName(t.header[at]), "_ms")
	p := newPoll(path, in)
	names := pollNames(p, t.header, at)
	_, err = t.csv.Each(ctx, &in.Problems, func(rec []string, pos serving.Pos) error {
		if len(rec) != len(t.header) {
			in.Problems.AddKind("width", serving.Problem{At: pos, Message: fmt.Sprintf("the row has %d columns, want %d; it is left out", len(rec), len(t.header))})
			return nil
		}
		ls := labels.NewScratchBuilder(2)
		for i, l := range names.labels {
			if l != "" && rec[i] != "" {
				ls.Add(l, strings.Clone(rec[i]))
			}
		}
		ls.Sort()
		if !p.row(rec[at], ms, pos, ls.Labels()) {
			return nil
		}
		p.head(t.header[at], "time", p.timeUnit(ms))
		for i, c := range rec {
			if i != at && names.labels[i] == "" {
				p.cell(t.header[i], c)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	scrapes, err := p.finish()
	if note := columns.PreludeNote(t.above); note != "" && err == nil {
		in.Note += "; " + note
	}
	return scrapes, err
}

// pollHeader says which columns name the server of a row.
type pollHeader struct{ labels []string }

func pollNames(p *poll, header []string, at int) pollHeader {
	h := pollHeader{labels: make([]string, len(header))}
	for i, n := range header {
		if l := rowLabels[plainName(n)]; i != at && l != "" && !slices.Contains(h.labels, l) {
			h.labels[i] = l
			p.head(n, l, "")
			continue
		}
		if i != at {
			p.column(n)
		}
	}
	return h
}

// SniffJSONPoll reports whether a JSON input is lines of gauges over time.
func SniffJSONPoll(head []byte) (ok bool, why string) {
	const enough = "the first record is read"
	r := jsonscan.NewReader("", strings.NewReader(string(head)))
	var names []string
	var times int
	stop := errors.New(enough)
	_, _, err := r.Records("", &serving.Problems{}, func(int) error {
		moment := ""
		if err := readPoll(r, func(name, text string, _ bool) {
			names = append(names, name)
			if timeColumn([]string{name}) == 0 && moment == "" {
				moment = text
			}
		}); err != nil {
			return err
		}
		if _, kind := parseMoment(moment, false); kind != noTime {
			times++
		}
		return stop
	})
	if !errors.Is(err, stop) {
		return false, "the first record could not be read"
	}
	at := timeColumn(names)
	if at < 0 || times == 0 {
		return false, "no member is a time"
	}
	return knownColumns(names, at)
}

// pollObjects are members in which pollers keep the figures of a moment.
var pollObjects = map[string]bool{"metrics": true, "gauges": true, "values": true, "data": true, "stats": true}

// readPoll hands out the scalars of a record, and of the objects its figures are in.
func readPoll(r *jsonscan.Reader, each func(name, text string, isNumber bool)) error {
	inside := false
	var member func(name string) error
	member = func(name string) error {
		if pollObjects[name] && !inside && r.Peek() == '{' {
			inside = true
			_, err := r.Object(member)
			inside = false
			return err
		}
		s, ok, err := r.Scalar(maxText)
		if ok && !s.IsNull() && s.Kind != 't' && s.Kind != 'f' {
			each(name, s.Text, s.Kind == '0')
		}
		return err
	}
	ok, err := r.Object(member)
	if err == nil && !ok {
		each("", "", false)
	}
	return err
}

// DecodeJSONPoll reads lines of gauges over time into scrapes for Assemble.
func DecodeJSONPoll(ctx context.Context, path string, rd io.Reader, in *serving.Input) ([]*Scrape, error) {
	r := jsonscan.NewReader(path, rd)
	p := newPoll(path, in)
	type cell struct{ name, text string }
	var cells []cell
	var names []string
	_, _, err := r.Records(FormatCSV, &in.Problems, func(i int) error {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at := serving.Pos{Path: path, Line: r.NextLine()}
		cells, names = cells[:0], names[:0]
		ls := labels.NewBuilder(labels.EmptyLabels())
		if err := readPoll(r, func(name, text string, isNumber bool) {
			role := p.role(name)
			if role.label != "" {
				p.head(name, role.label, "")
				ls.Set(role.label, text)
				return
			}
			if !role.time && !isNumber {
				if _, isNum := parseQuantity(text); !isNum {
					return
				}
			}
			cells, names = append(cells, cell{name, text}), append(names, name)
		}); err != nil {
			return err
		}
		moment := timeColumn(names)
		if moment < 0 {
			in.Problems.AddKind("moment", serving.Problem{At: at, Message: "the record has no time; it is left out"})
			return nil
		}
		ms := strings.HasSuffix(plainName(names[moment]), "_ms")
		if !p.row(cells[moment].text, ms, at, ls.Labels()) {
			return nil
		}
		p.head(names[moment], "time", p.timeUnit(ms))
		for i, c := range cells {
			if i != moment {
				p.cell(c.name, c.text)
			}
		}
		return nil
	})
	if err != nil {
		return nil, r.Describe(err, FormatCSV)
	}
	return p.finish()
}
