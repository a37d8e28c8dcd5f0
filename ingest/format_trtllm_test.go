package ingest

import "testing"

func TestTRTLLMFormats(t *testing.T) {
	for name, tc := range map[string]struct {
		f    *Format
		text string
	}{
		"report.json":   {formatTRTLLMReport, `{"engine": {"model": "m"}, "world_info": {"tp_size": 2}, "request_info": {"num_requests": 4}, "performance": {"total_latency_ms": 1000}}`},
		"requests.json": {formatTRTLLMRequests, `[{"id": 1, "num_input_tokens": 3, "error_tokens": 0, "start_timestamp": 5, "first_token_timestamp": 6, "end_timestamp": 9, "decode_iteration": 1}]`},
		"out.txt":       {formatTRTLLMText, "[TensorRT-LLM] TensorRT-LLM version: 0.16.0\n= PERFORMANCE OVERVIEW \nNumber of requests:\t\t4\nTotal Latency (ms):\t\t1000.0\n"},
	} {
		if _, l := readAs(t, tc.f, name, tc.text); len(l.runs) != 1 || l.runs[0].Format != "trtllm-bench" {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
