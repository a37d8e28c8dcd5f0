package vllm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// FormatConsole is the format name of the printed result table.
const FormatConsole = "vllm-console"

// maxConsole bounds a text that tables are looked for in. Logs of a day are
// tens of megabytes; what is longer is read up to here.
const maxConsole = 256 << 20

// title is the head of the table. SGLang prints the same words.
var title = []byte("Serving Benchmark Result")

// A printed line is a label, a colon and a value. People paste tables with log
// prefixes before them, with colours, with the cells of a Markdown table around
// them, and with all newlines lost, so a label is found wherever it stands.
var line = regexp.MustCompile(`(?i)(?:^|[^a-z])(` + strings.Join([]string{
	`successful requests`, `failed requests`, `maximum request concurrency`, `request rate configured \(rps\)`, `benchmark duration \(s\)`,
	`total input tokens`, `total generated tokens`, `request throughput \(req/s\)`, `request goodput \(req/s\)`,
	`peak output token throughput \(tok/s\)`, `output token throughput \(tok/s\)`, `input token throughput \(tok/s\)`,
	`peak concurrent requests`, `total token throughput \(tok/s\)`, `rtfx \(inverse real-time factor\)`,
	`acceptance rate \(%\)`, `acceptance length`, `drafts`, `draft tokens`, `accepted tokens`, `position \d{1,3}`,
	`total input sequences`, `input sequence throughput \(seq/s\)`, `unstreamed requests \(untimed\)`,
	`(?:mean|median|std|min|max|p\d{1,2}(?:\.\d+)?|p100) (?:ttft|tpot|itl|e2el)(?: \(ms\))?`,
}, "|") + `)[*` + "`" + `]*\s*[:|│][\s*` + "`" + `|│:]*(-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?\d+)?|nan|-?inf|none)`)

// sglangTable matches what only SGLang's table has.
var sglangTable = regexp.MustCompile(`(?i)retokenized|E2E Latency \(ms\)|Max request concurrency:|Max ITL \(ms\)`)

// rule is the line that closes a table.
var rule = regexp.MustCompile(`={20,}`)

// SniffConsole says whether a text holds a printed result table of vLLM.
func SniffConsole(head []byte) bool {
	for _, b := range blocks(head) {
		if b.isVLLM(head) {
			return true
		}
	}
	return false
}

// A block is one table in a text: the text before it since the last one, and
// the table behind its title.
type block struct{ before, start, end int }

func (b block) isVLLM(text []byte) bool {
	table := text[b.start:b.end]
	return line.Match(table) && !sglangTable.Match(table)
}

// maxBlock bounds a table: forty lines of fifty characters, log prefixes aside.
const maxBlock = 16 << 10

// blocks finds the tables of a text.
func blocks(text []byte) []block {
	var out []block
	for at := 0; ; {
		i := bytes.Index(text[at:], title)
		if i < 0 {
			return out
		}
		b := block{before: at, start: at + i + len(title)}
		b.end = tableEnd(text, b.start)
		out = append(out, b)
		at = b.end
	}
}

// tableEnd finds where a table ends: at the rule that closes it, before the
// next title, at the latest a few kilobytes on.
func tableEnd(text []byte, start int) int {
	end := min(len(text), start+maxBlock)
	table := text[start:end]
	if i := bytes.Index(table, title); i >= 0 {
		table = table[:i]
	}
	// The title's own line ends in a rule.
	own := 0
	if m := rule.FindIndex(table); m != nil && len(bytes.TrimSpace(table[:m[0]])) == 0 {
		own = m[1]
	}
	if m := rule.FindIndex(table[own:]); m != nil {
		return start + own + m[0]
	}
	return start + len(table)
}

// DecodeConsole reads the printed result tables of a text, a run each.
//
// It fills in Records, Fields and Problems of the input. Figures are as printed,
// with two decimals.
func DecodeConsole(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConsole+1))
	if err != nil && len(text) == 0 {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: path}, Message: "reading fails: " + err.Error() + "; what stands before it is kept"})
	}
	if len(text) > maxConsole {
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: path}, Message: "only the first 256 MiB are looked through for result tables"})
	}
	d := &consoleDecoder{path: path, text: text, in: in, seen: map[string]bool{}}
	for _, b := range blocks(text) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.block(b)
	}
	in.Records = int64(len(d.runs))
	if len(d.runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatConsole, Found: "no result table",
			Want: "the \"Serving Benchmark Result\" that vllm bench serve prints"}
	}
	return d.runs, nil
}

