package serverlog

import (
	"context"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// What is a log, and what only quotes one.
func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		"2026-02-21T10:00:00.1Z  INFO text_generation_launcher: Args {\n":                                                       true,
		"[12/02/2026-10:11:12] [TRT-LLM] [I] starting\n":                                                                        true,
		`INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK` + "\n":                                                 true,
		"LAST SEEN   TYPE      REASON    OBJECT   MESSAGE\n5m  Warning  BackOff  pod/v  Back-off restarting failed container\n": true,
		"  Last State:  Terminated\n      Reason:       OOMKilled\n":                                                            true,
		"The service died with OOMKilled, see the runbook.\n":                                                                   false,
		"# How to fix CUDA out of memory\nLower gpu_memory_utilization.\n":                                                      false,
		"a,b\n1,2\n": false,
		"[1.0s] Avg prompt throughput: 9069.0 tokens/s\n": false,
		"": false,
	} {
		if got := Sniff([]byte(text)); got != want {
			t.Errorf("%q: a log %v, want %v", text, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	in := &serving.Input{}
	log, err := Decode(t.Context(), "tgi.log", strings.NewReader(`2026-02-21T10:00:00.1Z  INFO text_generation_router: Connected
2026-02-21T10:00:10.1Z ERROR text_generation_launcher: Shard 0 crashed
2026-02-21T10:00:11.1Z ERROR text_generation_launcher: Shutting down shards
`), in)
	if err != nil || len(log.Events) != 1 || log.Events[0].Kind != serving.EventDied || in.Records != 3 || in.Problems.Len() != 0 {
		t.Errorf("%+v, %d records, problems %v, %v", log, in.Records, in.Problems.List(), err)
	}
	in = &serving.Input{}
	if _, err := Decode(t.Context(), "k.txt", strings.NewReader("5m  Warning  BackOff  pod/v  Back-off restarting failed container\n"), in); err != nil || in.Problems.Len() != 1 {
		t.Errorf("a log without times: problems %v, %v", in.Problems.List(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Decode(ctx, "x", strings.NewReader(strings.Repeat("x\n", 1<<13)), &serving.Input{}); err == nil {
		t.Error("reading goes on after it was cancelled")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("2026-02-21T10:00:10.1Z ERROR text_generation_launcher: Shard 0 crashed\n")
	f.Add("5m  Warning  BackOff  pod/v  Back-off restarting failed container\n      Reason:       OOMKilled\n      Finished: x\n")
	f.Add("[12/02/2026-10:11:12] [TRT-LLM] [E] CUDA out of memory\r\n\x00\x1b[31m")
	f.Fuzz(func(t *testing.T, s string) {
		Sniff([]byte(s))
		in := &serving.Input{}
		log, err := Decode(context.Background(), "f.log", strings.NewReader(s), in)
		if err != nil {
			t.Fatal(err)
		}
		if log != nil {
			for _, e := range log.Events {
				if e.Count < 1 || e.To < e.At || e.What == "" {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}
