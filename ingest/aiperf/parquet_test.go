package aiperf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// rowsOf makes a batch of the Parquet export from bytes, ten a row: which texts
// it has, its time and its number.
func rowsOf(b []byte) (names []string, texts []*serving.Dict, batch *serving.Batch) {
	names = []string{colEndpoint, colMetric, colType, colBound, "model_name", colTime, colValue, colSum, colCount, colBucket}
	n := len(b) / 10
	batch = &serving.Batch{N: n, Cols: make([]serving.Vector, len(names))}
	words := [][]string{{"http://a:8000/metrics", "b", ""}, {"vllm:num_requests_running", "vllm:prompt_tokens", "x_total", "no name"},
		{"gauge", "counter", "histogram", "unknown"}, {"0.1", "+Inf", "x\"\n"}, {"m", "", "q\"\\"}}
	for i := range names {
		v := &batch.Cols[i]
		v.Kind, _ = MetricsColumn(names[i])
		v.Valid = serving.NewBitmap(n)
		if i >= len(words) {
			texts = append(texts, nil)
			v.Ints, v.Floats = make([]int64, n), make([]float64, n)
			continue
		}
		texts = append(texts, serving.NewDict(words[i]...))
		v.Codes = make([]int32, n)
	}
	for r := range n {
		row := b[10*r:]
		for i := range names {
			v := &batch.Cols[i]
			if i < len(words) {
				if v.Codes[r] = int32(row[i]) % int32(len(words[i])); row[i] < 250 {
					v.Valid.Set(r)
				}
				continue
			}
			v.Ints[r] = 1760000000e9 + int64(row[5])*1e8
			v.Floats[r] = float64(int8(row[6]))
			if row[7]&(1<<(i-5)) == 0 {
				v.Valid.Set(r)
			}
			if row[8] == 255 {
				v.Floats[r], v.Ints[r] = math.Float64frombits(binary.LittleEndian.Uint64(append(row[:10:10], 0, 0)[2:])), int64(row[9])
			}
		}
	}
	return names, texts, batch
}

// Whatever the rows hold, what is written are scrapes in order of time, each
// series once in each.
func FuzzMetricsRows(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x05\x07\x00\x00\x00\x00\x01\x01\x00\x00\x05\x07\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x02\x00\x00\x09\x07\x00\x00\x00\x00\x00\x02\x01\x00\x09\x09\x00\x00\x00\x00\x00\x02\x01\x00\x02\x03\x00\x00\x00"))
	f.Add([]byte("\x01\x03\x03\x02\x02\x00\x00\xff\xff\xff\xff\x02\x03\x02\xff\x00\x80\x00\xff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		names, texts, batch := rowsOf(b)
		r := NewRowReader(names, texts)
		var problems serving.Problems
		if err := r.Add(batch, "f", 0, &problems); err != nil {
			t.Fatal(err)
		}
		m, scrapes := r.Metrics()
		last, heads := map[string]int64{}, int64(0)
		var at int64
		var seen map[string]bool
		for _, line := range strings.Split(text(t, m, nil), "\n") {
			switch key, _, ok := strings.Cut(line, "} "); {
			case strings.HasPrefix(line, "# Timestamp: "):
				if _, err := fmt.Sscan(line[13:], &at); err != nil {
					t.Fatal(err)
				}
				seen, heads = map[string]bool{}, heads+1
			case strings.HasPrefix(line, "# Pod: "):
				if at <= last[line] {
					t.Fatalf("%s at %d after %d", line, at, last[line])
				}
				last[line] = at
			case ok && seen[key]:
				t.Fatalf("%s twice at %d", key, at)
			case ok:
				seen[key] = true
			}
		}
		if heads > scrapes {
			t.Fatalf("%d scrapes written, %d counted", heads, scrapes)
		}
	})
}
