//go:build unix

package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// reopen returns a function that opens b again and again.
func reopen(b []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

// wideRows is a trace as pandas writes one: a date, texts, counts and full-precision
// floats.
func wideRows(rows int, json bool) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	names := []string{"request_id", "arrival_time", "model", "replica", "workload", "prompt_tokens", "cached_tokens", "output_tokens", "ttft_s", "e2e_s", "queue_time_s", "status"}
	if !json {
		b.WriteString(strings.Join(names, ",") + "\n")
	}
	for i := range rows {
		ttft := r.ExpFloat64() / 3
		v := []any{fmt.Sprintf("req-%d", i), fmt.Sprintf("2026-03-01 12:%02d:%02d.%06d", i/60000%60, i/1000%60, r.IntN(1e6)), "meta-llama/Llama-3.1-8B", fmt.Sprintf("pod-%d", r.IntN(8)),
			[]string{"chat", "rag", "code"}[r.IntN(3)], r.IntN(4000), r.IntN(100), r.IntN(800) + 2, ttft, ttft + r.ExpFloat64()*5, r.ExpFloat64() / 100, "ok"}
		for k, x := range v {
			if json {
				sep := ", "
				if k == 0 {
					sep = "{"
				}
				if s, ok := x.(string); ok {
					x = fmt.Sprintf("%q", s)
				}
				fmt.Fprintf(&b, "%s%q: %v", sep, names[k], x)
				continue
			}
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, x)
		}
		if json {
			b.WriteByte('}')
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func azure(rows int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for i := range rows {
		fmt.Fprintf(&b, "2023-11-16 18:%02d:%02d.%07d,%d,%d\n", i/6000%60, i/100%60, r.IntN(1e7), r.IntN(8000), r.IntN(500))
	}
	return b.Bytes()
}

// quoted is a trace of thirty columns as gateways and spreadsheets write one:
// every text in quotes, messages with commas and quotes inside, lists, and more
// columns than a report needs.
func quoted(rows int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString(`"request_id","arrival_time","model","replica","workload","user","route","prompt_tokens","cached_tokens","output_tokens","ttft_ms","e2e_ms","queue_time_ms","status","finish_reason","itl_ms","message"`)
	for k := range 13 {
		fmt.Fprintf(&b, `,"extra_%d"`, k)
	}
	b.WriteByte('\n')
	for i := range rows {
		ttft := r.ExpFloat64() * 300
		fmt.Fprintf(&b, `"%08x-7f1c","2026-03-01T12:%02d:%02d.%06dZ","meta-llama/Llama-3.1-8B","pod-%d","%s","user-%d","/v1/chat/completions",%d,%d,%d,%.3f,%.3f,%.3f,"ok","stop","[12.1, 13.4, 11.9, 12.8]","said ""no, thanks"", and left"`,
			i*7919, i/60000%60, i/1000%60, r.IntN(1e6), r.IntN(8), []string{"chat", "rag", "code"}[r.IntN(3)], r.IntN(1000), r.IntN(4000), r.IntN(100), r.IntN(800)+2, ttft, ttft+r.ExpFloat64()*5000, r.ExpFloat64()*10)
		for k := range 13 {
			switch k % 3 {
			case 0:
				fmt.Fprintf(&b, `,"v%d"`, r.IntN(10))
			case 1:
				fmt.Fprintf(&b, `,%d`, r.IntN(1e6))
			default:
				b.WriteByte(',')
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// BenchmarkText scans traces as text with the columns that a report's slices
// need, on one core.
func BenchmarkText(b *testing.B) {
	slices := []string{serving.ColArrival, serving.ColReplica, serving.ColWorkload, "prompt_tokens", "cached_tokens", "output_tokens", "ttft", "tpot", "e2e", "queue", serving.ColOutcome}
	for _, c := range []struct {
		name string
		data []byte
		open func(context.Context, TextFile, Options) (*Text, error)
		want []string
	}{
		{"csv-wide", wideRows(300_000, false), OpenCSV, slices},
		{"csv-all", wideRows(300_000, false), OpenCSV, nil},
		{"csv-quoted-30", quoted(200_000), OpenCSV, slices},
		{"csv-quoted-30-one", quoted(200_000), OpenCSV, []string{"ttft"}},
		{"csv-azure", azure(600_000), OpenCSV, []string{serving.ColArrival, "prompt_tokens", "output_tokens"}},
		{"jsonl-wide", wideRows(300_000, true), OpenJSONL, slices},
		{"jsonl-wide-one", wideRows(300_000, true), OpenJSONL, []string{"ttft"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			t, err := c.open(context.Background(), TextFile{Path: c.name, Open: reopen(c.data)}, Options{})
			if err != nil {
				b.Fatal(err)
			}
			want := c.want
			if want == nil {
				for _, c := range t.Columns() {
					want = append(want, c.Name)
				}
			}
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			bytes := 0
			cpu := cpuSeconds()
			for b.Loop() {
				if err := t.Scan(context.Background(), want, nil, func(*serving.Batch) error { return nil }); err != nil {
					b.Fatal(err)
				}
				bytes += len(c.data)
			}
			b.ReportMetric(float64(bytes)/(cpuSeconds()-cpu)/1e6, "MB/cpu-s")
		})
	}
}
