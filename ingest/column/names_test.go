package column

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// TestMatch holds names that producers write against the canonical column and
// unit they stand for.
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		unit       Unit
	}{
		{"ttft", "ttft", NoUnit},
		{"TTFT (ms)", "ttft", Millisecond},
		{"ttft_s", "ttft", Second},
		{"itl_s", "itl", Second},
		{"itls", "itl", NoUnit},
		{"timeToFirstToken", "ttft", NoUnit},
		{"gen_ai.latency.time_to_first_token", "ttft", NoUnit},
		{"metrics.ttft_ms", "ttft", Millisecond},
		{"e2eSeconds", "e2e", Second},
		{"Elapsed time", "e2e", NoUnit},
		{"total_time_ms", "e2e", Millisecond},
		{"timestamp_ms", "arrival_time", Millisecond},
		{"TIMESTAMP", "arrival_time", NoUnit},
		{"startTime", "arrival_time", NoUnit},
		{"request_start_ns", "arrival_time", Nanosecond},
		{"event_time_unix_ms", "end_time", Millisecond},
		{"completionStartTime", "first_token_time", NoUnit},
		{"ContextTokens", "prompt_tokens", NoUnit},
		{"Request tokens", "prompt_tokens", NoUnit},
		{"gen_ai.usage.cache_read.input_tokens", "cached_tokens", NoUnit},
		{"num_cached_tokens", "cached_tokens", NoUnit},
		{"GeneratedTokens", "output_tokens", NoUnit},
		{"queued_time", "queue", NoUnit},
		{"queued_ts", "queued_ts", NoUnit},
		{"queuing_delay", "queue", NoUnit},
		{"prefill_wait_time_ms", "queue", Millisecond},
		{"instance id", "replica", NoUnit},
		{"avg_itl_ms", "tpot", Millisecond},
		{"Log Type", "workload", NoUnit},
		{"finish_reason", "finish_reason", NoUnit},
		{"nothing_known", "", NoUnit},
		{"models", "", NoUnit},
		{"model_s", "", NoUnit}, // no unit on what is no time
	} {
		h, ok := match(tt.name)
		got := ""
		if ok {
			got = canons[h.canon].name
		}
		if got != tt.want || h.suffix != tt.unit {
			t.Errorf("%s: %q in %q, want %q in %q", tt.name, got, h.suffix, tt.want, tt.unit)
		}
	}
}

// TestAliasesOnce fails where an alias stands under two canonical columns: the
// second would never be found.
func TestAliasesOnce(t *testing.T) {
	seen := map[string]string{}
	for _, c := range canons {
		for _, a := range c.aliases {
			if o, ok := seen[fold(a)]; ok && o != c.name {
				t.Errorf("%s is an alias of %s and of %s", a, o, c.name)
			}
			seen[fold(a)] = c.name
		}
	}
}

