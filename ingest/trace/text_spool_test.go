package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// counted opens a text and counts how often it is read.
func counted(t *testing.T, text string) (*Text, *int) {
	t.Helper()
	n := 0
	tb, err := OpenCSV(context.Background(), TextFile{Path: "t.csv", Open: func() (io.ReadCloser, error) {
		n++
		return io.NopCloser(strings.NewReader(text)), nil
	}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n = 0
	return tb, &n
}

// spoolText has everything that a spool has to bring back: nulls, lists, texts
// with many values and few, damage in columns and records, records of two lines.
func spoolText(rows int) string {
	var b strings.Builder
	b.WriteString("request_id,arrival_time,output_tokens,ttft_ms,e2e_ms,itl_ms,tier,prompt,phase\n")
	for i := range rows {
		out := fmt.Sprint(i % 70_000)
		switch i % 11 {
		case 3:
			out = ""
		case 7:
			out = "many"
		}
		if i%1000 == 999 {
			b.WriteString("one field\n")
		}
		prompt := fmt.Sprint("p", i)
		if i%500 == 1 {
			prompt = "\"two\nlines\""
		}
		fmt.Fprintf(&b, "r%d,%d.25,%s,%d,%d,\"[%d, 2.5]\",%s,%s,\n", i, 1772323200+i, out, i%300-1, 1000+i%90, i%7, []string{"free", "paid"}[i/3%2], prompt)
	}
	return b.String()
}

// TestSpool reads a text once, whatever is asked of it later, and gives what
// reading it again gives: values, positions and problems.
func TestSpool(t *testing.T) {
	defer func(memory, file int64) { spoolMemory, spoolFile = memory, file }(spoolMemory, spoolFile)
	const rows = serving.BatchRows + 5000
	text := spoolText(rows)
	dims := []string{"tier", "arrival_time"}
	all := []string{"arrival_time", "output_tokens", "ttft", "e2e", "itl", "tier", "tpot", "outcome"}
	plain, _ := counted(t, text)
	plain.small = true // never a spool
	want := scanOf(t, plain, all)
	for _, tt := range []struct {
		name         string
		memory, file int64
		reads        int
	}{
		{"memory", 32 << 20, 1 << 30, 1},
		{"both", 3 << 20, 1 << 30, 1},
		{"no room", 0, 1000, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spoolMemory, spoolFile = tt.memory, tt.file
			tb, reads := counted(t, text)
			scanOf(t, tb, dims) // makes the spool, and nobody hears of problems
			for range 2 {
				if got := scanOf(t, tb, all); got != want {
					t.Fatal(cmp.Diff(want, got))
				}
			}
			if *reads != tt.reads {
				t.Errorf("the text was read %d times, want %d", *reads, tt.reads)
			}
			if tt.reads == 1 {
				scanOf(t, tb, []string{"prompt"}) // a column that nobody would ask for
				if *reads != 2 {
					t.Errorf("%d times, want 2", *reads)
				}
				// Problems of columns that are not asked for are not told.
				if got := scanOf(t, tb, []string{"e2e"}); strings.Contains(got, "output_tokens") || !strings.Contains(got, "one field") && !strings.Contains(got, "1 field") {
					t.Errorf("problems:\n%s", got[strings.Index(got, "\n")+1:])
				}
			}
			if err := tb.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// scanOf is a scan as text: a checksum a column, then the problems.
func scanOf(t *testing.T, tb *Text, want []string) string {
	t.Helper()
	got := collect(t, tb, want...)
	var b strings.Builder
	for _, n := range want {
		h := uint64(0)
		for i := range got.rows {
			s := ""
			switch {
			case n == "itl":
				s = fmt.Sprint(got.gaps[i])
			case !got.has[n][i]:
			case got.codes[n] != nil:
				s = got.text(n, i)
			case got.ints[n] != nil:
				s = fmt.Sprint(got.ints[n][i])
			default:
				s = fmt.Sprint(got.floats[n][i])
			}
			for k := range len(s) {
				h = h*31 + uint64(s[k])
			}
			h = h*31 + 1
		}
		fmt.Fprintf(&b, "%s %d %x; ", n, got.rows, h)
	}
	for _, p := range got.problems.List() {
		b.WriteString("\n" + p.String())
	}
	return b.String()
}

// TestSpoolOfBrokenScan makes no spool of a scan that ended early.
func TestSpoolOfBrokenScan(t *testing.T) {
	tb, reads := counted(t, spoolText(serving.BatchRows+5000))
	boom := errors.New("enough of it")
	if err := tb.Scan(context.Background(), []string{"ttft"}, nil, func(*serving.Batch) error { return boom }); err != boom {
		t.Fatal(err)
	}
	if got := collect(t, tb, "ttft"); got.rows != serving.BatchRows+5000 || *reads != 2 {
		t.Errorf("%d rows, %d reads", got.rows, *reads)
	}
	if collect(t, tb, "e2e"); *reads != 2 {
		t.Errorf("%d reads", *reads)
	}
}

// TestTextTextAt looks ids up without keeping all of them.
func TestTextTextAt(t *testing.T) {
	const rows = serving.BatchRows + 5000
	tb, _ := counted(t, spoolText(rows))
	at := []int64{0, 1, 700, serving.BatchRows - 1, serving.BatchRows, rows - 1}
	got, err := tb.TextAt(context.Background(), "request_id", at)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, i := range at {
		want = append(want, fmt.Sprint("r", i))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := tb.Dict("request_id").Len(); n > 0 {
		t.Errorf("%d ids were kept", n)
	}
	if _, err := tb.TextAt(context.Background(), "ttft", at); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}

// TestSpoolSentinel keeps what a gateway writes for no TTFT away from a spool,
// too.
func TestSpoolSentinel(t *testing.T) {
	defer func(n int64) { smallRows = n }(smallRows)
	smallRows = -1
	tb, _ := counted(t, "id,startTime,endTime,completionStartTime,model_group,call_type,custom_llm_provider,spend\n"+
		"a,2026-03-01T00:00:00Z,2026-03-01T00:00:03Z,2026-03-01T00:00:03Z,g,acompletion,openai,1\n"+
		"b,2026-03-01T00:00:00Z,2026-03-01T00:00:03Z,2026-03-01T00:00:01Z,g,acompletion,openai,1\n")
	if tb.oneWay < 0 {
		t.Fatal("not recognized: ", tb.Dialect())
	}
	collect(t, tb, "model")
	got := collect(t, tb, "ttft")
	if got.has["ttft"][0] || !got.has["ttft"][1] || got.floats["ttft"][1] != 1 {
		t.Errorf("ttft %v %v", got.floats["ttft"], got.has["ttft"])
	}
}