type consoleDecoder struct {
	path string
	text []byte
	in   *serving.Input
	seen map[string]bool
	runs []*serving.Run
	line int // line of lined
	from int // offset up to which lines are counted
}

// lineOf returns the line of an offset; offsets must not descend.
func (d *consoleDecoder) lineOf(at int) int {
	d.line += bytes.Count(d.text[d.from:at], []byte("\n"))
	d.from = at
	return d.line + 1
}

// ansi matches colour codes and tmux leftovers of a terminal.
var ansi = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

func (d *consoleDecoder) block(b block) {
	at := serving.Pos{Path: d.path, Line: d.lineOf(b.start)}
	table := ansi.ReplaceAllString(string(d.text[b.start:b.end]), "")
	if sglangTable.MatchString(table) {
		d.in.Problems.Add(serving.Problem{At: at, Message: "the table is one of SGLang's bench_serving: left out; give its JSONL file instead"})
		return
	}
	t := &printed{values: map[string]float64{}}
	for _, m := range line.FindAllStringSubmatch(table, -1) {
		t.add(strings.ToLower(strings.Join(strings.Fields(m[1]), " ")), m[2])
		d.field(m[1])
	}
	if !t.has("request throughput (req/s)") && len(t.order) < 3 {
		d.in.Problems.Add(serving.Problem{At: at, Message: "the table is cut or empty: no figure in it, want lines such as \"Request throughput (req/s): 11.57\"; left out"})
		return
	}
	before := ansi.ReplaceAllString(string(d.text[max(b.before, b.start-maxPreamble):b.start]), "")
	d.runs = append(d.runs, t.run(at, baseLabel(d.path), parsePreamble(before)))
}

func (d *consoleDecoder) field(label string) {
	if d.seen[label] || len(d.in.Fields) >= maxFields {
		return
	}
	d.seen[label] = true
	f := serving.Field{Name: label, How: "dialect"}
	key := strings.ToLower(label)
	if p, ok := printedTotals[key]; ok {
		f.As, f.Unit = string(p.metric), p.unit
	} else if m, _, ok := printedStat(key); ok {
		f.As, f.Unit = string(m), "ms"
	} else if as, ok := printedHeader[key]; ok {
		f.As = as
	}
	d.in.Fields = append(d.in.Fields, f)
}

// printed is one table as it stands.
type printed struct {
	order  []string // labels in lower case
	values map[string]float64
}

func (t *printed) add(label, value string) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(value, ",", ""), 64)
	if err != nil || v-v != 0 { // none, nan, inf
		return
	}
	if !t.has(label) {
		t.order = append(t.order, label)
	}
	t.values[label] = v
}

var printedTotals = map[string]total{
	"request throughput (req/s)":           {serving.RateRequests, "req/s", 1},
	"request goodput (req/s)":              {serving.GoodRequests, "req/s", 1},
	"output token throughput (tok/s)":      {serving.RateOutput, "tok/s", 1},
	"input token throughput (tok/s)":       {inputRate, "tok/s", 1},
	"input sequence throughput (seq/s)":    {sequenceRate, "1/s", 1},
	"peak output token throughput (tok/s)": {serving.PeakOutput, "chunks/s", 1},
	"peak concurrent requests":             {serving.PeakConcurrent, "requests", 1},
	"total token throughput (tok/s)":       {serving.RateTotal, "tok/s", 1},
	"total input tokens":                   {serving.TotalInputTokens, "tokens", 1},
	"total generated tokens":               {serving.TotalOutputTokens, "tokens", 1},
	"acceptance rate (%)":                  {serving.SpecAcceptanceRate, "%", 100},
	"acceptance length":                    {serving.SpecAcceptanceLen, "tokens", 1},
	"drafts":                               {specDrafts, "", 1},
	"draft tokens":                         {specDraftTokens, "tokens", 1},
	"accepted tokens":                      {specAccepted, "tokens", 1},
}

var printedHeader = map[string]string{
	"successful requests": "completed", "failed requests": "failed", "maximum request concurrency": "max_concurrency",
	"request rate configured (rps)": "request_rate", "benchmark duration (s)": "duration",
}

