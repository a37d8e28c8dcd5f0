package cube

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/trace"
)

// A stageTaker groups rows as a filler does, or does nothing with them.
type stageTaker struct {
	*filler
	group bool
}

func (t stageTaker) take(c *chunk) error {
	if !t.group {
		return nil
	}
	c.blank()
	for i, s := range t.stocks {
		r := &t.rows[i]
		if err := r.find(&t.sorter, s, c, false); err != nil {
			return err
		}
		s.grow(0)
		r.slots = s.settle(r.slots, r.ids, c)
	}
	return nil
}

// traceRow is a request of the trace that BenchmarkStages makes.
type traceRow struct {
	Start    int64    `parquet:"start_time,timestamp(microsecond)"`
	Model    string   `parquet:"model,dict"`
	Replica  string   `parquet:"replica,dict"`
	Workload string   `parquet:"workload,dict"`
	Prompt   int32    `parquet:"prompt_tokens"`
	Cached   int32    `parquet:"cached_prompt_tokens"`
	Output   int32    `parquet:"output_tokens"`
	Queue    *float64 `parquet:"queue_ms,optional"`
	Prefill  *float64 `parquet:"prefill_ms,optional"`
	TTFT     *float64 `parquet:"ttft_ms,optional"`
	TPOT     *float64 `parquet:"tpot_ms,optional"`
	E2E      *float64 `parquet:"e2e_ms,optional"`
	Status   string   `parquet:"status,dict"`
}

// traceOf writes a trace of so many requests and opens it.
func traceOf(b *testing.B, rows int) *trace.Table {
	r := rand.New(rand.NewSource(1))
	all := make([]traceRow, rows)
	start := int64(1_700_000_000e6)
	for i := range all {
		start += int64(r.ExpFloat64() * 8000)
		prompt, output := int32(math.Exp(4+7*r.Float64())), int32(math.Exp(1+6*r.Float64()))
		queue, prefill, tpot := math.Exp(3*r.NormFloat64()), float64(prompt)/20+r.Float64(), 10+20*r.Float64()
		ttft := queue + prefill
		e2e := ttft + tpot*float64(output)
		q := traceRow{Start: start, Model: []string{"small", "large"}[r.Intn(2)], Replica: fmt.Sprintf("replica-%02d", r.Intn(16)), Workload: []string{"chat", "rag", "agent", "batch"}[r.Intn(4)],
			Prompt: prompt, Cached: prompt * int32(r.Intn(3)) / 3, Output: output, Queue: &queue, Prefill: &prefill, TTFT: &ttft, TPOT: &tpot, E2E: &e2e, Status: "ok"}
		if r.Intn(9) == 0 {
			q.TTFT, q.TPOT = nil, nil
		}
		all[i] = q
	}
	var data bytes.Buffer
	w := parquet.NewGenericWriter[traceRow](&data, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(256<<10))
	if _, err := w.Write(all); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	in := trace.File{Path: "t.parquet", R: bytes.NewReader(data.Bytes()), Size: int64(data.Len()), In: &serving.Input{Path: "t.parquet"}}
	t, err := trace.Open(context.Background(), []trace.File{in}, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// BenchmarkStages is one core's rows/s of each stage of a Parquet trace, and the
// limit beside them: to decode its columns and do nothing with them. A stage
// contains those before it up to a comma: decoding, then with rows brought into
// columns of metrics and dimensions, grouped by leaf, with histograms; to find
// ranks; the second scan, with its decoding, and the limit of that.
func BenchmarkStages(b *testing.B) {
	const rows = 1_000_000
	src := traceOf(b, rows)
	plan := benchmarkPlan()
	plan.Workers = 1
	ctx := context.Background()
	lay, err := newLayout(src, &plan)
	if err != nil {
		b.Fatal(err)
	}
	s := &scanner{lay: lay, workers: 1}
	decode := func(want []string) {
		for _, p := range src.Parts() {
			if err := p.Scan(ctx, want, nil, func(*serving.Batch) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	}
	var metrics []string
	for _, m := range lay.metrics {
		metrics = append(metrics, string(m.key))
	}
	names := []string{"survey", "decode", "decode+read", "decode+read+group", "decode+read+group+histogram", "ranks", "second", "second:decode"}
	took := make([]time.Duration, len(names))
	for b.Loop() {
		at, stage := time.Now(), 0
		lap := func() {
			took[stage] += time.Since(at)
			at, stage = time.Now(), stage+1
		}
		views, found, win, err := s.views(ctx, src, &plan)
		if err != nil {
			b.Fatal(err)
		}
		fams := lay.families(views)
		chooseAll(fams, lay, &plan, found.rows)
		asked := s.matches(&plan, found, win)
		lap()
		decode(lay.wanted)
		lap()
		kept := keepSlots(fams, &plan, len(src.Parts()), found.rows)
		scan := func(t func(*filler) taker) *filler {
			w := s.newFiller(&plan, fams, asked)
			if _, err := s.stream(ctx, lay, src.Parts(), win, true, func() taker { return t(w) }); err != nil {
				b.Fatal(err)
			}
			return w
		}
		scan(func(w *filler) taker { return stageTaker{w, false} })
		lap()
		scan(func(w *filler) taker { return stageTaker{w, true} })
		lap()
		w := scan(func(w *filler) taker { w.kept = kept; return w })
		lap()
		if err := w.join(ctx, nil, s.workers); err != nil {
			b.Fatal(err)
		}
		f := &finisher{scanner: s, plan: &plan, views: views, stocks: w.stocks, cube: &Cube{}, win: win, kept: kept}
		f.cells()
		if err := f.ranks(ctx); err != nil {
			b.Fatal(err)
		}
		lap()
		if err := f.gather(ctx, src); err != nil {
			b.Fatal(err)
		}
		lap()
		decode(metrics)
		lap()
		if n := f.cube.Groups[0].Cells[0].Summaries[serving.E2E].N; n == 0 {
			b.Fatal("nothing was counted")
		}
	}
	for i, name := range names {
		b.ReportMetric(rows*float64(b.N)/took[i].Seconds()/1e6, name+"-Mrows/s")
	}
}
