package render

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze"
)

// What is appended by hand is what package json writes.
func TestAppendedReports(t *testing.T) {
	for name, rep := range map[string]*analyze.Report{"rich": richReport(), "page": pageReport(), "empty": emptyReport(), "no sections": {}} {
		w := newWireReport(rep, Options{Version: "v1"})
		got, err := marshalReport(w)
		must(t, err)
		want, err := json.Marshal(w)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: appended\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestAppendedDists(t *testing.T) {
	numbers := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-6, 9.99e-7, 1e21, 9.99e20, -3e-300, 5e-324, math.MaxFloat64, 123456789.125, 1e15 + 0.3}
	words := []string{"", "ms", `a"b\c`, "<&>", "tab\tline\n", "é\u2028\u2029", "bad\xffbytes", "\x7f", "\x00"}
	for i, v := range numbers {
		for j, s := range words {
			n := int64(i * j)
			other := &numbers[(i+1)%len(numbers)]
			checkDist(t, &wireDist{Unit: s, Origin: s, Side: s})
			checkDist(t, &wireDist{Unit: s, Count: &n, Mean: &v, Std: other, Min: &v, Max: other, Origin: s, Side: s, Gaps: s, RelativeError: &v,
				Quantiles: []wireNamed[float64]{{"p50", v}, {"p" + s, *other}},
				Interval:  wireByName[wireInterval]{{"p50", wireInterval{&v, nil}}, {"p" + s, wireInterval{nil, other}}},
				Quality:   wireByName[string]{{"p50", s}, {"p9" + s, "ok"}}})
		}
	}
}

// checkDist holds what is appended against structs and maps of package json.
func checkDist(t *testing.T, d *wireDist) {
	t.Helper()
	d.Interval.sort()
	d.Quality.sort()
	head := struct {
		Unit  string   `json:"unit"`
		Count *int64   `json:"count,omitempty"`
		Mean  *float64 `json:"mean,omitempty"`
		Std   *float64 `json:"std,omitempty"`
		Min   *float64 `json:"min,omitempty"`
		Max   *float64 `json:"max,omitempty"`
	}{d.Unit, d.Count, d.Mean, d.Std, d.Min, d.Max}
	tail := struct {
		Interval      map[string]wireInterval `json:"interval,omitempty"`
		Quality       map[string]string       `json:"quality,omitempty"`
		Origin        string                  `json:"origin"`
		Side          string                  `json:"side"`
		Gaps          string                  `json:"gaps,omitempty"`
		RelativeError *float64                `json:"relative_error,omitempty"`
	}{asMap(d.Interval), asMap(d.Quality), d.Origin, d.Side, d.Gaps, d.RelativeError}
	marshal := func(v any) string {
		raw, err := json.Marshal(v)
		must(t, err)
		return string(raw)
	}
	want := strings.TrimSuffix(marshal(head), "}") + ","
	for _, q := range d.Quantiles {
		want += marshal(q.Name) + ":" + marshal(q.Value) + ","
	}
	want += strings.TrimPrefix(marshal(tail), "{")
	if got := string(d.appendTo(nil)); got != want {
		t.Errorf("appended\n%s, want\n%s", got, want)
	}
}

func asMap[V any](list wireByName[V]) map[string]V {
	out := map[string]V{}
	for _, f := range list {
		out[f.Name] = f.Value
	}
	return out
}
