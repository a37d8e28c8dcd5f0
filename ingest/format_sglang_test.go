package ingest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// readAs writes a file, and has a format recognize and read it.
func readAs(t *testing.T, f *Format, name, text string) (*serving.Input, *loaded) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := openFile(t.Context(), found{path: path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer file.raw.Close()
	p, l := &probe{file: file, in: &serving.Input{Path: path, Format: f.Name}}, &loaded{}
	if ok, why := f.sniff(p); !ok {
		t.Fatalf("%s is not recognized: %s", name, why)
	}
	if err := f.decode(t.Context(), p, l); err != nil {
		t.Fatal(err)
	}
	return p.in, l
}

func TestSGLangFormats(t *testing.T) {
	serve := `{"backend": "sglang", "request_rate": Infinity, "duration": 2.0, "completed": 4, "total_output_tokens_retokenized": 9, "output_throughput": 10.0, "mean_ttft_ms": 5.0}` + "\n"
	if _, l := readAs(t, formatSGLangServing, "x.jsonl", serve+serve); len(l.runs) != 2 || l.runs[0].Format != "sglang-serving" {
		t.Errorf("%+v", l)
	}
	batch := `{"run_name": "d", "batch_size": 4, "input_len": 100, "output_len": 10, "latency": 2.0, "overall_throughput": 220.0}`
	if _, l := readAs(t, formatSGLangOneBatch, "result.jsonl", batch); len(l.runs) != 1 || l.runs[0].Format != "sglang-onebatch" {
		t.Errorf("%+v", l)
	}
	log := "[2026-06-07 12:04:38] Decode batch, #running-req: 1, #token: 76, token usage: 0.11, gen throughput (token/s): 0.62, #queue-req: 0\n"
	in, l := readAs(t, formatSGLangLog, "server.log", log)
	if len(l.servers) != 1 || in.Records != 1 || l.servers[0].Label != "server" {
		t.Errorf("%+v", l)
	}
}
