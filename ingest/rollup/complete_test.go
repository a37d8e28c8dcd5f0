package rollup

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// twoSlices is a rollup of ten requests, of which some have no TTFT.
func twoSlices() *serving.Rollup {
	cell := func(by, window string, ok, ttft int64) *serving.RollupCell {
		h := func(n int64) serving.RollupHistogram {
			return serving.RollupHistogram{{Bucket: 5, N: n - 1, Total: 5 * (n - 1), Squares: 25 * float64(n-1), Least: 5, Most: 5}, {Bucket: 9, N: 1, Total: 9, Squares: 81, Least: 9, Most: 9}}
		}
		return &serving.RollupCell{By: []string{by}, Window: window, Outcomes: [serving.NumOutcomes]int64{ok}, Within: []int64{}, Of: []int64{},
			Metrics: map[serving.MetricKey]serving.RollupHistogram{serving.TTFT: h(ttft), serving.E2E: h(ok)}}
	}
	r := sample()
	r.Rows, r.Skipped, r.Spec.SLOs, r.Spec.Goodput = 10, nil, nil, ""
	r.Arrival, r.End = serving.RollupSpan{}, serving.RollupSpan{}
	r.Cells = []*serving.RollupCell{cell("", "", 10, 8), cell("", "-1000000", 10, 8), cell("chat", "", 6, 5), cell("rag", "", 4, 3)}
	return r
}

func linesOf(t *testing.T, r *serving.Rollup) []string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteCSV(&b, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	return lines[:len(lines)-1]
}

func decodeLines(t *testing.T, lines []string) (*serving.Rollup, []serving.Problem) {
	t.Helper()
	in := &serving.Input{}
	r, err := DecodeCSV(context.Background(), "f.csv", strings.NewReader(strings.Join(lines, "")), in)
	if err != nil {
		t.Fatal(err)
	}
	return r, in.Problems.List()
}

// A table without some of its rows is told to be one, by whoever made it, and has no
// metric left in a cell that has some of its values only.
func TestCutTable(t *testing.T) {
	whole := map[string]map[serving.MetricKey]int64{}
	for _, c := range twoSlices().Cells {
		whole[c.Key()] = map[serving.MetricKey]int64{serving.TTFT: values(c, serving.TTFT), serving.E2E: values(c, serving.E2E)}
	}
	lines := linesOf(t, twoSlices())
	if _, problems := decodeLines(t, lines); len(problems) > 0 {
		t.Fatalf("the whole table: %v", problems)
	}
	for _, own := range []bool{true, false} { // a database does not say what it all comes to
		if !own {
			at := strings.Index(lines[1], `,""values"":`)
			lines[1] = lines[1][:at] + strings.TrimLeft(lines[1][at+len(`,""values"":`):], "0123456789")
			if _, problems := decodeLines(t, lines); len(problems) > 0 {
				t.Fatalf("the whole table without its sum: %v", problems)
			}
		}
		for n := 3; n < len(lines); n++ { // header, spec and the number of rows are there
			r, problems := decodeLines(t, lines[:n])
			if len(problems) == 0 || !strings.Contains(problems[0].Message, "rows of the table are missing") {
				t.Errorf("%d of %d lines: problems %v, want one of missing rows", n, len(lines), problems)
			}
			for _, c := range r.Cells {
				for m := range c.Metrics {
					if got, want := values(c, m), whole[c.Key()][m]; got != want {
						t.Errorf("%d of %d lines: cell %s has %d of %d values of %s", n, len(lines), cellName(c), got, want, m)
					}
				}
			}
		}
	}
}

// Rows that went missing in the middle are found as those at the end are: by what the
// other groupings have.
func TestLostRow(t *testing.T) {
	lines := linesOf(t, twoSlices())
	for i := 3; i < len(lines); i++ {
		if _, problems := decodeLines(t, append(append([]string{}, lines[:i]...), lines[i+1:]...)); len(problems) == 0 {
			t.Errorf("without line %d, %s: no problem", i+1, lines[i])
		}
	}
}

// Tables that were put into one file are whole if each is; of different groupings
// each has requests of its own.
func TestJoinedTables(t *testing.T) {
	lines := linesOf(t, twoSlices())
	other := twoSlices()
	other.Spec.Groupings, other.Cells = [][]string{{}, {"workload"}}, []*serving.RollupCell{other.Cells[0], other.Cells[2], other.Cells[3]}
	for name, more := range map[string][]string{"the same": lines, "other groupings": linesOf(t, other)} {
		if _, problems := decodeLines(t, append(append([]string{}, lines...), more[1:]...)); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