// printedStat takes a label such as "p99 ttft (ms)" apart.
func printedStat(label string) (serving.MetricKey, string, bool) {
	word, metric, ok := strings.Cut(strings.TrimSuffix(label, " (ms)"), " ")
	m := statMetrics[metric]
	if !ok || m == "" {
		return "", "", false
	}
	stat, ok := serving.StatName(word)
	return m, stat, ok
}

func (t *printed) has(label string) bool {
	_, ok := t.values[label]
	return ok
}

// count reads a label as a count.
func (t *printed) count(label string) serving.Opt[int64] {
	if v, ok := t.values[label]; ok && v >= 0 && v < 1<<53 {
		return serving.Some(int64(v))
	}
	return serving.None[int64]()
}

// run turns a table and what stood before it into a run.
func (t *printed) run(at serving.Pos, label string, p preamble) *serving.Run {
	r := &serving.Run{
		Source: at, Format: FormatConsole, Label: label,
		Backend: p.text("backend", "endpoint_type"), Model: p.text("model", "model_id"), Tokenizer: p.text("tokenizer", "tokenizer_id"),
		Settings:  p.settings(),
		Completed: t.count("successful requests"), Failed: t.count("failed requests"),
		Input: t.count("total input tokens"), Output: t.count("total generated tokens"),
	}
	facts(r)
	if v := t.values["benchmark duration (s)"]; v > 0 {
		r.Duration = serving.Some(v)
	}
	switch prompts := p.number("num_prompts"); {
	case r.Completed.OK && r.Failed.OK:
		r.Sent = serving.Some(r.Completed.V + r.Failed.V)
	case r.Completed.OK && prompts.V < 1<<53 && int64(prompts.V) >= r.Completed.V && prompts.OK:
		r.Sent = serving.Some(int64(prompts.V))
		r.Failed = serving.Some(r.Sent.V - r.Completed.V)
	}
	t.load(r, p)
	t.reported(r)
	return r
}

// load reads the load from the table, else from what stood before it. The table
// names either limit only where there is one, and only in newer versions, which
// also count failed requests: there no rate means no limit. Of an older table
// without more nothing is known.
func (t *printed) load(r *serving.Run, p preamble) {
	conc := t.count("maximum request concurrency")
	if c := p.number("max_concurrency"); !conc.OK && c.V >= 1 && c.V < 1<<53 {
		conc = serving.Some(int64(c.V))
	}
	if conc.V < 1 {
		conc = serving.None[int64]()
	}
	rate, unlimited := serving.None[float64](), false
	if v := t.values["request rate configured (rps)"]; v > 0 {
		rate = serving.Some(v)
	} else if v := p.number("request_rate"); v.OK && v.V > 0 {
		rate = v
	} else if s := p.text("request_rate"); strings.EqualFold(s.V, "inf") || strings.EqualFold(s.V, "infinity") {
		unlimited = true
	} else if t.has("failed requests") {
		unlimited = true
	}
	if rate.OK && rate.V >= unlimitedFrom {
		rate, unlimited = serving.None[float64](), true
	}
	r.Load = serving.LoadOf(conc, rate, unlimited)
	r.Load.Burstiness = p.number("burstiness")
	if p.text("ramp_up_strategy").OK {
		rampUp(r)
	}
}

// reported lists the printed aggregates, as the JSON of the same run would.
func (t *printed) reported(r *serving.Run) {
	none := map[serving.MetricKey]bool{}
	for _, label := range t.order {
		if m, _, ok := printedStat(label); ok {
			zero, seen := none[m]
			none[m] = r.Completed == serving.Some(int64(0)) || t.values[label] == 0 && (zero || !seen)
		}
	}
	for _, label := range t.order {
		a := serving.Reported{Field: label, File: t.values[label], PerBase: 1000}
		if p, ok := printedTotals[label]; ok {
			a.Metric, a.PerBase = p.metric, p.per
		} else if m, stat, ok := printedStat(label); ok && !none[m] {
			a.Metric, a.Stat = m, stat
		} else if pos, ok := strings.CutPrefix(label, "position "); ok {
			a.Metric, a.Stat, a.PerBase = serving.SpecAcceptanceRate, "position "+pos, 100
		} else {
			continue
		}
		r.Reported = append(r.Reported, a)
	}
}
