package column

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// raw describes a column as `name kind`, with the values its range spans.
func raw(name string, k Kind, values ...float64) Raw {
	r := Raw{Name: name, Kind: k}
	if len(values) > 0 {
		r.Range = func() (float64, float64, bool) {
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, v := range values {
				lo, hi = min(lo, v), max(hi, v)
			}
			return lo, hi, true
		}
	}
	return r
}

func span(name string, u Unit) Raw    { return Raw{Name: name, Kind: Span, Unit: u} }
func instant(name string, u Unit) Raw { return Raw{Name: name, Kind: Instant, Unit: u} }

// TestResolve decides units in the order of precedence, for the columns of
// several producers.
func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name string
		raws []Raw
		maps []string
		want []string // name ← raw unit how
		side serving.Side
	}{
		{"map wins over all", []Raw{raw("lat_ns", Float), raw("ttft_ms", Float)}, []string{"ttft=lat_ns:us"}, []string{"ttft ← lat_ns us map"}, serving.UnknownSide},
		{"map without a unit", []Raw{raw("lat_ns", Float)}, []string{"ttft=lat_ns"}, []string{"ttft ← lat_ns ns map"}, serving.UnknownSide},
		{"type before suffix", []Raw{span("ttft_ms", Microsecond)}, nil, []string{"ttft ← ttft_ms us logical-type"}, serving.UnknownSide},
		{"sibling before suffix", []Raw{{Name: "ttft_ms", Kind: Float, Sibling: "ns"}}, nil, []string{"ttft ← ttft_ms ns sibling"}, serving.UnknownSide},
		{"suffix before dialect", []Raw{raw("instance id", Int), raw("queuing_delay", Int), raw("ITL", List), raw("arrival", Int, 5, 9), raw("ttft_ms", Int)}, nil,
			[]string{"arrival_time ← arrival ns dialect relative", "replica ← instance id dialect", "ttft ← ttft_ms ms suffix", "itl ← ITL ns dialect", "queue ← queuing_delay ns dialect"}, serving.ServerSide},
		{"OpenTelemetry", []Raw{raw("gen_ai.latency.e2e", Float), raw("gen_ai.usage.prompt_tokens", Int)}, nil,
			[]string{"prompt_tokens ← gen_ai.usage.prompt_tokens", "e2e ← gen_ai.latency.e2e s dialect"}, serving.ServerSide},
		{"Dynamo", []Raw{raw("request_received_ms", Int, 1.77e12), raw("prefill_wait_time_ms", Float), raw("kv_hit_rate", Float), raw("queue_depth", Int), raw("total_time_ms", Float), raw("input_tokens", Int)}, nil,
			[]string{"arrival_time ← request_received_ms ms suffix", "prompt_tokens ← input_tokens", "kv_hit_rate ← kv_hit_rate dialect", "e2e ← total_time_ms ms suffix", "queue ← prefill_wait_time_ms ms suffix"}, serving.ServerSide},
		{"vLLM clocks", []Raw{raw("arrival_time", Float, 1.787e9), raw("queued_ts", Float, 27536), raw("scheduled_ts", Float, 27537), raw("first_token_ts", Float, 27538), raw("last_token_ts", Float, 27539)}, nil,
			[]string{"arrival_time ← arrival_time s magnitude", "first_token_time ← first_token_ts s dialect relative", "last_token_time ← last_token_ts s dialect relative", "queued_ts ← queued_ts s dialect relative", "scheduled_ts ← scheduled_ts s dialect relative"}, serving.ServerSide},
		{"BurstGPT", []Raw{raw("Timestamp", Float, 5), raw("Session ID", Text), raw("Elapsed time", Float), raw("Request tokens", Int), raw("Response tokens", Int)}, nil,
			[]string{"arrival_time ← Timestamp s dialect relative", "session_id ← Session ID dialect", "prompt_tokens ← Request tokens dialect", "output_tokens ← Response tokens dialect", "e2e ← Elapsed time s dialect"}, serving.UnknownSide},
		{"Mooncake", []Raw{raw("timestamp", Int, 0, 3000), raw("input_length", Int), raw("output_length", Int), raw("hash_ids", List)}, nil,
			[]string{"arrival_time ← timestamp ms dialect relative", "prompt_tokens ← input_length dialect", "output_tokens ← output_length dialect"}, serving.UnknownSide},
		{"epoch in µs", []Raw{raw("timestamp", Int, 1.77e15), raw("prompt_tokens", Int)}, nil, []string{"arrival_time ← timestamp us magnitude", "prompt_tokens ← prompt_tokens"}, serving.UnknownSide},
		{"a list of that name", []Raw{{Name: "inter_token_latency_ms", Kind: List}, raw("e2e_s", Float)}, nil, []string{"itl ← inter_token_latency_ms ms suffix", "e2e ← e2e_s s suffix"}, serving.UnknownSide},
		{"prompt text is no count", []Raw{raw("input", Text), raw("e2e_s", Float)}, nil, []string{"e2e ← e2e_s s suffix"}, serving.UnknownSide},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var maps []Mapping
			for _, s := range tt.maps {
				m, err := ParseMapping(s)
				if err != nil {
					t.Fatal(err)
				}
				maps = append(maps, m)
			}
			p, err := Resolve(tt.raws, maps)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range p.Sources {
				f := p.Fields[s.Raw]
				if f.As != s.Name {
					continue
				}
				line := s.Name + " ← " + f.Name
				for _, w := range []string{s.Unit.String(), s.How} {
					if w != "" {
						line += " " + w
					}
				}
				if s.Relative {
					line += " relative"
				}
				got = append(got, line)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if p.Side != tt.side {
				t.Errorf("side %s, want %s", p.Side, tt.side)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for _, tt := range []struct {
		raws []Raw
		maps []Mapping
		want string
	}{
		{[]Raw{raw("latency", Float)}, nil, "column latency has no unit: pass --map e2e=latency:ms"},
		{[]Raw{raw("timestamp", Int, 0, 50), raw("prompt_tokens", Int)}, nil, "column timestamp has no unit: pass --map arrival_time=timestamp:ms"},
		{[]Raw{raw("duration", Float), raw("ttft", Float), raw("tpot_ms", Float)}, nil, "columns ttft, duration have no unit: pass --map ttft=ttft:ms --map e2e=duration:ms"},
		{[]Raw{raw("a", Float), raw("latency", Float)}, []Mapping{{"ttft", "a", NoUnit}}, "columns a, latency have no unit"},
		{[]Raw{raw("a", Float)}, []Mapping{{"decode", "a", NoUnit}}, "pass --map decode=a:ms"},
		{[]Raw{raw("ttft_ms", Float)}, []Mapping{{"ttft", "ttfs", Second}}, `did you mean "ttft_ms"`},
		{[]Raw{raw("a", Text)}, []Mapping{{"ttft", "a", Second}}, "holds text and cannot be ttft"},
		{[]Raw{raw("a", Float), raw("b", Float)}, []Mapping{{"ttft", "a", Second}, {"ttft", "b", Second}}, "mapped twice"},
		{[]Raw{instant("t", Millisecond)}, []Mapping{{"arrival_time", "t", Second}}, "its type says ms"},
	} {
		if _, err := Resolve(tt.raws, tt.maps); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	var ue *UnitError
	if _, err := Resolve([]Raw{raw("latency", Float)}, nil); !errors.As(err, &ue) || ue.Found() != "column latency has no unit" {
		t.Error("no UnitError")
	}
}

// A column of times whose name could mean anything is named where nothing else says
// when requests arrived.
func TestHintTimes(t *testing.T) {
	for _, tt := range []struct {
		raws []Raw
		want string
	}{
		{[]Raw{raw("ttft_ms", Float), instant("ts", Millisecond)}, "pass --map arrival_time=ts"},
		{[]Raw{raw("ttft_ms", Float), raw("seen_at", Int, 1.7e9, 1.8e9)}, "pass --map arrival_time=seen_at"},
		{[]Raw{raw("ttft_ms", Float), raw("t", Float, 0, 50)}, ""},
		{[]Raw{raw("ttft_ms", Float), raw("account", Int, 1.7e9, 1.8e9)}, ""},
		{[]Raw{raw("ttft_ms", Float), raw("ts", Int, 1.7e9, 1.8e9), instant("arrival_time", Second)}, ""},
	} {
		p, err := Resolve(tt.raws, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Notes, "; "); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v: note %q, want %q", tt.raws, got, tt.want)
		}
	}
}

// TestRivals keeps the column that loses, with a note.
func TestRivals(t *testing.T) {
	p, err := Resolve([]Raw{raw("worker_id", Text), raw("pod", Text), raw("e2e_s", Float), raw("tag", Int)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if i, _ := p.Source("replica"); p.Raws[p.Sources[i].Raw].Name != "pod" {
		t.Error("pod comes before worker_id")
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "worker_id stays") {
		t.Error(p.Notes)
	}
	var names []string
	for _, c := range p.Columns {
		names = append(names, c.Name)
	}
	if d := cmp.Diff([]string{"replica", "e2e", "outcome", "worker_id", "pod", "tag"}, names); d != "" {
		t.Error(d)
	}
}

func TestIsTrace(t *testing.T) {
	for _, tt := range []struct {
		raws []Raw
		want bool
	}{
		{[]Raw{raw("ttft_ms", Float)}, true},
		{[]Raw{instant("timestamp", Nanosecond), raw("ContextTokens", Int)}, true},
		{[]Raw{instant("timestamp", Nanosecond), raw("value", Float), raw("metric_name", Text)}, false},
		{[]Raw{raw("id", Int), raw("model", Text)}, false},
		{[]Raw{raw("num_prefill_tokens", Int), raw("num_decode_tokens", Int)}, false},
		{nil, false},
	} {
		p, err := Resolve(tt.raws, nil)
		if err != nil || p.IsTrace() != tt.want {
			t.Errorf("%v: %v %v", tt.raws, p.IsTrace(), err)
		}
	}
}
