package aiperf

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// Records as the versions write them: Nov 2025 and later, the first public ones
// (ttft, timestamp_ns, credit_phase), a cancelled one, a timeout, a warm-up.
const (
	recWarm = `{"metadata":{"x_request_id":"w","x_correlation_id":"s0","turn_index":0,"request_start_ns":1760000000000000000,"request_end_ns":1760000001000000000,"worker_id":"worker_1","benchmark_phase":"warmup","was_cancelled":false},"metrics":{"request_latency":{"value":1000.0,"unit":"ms"},"time_to_first_token":{"value":900.0,"unit":"ms"},"output_sequence_length":{"value":7,"unit":"tokens"},"input_sequence_length":{"value":9,"unit":"tokens"}},"error":null}`
	recA    = `{"metadata":{"x_request_id":"a","x_correlation_id":"s1","turn_index":0,"request_start_ns":1760000002000000123,"request_end_ns":1760000003000000123,"worker_id":"worker_1","benchmark_phase":"profiling","was_cancelled":false},"metrics":{"request_latency":{"value":1000.0,"unit":"ms"},"time_to_first_token":{"unit":"ms","value":400.0},"inter_token_latency":{"value":300.0,"unit":"ms"},"inter_chunk_latency":{"value":[250.0,350.0],"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"},"input_sequence_length":{"value":100,"unit":"tokens"},"usage_prompt_cache_read_tokens":{"value":64,"unit":"tokens"},"http_req_total":{"value":5,"unit":"ms"}}}`
	recOld  = `{"metadata":{"x_request_id":"b","conversation_id":"c2","timestamp_ns":1760000002500000000,"credit_phase":"profiling"},"metrics":{"ttft":{"value":500000,"unit":"us"},"request_latency":{"value":2000000000,"unit":"ns"},"output_sequence_length":{"value":11,"unit":"tokens"},"input_sequence_length":{"value":50,"unit":"tokens"},"max_response_timestamp":{"value":1760000004500000001,"unit":"ns"}},"error":null}`
	recGone = `{"metadata":{"x_request_id":"c","request_start_ns":1760000002600000000,"benchmark_phase":"profiling"},"metrics":{"error_request_count":{"value":1,"unit":"requests"},"error_isl":{"value":40,"unit":"tokens"}},"error":{"code":499,"type":"RequestCancellationError","message":"Request was cancelled after 0.000 seconds"}}`
	recSlow = `{"metadata":{"x_request_id":"d","request_start_ns":1760000002700000000,"benchmark_phase":"profiling"},"metrics":{},"error":{"code":null,"type":"TimeoutError","message":"no answer"}}`
)

func decodeRecords(t *testing.T, text string) (*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{Bytes: int64(len(text))}
	runs, err := DecodeRecords(t.Context(), "profile_export.jsonl", strings.NewReader(text), in)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0], in
}

