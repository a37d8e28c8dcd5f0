package prom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func parse(t *testing.T, path, text string) ([]*Scrape, *serving.Input) {
	t.Helper()
	in := &serving.Input{Path: path}
	s, err := Parse(context.Background(), path, strings.NewReader(text), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s, in
}

// value returns the sample of a family in a scrape, NaN where it has none.
func (s *Scrape) value(family string) float64 {
	for i, se := range s.series {
		if se.family == family && se.part != partBucket && se.part != partSum {
			return s.values[i]
		}
	}
	return math.NaN()
}

const small = `# HELP vllm:num_requests_running Running.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 3.0
# HELP vllm:generation_tokens_total Tokens.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="m"} 1.25e+03
# HELP vllm:time_to_first_token_seconds TTFT.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.5",model_name="m"} 4.0
vllm:time_to_first_token_seconds_bucket{le="1.0",model_name="m"} 6.0
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} 7.0
vllm:time_to_first_token_seconds_count{model_name="m"} 7.0
vllm:time_to_first_token_seconds_sum{model_name="m"} 3.5
`

func TestParseTolerates(t *testing.T) {
	for name, text := range map[string]string{
		"as it is":            small,
		"byte order mark":     "\ufeff" + small,
		"carriage returns":    strings.ReplaceAll(small, "\n", "\r\n"),
		"HTTP headers":        "HTTP/1.1 200 OK\r\ndate: Sat, 29 Nov 2025 12:00:00 GMT\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n\r\n" + small,
		"prompt and fences":   "```\n$ curl http://localhost:8000/metrics\n" + small + "```\n",
		"no last line end":    strings.TrimSuffix(small, "\n"),
		"tabs and blanks":     strings.ReplaceAll(small, "} ", "}\t  "),
		"no comments":         grep(small, "vllm:", "#"),
		"comment lines":       "# a note\n#\n" + small,
		"OpenMetrics":         strings.ReplaceAll(small, "7.0\n", "7.0 # {trace_id=\"x\"} 0.9 1764417600.5\n") + "# EOF\n",
		"underscore for :":    strings.ReplaceAll(small, "vllm:", "vllm_"),
		"Ray":                 strings.ReplaceAll(small, "vllm:", "ray_vllm:"),
		"spaces before brace": strings.ReplaceAll(small, "{", " {"),
		"trailing comma":      strings.ReplaceAll(small, "\"} ", "\",} "),
		"quoted name":         strings.ReplaceAll(small, "vllm:num_requests_running{", "{\"vllm:num_requests_running\","),
	} {
		t.Run(name, func(t *testing.T) {
			s, in := parse(t, "a.prom", text)
			if len(s) != 1 || in.Records != 1 || in.Problems.Len() != 0 {
				t.Fatalf("%d scrapes, problems %v", len(s), in.Problems.List())
			}
			sv, ps := Assemble(s, AssembleOptions{})
			if len(sv) != 1 || len(ps) > 0 {
				t.Fatalf("%d servers, %v", len(sv), ps)
			}
			v := sv[0]
			if g := v.GaugeOf(serving.Running); g == nil || g.Values[0] != 3 {
				t.Errorf("running: %+v", g)
			}
			h := v.HistogramOf(serving.TTFT)
			if h == nil || fmt.Sprint(h.Bounds, h.Counts, h.Sum, h.Count) != "[0.5 1 +Inf] [[4 6 7]] [3.5] [7]" {
				t.Errorf("TTFT: %+v", h)
			}
			if len(v.Counters) != 1 || v.Counters[0].Values[0] != 1250 {
				t.Errorf("counters: %+v", v.Counters)
			}
		})
	}
}

// grep keeps the lines that contain a word and not another.
func grep(text, with, without string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		if strings.Contains(l, with) && !strings.HasPrefix(l, without) {
			b.WriteString(l)
		}
	}
	return b.String()
}

func TestParseSkipsDamagedLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"garbage", "vllm:num_requests_running 1\n\x00\x01binary\nvllm:num_requests_waiting 2\n", 2, `cannot read "\x00\x01binary"`},
		{"value", "vllm:num_requests_running 1\nvllm:x oops\nvllm:num_requests_waiting 2\n", 2, "the value is no number"},
		{"no value", "vllm:num_requests_running 1\nvllm:x\nvllm:num_requests_waiting 2\n", 2, "there is no value"},
		{"open brace", "vllm:num_requests_running 1\nvllm:x{a=\"b 1\nvllm:num_requests_waiting 2\n", 2, "no metric name begins it"},
		{"label", "vllm:num_requests_running 1\nvllm:x{a=b} 1\nvllm:num_requests_waiting 2\n", 2, "want name{label="},
		{"timestamp", "vllm:num_requests_running 1\nvllm:x 1 soon\nvllm:num_requests_waiting 2\n", 2, "the timestamp is no number"},
		{"le", "vllm:num_requests_running 1\nvllm:time_to_first_token_seconds_bucket{le=\"x\"} 1\nvllm:num_requests_waiting 2\n", 2, `le "x" is no number`},
		{"hex", "vllm:num_requests_running 1\nvllm:x 0x1p3\nvllm:num_requests_waiting 2\n", 2, "the value is no number"},
		{"HTML", "vllm:num_requests_running 1\n<html>\nvllm:num_requests_waiting 2\n", 2, "no metric name begins it"},
		{"cut last line", "vllm:num_requests_running 1\nvllm:num_requests_waiting 2\nvllm:generation_tok", 3, "there is no value"},
		{"cut label", "vllm:num_requests_running 1\nvllm:num_requests_waiting 2\nvllm:x{model_name=\"m", 3, "no metric name begins it"},
		{"cut number", "vllm:num_requests_running 1.0\nvllm:num_requests_waiting 2.0\nvllm:generation_tokens_total 12", 3, "the file ends within the number"},
		{"cut at the point", "vllm:num_requests_running 1\nvllm:num_requests_waiting 2\nvllm:generation_tokens_total 12.", 3, "the file ends within the number"},
		{"monster", "vllm:num_requests_running 1\n" + strings.Repeat("x", maxLine+10) + "\nvllm:num_requests_waiting 2\n", 2, "longer than 1048576 bytes"},
		{"HTTP error", "HTTP/1.1 503 Service Unavailable\n\nvllm:num_requests_running 1\nvllm:num_requests_waiting 2\n", 1, "HTTP status 503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, in := parse(t, "a.prom", c.text)
			if len(s) != 1 || s[0].value("vllm:num_requests_running") != 1 || s[0].value("vllm:num_requests_waiting") != 2 {
				t.Errorf("the good lines are lost: %+v", s)
			}
			l := in.Problems.List()
			if len(l) != 1 || l[0].At.Line != c.line || l[0].At.Path != "a.prom" || !strings.Contains(l[0].Message, c.want) {
				t.Errorf("problems %v, want one at line %d: %s", l, c.line, c.want)
			}
			for _, p := range l {
				if len(p.Message) > 400 {
					t.Errorf("a message of %d bytes", len(p.Message))
				}
			}
		})
	}
}

func TestParseRefusesFilesWithoutSamples(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "\n\n", "comments only": "# HELP a b\n# TYPE a gauge\n", "prose": "The server is fine.\nNothing to see.\n", "one long line": strings.Repeat("y", 3*maxLine),
	} {
		in := &serving.Input{}
		_, err := Parse(context.Background(), "dir/x.prom", strings.NewReader(text), in)
		var fe *serving.FormatError
		if !errors.As(err, &fe) || !strings.HasPrefix(err.Error(), "dir/x.prom: ") || !strings.Contains(err.Error(), "curl") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless is a line that never ends, until its size is reached.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.left))
	for i := range p[:n] {
		p[i] = 'g'
	}
	e.left -= int64(n)
	return n, nil
}

