package trtllm

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/serving"
)

// The titles of a report's sections: "= PERFORMANCE OVERVIEW". "STATISTICS" is
// what versions up to 0.12 call it.
var titles = map[string]bool{
	"ENGINE DETAILS": true, "PYTORCH BACKEND": true, "AUTODEPLOY BACKEND": true, "WORLD + RUNTIME INFORMATION": true, "REQUEST DETAILS": true,
	"PERFORMANCE OVERVIEW": true, "STREAMING STATISTICS": true, "STATISTICS": true, "DATASET DETAILS": true, "PERFORMANCE STATISTICS": true,
}

const maxLine = 64 << 10

// SniffText says whether the beginning of a text is of a trtllm-bench run: a
// report, or the log lines with which the benchmark starts, since a report comes
// last.
func SniffText(head []byte) bool {
	bench := false
	for raw := range bytes.Lines(head) {
		line := string(bytes.TrimSpace(raw))
		if t, ok := title(line); ok && (t == "PERFORMANCE OVERVIEW" || t == "WORLD + RUNTIME INFORMATION") {
			return true
		}
		if i := strings.Index(line, "[TRT-LLM] [I] "); i >= 0 {
			rest := line[i+len("[TRT-LLM] [I] "):]
			bench = bench || strings.HasPrefix(rest, "Preparing to run throughput benchmark") || strings.HasPrefix(rest, "Preparing to run latency benchmark") ||
				strings.Contains(rest, "Initializing Throughput Benchmark")
		}
	}
	return bench
}

// title returns the title of a section.
func title(line string) (string, bool) {
	t, ok := strings.CutPrefix(line, "= ")
	t = strings.TrimSpace(t)
	if i := strings.IndexByte(t, '('); i > 0 && strings.HasPrefix(t, "DECODING STATISTICS") {
		return "DECODING STATISTICS", ok
	}
	return t, ok && titles[t]
}

// A textReport is one report in the making.
type textReport struct {
	line     int // of its first title
	order    []string
	values   map[string]string // labels in lower case
	blocks   []serving.Reported
	section  string
	measured bool // it has a section of figures
	mode     string
	rate     string // as the log before it announces
}

