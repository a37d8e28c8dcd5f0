package trace

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n",
		"instance id,request id,model,input,output,arrival,end_time,latency,queuing_delay,TTFT,TPOT,ITL\n1,3,m,4,3,570907776,705366242,134458466,45765,11004847,61726809,\"[12394888, 111058731]\"\n",
		"\xef\xbb\xbfid;start;TTFT (ms)\r\n1;2026-01-05T10:00:00+01:00;120,5\r\n\"2\n\";x;\"\"\"\"\r\n",
		"# c \"\nsep=,\nid,ttft_ms,x.value,x.unit\na,1e999,5,ms\n\"b,\n\nid,ttft_ms,x.value,x.unit\nc,\"1\" 2,3,4\nd,NaN,-inf,0x1",
		"\"x\",\"id\",\"ttft_s\"\n\"1\",\"a\",\"b\",1\n",
		"id\te2e\n1\t0 days 00:00:01.5\n2\t-1:00:00\n3\t99999999999999999h\n",
	} {
		f.Add(s, byte(3))
	}
	f.Fuzz(func(t *testing.T, s string, n byte) { tryText(t, OpenCSV, s, int(n)%37+1) })
}

func FuzzJSONL(f *testing.F) {
	for _, s := range []string{
		`{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}` + "\n{\"timestamp\": 1,",
		"[\n {\"id\": \"a\\u00e4\\\"\", \"ttft_ms\": NaN, \"itl_ms\": [1, 2.5, null]},\n {\"id\": 1, \"ttft_ms\": {\"value\": 3}}\n]",
		`{"schema":"dynamo.request.trace.v1","event_type":"request_end","request":{"request_id":"r1","ttft_ms":100.0,"finish_reason":["stop"]}}` + "\nx\n{\"event_type\":\"tool\"}\n",
		otlp, strings.ReplaceAll(otlp, "\n", ""), strings.TrimSuffix(strings.ReplaceAll(otlp, "\n", ""), "]}]}]}"),
		`{"id": "x", "ttf` + "\n" + `{"id": "x", "ttft_ms": 5}{"a":{"b":{"c":[[{}]]}}}` + "\n",
		"{\n\"ttft_ms\":1}\n{\n\"ttft_ms\":\"\n{\"ttft_ms\":2}",
	} {
		f.Add(s, byte(3))
	}
	f.Fuzz(func(t *testing.T, s string, n byte) { tryText(t, OpenJSONL, s, int(n)%37+1) })
}

// tryText opens and scans text that may be anything: it has to end with rows or
// an error, the same whatever the size of the buffer and the number of the scan.
func tryText(t *testing.T, open opener, s string, buffer int) {
	if len(s) > 1<<16 {
		return
	}
	defer func(rows, memory int64) { smallRows, spoolMemory = rows, memory }(smallRows, spoolMemory)
	smallRows, spoolMemory = -1, int64(buffer%3)*40 // the second scan reads the spool of the first
	SniffCSV([]byte(s), buffer%2 == 0, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }, Options{})
	SniffJSONL([]byte(s), buffer%2 == 0, pieces(s, 0), Options{})
	var first string
	for _, n := range []int{0, buffer} {
		tb, err := open(context.Background(), TextFile{Path: "f.txt", Open: pieces(s, n), In: &serving.Input{}}, Options{})
		got := fmt.Sprint(err)
		if err != nil && !strings.Contains(got, "f.txt") {
			t.Errorf("an error that does not name the file: %v", err)
		}
		for scan := 0; err == nil && scan < 2; scan++ {
			text := scanText(t, tb)
			if scan > 0 && text != got {
				t.Fatalf("scans differ:\n%s\n%s", got, text)
			}
			got = text
		}
		if n == 0 {
			first = got
		} else if got != first {
			t.Fatalf("a buffer of %d bytes makes a difference:\n%s\n%s", n, first, got)
		}
	}
}

// scanText reads a table as text, with its problems.
func scanText(t *testing.T, tb *Text) string {
	var want []string
	for _, c := range tb.Columns() {
		want = append(want, c.Name)
	}
	var out strings.Builder
	var ps serving.Problems
	err := tb.Scan(context.Background(), want, &ps, func(b *serving.Batch) error {
		for k := range b.Cols {
			v := &b.Cols[k]
			checkVector(t, tb, want[k], v, b.N)
			for i := range b.N {
				switch {
				case !v.Has(i):
					out.WriteString("- ")
				case v.Kind == serving.KindTime || v.Kind == serving.KindCount:
					fmt.Fprint(&out, v.Ints[i], " ")
				case v.Kind == serving.KindText:
					fmt.Fprintf(&out, "%q ", tb.Dict(want[k]).Name(v.Codes[i]))
				case v.Kind == serving.KindGaps:
					fmt.Fprint(&out, v.Floats[v.Offsets[i]:v.Offsets[i+1]])
				default:
					fmt.Fprint(&out, v.Floats[i], " ")
				}
			}
		}
		return nil
	})
	fmt.Fprintln(&out, err)
	for _, p := range ps.List() {
		fmt.Fprintln(&out, p)
	}
	return out.String()
}