// columnText reads a column as text, a value a row; "-" where it has none.
func columnText(t *testing.T, src serving.Requests, name string) []string {
	t.Helper()
	var out []string
	for _, p := range src.Parts() {
		err := p.Scan(t.Context(), []string{name}, nil, func(b *serving.Batch) error {
			v := &b.Cols[0]
			for i := range b.N {
				switch {
				case !v.Has(i):
					out = append(out, "-")
				case v.Kind == serving.KindText:
					out = append(out, src.Dict(name).Name(v.Codes[i]))
				case v.Kind == serving.KindGaps:
					out = append(out, fmt.Sprint(v.Floats[v.Offsets[i]:v.Offsets[i+1]]))
				case v.Ints != nil:
					out = append(out, fmt.Sprint(v.Ints[i]))
				default:
					out = append(out, fmt.Sprint(v.Floats[i]))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestRecords(t *testing.T) {
	r, in := decodeRecords(t, strings.Join([]string{recWarm, recA, recOld, recGone, recSlow}, "\n"))
	for name, want := range map[string][]string{
		serving.ColOutcome:           {"ok", "ok", "ok", "cancelled", "timeout"},
		serving.ColPhase:             {"warmup", "profiling", "profiling", "profiling", "profiling"},
		serving.ColArrival:           {"1760000000000000000", "1760000002000000123", "1760000002500000000", "1760000002600000000", "1760000002700000000"},
		serving.ColEnd:               {"1760000001000000000", "1760000003000000123", "1760000004500000001", "-", "-"},
		serving.ColSession:           {"s0", "s1", "c2", "-", "-"},
		serving.ColRequestID:         {"w", "a", "b", "c", "d"},
		serving.ColError:             {"-", "-", "-", "RequestCancellationError: Request was cancelled after 0.000 seconds", "TimeoutError: no answer"},
		string(serving.TTFT):         {"0.9", "0.4", "0.5", "-", "-"},
		string(serving.E2E):          {"1", "1", "2", "-", "-"},
		string(serving.TPOT):         {"0.016666666666666663", "0.3", "0.15", "-", "-"}, // derived where the record lacks it
		string(serving.ITL):          {"-", "[0.25 0.35]", "-", "-", "-"},
		string(serving.PromptTokens): {"9", "100", "50", "40", "-"},
		string(serving.OutputTokens): {"7", "3", "11", "-", "-"},
		string(serving.CachedTokens): {"-", "64", "-", "-", "-"}, // missing, not 0
		"turn":                       {"0", "0", "-", "-", "-"},
	} {
		if d := cmp.Diff(want, columnText(t, r.Requests, name)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if r.Sent.V != 4 || r.Completed.V != 2 || r.Failed.V != 2 || r.Input.V != 150 || r.Output.V != 14 {
		t.Errorf("sent %v completed %v failed %v input %v output %v, want 4 2 2 150 14 (warm-up left out)", r.Sent, r.Completed, r.Failed, r.Input, r.Output)
	}
	if want := 2.499999878; math.Abs(r.Duration.V-want) > 1e-9 {
		t.Errorf("duration %v, want %v", r.Duration.V, want)
	}
	if in.Problems.Len() != 0 || in.Records != 5 {
		t.Errorf("%d records, problems %v", in.Records, in.Problems.List())
	}
	for _, c := range r.Requests.Columns() {
		if c.Name == serving.ColReplica {
			t.Error("the harness's worker is taken for a replica of the server")
		}
		if c.Name == string(serving.ITL) && c.Gaps != "token" {
			t.Errorf("gaps are %q, want token: 2 gaps of 3 tokens", c.Gaps)
		}
	}
}

// A token count that does not fit the gaps makes them gaps between chunks.
func TestRecordsChunks(t *testing.T) {
	r, _ := decodeRecords(t, strings.Replace(recA, `"output_sequence_length":{"value":3`, `"output_sequence_length":{"value":30`, 1))
	for _, c := range r.Requests.Columns() {
		if c.Name == string(serving.ITL) && c.Gaps != "chunk" {
			t.Errorf("gaps are %q, want chunk", c.Gaps)
		}
	}
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "1 of 1 completed") {
		t.Errorf("notes %q do not say so", r.Notes)
	}
}

// Damaged records and values are problems with a position, and lose nothing else.
func TestRecordsDamaged(t *testing.T) {
	bad := strings.Replace(recA, `{"unit":"ms","value":400.0}`, `{"unit":"furlongs","value":400.0}`, 1)
	bad = strings.Replace(bad, `"value":1000.0`, `"value":-5`, 1)
	bad = strings.Replace(bad, `[250.0,350.0]`, `[250.0,"x"]`, 1)
	text := recWarm + "\n" + recA[:len(recA)-30] + "\n" + bad + "\n[1]\n" + recOld + "\n" + recA[:300]
	r, in := decodeRecords(t, text)
	if d := cmp.Diff([]string{"ok", "incomplete", "ok"}, columnText(t, r.Requests, serving.ColOutcome)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"0.9", "-", "0.5"}, columnText(t, r.Requests, string(serving.TTFT))); d != "" {
		t.Error(d)
	}
	all := fmt.Sprint(in.Problems.List())
	for _, want := range []string{"furlongs", "-5, want", "inter_chunk_latency: want a list", "profile_export.jsonl:2", "no request record", "ends in the middle"} {
		if !strings.Contains(all, want) {
			t.Errorf("problems lack %q: %s", want, all)
		}
	}
}

func TestRecordsNothing(t *testing.T) {
	for _, text := range []string{"", "{}", `{"metadata":{}}`, "[1,2]", "{"} {
		in := &serving.Input{}
		if runs, err := DecodeRecords(t.Context(), "x", strings.NewReader(text), in); err == nil {
			t.Errorf("%q gives %d runs and no error", text, len(runs))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DecodeRecords(ctx, "x", strings.NewReader(recA), &serving.Input{}); err == nil {
		t.Error("a cancelled context gives no error")
	}
}

func FuzzRecords(f *testing.F) {
	for _, s := range []string{recWarm, recA, recOld, recGone, recSlow, recA + "\n" + recOld, "[" + recA + "," + recGone + "]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := &serving.Input{Bytes: int64(len(s))}
		runs, err := DecodeRecords(t.Context(), "x", strings.NewReader(s), in)
		if err != nil {
			return
		}
		r := runs[0]
		if r.Sent.V != r.Completed.V+r.Failed.V {
			t.Errorf("sent %d is not %d + %d", r.Sent.V, r.Completed.V, r.Failed.V)
		}
		for _, c := range r.Requests.Columns() {
			if got := columnText(t, r.Requests, c.Name); int64(len(got)) != in.Records {
				t.Errorf("%s has %d rows of %d", c.Name, len(got), in.Records)
			}
		}
		SameRun(r, r)
	})
}