var (
	// Key:<tabs>value
	labelled = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9 /+()\[\]\-_.]*?)(?: \(lower is better\))?:\s+(\S.*?)\s*$`)
	// [TTFT] P50    : 12.3456
	tagged = regexp.MustCompile(`^\[([A-Za-z]+)\]\s+([A-Za-z0-9]+)\s*:\s*(-?[0-9.]+(?:[eE][+-]?\d+)?)$`)
	// [07/11/2025-08:06:58] [TRT-LLM] [I] Initializing Throughput Benchmark. [rate=-1 req/s]
	announcedRate = regexp.MustCompile(`\[rate=(-?[0-9.]+) req/s\]`)
	decodingTitle = regexp.MustCompile(`^= DECODING STATISTICS \(([^)]{1,64})\)`)
)

// DecodeText reads the reports between the log lines of a trtllm-bench run, a
// run each.
//
// It fills in Records, Fields and Problems of the input. Figures are as printed,
// with four decimals.
func DecodeText(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &textDecoder{path: path, in: in, fields: flat.Fields{In: in}}
	br := bufio.NewReaderSize(r, maxLine)
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		raw, err := br.ReadSlice('\n')
		for skip := err; skip == bufio.ErrBufferFull; { // the rest of a long line is no report's
			_, skip = br.ReadSlice('\n')
			err = skip
		}
		if len(raw) > 0 {
			d.no++
			d.take(strings.TrimSpace(string(raw)))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			in.Problems.Add(serving.Problem{At: serving.Pos{Path: path, Line: d.no}, Message: "reading fails: " + err.Error() + "; what stands before it is kept"})
			break
		}
	}
	d.finish()
	in.Records = int64(len(d.runs))
	if len(d.runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: "a trtllm-bench log without a report", Want: "its \"= PERFORMANCE OVERVIEW\" block",
			Remedy: "the benchmark may have failed: look at the end of the log"}
	}
	if len(d.runs) == 1 {
		d.runs[0].Source.Line = 0
	}
	return d.runs, nil
}

type textDecoder struct {
	path   string
	in     *serving.Input
	fields flat.Fields
	no     int
	cur    *textReport
	rate   string // announced since the last report
	runs   []*serving.Run
}

// take reads one line.
func (d *textDecoder) take(line string) {
	if t, ok := title(line); ok {
		d.section(t, line)
		return
	}
	if m := announcedRate.FindStringSubmatch(line); m != nil && strings.Contains(line, "Benchmark") {
		d.finish()
		d.rate = m[1]
		return
	}
	if d.cur == nil || strings.HasPrefix(line, "[TensorRT-LLM]") || strings.Contains(line, "[TRT-LLM]") {
		return
	}
	if m := tagged.FindStringSubmatch(line); m != nil {
		d.percentile(m)
		return
	}
	if m := labelled.FindStringSubmatch(line); m != nil {
		d.value(m[1], m[2])
	}
}

// section starts a section, and a report where the old one has it already.
func (d *textDecoder) section(t, line string) {
	first := t == "ENGINE DETAILS" || t == "PYTORCH BACKEND" || t == "AUTODEPLOY BACKEND"
	again := d.cur != nil && (t == "PERFORMANCE OVERVIEW" || t == "STATISTICS" || t == "WORLD + RUNTIME INFORMATION" || t == "REQUEST DETAILS") && strings.Contains(d.cur.section, "|"+t+"|")
	if d.cur == nil || first || again {
		d.finish()
		d.cur = &textReport{line: d.no, values: map[string]string{}, rate: d.rate, section: "|"}
		d.rate = ""
	}
	d.cur.section += t + "|"
	if t == "PERFORMANCE OVERVIEW" || t == "STATISTICS" {
		d.cur.measured = true
	}
	if m := decodingTitle.FindStringSubmatch(line); m != nil {
		d.cur.mode = m[1]
	}
}

// maxFigures bounds a report.
const maxFigures = 500

func (d *textDecoder) percentile(m []string) {
	tag, c := strings.ToLower(m[1]), d.cur
	f, ok := printedBlocks[tag]
	stat, named := statName(m[2])
	v, err := strconv.ParseFloat(m[3], 64)
	if !ok || !named || err != nil || v-v != 0 || len(c.blocks) >= maxFigures {
		return
	}
	field := "[" + m[1] + "] " + m[2]
	d.fields.Add(serving.Field{Name: field, As: string(f.metric), Unit: f.unit, How: "dialect"})
	c.blocks = append(c.blocks, serving.Reported{Field: field, Metric: f.metric, Stat: stat, File: v, PerBase: f.per})
}

func (d *textDecoder) value(label, text string) {
	key, c := strings.ToLower(strings.TrimSpace(label)), d.cur
	if len(c.order) >= maxFigures || len(text) > 1024 || strings.HasSuffix(c.section, "|DATASET DETAILS|") && key != "dataset path" {
		return
	}
	if _, again := c.values[key]; again {
		return
	}
	f := serving.Field{Name: label, How: "dialect"}
	switch fig, ok := printedFigures[key]; {
	case ok:
		f.As, f.Unit = string(fig.metric), fig.unit
	case settingNames[key] != "":
		f.As = "setting"
	default:
		f.As = printedHeader[key]
	}
	if f.As == "" {
		return // a log line that looks like one of ours, or a figure of no use
	}
	d.fields.Add(f)
	c.order, c.values[key] = append(c.order, key), text
}

var printedHeader = map[string]string{
	"model": "model", "tensorrt-llm version": "version", "tensorrt llm version": "version", "number of requests": "completed",
	"total latency (ms)": "duration", "total latency (seconds)": "duration", "dataset path": "workload",
	"issue rate (req/sec)": "load",
}

// finish turns the current report into a run, if it has figures.
func (d *textDecoder) finish() {
	c := d.cur
	d.cur = nil
	if c == nil || !c.measured {
		return
	}
	at := serving.Pos{Path: d.path, Line: c.line}
	if _, ok := c.number("number of requests"); !ok && len(c.order)+len(c.blocks) == 0 {
		d.in.Problems.AddKind("empty report", serving.Problem{At: at, Message: "a report without a figure that can be read: left out"})
		return
	}
	d.runs = append(d.runs, c.run(at, d.path))
}

// number reads a printed number; a percentage is not one.
func (c *textReport) number(key string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(c.values[key], ",", ""), 64)
	return v, err == nil && v-v == 0
}

func (c *textReport) text(keys ...string) serving.Opt[string] {
	for _, k := range keys {
		if v := c.values[k]; v != "" && v != "None" {
			return serving.Some(v)
		}
	}
	return serving.None[string]()
}

func (c *textReport) count(key string) serving.Opt[int64] {
	if v, ok := c.number(key); ok && v >= 0 && v < 1<<53 && v == float64(int64(v)) {
		return serving.Some(int64(v))
	}
	return serving.None[int64]()
}

func (c *textReport) run(at serving.Pos, file string) *serving.Run {
	r := &serving.Run{Source: at, Format: Format, Label: baseLabel(file), Engine: serving.Some("tensorrt-llm"),
		Version: c.text("tensorrt-llm version", "tensorrt llm version"), Model: c.text("model"), Notes: []string{inProcess}}
	if p := c.text("dataset path"); p.OK {
		r.Workload = serving.Some(baseLabel(path.Base(p.V)))
	}
	c.settings(r)
	if tp := c.count("tp size"); tp.V >= 1 && tp.V <= 1<<16 {
		pp := max(c.count("pp size").Or(1), 1)
		r.GPUs = serving.Some(int(tp.V * min(pp, 1<<16)))
	}
	completed(r, c.count("number of requests"))
	if v, ok := c.number("total latency (ms)"); ok && v > 0 {
		r.Duration = serving.Some(v / 1000)
	} else if v, ok := c.number("total latency (seconds)"); ok && v > 0 {
		r.Duration = serving.Some(v)
	}
	// Printed means have four decimals, which is half a token of ten thousand
	// requests; what it leaves open is far below what is shown.
	in, _ := c.number("average input length (tokens)")
	out, _ := c.number("average output length (tokens)")
	r.Input, r.Output = sum(in, r.Completed, 1e-5), sum(out, r.Completed, 1e-5)
	var all []serving.Reported
	for _, key := range c.order {
		f, ok := printedFigures[key]
		v, is := c.number(key)
		if ok && is {
			all = append(all, serving.Reported{Field: key, Metric: f.metric, Stat: f.stat, File: v, PerBase: f.per})
		}
	}
	addReported(r, append(all, c.blocks...))
	issue, _ := c.number("issue rate (req/sec)")
	announced := serving.None[float64]()
	if v, err := strconv.ParseFloat(c.rate, 64); err == nil && v-v == 0 {
		announced = serving.Some(v)
	}
	setLoad(r, issue, announced)
	return r
}

func (c *textReport) settings(r *serving.Run) {
	for _, key := range c.order {
		if name := settingNames[key]; name != "" {
			v := c.values[key]
			if p, ok := strings.CutSuffix(v, "%"); ok { // 90.00% is 0.9 in the JSON
				if f, err := strconv.ParseFloat(p, 64); err == nil {
					v = strconv.FormatFloat(f/100, 'g', 6, 64)
				}
			}
			if v != "None" {
				r.Settings = append(r.Settings, serving.Setting{Key: name, Value: v})
			}
		}
	}
	if c.mode != "" {
		r.Settings = append(r.Settings, serving.Setting{Key: "decoding_mode", Value: c.mode})
	}
}
