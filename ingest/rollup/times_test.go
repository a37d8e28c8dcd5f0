package rollup

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// decodeRows reads a rollup of these rows, which start at line 2, and a spec.
func decodeRows(t *testing.T, rows string) (*serving.Rollup, *serving.Input) {
	t.Helper()
	spec, err := json.Marshal(looseSpec())
	if err != nil {
		t.Fatal(err)
	}
	in := &serving.Input{}
	text := "vreport_rollup,d1,time_window,metric,bucket,n,total,squares,least,most,spec\n" + rows + `spec,,,,0,0,0,0,0,0,"` + strings.ReplaceAll(string(spec), `"`, `""`) + "\"\n"
	r, err := DecodeCSV(context.Background(), "f.csv", strings.NewReader(text), in)
	if err != nil {
		t.Fatal(err)
	}
	return r, in
}

// Rates are by the times of the first and the last request: those that do not fit
// what the cells say are not believed.
func TestForgedTimes(t *testing.T) {
	window := func(us, n int) string {
		return fmt.Sprintf("cell,,%d,@outcome,0,%d,0,0,0,0,\n", us, n)
	}
	const rows = "cell,,,@rows,0,7,0,0,0,0,\ncell,,,@outcome,0,7,0,0,0,0,\n"
	arrival := func(n, least, most int) string {
		return fmt.Sprintf("cell,,,@arrival,0,%d,0,0,%d,%d,\n", n, least, most)
	}
	honest := rows + window(0, 3) + window(2e6, 4)
	for name, c := range map[string]struct {
		rows, want string
		line       int
		arrivals   int64 // that stay
		cells      int
	}{
		"sound":                   {honest + arrival(7, 5, 2999999), "", 0, 7, 3},
		"rounded up":              {honest + arrival(7, 5, 3e6), "", 0, 7, 3},
		"backwards":               {honest + arrival(7, 2999999, 5), "want the first not after the last", 6, 0, 3},
		"of the dawn of time":     {honest + arrival(7, -1<<62, 2999999), "want times from", 6, 0, 3},
		"of more than there were": {honest + arrival(8, 5, 2999999), "want at most the 7 rows", 6, 0, 3},
		"too short":               {honest + arrival(7, 5, 6), "4 lie outside", 6, 0, 3},
		"too long":                {honest + arrival(7, 5, 1e12), "first and the last time window", 6, 0, 3},
		"too early":               {honest + arrival(7, -9e9, 2999999), "first and the last time window", 6, 0, 3},
		"one window astray":       {honest + window(9e15, 1) + arrival(7, 5, 2999999), "it is left out", 6, 7, 3},
		"ended before it began":   {honest + arrival(7, 5, 2999999) + "cell,,,@end,0,1,0,0,3,4,\n", "want an end after the first arrival", 7, 7, 3},
		"without windows":         {rows + arrival(7, 5, 6), "", 0, 7, 1},
	} {
		r, in := decodeRows(t, c.rows)
		list := in.Problems.List()
		switch {
		case c.want == "" && len(list) > 0:
			t.Errorf("%s: problems %v", name, list)
		case c.want != "" && (len(list) != 1 || !strings.Contains(list[0].Message, c.want) || list[0].At.Line != c.line):
			t.Errorf("%s: problems %v, want one at line %d with %q", name, list, c.line, c.want)
		}
		if r.Arrival.N != c.arrivals || len(r.Cells) != c.cells {
			t.Errorf("%s: arrivals of %d and %d cells, want %d and %d", name, r.Arrival.N, len(r.Cells), c.arrivals, c.cells)
		}
		if name == "ended before it began" && r.End.N > 0 {
			t.Error("the ends are believed")
		}
	}
}

// Whatever rollups claim, their sum is one: the cells that would make it overflow
// are left out, and the honest ones stay, whichever comes first.
func TestFit(t *testing.T) {
	const honest = "cell,chat,,@outcome,0,7,0,0,0,0,\ncell,chat,,@input,0,7,700,0,0,0,\n"
	heavy := fmt.Sprintf("cell,chat,,@outcome,0,7,0,0,0,0,\ncell,chat,,@input,0,7,%d,0,0,0,\ncell,rag,,@outcome,0,2,0,0,0,0,\n", int64(serving.MaxRollupTotal))
	for _, texts := range [][]string{{heavy, honest, heavy}, {honest, heavy}} {
		var all []*serving.Rollup
		for _, text := range texts {
			r, in := decodeRows(t, text)
			if in.Problems.Len() > 0 {
				t.Fatal(in.Problems.List())
			}
			all = append(all, r)
		}
		var left []string
		Fit(all, func(i int, c *serving.RollupCell, why string) {
			if texts[i] != heavy || c.By[0] != "chat" {
				t.Errorf("an honest cell is left out: %s", why)
			}
			left = append(left, why)
		})
		if len(left) == 0 || !strings.Contains(left[0], "sum of 1152921504606846976") {
			t.Errorf("left out %q", left)
		}
		for _, r := range all[1:] {
			if err := all[0].Add(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range all[0].Cells {
			if n, total := c.Weight(); n <= 0 || total < 0 || total > serving.MaxRollupTotal || c.By[0] == "chat" && c.Input != 700 {
				t.Errorf("cell %v: %+v", c.By, c)
			}
		}
	}
}

// What was not fitted is refused when it is added, and never wraps.
func TestAddRefuses(t *testing.T) {
	heavy := fmt.Sprintf("cell,chat,,@outcome,0,7,0,0,0,0,\ncell,chat,,@input,0,7,%d,0,0,0,\n", int64(serving.MaxRollupTotal))
	a, _ := decodeRows(t, heavy)
	b, _ := decodeRows(t, heavy)
	if err := a.Add(context.Background(), b); err == nil || !strings.Contains(err.Error(), "more than a rollup holds") {
		t.Error(err)
	}
	cells := make([]*serving.RollupCell, 9)
	for i := range cells {
		cells[i] = b.Cells[0]
	}
	if sum := serving.SumRollupCells(cells...); sum.Input < serving.MaxRollupTotal {
		t.Errorf("a sum of %d", sum.Input)
	}
}
