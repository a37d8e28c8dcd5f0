package vllm

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// wholeRecord is what a program loads that reads a detailed record with the
// standard library.
type wholeRecord struct {
	InputLens  []int       `json:"input_lens"`
	OutputLens []int       `json:"output_lens"`
	TTFTs      []float64   `json:"ttfts"`
	ITLs       [][]float64 `json:"itls"`
	Errors     []string    `json:"errors"`
}

func decodeWhole(b *testing.B, text []byte) {
	in := &serving.Input{Bytes: int64(len(text))}
	if _, err := DecodeServe(context.Background(), "f", bytes.NewReader(text), in); err != nil {
		b.Fatal(err)
	}
}

func unmarshalWhole(b *testing.B, text []byte) {
	var v wholeRecord
	if err := json.Unmarshal(text, &v); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkServe reads a detailed record: gaps for three quarters of its bytes,
// texts for the rest.
func BenchmarkServe(b *testing.B) {
	text := bigRecord(4000, 400, 1800)
	run := func(name string, read func(*testing.B, []byte)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				read(b, text)
			}
		})
	}
	run("vreport", decodeWhole)
	run("encoding-json", unmarshalWhole)
}

// BenchmarkServeRatio reads the same record with this package and with
// encoding/json in turn, so that both meet the same load of the machine, and
// reports how many times faster this package is.
func BenchmarkServeRatio(b *testing.B) {
	text := bigRecord(4000, 400, 1800)
	b.SetBytes(2 * int64(len(text)))
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		decodeWhole(b, text)
		ours += time.Since(start)
		start = time.Now()
		unmarshalWhole(b, text)
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(theirs)/float64(ours), "x-encoding/json")
	b.ReportMetric(float64(len(text))*float64(b.N)/1e6/ours.Seconds(), "vreport-MB/s")
	b.ReportMetric(float64(len(text))*float64(b.N)/1e6/theirs.Seconds(), "json-MB/s")
}
