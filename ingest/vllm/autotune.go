package vllm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// FormatAutotune is the format name of the result.txt that vLLM's
// benchmarks/auto_tune/auto_tune.sh writes: a line for each combination of
// max_num_seqs and max_num_batched_tokens.
const FormatAutotune = "vllm-autotune"

var (
	// max_num_seqs: 128, max_num_batched_tokens: 2048, request_rate: 10, e2el: 450.5, throughput: 9.8, goodput: 9.8
	tunedLine = regexp.MustCompile(`^max_num_seqs:\s*(\d+),\s*max_num_batched_tokens:\s*(\d+)(.*)$`)
	// max_num_seqs: 128, max_num_batched_tokens: 4096 does not meet latency requirement 500
	missedLine = regexp.MustCompile(`^\s*does not meet latency requirement\s*(\S*)`)
	bestLine   = regexp.MustCompile(`^best_max_num_seqs:\s*(\d+),\s*best_num_batched_tokens:\s*(\d+),\s*best_throughput:\s*([\d.]+)`)
	hashLine   = regexp.MustCompile(`^hash:\s*(\S*)`)
	tunedPair  = regexp.MustCompile(`([a-z_0-9]+):\s*([^,\s]+)`)
	// bm_log_128_2048_requestrate_10.txt
	tunedLog = regexp.MustCompile(`^bm_log_(\d+)_(\d+)_requestrate_(inf|\d+(?:\.\d+)?)(?:\.\w+)*$`)
)

// Keys of the two settings that auto_tune.sh varies.
const (
	keyMaxSeqs   = "max_num_seqs"
	keyMaxTokens = "max_num_batched_tokens"
)

// SniffAutotune says whether a text starts like auto_tune.sh's result.txt: with
// lines of its kinds and no others before the first combination.
func SniffAutotune(head []byte) (ok bool, why string) {
	text := string(head[:min(len(head), 64<<10)])
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case tunedLine.MatchString(line), bestLine.MatchString(line):
			return true, ""
		case line == "", strings.HasPrefix(line, "#"), hashLine.MatchString(line):
		default:
			return false, `the first line is neither "hash:…" nor "max_num_seqs: N, max_num_batched_tokens: N…"`
		}
	}
	return false, `no line "max_num_seqs: N, max_num_batched_tokens: N…"`
}

// DecodeAutotune reads auto_tune.sh's result.txt, a run each combination that
// kept the limit on the P99 E2E latency: the fastest of its runs that did. What
// kept it at no rate is told in Note, since nothing was measured that counts.
//
// It fills in Records (combinations), Fields, Note and Problems of the input.
func DecodeAutotune(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &tuneDecoder{path: path, in: in}
	in.Fields = append(in.Fields, tunedFields...)
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for sc.Scan() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.no++
		d.line(strings.TrimSpace(sc.Text()))
	}
	if err := sc.Err(); err != nil {
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: path, Line: d.no + 1}, Message: "reading ends here: " + err.Error()})
	}
	in.Records = int64(len(d.runs) + len(d.missed))
	in.Note = d.note()
	if in.Records == 0 && d.best == "" {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatAutotune, Found: "no combination",
			Want: "lines such as max_num_seqs: 128, max_num_batched_tokens: 2048, request_rate: 10, e2el: 450.5, throughput: 9.8, goodput: 9.8"}
	}
	for _, run := range d.runs {
		d.common(run)
	}
	return d.runs, nil
}

type tuneDecoder struct {
	path   string
	in     *serving.Input
	no     int
	runs   []*serving.Run
	missed []string // combinations over the limit at any rate
	limit  string   // of the P99 E2E, ms
	hash   string   // vLLM's commit
	best   string
}

func (d *tuneDecoder) line(s string) {
	at := serving.Pos{Path: d.path, Line: d.no}
	if m := tunedLine.FindStringSubmatch(s); m != nil {
		if over := missedLine.FindStringSubmatch(m[3]); over != nil {
			d.missed = append(d.missed, m[1]+" × "+m[2])
			d.limit = over[1]
			return
		}
		d.combination(at, m[1], m[2], m[3])
		return
	}
	if m := bestLine.FindStringSubmatch(s); m != nil {
		d.best = fmt.Sprintf("the tuner's choice is %s %s × %s %s with %s requests/s", keyMaxSeqs, m[1], keyMaxTokens, m[2], m[3])
		if m[1] == "0" {
			d.best = "the tuner found no combination"
		}
		return
	}
	if m := hashLine.FindStringSubmatch(s); m != nil {
		d.hash = m[1]
		return
	}
	if s != "" && !strings.HasPrefix(s, "#") {
		d.in.Problems.AddKind("line", serving.Problem{At: at, Message: fmt.Sprintf("%q is no line of auto_tune.sh: left out", jsonscan.Cut(s, 80))})
	}
}

