package prom

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/vreport/vreport/ingest/serving"
)

// bigScrape writes a scrape of about 2,000 series as a data-parallel vLLM
// server of eight engines exposes them.
func bigScrape(step int) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(7, uint64(step)))
	bounds := []string{"0.001", "0.005", "0.01", "0.02", "0.04", "0.06", "0.08", "0.1", "0.25", "0.5", "0.75", "1.0", "2.5", "5.0", "7.5", "10.0", "20.0", "40.0", "80.0", "160.0", "640.0", "2560.0", "+Inf"}
	fmt.Fprintf(&b, "# HELP process_start_time_seconds Start time.\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.78692899276e+09\n")
	for _, g := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"} {
		fmt.Fprintf(&b, "# HELP vllm:%s Help.\n# TYPE vllm:%s gauge\n", g, g)
		for e := range 8 {
			fmt.Fprintf(&b, "vllm:%s{engine=\"%d\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %v\n", g, e, r.Float64())
		}
	}
	for _, c := range []string{"prompt_tokens", "generation_tokens", "num_preemptions", "prefix_cache_queries", "prefix_cache_hits"} {
		fmt.Fprintf(&b, "# HELP vllm:%s_total Help.\n# TYPE vllm:%s_total counter\n", c, c)
		for e := range 8 {
			fmt.Fprintf(&b, "vllm:%s_total{engine=\"%d\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %d.0\n", c, e, step*1000+r.IntN(1000))
		}
	}
	for _, h := range []string{"time_to_first_token_seconds", "inter_token_latency_seconds", "request_time_per_output_token_seconds", "e2e_request_latency_seconds",
		"request_queue_time_seconds", "request_prefill_time_seconds", "request_decode_time_seconds", "request_inference_time_seconds", "request_prompt_tokens", "request_generation_tokens"} {
		fmt.Fprintf(&b, "# HELP vllm:%s Help.\n# TYPE vllm:%s histogram\n", h, h)
		for e := range 8 {
			cum := step * 100
			for _, le := range bounds {
				cum += r.IntN(40)
				fmt.Fprintf(&b, "vllm:%s_bucket{engine=\"%d\",le=\"%s\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %d.0\n", h, e, le, cum)
			}
			fmt.Fprintf(&b, "vllm:%s_count{engine=\"%d\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %d.0\n", h, e, cum)
			fmt.Fprintf(&b, "vllm:%s_sum{engine=\"%d\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %v\n", h, e, float64(cum)*r.Float64())
		}
	}
	return b.Bytes()
}

// BenchmarkParse reads scrapes as a directory holds them, one file each.
func BenchmarkParse(b *testing.B) {
	var files [16][]byte
	for i := range files {
		files[i] = bigScrape(i)
	}
	b.SetBytes(int64(len(files[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var in serving.Input
		if _, err := Parse(context.Background(), "m.prom", bytes.NewReader(files[i%16]), &in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTextparse is Prometheus' parser with labels, for comparison.
func BenchmarkTextparse(b *testing.B) {
	var files [16][]byte
	for i := range files {
		files[i] = bigScrape(i)
	}
	b.SetBytes(int64(len(files[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := textparse.NewPromParser(files[i%16], labels.NewSymbolTable(), false)
		var ls labels.Labels
		for {
			e, err := p.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			if e == textparse.EntrySeries {
				p.Labels(&ls)
			}
		}
	}
}

// BenchmarkScrapesRatio reads a thousand scrapes of 2,000 series with this
// package and with expfmt, the parser that Prometheus' clients come with, in
// turn, so that both meet the same load of the machine, and reports how many
// times faster this package is.
func BenchmarkScrapesRatio(b *testing.B) {
	const scrapes = 1000
	var files [16][]byte
	for i := range files {
		files[i] = bigScrape(i)
	}
	b.SetBytes(2 * scrapes * int64(len(files[0])))
	var ours, theirs time.Duration
	for b.Loop() {
		for i := range scrapes {
			text := files[i%len(files)]
			start := time.Now()
			var in serving.Input
			if _, err := Parse(context.Background(), "m.prom", bytes.NewReader(text), &in); err != nil {
				b.Fatal(err)
			}
			ours += time.Since(start)
			start = time.Now()
			p := expfmt.NewTextParser(model.UTF8Validation)
			if _, err := p.TextToMetricFamilies(bytes.NewReader(text)); err != nil {
				b.Fatal(err)
			}
			theirs += time.Since(start)
		}
	}
	b.ReportMetric(float64(theirs)/float64(ours), "x-expfmt")
}

// BenchmarkAssemble makes servers of a thousand scrapes.
func BenchmarkAssemble(b *testing.B) {
	var all []*Scrape
	for i := range 1000 {
		var in serving.Input
		s, err := Parse(context.Background(), fmt.Sprintf("pod_%d_metrics.log", 1_780_000_000+15*i), bytes.NewReader(bigScrape(i)), &in)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, s...)
	}
	b.ReportAllocs()
	for b.Loop() {
		if s, _ := Assemble(all, AssembleOptions{}); len(s) != 8 {
			b.Fatalf("%d servers", len(s))
		}
	}
}
