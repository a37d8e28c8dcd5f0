package csvtext

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// read returns the records as "line:cell|cell", the problems, and whether the table
// was whole.
func read(t *testing.T, r io.Reader, f Form) (records, problems []string, whole bool) {
	t.Helper()
	var ps serving.Problems
	whole, err := NewReader("t.csv", r, f).Each(t.Context(), &ps, func(cells []string, at serving.Pos) error {
		records = append(records, fmt.Sprintf("%d:%s", at.Line, strings.Join(cells, "|")))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, p := range ps.List() {
		problems = append(problems, p.String())
	}
	return records, problems, whole
}

func TestEach(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		form       Form
		want       string
		problem    string
	}{
		{"plain", "a,b\n1,2\n", Form{}, "1:a|b 2:1|2", ""},
		{"mark, CRLF, empty lines, no end", "\xef\xbb\xbfa,b\r\n\r\n1,\"x\r\ny\"\r\n3", Form{}, "1:a|b 3:1|x\ny 5:3", ""},
		{"form", "# it's\na; \"b;c\"\n", Form{Comma: ';', Comment: '#', Trim: true, Above: 2}, "4:a|b;c", ""},
		{"lazy", "a\"b,c\n", Form{Lazy: true}, "1:a\"b|c", ""},
		{"strict", "a\"b,c\n1,2\n", Form{}, "2:1|2", "t.csv:1: bare \" in non-quoted-field: the record is left out"},
	} {
		records, problems, whole := read(t, strings.NewReader(tc.text), tc.form)
		if got := strings.Join(records, " "); got != tc.want || strings.Join(problems, " ") != tc.problem || !whole {
			t.Errorf("%s: %q, problems %q, whole %v", tc.name, got, problems, whole)
		}
	}
}

// repeat gives a text again and again, n bytes.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		k := copy(b[n:], r.text[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.text)
	}
	return n, nil
}

func bytesOf(text string, n int64) io.Reader {
	return io.LimitReader(&repeat{text: strings.Repeat(text, 1000)}, n)
}

// A record that is too long costs itself, one without an end what follows; neither
// takes memory.
func TestLongRecords(t *testing.T) {
	const (
		lost = "t.csv:2: a record of more than 16 MiB, want one whose quotes are closed: it "
		wide = "t.csv:2: a record of more than 1048576 separators, want one in the form of the others: it "
	)
	for _, tc := range []struct {
		name     string
		open     string // in front of what fills
		fill     string
		n        int64
		end      string
		want     string
		problem  string
		megabyte uint64 // that may be allocated
	}{
		{"a cell that closes", `"`, "0.5, 0.25\n", 4 << 20, "\",1\n3,4\n", "1:a|b 2:0.5, 0.25\n0.5,", "", 60},
		{"a long cell that closes", `"`, "0.0125, 0.031250987\n", 40 << 20, "\",1\n3,4\n", "1:a|b 2097155:3|4", lost + "is left out", 300},
		{"a quote that never closes", `"`, "a\n", 20 << 20, "", "1:a|b", lost + "and what follows are left out", 300},
		{"an end out of reach", `"`, "a\n", maxRecord + maxSkip + 1<<20, "\"\n3,4\n", "1:a|b", lost + "and what follows are left out", 300},
		{"a long line", "", "a", 40 << 20, "\n3,4\n", "1:a|b 3:3|4", lost + "is left out", 300},
		{"a damaged long line", "a\"", "a", 40 << 20, "\"\n3,4\n", "1:a|b 3:3|4", lost + "is left out", 300},
		{"cells", "", ",", 16 << 20, "\n3,4\n", "1:a|b 3:3|4", wide + "is left out", 300},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			records, problems, whole := read(t, io.MultiReader(strings.NewReader("a,b\n"+tc.open), bytesOf(tc.fill, tc.n), strings.NewReader(tc.end)), Form{Lazy: tc.name != "a damaged long line"})
			runtime.ReadMemStats(&after)
			if got := strings.Join(records, " "); !strings.HasPrefix(got, tc.want) || strings.Join(problems, " ") != tc.problem || whole != (tc.problem == "") {
				t.Errorf("%.80q, problems %q, whole %v", got, problems, whole)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > tc.megabyte {
				t.Errorf("%d MiB allocated", took)
			}
		})
	}
}

func TestEachEnds(t *testing.T) {
	n := 0
	whole, err := NewReader("t", bytesOf("1,2\n", 1<<20), Form{}).Each(t.Context(), &serving.Problems{}, func([]string, serving.Pos) error { n++; return ErrStop })
	if whole || err != nil || n != 1 {
		t.Error("stop:", whole, err, n)
	}
	mine := errors.New("mine")
	if whole, err := NewReader("t", bytesOf("1,2\n", 1<<20), Form{}).Each(t.Context(), &serving.Problems{}, func([]string, serving.Pos) error { return mine }); whole || err != mine {
		t.Error("an error of the row:", whole, err)
	}
	broken := io.MultiReader(strings.NewReader("1,2\n"), iotestErr{mine})
	if whole, err := NewReader("t", broken, Form{}).Each(t.Context(), &serving.Problems{}, func([]string, serving.Pos) error { return nil }); whole || !errors.Is(err, mine) || !strings.HasPrefix(err.Error(), "t: ") {
		t.Error("an error of the reader:", whole, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if whole, err := NewReader("t", bytesOf("1,2\n", 1<<20), Form{}).Each(ctx, &serving.Problems{}, func([]string, serving.Pos) error { return nil }); whole || !errors.Is(err, context.Canceled) {
		t.Error("cancelled:", whole, err)
	}
}

type iotestErr struct{ err error }

func (e iotestErr) Read([]byte) (int, error) { return 0, e.err }

func TestHeader(t *testing.T) {
	if got, err := Header([]byte("\xef\xbb\xbf,\"a,b\",c\r\n1,2,3\n")); err != nil || strings.Join(got, "|") != "|a,b|c" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Header(nil); err == nil {
		t.Errorf("an empty text has the header %q", got)
	}
}

// Whatever the text, records are as encoding/csv cuts them, and lines are counted.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a,\"b\n\"\"c\"\n", "a\"\n\"\r\n#x\n", "\xef\xbb\xbf\n\n,\r"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, lazy bool) {
		c := csv.NewReader(strings.NewReader(strings.TrimPrefix(s, "\xef\xbb\xbf")))
		c.FieldsPerRecord, c.LazyQuotes, c.Comment = -1, lazy, '#'
		var want []string
		damaged := 0
		for {
			cells, err := c.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				damaged++
				continue
			}
			line, _ := c.FieldPos(0)
			want = append(want, fmt.Sprintf("%d:%q", line, cells))
		}
		var got []string
		var ps serving.Problems
		if _, err := NewReader("t", strings.NewReader(s), Form{Lazy: lazy, Comment: '#'}).Each(t.Context(), &ps, func(cells []string, at serving.Pos) error {
			got = append(got, fmt.Sprintf("%d:%q", at.Line, cells))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, p := range ps.List() {
			told += max(p.Count, 1)
		}
		if !slices.Equal(got, want) || told != damaged {
			t.Errorf("%q, want %q; %d problems, want %d", got, want, told, damaged)
		}
	})
}
