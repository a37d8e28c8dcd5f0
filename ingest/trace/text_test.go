package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// pieces opens s so that readers start with a buffer of n bytes, 0 for the usual
// one: everything falls on its end once.
func pieces(s string, n int) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		textBuffer = 256 << 10
		if n > 0 {
			textBuffer = n
		}
		return io.NopCloser(iotest.HalfReader(strings.NewReader(s))), nil
	}
}

type opener = func(context.Context, TextFile, Options) (*Text, error)

func openString(t testing.TB, open opener, s string, opt Options) (*Text, *serving.Input) {
	t.Helper()
	in := &serving.Input{Path: "trace.txt"}
	tb, err := open(context.Background(), TextFile{Path: "trace.txt", Open: pieces(s, 0), In: in}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tb, in
}

// show formats the rows of some columns: durations with six digits, times in
// nanoseconds.
func (c *columns) show(want ...string) []string {
	var out []string
	gaps := 0
	for i := range c.rows {
		var cells []string
		for _, n := range want {
			k := slices.IndexFunc(c.table.Columns(), func(x serving.Column) bool { return x.Name == n })
			kind := c.table.Columns()[k].Kind
			switch {
			case !c.has[n][i]:
				cells = append(cells, "-")
			case kind == serving.KindTime || kind == serving.KindCount:
				cells = append(cells, fmt.Sprint(c.ints[n][i]))
			case kind == serving.KindText:
				cells = append(cells, c.text(n, i))
			case kind == serving.KindGaps:
				cells = append(cells, fmt.Sprint(c.gaps[i]))
			default:
				cells = append(cells, fmt.Sprintf("%.6g", c.floats[n][i]))
			}
			gaps++
		}
		out = append(out, strings.Join(cells, " "))
	}
	return out
}

// TestDialects reads a few records as each producer writes them.
func TestDialects(t *testing.T) {
	for _, tt := range []struct {
		name, dialect string
		open          opener
		in            string
		want          []string
		rows          []string
		side          serving.Side
	}{
		{"azure", "", OpenCSV, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n",
			[]string{"arrival_time", "prompt_tokens", "output_tokens", "outcome"}, []string{"1700158623979960000 4808 10 ok", "1700158624031960000 3180 8 ok"}, ""},
		{"azure 2024", "", OpenCSV, "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n",
			[]string{"arrival_time", "prompt_tokens"}, []string{"1715299200009930000 2162"}, ""},
		{"burstgpt", "BurstGPT", OpenCSV, "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,7,2.5,ChatGPT,472,18,490,Conversation log\n45,8,0.5,GPT-4,100,0,100,API log\n",
			[]string{"arrival_time", "e2e", "model", "workload", "session_id", "prompt_tokens", "output_tokens", "outcome"},
			[]string{"5000000000 2.5 ChatGPT Conversation log 7 472 18 ok", "45000000000 0.5 GPT-4 API log 8 100 0 error"}, ""},
		{"mooncake", "Mooncake", OpenJSONL, `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48, 2353]}` + "\n",
			[]string{"arrival_time", "prompt_tokens", "output_tokens"}, []string{"27482000000 6955 52"}, ""},
		{"qwen", "Qwen-Bailian", OpenJSONL, `{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 521, "output_length": 132, "type": "text", "turn": 1, "hash_ids": [1089, 1090]}` + "\n",
			[]string{"request_id", "arrival_time", "workload", "turn", "prompt_tokens"}, []string{"159 61114000000 text 1 521"}, ""},
		{"vidur trace", "Vidur", OpenCSV, "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n5.8926549999999995,91,16\n",
			[]string{"arrival_time", "prompt_tokens", "output_tokens"}, []string{"0 374 44", "5892655000 91 16"}, ""},
		{"vidur metrics", "Vidur", OpenCSV, "Request Id,request_e2e_time,request_scheduling_delay,prefill_e2e_time,request_num_prefill_tokens,request_num_decode_tokens,request_num_restarts\n0,1.5,0.25,0.5,100,11,2\n",
			[]string{"request_id", "e2e", "ttft", "tpot", "queue", "preemptions"}, []string{"0 1.5 0.5 0.1 0.25 2"}, serving.ServerSide},
		{"llmservingsim", "LLMServingSim", OpenCSV, "instance id,request id,model,input,output,arrival,end_time,latency,queuing_delay,TTFT,TPOT,ITL\n" +
			"1,3,meta-llama/Llama-3.1-8B,4,3,570907776,705366242,134458466,45765,11004847,61726809,\"[12394888, 111058731]\"\n",
			[]string{"replica", "arrival_time", "end_time", "e2e", "queue", "ttft", "tpot", "itl"},
			[]string{"1 570907776 705366242 0.134458 4.5765e-05 0.0110048 0.0617268 [0.012394888 0.111058731]"}, serving.ServerSide},
		{"vllm stats", "vLLM engine", OpenJSONL, `{"request_id": "a", "arrival_time": 1787267980.0827403, "queued_ts": 27536.5, "scheduled_ts": 27536.75, "first_token_ts": 27537.5, "last_token_ts": 27538.5, "num_generation_tokens": 11}` + "\n",
			[]string{"arrival_time", "queue", "prefill", "decode", "ttft", "e2e", "tpot"}, []string{"1787267980082740300 0.25 0.75 1 1 2 0.1"}, serving.ServerSide},
		{"sglang", "SGLang", OpenJSONL, `{"request_parameters": "{\"rid\": \"x\", \"stream\": true}", "id": "x", "finish_reason": {"type": "stop", "matched": 128001}, "prompt_tokens": 40, "completion_tokens": 5, "cached_tokens": 32, "e2e_latency": 1.5, "queue_time": 0.25, "prefill_launch_delay": 0.01, "prefill_launch_latency": 0.02, "request_received_ts": 1764000000.5, "response_sent_to_client_ts": 1764000002.0, "decode_throughput": 9.5}` + "\n" +
			`{"request_parameters": "{}", "id": "y", "finish_reason": {"type": "abort", "message": "m"}, "prompt_tokens": 1, "completion_tokens": 0, "cached_tokens": 0, "e2e_latency": 2.0, "queue_time": 0, "prefill_launch_delay": 0.01, "prefill_launch_latency": 0.02, "request_received_ts": 1764000003.5, "response_sent_to_client_ts": 1764000005.5}` + "\n",
			[]string{"request_id", "arrival_time", "prompt_tokens", "cached_tokens", "e2e", "queue", "finish_reason", "outcome"},
			[]string{"x 1764000000500000000 40 32 1.5 0.25 stop ok", "y 1764000003500000000 1 0 2 0 abort cancelled"}, serving.ServerSide},
		{"dynamo", "Dynamo", OpenJSONL, `{"schema":"dynamo.request.trace.v1","event_type":"tool_end","event_time_unix_ms":1764000000100,"agent_context":{"session_id":"s1"},"tool":{"tool_call_id":"c","tool_class":"t","status":"succeeded","duration_ms":5.0,"output_tokens":9}}` + "\n" +
			`{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":1764000002000,"event_source":"dynamo","agent_context":{"session_id":"s1"},"request":{"request_id":"r1","model":"m","input_tokens":100,"output_tokens":11,"cached_tokens":64,"request_received_ms":1764000000000,"prefill_wait_time_ms":12.5,"prefill_time_ms":87.5,"ttft_ms":100.0,"total_time_ms":2000.0,"avg_itl_ms":190.0,"kv_hit_rate":0.64,"queue_depth":3,"worker":{"prefill_worker_id":7,"decode_worker_id":8},"finish_reason_metadata":{"finish_reason":"stop","tool_calls":[{"choice_index":0,"tool_call_index":0}]}}}` + "\n" +
			`{"schema":"dynamo.request.trace.v1","event_type":"request_payload","event_time_unix_ms":1764000002001,"payload":{"request_id":"r1","endpoint":"e","model":"m","payload_complete":true}}` + "\n",
			[]string{"request_id", "session_id", "replica", "prefill_replica", "ttft", "tpot", "e2e", "queue", "prefill", "cached_tokens", "finish_reason", "outcome"},
			[]string{"r1 s1 8 7 0.1 0.19 2 0.0125 0.0875 64 stop ok"}, serving.ServerSide},
		{"litellm", "LiteLLM", OpenCSV, "request_id,call_type,spend,total_tokens,prompt_tokens,completion_tokens,startTime,endTime,completionStartTime,model,model_group,custom_llm_provider,api_base,user,status,metadata,cache_hit\n" +
			"r1,acompletion,0.1,30,20,10,2026-01-05 10:00:00.5,2026-01-05 10:00:02.5,2026-01-05 10:00:01,gpt-oss,grp,openai,http://h,u1,success,\"{\"\"a\"\": \"\"b,c\"\"}\",False\n" +
			"r2,acompletion,0.1,30,20,10,2026-01-05 10:00:03,2026-01-05 10:00:05,2026-01-05 10:00:05,gpt-oss,grp,openai,http://h,,failure,{},False\n",
			[]string{"request_id", "arrival_time", "e2e", "ttft", "tenant", "engine", "replica", "outcome"},
			[]string{"r1 1767607200500000000 2 0.5 u1 openai http://h ok", "r2 1767607203000000000 2 - - openai http://h error"}, serving.Client},
		{"home-made with semicolons", "", OpenCSV, "\xef\xbb\xbfid;start;TTFT (ms);e2e_s;model;stream\r\n1;2026-01-05T10:00:00+01:00;120,5;1,25;m;yes\r\n2;2026-01-05T10:00:01Z;80;0,5;\"a;b\";no\r\n",
			[]string{"request_id", "ttft", "e2e", "model", "streaming"}, []string{"1 0.1205 1.25 m yes", "2 - 0.5 a;b no"}, ""},
		{"timedeltas", "", OpenCSV, "id\tarrival\tttft\te2e\n1\t2026-01-05\t250ms\t0 days 00:00:01.500000\n2\t2026-01-06\t1.5s\t0:00:02\n",
			[]string{"arrival_time", "ttft", "e2e"}, []string{"1767571200000000000 0.25 1.5", "1767657600000000000 1.5 2"}, ""},
		{"values with units", "", OpenJSONL, `[{"id": "a", "ttft": {"value": 31.5, "unit": "ms"}, "tokens": {"input": 5, "output": 7}}, {"id": "b", "ttft": {"value": 1, "unit": "ms"}, "tokens": {"input": 6, "output": null}}]`,
			[]string{"request_id", "ttft", "prompt_tokens", "output_tokens"}, []string{"a 0.0315 5 7", "b 0.001 6 -"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sniff := func(head string) (bool, string) { return SniffCSV([]byte(head), true, nil, Options{}) }
			if tt.in[0] == '{' || tt.in[0] == '[' {
				sniff = func(head string) (bool, string) { return SniffJSONL([]byte(head), true, nil, Options{}) }
			}
			if ok, why := sniff(tt.in); !ok {
				t.Errorf("not recognized: %s", why)
			}
			tb, in := openString(t, tt.open, tt.in, Options{})
			got := collect(t, tb, tt.want...)
			if rows := got.show(tt.want...); !slices.Equal(rows, tt.rows) {
				t.Errorf("got  %q\nwant %q", rows, tt.rows)
			}
			if tb.Dialect() != tt.dialect || tt.side != "" && tb.Side() != tt.side {
				t.Errorf("dialect %q, side %q; want %q, %q", tb.Dialect(), tb.Side(), tt.dialect, tt.side)
			}
			if list := got.problems.List(); len(list) > 0 && tt.name != "sglang" {
				t.Errorf("problems %v", list)
			}
			if in.Records != int64(len(tt.rows)) || tb.Rows() != int64(len(tt.rows)) || !tb.Rescannable() {
				t.Errorf("%d records, %d rows", in.Records, tb.Rows())
			}
			// The same whatever the pieces, again and again.
			for _, n := range []int{1, 7} {
				again, err := tt.open(context.Background(), TextFile{Path: "p", Open: pieces(tt.in, n)}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if rows := collect(t, again, tt.want...).show(tt.want...); !slices.Equal(rows, tt.rows) {
						t.Errorf("in pieces of %d: %q", n, rows)
					}
				}
			}
		})
	}
}

const otlp = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"vllm"}},{"key":"k8s.pod.name","value":{"stringValue":"pod-1"}}]},
"scopeSpans":[{"scope":{"name":"vllm"},"spans":[
{"traceId":"aa","spanId":"b1","name":"POST /v1/completions","startTimeUnixNano":"1764000000000000000","endTimeUnixNano":"1764000009000000000","attributes":[{"key":"gen_ai.usage.prompt_tokens","value":{"intValue":"1"}}]},
{"traceId":"aa","spanId":"b2","name":"llm_request","kind":2,"startTimeUnixNano":"1764000000000000000","endTimeUnixNano":"1764000002000000000","attributes":[
{"key":"gen_ai.response.model","value":{"stringValue":"m"}},{"key":"gen_ai.request.id","value":{"stringValue":"r-1"}},{"key":"gen_ai.usage.prompt_tokens","value":{"intValue":"100"}},
{"key":"gen_ai.usage.completion_tokens","value":{"intValue":"11"}},{"key":"gen_ai.latency.time_in_queue","value":{"doubleValue":0.25}},{"key":"gen_ai.latency.time_to_first_token","value":{"doubleValue":1.0}},
{"key":"gen_ai.latency.e2e","value":{"doubleValue":2}},{"key":"gen_ai.response.finish_reasons","value":{"arrayValue":{"values":[{"stringValue":"stop"}]}}}],"status":{}},
{"name":"llm_request","startTimeUnixNano":1764000001000000000,"endTimeUnixNano":"1764000002000000000","attributes":[{"key":"gen_ai.request.id","value":{"stringValue":"r-2"}},{"key":"gen_ai.usage.prompt_tokens","value":{"intValue":7}}],"status":{"code":2,"message":"request timed out"}}
]}]}]}
`

// TestOTLP reads spans: the engine's only, with their resource's attributes.
func TestOTLP(t *testing.T) {
	for _, s := range []string{otlp, strings.ReplaceAll(otlp, "\n", "") + "\n" + `{"resourceSpans":[]}` + "\n"} {
		if ok, why := SniffJSONL([]byte(s), true, nil, Options{}); !ok {
			t.Fatal(why)
		}
		tb, in := openString(t, OpenJSONL, s, Options{})
		want := []string{"request_id", "arrival_time", "end_time", "model", "replica", "prompt_tokens", "output_tokens", "queue", "ttft", "e2e", "tpot", "finish_reason", "outcome"}
		got := collect(t, tb, want...)
		rows := []string{
			"r-1 1764000000000000000 1764000002000000000 m pod-1 100 11 0.25 1 2 0.1 stop ok",
			"r-2 1764000001000000000 1764000002000000000 - pod-1 7 - - - - - - timeout",
		}
		if !slices.Equal(got.show(want...), rows) {
			t.Errorf("got  %q\nwant %q", got.show(want...), rows)
		}
		if tb.Side() != serving.ServerSide || in.Records != 2 || !strings.Contains(in.Note, "llm_request") {
			t.Errorf("side %s, %d records, %s", tb.Side(), in.Records, in.Note)
		}
	}
	const web = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"GET /","startTimeUnixNano":"1","attributes":[{"key":"http.route","value":{"stringValue":"/"}}]}]}]}]}`
	if ok, _ := SniffJSONL([]byte(web), true, pieces(web, 0), Options{}); ok {
		t.Error("spans of a web server are taken")
	}
	late := strings.Repeat(web+"\n", 3000) + strings.ReplaceAll(otlp, "\n", "")
	if ok, why := SniffJSONL([]byte(late[:256<<10]), false, pieces(late, 4096), Options{}); !ok {
		t.Error(why)
	}
	tb, _ := openString(t, OpenJSONL, late, Options{})
	if got := collect(t, tb, "request_id"); got.rows != 2 {
		t.Errorf("%d rows, want 2", got.rows)
	}
	// A collector that was killed: the spans in front of the end are there.
	at := strings.Index(otlp, `{"name":"llm_request","startTimeUnixNano":17640`)
	tb, _ = openString(t, OpenJSONL, otlp[:at+40], Options{})
	got := collect(t, tb, "request_id")
	if list := got.problems.List(); got.rows != 1 || len(list) != 1 || list[0].At.Line == 0 {
		t.Errorf("%d rows, %v", got.rows, list)
	}
}