// combination makes a run of a line that has figures. grep found none where the
// benchmark printed none, and the line then has empty places.
func (d *tuneDecoder) combination(at serving.Pos, seqs, tokens, rest string) {
	r := &serving.Run{Source: at, Format: FormatAutotune, Label: fmt.Sprintf("%s %s × %s", baseLabel(d.path), seqs, tokens),
		Settings: []serving.Setting{{Key: keyMaxSeqs, Value: seqs}, {Key: keyMaxTokens, Value: tokens}}}
	unlimited, rate := false, serving.None[float64]()
	for _, p := range tunedPair.FindAllStringSubmatch(rest, -1) {
		v, err := strconv.ParseFloat(p[2], 64)
		if p[1] == "request_rate" && p[2] == "inf" {
			unlimited = true
			continue
		}
		if err != nil || v < 0 || v-v != 0 {
			d.in.Problems.AddKind("figure", serving.Problem{At: serving.Pos{Path: d.path, Line: d.no, Field: p[1]}, Message: fmt.Sprintf("%q is no number: left out", p[2])})
			continue
		}
		switch p[1] {
		case "request_rate":
			rate = serving.Some(v)
		case "e2el":
			r.Reported = append(r.Reported, serving.Reported{Field: p[1], Metric: serving.E2E, Stat: "p99", File: v, PerBase: 1000})
		case "throughput", "put": // "through put" in early versions of the script
			r.Reported = append(r.Reported, serving.Reported{Field: p[1], Metric: serving.RateRequests, File: v, PerBase: 1})
		case "goodput":
			r.Reported = append(r.Reported, serving.Reported{Field: p[1], Metric: serving.GoodRequests, File: v, PerBase: 1})
		}
	}
	if len(r.Reported) == 0 {
		d.in.Problems.Add(serving.Problem{At: at, Message: "the combination has no figure: left out; its bm_log file says why"})
		return
	}
	if rate.OK && rate.V == 0 {
		rate = serving.None[float64]()
	}
	r.Load = serving.LoadOf(serving.None[int64](), rate, unlimited)
	d.runs = append(d.runs, r)
}

// common fills in what the file says of all combinations.
func (d *tuneDecoder) common(r *serving.Run) {
	r.Engine = serving.Some("vllm") // auto_tune.sh starts the server itself
	if d.hash != "" {
		r.Settings = append(r.Settings, serving.Setting{Key: "vllm_commit", Value: d.hash})
	}
	if d.limit != "" {
		r.Settings = append(r.Settings, serving.Setting{Key: "max_latency_allowed_ms", Value: d.limit})
	}
}

func (d *tuneDecoder) note() string {
	var parts []string
	if n := len(d.missed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d combinations (%s × %s) keep a P99 E2E of %s ms at no request rate: %s",
			n, n+len(d.runs), keyMaxSeqs, keyMaxTokens, d.limit, jsonscan.Cut(strings.Join(d.missed, ", "), 300)))
	}
	if d.best != "" {
		parts = append(parts, d.best)
	}
	return strings.Join(parts, "; ")
}

var tunedFields = []serving.Field{
	{Name: keyMaxSeqs, As: "setting", How: "dialect"}, {Name: keyMaxTokens, As: "setting", How: "dialect"},
	{Name: "request_rate", As: "request_rate", Unit: "req/s", How: "dialect"}, {Name: "e2el", As: "e2e p99", Unit: "ms", How: "dialect"},
	{Name: "throughput", As: string(serving.RateRequests), Unit: "req/s", How: "dialect"}, {Name: "goodput", As: string(serving.GoodRequests), Unit: "req/s", How: "dialect"},
}

// TuneSettings returns what the name of a bm_log file of auto_tune.sh says of
// the run in it: bm_log_128_2048_requestrate_10.txt. The log itself does not say
// how the server was started.
func TuneSettings(path string) (s []serving.Setting, ok bool) {
	m := tunedLog.FindStringSubmatch(filepath.Base(filepath.ToSlash(path)))
	if m == nil {
		return nil, false
	}
	return []serving.Setting{{Key: keyMaxSeqs, Value: m[1]}, {Key: keyMaxTokens, Value: m[2]}}, true
}

// SameTuned reports whether a run of result.txt is the one printed in a bm_log
// file beside it: equal settings and the same figures, as printed.
func SameTuned(tuned, printed *serving.Run) bool {
	if tuned.Format != FormatAutotune || filepath.Dir(tuned.Source.Path) != filepath.Dir(printed.Source.Path) {
		return false
	}
	want, ok := TuneSettings(printed.Source.Path)
	if !ok {
		return false
	}
	for _, s := range want {
		if v, _ := tuned.Setting(s.Key); v != s.Value {
			return false
		}
	}
	return slices.ContainsFunc(tuned.Reported, func(a serving.Reported) bool { return a.Metric == serving.RateRequests }) &&
		!slices.ContainsFunc(tuned.Reported, func(a serving.Reported) bool {
			v, ok := printed.ReportedValue(a.Metric, a.Stat)
			return ok && v != a.Value()
		})
}