func TestParseDoesNotLoadAGiantLine(t *testing.T) {
	r := io.MultiReader(strings.NewReader("vllm:num_requests_running 1\n"), &endless{left: 256 << 20}, strings.NewReader("\nvllm:num_requests_waiting 2\n"))
	in := &serving.Input{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := Parse(context.Background(), "a.prom", r, in)
	if err != nil || len(s) != 1 || s[0].value("vllm:num_requests_waiting") != 2 || in.Problems.Len() != 1 {
		t.Fatalf("%v, %v, %v", s, err, in.Problems.List())
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

func TestParseStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Parse(ctx, "a.prom", strings.NewReader(small), &serving.Input{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestParseReportsReadErrors(t *testing.T) {
	r := io.MultiReader(strings.NewReader(small), brokenReader{})
	_, err := Parse(context.Background(), "a.prom", r, &serving.Input{})
	if err == nil || !strings.HasPrefix(err.Error(), "a.prom:14: ") || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestParseReading(t *testing.T) {
	for _, c := range []struct {
		in    string
		value float64
		stamp int64
		ok    bool
	}{
		{" 1", 1, 0, true}, {" 0.1", 0.1, 0, true}, {" 123456789.123456", 123456789.123456, 0, true},
		{" 9007199254740993", 9007199254740992, 0, true}, {" -3", -3, 0, true}, {" +Inf", math.Inf(1), 0, true},
		{" 1.7976931348623157e+308", math.MaxFloat64, 0, true}, {" 3.9024848896e+010", 3.9024848896e10, 0, true},
		{" 1 1764417600000", 1, 1764417600e9, true}, {" 1 1764417600.25", 1, 1764417600.25e9, true}, {" 1 -1", 1, -1e9, true}, {" 1 8999999999", 1, 8999999999e9, true}, {" 1 99999999999", 1, 99999999999e6, true}, {" 1 1e300", 1, 0, true}, {" 1 9223372036854775807", 1, 0, true},
		{" 1 2 3", 0, 0, false}, {"", 0, 0, false}, {" 1_000", 0, 0, false}, {" 1 NaN", 0, 0, false}, {" .", 0, 0, false},
	} {
		r, err := parseReading([]byte(c.in))
		if (err == nil) != c.ok || err == nil && (r.value != c.value || r.stamp != c.stamp) {
			t.Errorf("%q: %+v, %v", c.in, r, err)
		}
	}
	if r, err := parseReading([]byte(" NaN")); err != nil || !math.IsNaN(r.value) {
		t.Errorf("NaN: %+v, %v", r, err)
	}
}

// scrapeAt is small with a token count.
func scrapeAt(tokens int) string {
	return strings.ReplaceAll(small, "1.25e+03", fmt.Sprintf("%d.0", tokens))
}

func TestParseSplitsConcatenatedScrapes(t *testing.T) {
	plain := func(s string) string { return grep(s, "vllm:", "#") }
	damagedFirst := strings.Replace(scrapeAt(1), "vllm:num_requests_running{model_name=\"m\"} 3.0", "vllm:num_requests_running{model_na", 1)
	for _, c := range []struct {
		name, text string
		problems   int
	}{
		{"appended", scrapeAt(1) + scrapeAt(2) + scrapeAt(3), 0},
		{"with blank lines", scrapeAt(1) + "\n\n" + scrapeAt(2) + "\n" + scrapeAt(3), 0},
		{"without comments", plain(scrapeAt(1)) + plain(scrapeAt(2)) + plain(scrapeAt(3)), 0},
		{"with HTTP headers", "HTTP/1.1 200 OK\nserver: uvicorn\n\n" + scrapeAt(1) + "HTTP/1.1 200 OK\nserver: uvicorn\n\n" + scrapeAt(2) + "HTTP/1.1 200 OK\nserver: uvicorn\n\n" + scrapeAt(3), 0},
		{"with rules", scrapeAt(1) + "-----\n" + scrapeAt(2) + "=====\n" + scrapeAt(3), 0},
		{"OpenMetrics", scrapeAt(1) + "# EOF\n" + scrapeAt(2) + "# EOF\n" + scrapeAt(3) + "# EOF\n", 0},
		{"first line damaged", damagedFirst + scrapeAt(2) + scrapeAt(3), 1},
		{"second without its first family", scrapeAt(1) + grep(scrapeAt(2), "", "#")[len("vllm:num_requests_running{model_name=\"m\"} 3.0\n"):] + scrapeAt(3), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, in := parse(t, "a.prom", c.text)
			for i, x := range s {
				if x.Damaged != (i == 0 && c.problems > 0) {
					t.Errorf("scrape %d at line %d: damaged %v", i, x.Line, x.Damaged)
				}
			}
			if c.name == "second without its first family" {
				// Too little to repeat for sure: it must not be lost silently.
				if len(s) < 2 {
					t.Fatalf("%d scrapes", len(s))
				}
				return
			}
			if len(s) != 3 || in.Records != 3 || in.Problems.Len() != c.problems {
				t.Fatalf("%d scrapes, problems %v", len(s), in.Problems.List())
			}
			for i, x := range s {
				if x.value("vllm:generation_tokens_total") != float64(i+1) || x.Index != i {
					t.Errorf("scrape %d: %v tokens", i, x.value("vllm:generation_tokens_total"))
				}
				if running := x.value("vllm:num_requests_running"); running != 3 && !(i == 0 && c.problems > 0 && math.IsNaN(running)) {
					t.Errorf("scrape %d: %v running", i, running)
				}
			}
			sv, _ := Assemble(s, AssembleOptions{})
			if len(sv) != 1 || !sv[0].Relative || fmt.Sprint(sv[0].Times) != "[0 1000000000 2000000000]" {
				t.Errorf("%+v", sv)
			}
		})
	}
}

func TestParseKeepsMergedEndpointsTogether(t *testing.T) {
	// Two engines behind one page, each with its own HELP and TYPE lines.
	one := func(tokens int) string {
		return scrapeAt(tokens) + strings.ReplaceAll(scrapeAt(10*tokens), `model_name="m"`, `model_name="n"`)
	}
	s, in := parse(t, "a.prom", one(1)+one(2))
	if len(s) != 2 || in.Problems.Len() > 0 {
		t.Fatalf("%d scrapes, %v", len(s), in.Problems.List())
	}
	sv, _ := Assemble(s, AssembleOptions{})
	if len(sv) != 2 || fmt.Sprint(sv[0].Counters[0].Values, sv[1].Counters[0].Values) != "[1 2] [10 20]" {
		t.Errorf("%+v", sv)
	}
}

func TestParseReportsRepeatedSeries(t *testing.T) {
	text := strings.Replace(small, "# HELP vllm:time", "vllm:generation_tokens_total{model_name=\"m\"} 9.0\n# HELP vllm:time", 1)
	s, in := parse(t, "a.prom", text)
	if len(s) != 1 || s[0].value("vllm:generation_tokens_total") != 1250 || in.Problems.Len() != 1 {
		t.Errorf("%d scrapes, %v", len(s), in.Problems.List())
	}
}

func TestParseLongScrapeWithAnotherBeginning(t *testing.T) {
	// The second scrape begins in the middle of what the first one had.
	var a, b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&a, "vllm:request_success_total{finished_reason=\"r%d\"} 1\n", i)
		if i > 0 {
			fmt.Fprintf(&b, "vllm:request_success_total{finished_reason=\"r%d\"} 2\n", i)
		}
	}
	s, in := parse(t, "a.prom", a.String()+b.String()+b.String())
	if len(s) != 3 || in.Problems.Len() > 0 || s[0].Samples != 100 || s[1].Samples != 99 || s[2].Samples != 99 {
		for _, x := range s {
			t.Logf("line %d: %d samples", x.Line, x.Samples)
		}
		t.Fatalf("%d scrapes, %v", len(s), in.Problems.List())
	}
}

func TestParseFields(t *testing.T) {
	_, in := parse(t, "a.prom", small+`vllm:generation_tokens_created{model_name="m"} 1.7e+09
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{le="1.0"} 4.0
vllm:iteration_tokens_total_count 4.0
vllm:iteration_tokens_total_sum 9.0
vllm:request_inference_time_seconds_bucket{le="+Inf"} 4.0
vllm:request_inference_time_seconds_count 4.0
# TYPE other summary
other_sum 4.0
other_count 4.0
untyped_bucket{le="1"} 2.0
untyped_count 3.0
plain_count 3.0
vllm:cache_config_info{block_size="16"} 1.0
`)
	var got []string
	for _, f := range in.Fields {
		got = append(got, strings.TrimSpace(f.Name+" "+f.As+" "+f.Unit+" "+f.How))
	}
	want := []string{
		"vllm:num_requests_running running requests dialect",
		"vllm:generation_tokens_total generation_tokens tokens dialect",
		"vllm:time_to_first_token_seconds ttft s dialect",
		"vllm:iteration_tokens_total iterations  dialect",
		"vllm:request_inference_time_seconds   prefill and decode are read instead",
		"other", "untyped", "plain_count", "vllm:cache_config_info info  dialect",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if in.Note != "vLLM: 5 of 9 families are used" || in.Format != Format {
		t.Errorf("note %q, format %q", in.Note, in.Format)
	}
}

func TestParseOtherExporters(t *testing.T) {
	s, in := parse(t, "node.txt", "# TYPE node_load1 gauge\nnode_load1 0.5\nprocess_start_time_seconds 1.7e9\nprocess_cpu_seconds_total 4\n")
	if in.Records != 1 || in.Note != "node exporter, process: none of its 3 families is used" {
		t.Errorf("records %d, note %q", in.Records, in.Note)
	}
	for _, f := range in.Fields {
		if f.As != "" {
			t.Errorf("%s is used as %s", f.Name, f.As)
		}
	}
	if sv, ps := Assemble(s, AssembleOptions{}); len(sv)+len(ps) != 0 {
		t.Errorf("%v, %v", sv, ps)
	}
}
