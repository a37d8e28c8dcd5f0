package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is assumed of the times of a log is told, once: by the note of its input,
// or by the series that it has.
func TestAssumedTimes(t *testing.T) {
	const died = "(EngineCore pid=2) ERROR 06-07 11:20:19 [core.py:1361] EngineCore encountered a fatal error.\n"
	for _, c := range []struct {
		name, file, text string
		format           string
		want             string // in the note; "": nothing on times
	}{
		{"a zone", "tgi.log", "2026-02-21T10:00:10.1Z ERROR text_generation_launcher: Shard 0 crashed\n", "server-log", ""},
		{"no zone", "trt.log", "[12/02/2026-10:11:12] [TRT-LLM] [E] CUDA out of memory\n", "server-log", "which name no zone: taken as UTC"},
		{"no year, in the file's name", "kernel-2026-11-17.log", "Nov 17 14:50:30 node1 kernel: NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.\n", "server-log", "the year is 2026 by the file's name, the zone taken as UTC"},
		{"no year", "kernel.log", "Nov 17 14:50:30 node1 kernel: NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.\n", "server-log", "the year is that of the other files"},
		{"no time", "pods.log", "5m  Warning  BackOff  pod/v  Back-off restarting failed container\n", "server-log", ""},
		{"several loggers", "two.log", "2026-02-21T10:00:10.1Z ERROR text_generation_launcher: Shard 0 crashed\nFeb 21 10:00:30 node1 kernel: NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.\n", "server-log", "some times in the log name no year or no zone"},
		{"access log", "access.log", strings.Repeat(`[2026-06-07 12:04:31] INFO:     172.17.0.1:48634 - "POST /generate HTTP/1.1" 503 Service Unavailable`+"\n", 3), "server-log", "which name no zone: taken as UTC"},
		{"an engine with series", "vllm.log", engineLog + died, "vllm-log", ""}, // its server says it
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		ds, err := Load(t.Context(), []string{path}, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		in := ds.Inputs[0]
		if told := strings.Contains(in.Note, " in the log"); in.Format != c.format || told != (c.want != "") || !strings.Contains(in.Note, c.want) {
			t.Errorf("%s: %s, note %q, want %q", c.name, in.Format, in.Note, c.want)
		}
		ds.Close()
	}
}
