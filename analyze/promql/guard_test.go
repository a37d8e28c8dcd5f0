package promql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// nested puts an expression into a text n times; %s is its place.
func nested(n int, outer, inner string) string {
	for range n {
		inner = fmt.Sprintf(outer, inner)
	}
	return inner
}

// Expressions that would take all time or memory are refused, or stopped, with
// what they are and why.
func TestBombs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []serving.RawSeries
	for i := range 400 {
		values := make([]float64, 600)
		for k := range values {
			values[k] = r.Float64()
		}
		all = append(all, raw(time.Second, fmt.Sprintf(`w{instance="h%d",big="%s"}`, i, strings.Repeat("a", 50)), values...))
	}
	db := New(all)
	from, to := db.Span()
	for _, c := range []struct{ name, expr, want string }{
		{"a long expression", "w" + strings.Repeat(" ", maxExpr), "an expression of 16385 bytes, want at most 16384"},
		{"parentheses", nested(maxDepth, "(%s)", "w"), "inside each other more than 100 deep"},
		{"signs", strings.Repeat("-", 8000) + "w", "inside each other more than 100 deep"},
		{"aggregations", nested(2000, "sum(%s)", "w"), "inside each other more than 100 deep"},
		{"a chain", "w" + strings.Repeat("+w", 5000), "inside each other more than 100 deep"},
		{"a wide tree", nested(6, "clamp(%[1]s,scalar(%[1]s),scalar(%[1]s))", "w"), "more than 1000 parts"},
		{"labels doubled by label_replace", nested(40, `label_replace(%s,"big","$1$1","big","(.*)")`, "w"), "makes labels of up to"},
		{"labels doubled by label_join", nested(30, `label_join(%s,"big","","big","big")`, "w"), "makes labels of up to"},
		{"a label in many series", `label_replace(w,"big","` + strings.Repeat("$1", 5000) + `","big","(.*)")`, "makes labels of up to 260000 bytes"},
		{"labels of all series", `label_replace(w,"big","` + strings.Repeat("x", 16000) + strings.Repeat("$1", 90) + `","big","(.*)")`, ""},
		{"subqueries in subqueries", nested(13, "max_over_time(%s[1h:1m])", "w"), "for one value, want at most 1e+09"},
		{"tiny steps", "max_over_time(w[10h:1ms])", "want at most 50000"},
		{"a value a series", `count_values("v",w)`, "memory, which is the limit"},
		{"many series", `label_replace(count_values("v",w @ start()),"a","b","","") `, ""},
		{"a repeated group", `{__name__=~"(((((((a+)+)+)+)+)+)+)+x"}`, ""},
		{"a repeated count", `{__name__=~"((a{100}){100}){100}"}`, "parse error"},
	} {
		began := time.Now()
		_, _, err := db.Range(t.Context(), c.expr, from, to, time.Second)
		switch took := time.Since(began); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "promql "+c.expr[:1])):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case took > 20*time.Second:
			t.Errorf("%s: took %v", c.name, took)
		case err != nil && len(err.Error()) > 4*maxShown+500:
			t.Errorf("%s: a message of %d bytes", c.name, len(err.Error()))
		}
	}
}

// More series than a page can show are an error of the expression.
func TestTooManySeries(t *testing.T) {
	var all []serving.RawSeries
	for i := range maxSeries + 1 {
		all = append(all, raw(time.Second, fmt.Sprintf(`w{instance="h%d"}`, i), 1, 2))
	}
	db := New(all)
	if _, _, err := db.Instant(t.Context(), "w", start); err == nil || !strings.Contains(err.Error(), "10001 series, want at most 10000") {
		t.Error(err)
	}
	if got, _, err := db.Instant(t.Context(), "sum(w)", start); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
}