// TestDamage checks that a damaged record costs itself alone and is found again
// by line and field.
func TestTextDamage(t *testing.T) {
	const head = "id,arrival_time,output_tokens,ttft_ms,model\n"
	const jl = `{"id": "a", "arrival_time": "2026-01-05T10:00:00Z", "output_tokens": 5, "ttft_ms": 10}` + "\n"
	for _, tt := range []struct {
		name     string
		open     opener
		in       string
		ids      string
		problems []string
	}{
		{"no count", OpenCSV, head + "a,2026-01-05,5,10,m\nb,2026-01-05,abc,20,m\nc,2026-01-05,1.5,30,m\nd,2026-01-05,12.0,x,m\ne,2026-13-45,1,1,m\n", "a b c d e",
			[]string{`trace.txt:3: output_tokens: "abc" is no count (2 records)`, `trace.txt:5: ttft_ms: "x" is no duration`, `trace.txt:6: arrival_time: "2026-13-45" is no time`}},
		{"impossible", OpenCSV, head + "a,2026-01-05,5,10,m\nb,2026-01-05,-4,-20,m\n", "a b",
			[]string{"trace.txt:3: output_tokens: -4 is negative, want a count", "trace.txt:3: ttft_ms: -20 is negative, want a duration"}},
		{"fields", OpenCSV, head + "a,2026-01-05,5,10,m\nb,2026-01-05,5\nc,2026-01-05,5,10,m,n\nd,2026-01-05,5,10,m,,\n\n\ne,2026-01-05,5,10,m\nf,2026", "a d e",
			[]string{"trace.txt:3: 3 fields, want 5: this record is left out (2 records)", "trace.txt:4: 6 fields, want 5: this record is left out"}},
		{"quotes", OpenCSV, head + "a,2026-01-05,5,10,\"m\nn\"\nb,2026-01-05,5,10,\"m\nc,2026-01-05,5,10,m\nd,2026-01-05,5,10,\"m\" n\ne,2026-01-05,5,10,\"a \"\"b\"\"\"\nf,2026-01-05,5,10,\"m\ng,2026-01-05,5,10,m", "a c e g",
			[]string{"trace.txt:4: text behind a closing quote: this record is left out (2 records)", "trace.txt:8: a quote that is never closed: this record is left out"}},
		{"header again", OpenCSV, head + "a,2026-01-05,5,10,m\n" + head + "b,2026-01-05,5,10,m\n", "a b",
			[]string{"trace.txt:3: the line of column names once more: skipped"}},
		{"lines", OpenJSONL, jl + `{"id": "b", "output_tokens": "many", "ttft_ms": 1}` + "\n" + `{"id": "c", "output_tokens": 1` + "\nINFO something\n" + `{"id": "d", "model": "unclosed` + "\n" + `{"id": "e", "ttft_ms": NaN, "output_tokens": "7"}` + "\n" + `{"id": "f", "outp`, "a b e",
			[]string{`trace.txt:2: output_tokens: "many" is no count`, "trace.txt:3: the line ends in the middle of the record: this record is left out", "trace.txt:4: no JSON object: this record is left out",
				"trace.txt:5: a string is not closed: this record is left out", "trace.txt:7: the file ends in the middle of the record: this record is left out"}},
		{"first line", OpenJSONL, `{"id": "x", "ttf` + "\n" + jl, "a", []string{"trace.txt:1: a string is not closed: this record is left out"}},
		{"pretty array", OpenJSONL, "[\n {\n  \"id\": \"a\",\n  \"ttft_ms\": 1\n },\n {\n  \"id\": \"b\",\n  \"ttft_ms\": \"x\"\n },\n {\n  \"id\": \"c\" 1\n }\n]\n", "a b",
			[]string{`trace.txt:6: ttft_ms: "x" is no duration`, "trace.txt:10: a comma was expected; those after it are left out, too: this record is left out"}},
		{"objects after each other", OpenJSONL, "{\n\"id\": \"a\", \"ttft_ms\": 1}{\"id\": \"b\", \"ttft_ms\": 2}\n{\"id\": \"c\", \"ttft_ms\" 3}\n{\"id\": \"d\", \"ttft_ms\": 4}", "a b d",
			[]string{"trace.txt:3: a colon was expected: this record is left out"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{0, 1, 13} {
				tb, err := tt.open(context.Background(), TextFile{Path: "trace.txt", Open: pieces(tt.in, n)}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for _, c := range []string{"request_id", "arrival_time", "output_tokens", "ttft"} {
					if slices.ContainsFunc(tb.Columns(), func(x serving.Column) bool { return x.Name == c }) {
						want = append(want, c)
					}
				}
				got := collect(t, tb, want...)
				var list []string
				for _, p := range got.problems.List() {
					list = append(list, p.String())
				}
				if !slices.Equal(list, tt.problems) {
					t.Errorf("pieces of %d: problems\n%s\nwant\n%s", n, strings.Join(list, "\n"), strings.Join(tt.problems, "\n"))
				}
				if ids := strings.Join(got.show("request_id"), " "); ids != tt.ids {
					t.Errorf("pieces of %d: records %s, want %s", n, ids, tt.ids)
				}
			}
		})
	}
}

// TestTextBatches scans more rows than a batch holds, with and without values.
func TestTextBatches(t *testing.T) {
	const rows = serving.BatchRows + 77
	var csv, jl strings.Builder
	csv.WriteString("id,arrival_time,output_tokens,e2e_s\n")
	for i := range rows {
		out := fmt.Sprint(i % 1000)
		if i%5 == 0 {
			out = ""
		}
		fmt.Fprintf(&csv, "%d,%d.5,%s,%g\n", i%97, 1764000000+i, out, float64(i)/8)
		if i%5 == 0 {
			out = "null"
		}
		fmt.Fprintf(&jl, "{\"id\": %d, \"arrival_time\": %d.5, \"output_tokens\": %s, \"e2e_s\": %g}\n", i%97, 1764000000+i, out, float64(i)/8)
	}
	for _, c := range []struct {
		open opener
		in   string
	}{{OpenCSV, csv.String()}, {OpenJSONL, jl.String()}} {
		tb, in := openString(t, c.open, c.in, Options{})
		if tb.Rows() != -1 && c.in[0] == 'i' {
			t.Errorf("%d rows before a scan", tb.Rows())
		}
		for range 2 {
			got := collect(t, tb, "output_tokens", "request_id", "arrival_time", "e2e")
			if got.rows != rows || in.Records != rows || tb.Rows() != rows {
				t.Fatalf("%d rows, %d, %d; want %d", got.rows, in.Records, tb.Rows(), rows)
			}
			for i := range rows {
				if got.has["output_tokens"][i] != (i%5 != 0) || i%5 != 0 && got.ints["output_tokens"][i] != int64(i%1000) || got.text("request_id", i) != fmt.Sprint(i%97) ||
					got.ints["arrival_time"][i] != (1764000000+int64(i))*1e9+5e8 || got.floats["e2e"][i] != float64(i)/8 {
					t.Fatalf("row %d is wrong", i)
				}
			}
		}
	}
}

// TestTextUnits checks that nothing is taken for a unit that is none.
func TestTextUnits(t *testing.T) {
	const in = "id,arrival_time,ttft\na,2026-01-05,120\n"
	_, err := OpenCSV(context.Background(), TextFile{Path: "t.csv", Open: pieces(in, 0)}, Options{})
	var fe *serving.FormatError
	if !errors.As(err, &fe) || !strings.Contains(err.Error(), "--map ttft=ttft:ms") {
		t.Errorf("error %v, want one that says what to pass", err)
	}
	if ok, why := SniffCSV([]byte(in), true, nil, Options{}); !ok {
		t.Error(why) // it is a trace: opening it says what is missing
	}
	tb, _ := openString(t, OpenCSV, in, Options{Map: []column.Mapping{{Canonical: "ttft", Column: "ttft", Unit: column.Millisecond}}})
	if got := collect(t, tb, "ttft").show("ttft"); got[0] != "0.12" {
		t.Errorf("ttft %v", got)
	}
	const contradict = "id,arrival_time,end_time,e2e_s\na,1764000000,1764000002,2000\nb,1764000010,1764000013,3000\n"
	_, err = OpenCSV(context.Background(), TextFile{Path: "t.csv", Open: pieces(contradict, 0)}, Options{})
	if !errors.As(err, &fe) || !strings.Contains(err.Error(), "contradict") {
		t.Errorf("error %v, want a contradiction", err)
	}
	const odd = "when,first\n1764000000,12\n"
	maps := []column.Mapping{{Canonical: "ttft", Column: "first", Unit: column.Second}}
	if ok, why := SniffCSV([]byte(odd), true, nil, Options{Map: maps}); !ok {
		t.Error(why)
	}
	if ok, _ := SniffCSV([]byte(odd), true, nil, Options{}); ok {
		t.Error("unknown columns are taken for a trace")
	}
}

// TestLateNames checks that a name which comes late is missed loudly, and one
// without any value at the start is read.
func TestLateNames(t *testing.T) {
	var b strings.Builder
	pad := strings.Repeat("x", 512<<10)
	for i := range 40 { // beyond sampleBytes
		fmt.Fprintf(&b, "{\"id\": %d, \"ttft_ms\": 1, \"finish_reason\": null, \"pad\": %q}\n", i, pad)
	}
	b.WriteString(`{"id": "z", "error": "boom", "other": 1, "finish_reason": "stop"}` + "\n")
	tb, _ := openString(t, OpenJSONL, b.String(), Options{})
	got := collect(t, tb, "request_id", "finish_reason")
	list := got.problems.List()
	if len(list) != 1 || list[0].At.Line != 41 || list[0].At.Field != "error" {
		t.Errorf("problems %v", list)
	}
	if got.rows != 41 || got.text("finish_reason", 40) != "stop" {
		t.Errorf("%d rows", got.rows)
	}
}

// TestBroken checks that a stream that fails keeps what came before.
func TestBroken(t *testing.T) {
	in := "id,ttft_ms\na,1\nb,2\n"
	boom := errors.New("unexpected EOF of gzip")
	n := 0
	open := func() (io.ReadCloser, error) {
		n++
		return io.NopCloser(io.MultiReader(strings.NewReader(in), iotest.ErrReader(boom))), nil
	}
	for _, c := range []struct {
		open opener
		in   string
	}{{OpenCSV, in}, {OpenJSONL, "{\"id\": 1, \"ttft_ms\": 1}\n{\"id\": 2, \"ttft_ms\": 1}\n"}} {
		in = c.in
		tb, err := c.open(context.Background(), TextFile{Path: "t", Open: open}, Options{})
		if err != nil {
			// OpenCSV reads a head first, and says what is wrong with it.
			if !strings.Contains(err.Error(), boom.Error()) {
				t.Error(err)
			}
			continue
		}
		got := collect(t, tb, "ttft")
		if list := got.problems.List(); got.rows != 2 || len(list) != 1 || !strings.Contains(list[0].Message, boom.Error()) {
			t.Errorf("%d rows, %v", got.rows, list)
		}
	}
}

// TestCancelled checks that a scan ends with its context.
func TestTextCancelled(t *testing.T) {
	tb, _ := openString(t, OpenCSV, "id,ttft_ms\n"+strings.Repeat("a,1\n", 200_000), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	err := tb.Scan(ctx, []string{"ttft"}, nil, func(*serving.Batch) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := tb.Scan(context.Background(), []string{"nope"}, nil, nil); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("error %v", err)
	}
}

// TestNotTraces checks what must stay unrecognized.
func TestNotTraces(t *testing.T) {
	for name, s := range map[string]string{
		"windows":     "0,1.33,8.59,Weibull,0.37,0.39\n600,0,0,,0,0\n1200,0.27,6.0,Weibull,0.4,3.3\n",
		"gauges":      "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n1.0,3392.0,2.0,5,2,13.22\n",
		"more gauges": "timestamp,running,waiting,gpu_cache_usage,ttft_ms\n1764000000,3,4,0.5,120\n",
		"levels":      "concurrency,request_throughput,ttft_ms,tpot_ms\n1,0.5,20,8\n2,0.9,25,9\n",
		"percentiles": "model,ttft_ms,ttft_p99_ms\nm,20,40\n",
		"lengths":     "num_prefill_tokens,num_decode_tokens\n3772,54\n",
		"statistics":  "Metric,avg,min,max,p50\nTTFT,1,2,3,4\n",
		"prose":       "Latency is high, says the user.\nThe pod, the node, and the rest.\n",
		"log":         "INFO 01-01 10:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation\nINFO 01-01\n",
		"prometheus":  "# HELP a b\n# TYPE a counter\na{b=\"c\",d=\"e\"} 1\n",
		"empty":       "",
		"binary":      "a,ttft_ms\x00\n1,2\n",
	} {
		if ok, _ := SniffCSV([]byte(s), true, nil, Options{}); ok {
			t.Errorf("CSV: %s is taken for a trace", name)
		}
	}
	for name, s := range map[string]string{
		"aiperf":         `{"metadata": {"session_num": 0, "request_start_ns": 1, "worker_id": "w"}, "metrics": {"request_latency": {"value": 3, "unit": "ms"}}, "error": null}` + "\n",
		"inference-perf": `[{"start_time": 1.5, "end_time": 2.5, "request": "", "response": "", "info": {"input_tokens": 5, "output_tokens": 7}}]`,
		"benchmark":      `{"request_throughput": 5, "completed": 100, "mean_ttft_ms": 5, "ttft": 3, "model_id": "m"}` + "\n",
		"summary":        `{"model": "m", "ttft_ms": 12, "tpot_ms": 3}`,
		"scalars":        "1\n2\n", "empty": "", "strings": `["a"]`, "nothing": "{}", "words": "hello",
	} {
		if ok, _ := SniffJSONL([]byte(s), true, nil, Options{}); ok {
			t.Errorf("JSON: %s is taken for a trace", name)
		}
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"0", "-0", "1", "12.5", "-3.25", "0.1", "1e3", "1.7976931348623157e308", "5.8926549999999995", "123456789012345678901234567890", "0.000000000000000000001", "9007199254740993", "+4", ".5", "5.", "1E-7"} {
		var want float64
		if _, err := fmt.Sscan(s, &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := parseFloat([]byte(s)); !ok || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "-", ".", "abc", "0x10", "1_0", "1,5", "1 2", "nan", "--1", "e5"} {
		if v, ok := parseFloat([]byte(s)); ok {
			t.Errorf("%q is the number %v", s, v)
		}
	}
	if v, ok := parseFloat([]byte("-Infinity")); !ok || !math.IsInf(v, -1) {
		t.Error("-Infinity is no number")
	}
	for s, want := range map[string]int64{"1787267980.0827403": 1787267980082740300, "0": 0, "-1.5": -1500000000, "1.7e9": 1700000000000000000, "0.0000000015": 2, "12": 12e9} {
		if got, ok := parseNanos([]byte(s), 9); !ok || got != want {
			t.Errorf("%s s: %d ns, want %d", s, got, want)
		}
	}
	for _, s := range []string{"99999999999", "1e30", "", "x", "9223372036854775808"} {
		if got, ok := parseNanos([]byte(s), 9); ok {
			t.Errorf("%s s: %d ns", s, got)
		}
	}
	for _, s := range []string{"2023-11-16 18:17:03.9799600", "2024-02-29T00:00:00Z", "2026-01-05T10:00:00+05:30", "2026-01-05 10:00:00-08", "1999-12-31 23:59:59,123", "2026-01-05", "2026-01-05 10:00", "2026-01-05 10:00:00 UTC", "1969-07-20T20:17:40.5-0400", "2100-03-01 00:00:00"} {
		want, wok := column.ParseInstant(s)
		if got, _, ok := parseInstant([]byte(s)); !ok || !wok || got != want {
			t.Errorf("%s: %d %v, want %d %v", s, got, ok, want, wok)
		}
	}
	for _, s := range []string{"2023-02-29 00:00:00", "2023-11-16 25:00:00", "2023-13-01", "20231116", "not a date", "2023-11-16 18:17:03.", "2023-11-16 18:17:03+99"} {
		if ns, _, ok := parseInstant([]byte(s)); ok {
			t.Errorf("%s: %d", s, ns)
		}
	}
}

// The first row may be longer than what a sniffer is given.
func TestWideFirstRow(t *testing.T) {
	wide := strings.Repeat("x", 2<<20)
	for name, c := range map[string]struct {
		open  opener
		sniff func(head []byte, text string) (bool, string)
		text  string
	}{
		"csv": {OpenCSV, func(head []byte, text string) (bool, string) {
			return SniffCSV(head, false, pieces(text, 0), Options{})
		},
			"request_id,ttft_ms,prompt\na,5," + wide + "\nb,6,y\n"},
		"json": {OpenJSONL, func(head []byte, text string) (bool, string) {
			return SniffJSONL(head, false, pieces(text, 0), Options{})
		},
			`{"request_id":"a","ttft_ms":5,"prompt":"` + wide + `"}` + "\n" + `{"request_id":"b","ttft_ms":6}` + "\n"},
	} {
		if ok, why := c.sniff([]byte(c.text[:headBytes]), c.text); !ok {
			t.Errorf("%s: %s", name, why)
		}
		tb, err := c.open(context.Background(), TextFile{Path: "f", Open: pieces(c.text, 0), In: &serving.Input{}}, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		if scanText(t, tb); tb.Rows() != 2 {
			t.Errorf("%s: %d rows, want 2", name, tb.Rows())
		}
	}
}

// A first row that is longer than a record may be costs itself alone.
func TestHugeFirstRow(t *testing.T) {
	text := "request_id,ttft_ms,prompt\na,5," + strings.Repeat("x", maxRecord+headBytes) + "\nb,6,y\nc,7,z\n"
	if ok, why := SniffCSV([]byte(text[:headBytes]), false, pieces(text, 0), Options{}); !ok {
		t.Fatal(why)
	}
	tb, err := OpenCSV(context.Background(), TextFile{Path: "f", Open: pieces(text, 0), In: &serving.Input{}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var problems serving.Problems
	err = tb.Scan(context.Background(), []string{string(serving.TTFT)}, &problems, func(*serving.Batch) error { return nil })
	if l := problems.List(); err != nil || tb.Rows() != 2 || len(l) != 1 || l[0].At.Line != 2 {
		t.Errorf("%v, %d rows, problems %v, want one at line 2", err, tb.Rows(), l)
	}
}

// A line that does not end is not read for ever, and what came before it counts.
func TestEndlessLine(t *testing.T) {
	for name, c := range map[string]struct {
		open opener
		text string
	}{
		"csv":  {OpenCSV, "request_id,ttft_ms\na,5\nb,6\nc,"},
		"json": {OpenJSONL, `{"request_id":"a","ttft_ms":5}` + "\n" + `{"request_id":"b","ttft_ms":6}` + "\n" + `{"request_id":"`},
	} {
		read := int64(0)
		stream := func() (io.ReadCloser, error) {
			read = 0
			return io.NopCloser(io.TeeReader(io.MultiReader(strings.NewReader(c.text), endless{}), counter{&read})), nil
		}
		in := &serving.Input{}
		tb, err := c.open(context.Background(), TextFile{Path: "f", Open: stream, In: in}, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		var problems serving.Problems
		err = tb.Scan(context.Background(), []string{string(serving.TTFT)}, &problems, func(*serving.Batch) error { return nil })
		if err != nil || tb.Rows() != 2 || problems.Len() == 0 || read > 2*maxLine {
			t.Errorf("%s: %v, %d rows, %d problems, %d bytes read; want 2 rows and a problem", name, err, tb.Rows(), problems.Len(), read)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type counter struct{ n *int64 }

func (c counter) Write(p []byte) (int, error) { *c.n += int64(len(p)); return len(p), nil }

func TestTwiceIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		open opener
		text string
		want []string
	}{
		"names": {OpenJSONL, `{"request_id":"a","ttft_ms":5,"ttft_ms":6}` + "\n" + `{"request_id":"b","ttft_ms":6}` + "\n", []string{"has ttft_ms twice"}},
		"ids":   {OpenCSV, "request_id,ttft_ms\na,5\nb,6\na,7\n", []string{"1 of the first 3 values of request_id"}},
		"none":  {OpenJSONL, `{"request_id":"a","ttft_ms":5}` + "\n" + `{"request_id":"b","ttft_ms":5}` + "\n", nil},
	} {
		in := &serving.Input{}
		if _, err := c.open(context.Background(), TextFile{Path: "f", Open: pieces(c.text, 0), In: in}, Options{}); err != nil {
			t.Fatal(name, err)
		}
		for _, w := range c.want {
			if !strings.Contains(in.Note, w) {
				t.Errorf("%s: note %q, want %q in it", name, in.Note, w)
			}
		}
		if c.want == nil && (strings.Contains(in.Note, "twice") || strings.Contains(in.Note, "before")) {
			t.Errorf("%s: note %q", name, in.Note)
		}
	}
}

// The level of a log's line is no error of its request, and no problem.
func TestLogLevels(t *testing.T) {
	in := `{"level": "info", "status_code": 200, "output_tokens": 5, "duration_ms": 10}` + "\n" +
		`{"level": "warning", "status_code": 500, "output_tokens": 0, "duration_ms": 10}` + "\n" +
		`{"level": "INFO", "status_code": 504, "output_tokens": 0, "duration_ms": 10}` + "\n" +
		`{"level": "error", "output_tokens": 5, "duration_ms": 10}` + "\n" +
		`{"level": "info", "output_tokens": 0, "duration_ms": 10}` + "\n" +
		`{"level": "purple", "status_code": 200, "output_tokens": 5, "duration_ms": 10}` + "\n"
	tb, _ := openString(t, OpenJSONL, in, Options{})
	got := collect(t, tb, "outcome")
	if s := strings.Join(got.show("outcome"), " "); s != "ok error timeout error error ok" {
		t.Errorf("outcomes %s", s)
	}
	if list := got.problems.List(); len(list) != 1 || list[0].At.Line != 6 || !strings.Contains(list[0].Message, "purple") {
		t.Errorf("problems %v", list)
	}
}

// A column that its values keep from being what its name says is a problem, told once.
func TestMisread(t *testing.T) {
	const in = "arrival_time,prompt_tokens,output_tokens,ttft_ms,latency_ms,user,session\n" +
		"2026-01-05T10:00:00Z,\"6,863\",12,\"2,424.5\",soon,\"1,000\",x\n2026-01-05T10:00:01Z,\"7,508\",\"1,234\",\"1,025\",1.5,\"2,000\",y\n2026-01-05T10:00:02Z,\"1,508\",7,17,late,\"3,000\",z\n"
	tb, info := openString(t, OpenCSV, in, Options{})
	var list []string
	for _, p := range info.Problems.List() {
		list = append(list, p.String())
	}
	want := []string{
		`trace.txt: prompt_tokens: "6,863" is nothing that prompt_tokens could be: the column is not used; write its numbers without separators of thousands`,
		`trace.txt: ttft_ms: "2,424.5" is nothing that ttft could be: the column is not used; write its numbers without separators of thousands`,
		`trace.txt: latency_ms: "soon" is nothing that e2e could be: the column is not used`,
	}
	if !slices.Equal(list, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
	got := collect(t, tb, "output_tokens")
	if s := got.show("output_tokens"); !slices.Equal(s, []string{"12", "-", "7"}) {
		t.Errorf("output tokens %v", s)
	}
	if list := got.problems.List(); len(list) != 1 || list[0].At.Line != 3 {
		t.Errorf("problems of the scan %v", list)
	}
}

// Flags that a table with missing values has as floating point are read as if they were
// whole or yes and no, and a column that its values keep from being one is a problem.
func TestFlagsAsFloats(t *testing.T) {
	const ok, failed, cancelled = "ok", "error", "cancelled"
	for _, tt := range []struct {
		name, a, b string // the column, and its values
		want       string // outcomes of a and b, or the problem
	}{
		{"success", "1.0", "0.0", ok + " " + failed},
		{"success", "true", "false", ok + " " + failed},
		{"cancelled", "0.0", "1.0", ok + " " + cancelled},
		{"was_cancelled", "0", "1", ok + " " + cancelled},
		{"error", "0.0", "1.0", ok + " " + failed},
		{"error_code", "", "500.0", ok + " " + failed},
		{"error", "N/A", "boom", ok + " " + failed},
		{"error", "-", "no error", ok + " " + ok},
		{"status", "200.0", "500.0", ok + " " + failed},
		{"status", "true", "false", ok + " " + failed},
		{"http_status", "200.0", "504.0", ok + " timeout"},
		{"result", "0.25", "0.75", ok + " " + ok}, // a score, not a status
		{"success", "2026-01-01", "2026-01-02", "success: holds timestamps and cannot be success: the column is not used"},
		{"success", "3.5", "7.25", "success: holds numbers and cannot be success: the column is not used"},
		{"kv_hit_rate", "high", "low", `kv_hit_rate: "high" is nothing that kv_hit_rate could be: the column is not used`},
		{"kv_hit_rate", "true", "false", "kv_hit_rate: holds booleans and cannot be kv_hit_rate: the column is not used"},
		{"queue", "default", "bulk", ok + " " + ok},
		{"input", "Hello 5", "7 sins", ok + " " + ok},
		{"decode_time", "PT0.1S", "PT0.2S", `decode_time: "PT0.1S" is nothing that decode could be: the column is not used`},
		{"plain ttft", "a", "b", ok + " " + ok},
		{"doubt ttft", "a", "b", ok + " " + ok},
	} {
		var in strings.Builder
		fmt.Fprintf(&in, "arrival_time,ttft_ms,e2e_ms,output_tokens,prompt_tokens,%s\n", tt.name)
		for i := range 20 {
			v := tt.a
			if i%2 > 0 {
				v = tt.b
			}
			fmt.Fprintf(&in, "%d,100,1000,10,100,%s\n", 1700000000+i, v)
		}
		tb, info := openString(t, OpenCSV, in.String(), Options{})
		names := []string{"outcome", "ttft"}
		for _, c := range tb.Columns() {
			if c.Name == tt.name {
				names = append(names, c.Name)
			}
		}
		got := collect(t, tb, names...)
		if list := slices.Concat(info.Problems.List(), got.problems.List()); len(list) > 0 {
			if len(list) != 1 || list[0].String() != "trace.txt: "+tt.want {
				t.Errorf("%s of %s and %s: problems %v, want %q", tt.name, tt.a, tt.b, list, tt.want)
			}
			continue
		}
		if rows := got.show("outcome"); rows[0]+" "+rows[1] != tt.want {
			t.Errorf("%s of %s and %s: %s and %s, want %s", tt.name, tt.a, tt.b, rows[0], rows[1], tt.want)
		}
	}
}

// Rows that a column marks as warm-up are of that phase, as yes, as 1.0 or as true.
func TestWarmUpColumn(t *testing.T) {
	for _, tt := range [][3]string{{"warmup", "true", "false"}, {"is_warmup", "1.0", "0.0"}, {"is_warmup", "1", "0"}, {"warmup", "yes", "no"}} {
		in := "arrival_time,ttft_ms," + tt[0] + "\n1700000000,900," + tt[1] + "\n1700000001,100," + tt[2] + "\n1700000002,100," + tt[2] + "\n"
		tb, _ := openString(t, OpenCSV, in, Options{})
		k := slices.IndexFunc(tb.Columns(), func(c serving.Column) bool { return c.Name == serving.ColPhase })
		if k < 0 || tb.Columns()[k].From != tt[0] {
			t.Errorf("%v: no phase", tt)
			continue
		}
		if s := strings.Join(collect(t, tb, serving.ColPhase).show(serving.ColPhase), " "); s != "warmup profiling profiling" {
			t.Errorf("%v: phases %s", tt, s)
		}
	}
}

// Failed requests have their first token at 1970: those that did not fail keep theirs.
func TestFirstTokenOfFailedRequests(t *testing.T) {
	in := "arrival_time,first_token_time,e2e_ms,output_tokens\n"
	for i := range 40 {
		first := fmt.Sprintf("2026-11-03T10:00:%02d.2Z", i)
		if i%5 == 0 {
			first = "1970-01-01T00:00:00Z"
		}
		in += fmt.Sprintf("2026-11-03T10:00:%02dZ,%s,1000,10\n", i, first)
	}
	tb, _ := openString(t, OpenCSV, in, Options{})
	got := collect(t, tb, "ttft")
	if rows := got.show("ttft"); rows[0] != "-" || rows[1] != "0.2" || rows[39] != "0.2" || got.problems.Len() != 8 {
		t.Errorf("TTFT %v, problems %v", rows[:6], got.problems.List())
	}
}

// Columns of the same requests that contradict each other are a doubt, and an error where
// a unit explains it.
func TestDisagreements(t *testing.T) {
	for _, tt := range []struct {
		columns, row string // of which %d is the second
		want         string
	}{
		{"e2e_ms,end_time", "500,17000000%02d.75", ""},
		{"e2e_ms,end_time", "510,17000000%02d.75", "e2e, which is read from column e2e_ms, is 1.02 × end − arrival in the middle one of the first requests"},
		{"e2e_ms,end_time", "510,17000000%02d", ""}, // written in whole seconds
		{"ttft_ms,first_token_time", "250,17000000%02d.5", ""},
		{"ttft_ms,first_token_time", "100,17000000%02d.5", "ttft, which is read from column ttft_ms, is 0.4 × first token − arrival in the middle one of the first requests"},
		{"ttft_ms,tpot_ms,e2e_ms,output_tokens", "100.5,7,167.3,10", ""}, // 7.4 in whole milliseconds
		{"ttft_ms,tpot_ms,e2e_ms,output_tokens", "100,100,1000,10", ""},
		{"ttft_ms,tpot_ms,e2e_ms,output_tokens", "100,150,1000,10", "tpot, which is read from column tpot_ms, is 1.5 × (E2E − TTFT) / (output tokens − 1) in the middle one of the first requests"},
		{"ttft_ms,tpot_ms,e2e_ms,output_tokens", "1000,0,1000,10", ""}, // came whole
		{"ttft_ms,tpot_ms,e2e_ms,output_tokens", "100,0.15,1500,10", "one of the units is wrong"},
		{"ttft_ms,itl_ms,e2e_ms", "100,\"[400, 500]\",1000", ""},
		{"ttft_ms,itl_ms,e2e_ms", "100,\"[10, 20]\",1000", "the sum of itl, which is read from column itl_ms, is 0.0333 × E2E − TTFT in the middle one of the first requests"},
	} {
		in := "arrival_time," + tt.columns + "\n"
		for i := range 50 {
			row := tt.row
			if strings.Contains(row, "%02d") {
				row = fmt.Sprintf(row, i)
			}
			in += fmt.Sprintf("17000000%02d.25,%s\n", i, row)
		}
		tb, err := OpenCSV(context.Background(), TextFile{Path: "trace.txt", Open: pieces(in, 0)}, Options{})
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case len(tb.Doubts()) == 1:
			got = tb.Doubts()[0].Text
		case len(tb.Doubts()) > 1:
			got = fmt.Sprint(tb.Doubts())
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s of %s: %q, want %q", tt.columns, tt.row, got, tt.want)
		}
	}
}

// One clock that was not set decides nothing: neither the unit of the others nor whether
// they are dates.
func TestClockThatWasNotSet(t *testing.T) {
	for _, tt := range []struct{ column, one, others string }{
		{"arrival_time", "0", "17000000%02d"},
		{"arrival_ms", "0", "17000000%02d000"},
		{"arrival_time", "1970-01-01T00:00:00Z", "2026-11-03T10:00:%02dZ"},
		{"arrival_time", "0001-01-01T00:00:00Z", "2026-11-03T10:00:%02dZ"},
	} {
		in := tt.column + ",ttft_ms\n"
		for i := range 40 {
			at := fmt.Sprintf(tt.others, i)
			if i == 7 {
				at = tt.one
			}
			in += at + ",100\n"
		}
		tb, _ := openString(t, OpenCSV, in, Options{})
		got := collect(t, tb, "arrival_time")
		k := slices.IndexFunc(tb.Columns(), func(c serving.Column) bool { return c.Name == serving.ColArrival })
		if k < 0 || tb.Columns()[k].Relative {
			t.Errorf("%s of %s: no dates", tt.column, tt.one)
			continue
		}
		rows := got.show("arrival_time")
		if rows[7] != "-" || rows[6] == "-" || len(rows[8]) != len("1700000000000000000") || got.problems.Len() != 1 || got.problems.List()[0].At.Line != 9 {
			t.Errorf("%s of %s: %v; problems %v", tt.column, tt.one, rows[6:9], got.problems.List())
		}
	}
}
