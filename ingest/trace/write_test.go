package trace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// A row is a request of the traces that tests write.
type row struct {
	RequestID    string   `parquet:"request_id"`
	StartTime    int64    `parquet:"start_time,timestamp(microsecond)"`
	Model        string   `parquet:"model,dict"`
	Replica      string   `parquet:"replica,dict"`
	Workload     string   `parquet:"workload,dict"`
	Streaming    bool     `parquet:"streaming"`
	PromptTokens int32    `parquet:"prompt_tokens"`
	CachedTokens *int32   `parquet:"cached_prompt_tokens,optional"`
	OutputTokens int32    `parquet:"output_tokens"`
	Queue        *float64 `parquet:"queue_ms,optional"`
	Prefill      *float64 `parquet:"prefill_ms,optional"`
	TTFT         *float64 `parquet:"ttft_ms,optional"`
	TPOT         *float64 `parquet:"tpot_ms,optional"`
	E2E          *float64 `parquet:"e2e_ms,optional"`
	Status       string   `parquet:"status,dict"`
	Preemptions  int32    `parquet:"preemptions,dict"`
}

// rowsOf makes n requests that are consistent with each other.
func rowsOf(n int) []row {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]row, n)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	for i := range out {
		start += int64(r.ExpFloat64() * 8000)
		prompt, output := int32(64+r.IntN(4000)), int32(2+r.IntN(500))
		cached := prompt * int32(r.IntN(3)) / 3
		queue, prefill, tpot := r.ExpFloat64()*20, float64(prompt)/20, 10+r.Float64()*20
		ttft := queue + prefill
		e2e := ttft + tpot*float64(output-1)
		out[i] = row{RequestID: fmt.Sprintf("req-%07d", i), StartTime: start, Model: "llama", Replica: fmt.Sprintf("replica-%02d", r.IntN(16)),
			Workload: []string{"chat", "rag", "agent"}[r.IntN(3)], Streaming: true, PromptTokens: prompt, OutputTokens: output,
			Status: "ok", Preemptions: int32(r.IntN(2))}
		out[i].E2E, out[i].Queue, out[i].Prefill = &e2e, &queue, &prefill
		if r.IntN(9) > 0 {
			out[i].TTFT, out[i].TPOT = &ttft, &tpot
		}
		if r.IntN(5) > 0 {
			out[i].CachedTokens = &cached
		}
		if r.IntN(50) == 0 {
			out[i].Status, out[i].E2E, out[i].TTFT, out[i].TPOT = "error", nil, nil, nil
		}
	}
	return out
}

// write makes a Parquet file of rows.
func write[T any](t testing.TB, rows []T, opt ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, opt...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fileIn is a file in memory.
func fileIn(name string, b []byte) File {
	return File{Path: name, R: bytes.NewReader(b), Size: int64(len(b)), In: &serving.Input{Path: name}}
}
