//go:build unix

package trace

import (
	"context"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/vreport/vreport/ingest/serving"
)

// BenchmarkScan reads the columns that a report's slices need of a trace of a
// million requests, on one core.
func BenchmarkScan(b *testing.B) {
	const n = 1 << 20
	data := write(b, rowsOf(n), parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(256<<10))
	for _, c := range []struct {
		name string
		want []string
	}{
		{"slices", []string{serving.ColArrival, serving.ColReplica, serving.ColWorkload, "prompt_tokens", "cached_tokens", "output_tokens", "ttft", "tpot", "e2e", "queue", "prefill", serving.ColOutcome}},
		{"ten", []string{serving.ColArrival, serving.ColReplica, serving.ColWorkload, "prompt_tokens", "cached_tokens", "tpot", "e2e", "queue", "prefill"}},
		{"ttft", []string{"ttft"}},
		{"dims", []string{serving.ColWorkload, serving.ColReplica}},
		{"ids", []string{serving.ColRequestID}},
	} {
		b.Run(c.name, func(b *testing.B) {
			t, err := Open(context.Background(), []File{fileIn("t.parquet", data)}, Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			rows := 0
			cpu := cpuSeconds()
			for b.Loop() {
				for _, p := range t.Parts() {
					if err := p.Scan(context.Background(), c.want, nil, func(b *serving.Batch) error { rows += b.N; return nil }); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(rows)/(cpuSeconds()-cpu)/1e6, "Mrows/cpu-s")
		})
	}
}

// cpuSeconds is the processor time of the process: a loaded machine stretches
// the wall clock.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
