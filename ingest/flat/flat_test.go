package flat

import (
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

func read(t *testing.T, text string, skip func(string) bool) *Record {
	t.Helper()
	rec, ok, err := Reader{R: jsonscan.NewReader("x.json", strings.NewReader(text)), Skip: skip}.Read()
	if err != nil || !ok {
		t.Fatalf("ok %v, %v", ok, err)
	}
	return rec
}

func TestRead(t *testing.T) {
	rec := read(t, `{"a": 1, "b": {"c": "x", "secret": "s", "d": [{"e": 2}, 3, {"e": NaN}]}, "n": null, "py": "None", "a": 5, "half": 2.5, "neg": -1}`,
		func(name string) bool { return name == "b.secret" })
	if want := []string{"a", "b.c", "b.d[0].e", "b.d[2].e", "n", "py", "half", "neg"}; !slices.Equal(rec.Names, want) {
		t.Errorf("names %q, want %q", rec.Names, want)
	}
	if v, ok := rec.Number("a"); !ok || v != 5 {
		t.Errorf("a is %v %v, want the last value", v, ok)
	}
	if _, ok := rec.Number("b.d[2].e"); ok {
		t.Error("NaN is taken for a number")
	}
	if rec.Text("n", "py", "b.c") != serving.Some("x") {
		t.Errorf("text %v", rec.Text("n", "py", "b.c"))
	}
	if rec.Count("half", "neg").OK || rec.Count("half", "a") != serving.Some(int64(5)) {
		t.Error("a count is a whole number that is not negative")
	}
	if !rec.Keys["b"] || rec.Keys["c"] {
		t.Errorf("keys %v", rec.Keys)
	}
}

// Deep nesting and long arrays of objects cost no memory.
func TestReadIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"k":`, 2000) + "1" + strings.Repeat("}", 2000)
	if rec := read(t, deep, nil); len(rec.Names) != 0 {
		t.Errorf("%d names out of a deep nest", len(rec.Names))
	}
	long := `{"l": [` + strings.TrimSuffix(strings.Repeat(`{"x": 1},`, 5000), ",") + `]}`
	if rec := read(t, long, nil); len(rec.Names) != maxItems {
		t.Errorf("%d names, want %d", len(rec.Names), maxItems)
	}
}

func TestFieldsAreListedOnce(t *testing.T) {
	in := &serving.Input{}
	f := Fields{In: in}
	for range 3 {
		f.Add(serving.Field{Name: "a"})
	}
	if len(in.Fields) != 1 {
		t.Errorf("%d fields", len(in.Fields))
	}
}
