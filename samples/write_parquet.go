package samples

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// A traceRow is a line of the request log: what the API server knows of one
// attempt. Durations are seconds and say so; what was not measured is null.
type traceRow struct {
	RequestID    string   `parquet:"request_id"`
	Arrival      int64    `parquet:"arrival_time,timestamp(microsecond),delta"`
	Model        string   `parquet:"model,dict"`
	Replica      string   `parquet:"replica,dict"`
	Workload     string   `parquet:"workload,dict"`
	Tenant       string   `parquet:"tenant,dict"`
	Session      *string  `parquet:"session_id,optional,dict"`
	Streaming    bool     `parquet:"streaming"`
	Attempt      int32    `parquet:"attempt,dict"`
	PromptTokens int64    `parquet:"prompt_tokens"`
	CachedTokens *int64   `parquet:"cached_prompt_tokens,optional"`
	OutputTokens int64    `parquet:"output_tokens"`
	MaxTokens    int64    `parquet:"max_tokens,dict"`
	Queue        *float64 `parquet:"queue_time_s,optional"`
	Prefill      *float64 `parquet:"prefill_time_s,optional"`
	Decode       *float64 `parquet:"decode_time_s,optional"`
	TTFT         *float64 `parquet:"ttft_s,optional"`
	E2E          float64  `parquet:"e2e_s"`
	Status       string   `parquet:"status,dict"`
	FinishReason *string  `parquet:"finish_reason,optional,dict"`
	Error        *string  `parquet:"error,optional,dict"`
	HTTPStatus   *int32   `parquet:"http_status,optional,dict"`
	Preemptions  int32    `parquet:"preemptions,dict"`
}

// micros rounds to microseconds: what a server's log has.
func micros(t int64) *float64 {
	v := math.Round(float64(t)/1000) / 1e6
	return &v
}

// rowOf is an attempt as the server logged it.
func rowOf(a *attempt, zero int64) traceRow {
	r := traceRow{
		RequestID: a.req.id, Arrival: zero*1e6 + a.received/1000,
		Model: a.server.cfg.engine.model.name, Replica: a.server.cfg.pod,
		Workload: a.req.workload, Tenant: fmt.Sprintf("tenant-%d", a.req.tenant), Streaming: a.req.streaming, Attempt: int32(a.no),
		PromptTokens: int64(a.req.prompt), OutputTokens: int64(len(a.tokenAt)), MaxTokens: int64(a.req.maxTokens),
		E2E: *micros(a.ended - a.received), Status: a.status,
	}
	if a.no > 1 {
		r.RequestID += fmt.Sprintf("-retry%d", a.no-1)
	}
	if a.req.session != "" {
		r.Session = &a.req.session
	}
	if a.http != 0 {
		code := int32(a.http)
		r.HTTPStatus = &code
	}
	if a.errText != "" {
		r.Error = &a.errText
	}
	reason := "abort"
	if a.status == statusOK {
		reason = a.req.finishReason()
	}
	if q := a.seq; q != nil && a.status != statusError {
		r.FinishReason = &reason
	}
	r.stages(a)
	return r
}

// stages fills in the times of those stages that were reached.
func (r *traceRow) stages(a *attempt) {
	q := a.seq
	if q == nil || q.scheduledAt == 0 {
		return
	}
	cached := int64(q.cached)
	r.CachedTokens, r.Preemptions = &cached, int32(q.preemptions)
	r.Queue = micros(q.scheduledAt - q.queuedAt)
	if q.generated == 0 {
		return
	}
	r.Prefill = micros(q.firstAt - q.scheduledAt)
	if a.req.streaming {
		r.TTFT = micros(q.firstAt + ns(a.server.cfg.front.ipc) - a.received)
	}
	if a.status == statusOK {
		r.Decode = micros(q.lastAt - q.firstAt)
	}
}

// writeTrace writes attempts as a Parquet file, in order of arrival.
func writeTrace(attempts []*attempt, zero int64) ([]byte, error) {
	sorted := slices.Clone(attempts)
	slices.SortStableFunc(sorted, func(a, b *attempt) int { return cmp.Compare(a.received, b.received) })
	rows := make([]traceRow, len(sorted))
	for i, a := range sorted {
		rows[i] = rowOf(a, zero)
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[traceRow](&b,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedBetterCompression}),
		parquet.CreatedBy("vreport", "samples", "1"),
		parquet.MaxRowsPerRowGroup(100_000))
	if _, err := w.Write(rows); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