func TestParseMapping(t *testing.T) {
	for in, want := range map[string]Mapping{
		"ttft=first_token:ms":            {"ttft", "first_token", Millisecond},
		"queue_time=wait : us":           {"queue", "wait", Microsecond},
		"prompt_tokens=in":               {"prompt_tokens", "in", NoUnit},
		"arrival=when:s":                 {"arrival_time", "when", Second},
		"cached_prompt_tokens=hit":       {"cached_tokens", "hit", NoUnit},
		"e2e=a:b:ns":                     {"e2e", "a:b", Nanosecond},
		"output_tokens=gen=erated":       {"output_tokens", "gen=erated", NoUnit},
		"first_token_time=first token:s": {"first_token_time", "first token", Second},
	} {
		got, err := ParseMapping(in)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                    "canonical=column",
		"ttft":                "canonical=column",
		"ttft=":               "canonical=column",
		"tttf=x:ms":           `did you mean "ttft"`,
		"promt_tokens=x":      `did you mean "prompt_tokens"`,
		"ttft=x:sm":           `did you mean "s"`,
		"prompt_tokens=x:ms":  "takes no unit",
		"ttft=:ms":            "no column",
		"arival=x":            "want one of arrival_time, ",
		"normalised=x:s":      "want one of ",
		"e2e=latency:minutes": "is no unit",
	} {
		if _, err := ParseMapping(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

func TestEpochUnit(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		v    float64
		unit Unit
		ok   bool
	}{
		{float64(at.Unix()), Second, true},
		{float64(at.UnixMilli()), Millisecond, true},
		{float64(at.UnixMicro()), Microsecond, true},
		{float64(at.UnixNano()), Nanosecond, true},
		{0, NoUnit, false},
		{27536.66, NoUnit, false},
		{1e8, NoUnit, false},
		{-1, NoUnit, false},
	} {
		if u, ok := epochUnit(tt.v); u != tt.unit || ok != tt.ok {
			t.Errorf("%g: %s %v, want %s %v", tt.v, u, ok, tt.unit, tt.ok)
		}
	}
}

func TestParseInstant(t *testing.T) {
	base := time.Date(2023, 11, 16, 18, 17, 3, 979960000, time.UTC).UnixNano()
	for _, s := range []string{"2023-11-16 18:17:03.9799600", "2023-11-16T18:17:03.97996Z", "2023-11-16T19:17:03.97996+01:00", "2023-11-16 19:17:03.97996+01:00", "2023-11-16 18:17:03.97996 UTC", "2023-11-16T18:17:03.97996"} {
		if ns, ok := ParseInstant(s); !ok || ns != base {
			t.Errorf("%s: %d %v, want %d", s, ns, ok, base)
		}
	}
	for _, s := range []string{"", "yesterday", "12", "1000-01-01", "9999-01-01"} {
		if ns, ok := ParseInstant(s); ok {
			t.Errorf("%q is %d", s, ns)
		}
	}
}

// TestOutcomes judges what status, error, HTTP and finish columns say.
func TestOutcomes(t *testing.T) {
	const no = serving.Outcome(99)
	for _, tt := range []struct {
		judge func(string) int
		in    string
		want  serving.Outcome
	}{
		{judgeStatus, "OK", serving.OK}, {judgeStatus, "STATUS_CODE_UNSET", serving.OK}, {judgeStatus, "success", serving.OK},
		{judgeStatus, "FAILED", serving.Failed}, {judgeStatus, "error: deadline exceeded", serving.Timeout},
		{judgeStatus, "cancelled", serving.Cancelled}, {judgeStatus, "incomplete", serving.Incomplete}, {judgeStatus, "504", serving.Timeout}, {judgeStatus, "purple", no},
		{judgeError, "", no}, {judgeError, "None", no}, {judgeError, "read timed out", serving.Timeout}, {judgeError, "OOM", serving.Failed}, {judgeError, "499", serving.Cancelled}, {judgeError, "client disconnected", serving.Cancelled},
		{judgeHTTP, "200", serving.OK}, {judgeHTTP, "408", serving.Timeout}, {judgeHTTP, "504", serving.Timeout}, {judgeHTTP, "499", serving.Cancelled}, {judgeHTTP, "429", serving.Failed}, {judgeHTTP, "503.0", serving.Failed}, {judgeHTTP, "0", no},
		{judgeFinish, "stop", serving.OK}, {judgeFinish, "length", serving.OK}, {judgeFinish, "abort", serving.Cancelled}, {judgeFinish, "error", serving.Failed}, {judgeFinish, "", no},
		{judgeSuccess, "true", serving.OK}, {judgeSuccess, "False", serving.Failed}, {judgeCancelled, "true", serving.Cancelled}, {judgeCancelled, "false", no},
	} {
		got := tt.judge(tt.in)
		if tt.want == no && got != undecided || tt.want != no && got != int(tt.want) {
			t.Errorf("%q: %d, want %s", tt.in, got, tt.want)
		}
	}
}

// Whoever maps a column finds in the documentation what it can be.
func TestCanonicalNamesAreTold(t *testing.T) {
	b, err := os.ReadFile("../../docs/usage.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range canonNames() {
		names = append(names, "`"+n+"`")
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	if want := strings.Join(names, ", "); !strings.Contains(text, want) {
		t.Errorf("docs/usage.md lacks %s", want)
	}
}
