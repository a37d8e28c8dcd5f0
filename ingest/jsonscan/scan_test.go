package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/vreport/vreport/ingest/serving"
)

// small reads its input in pieces of n bytes, so that every literal, quote and
// escape falls on a boundary once.
type small struct {
	r io.Reader
	n int
}

func (s small) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.n)]) }

func TestFilter(t *testing.T) {
	tests := []struct{ in, want string }{
		{`NaN`, "\"\x7f\""},
		{`[Infinity,-Infinity,NaN]`, "[\"\x7fInfin\",\"\x7f-Infin\",\"\x7f\"]"},
		{`{"NaN":"-Infinity"}`, `{"NaN":"-Infinity"}`},
		{`["a\"NaN",NaN]`, "[\"a\\\"NaN\",\"\x7f\"]"},
		{`["a\\",NaN,"\\\\\"NaN"]`, "[\"a\\\\\",\"\x7f\",\"\\\\\\\\\\\"NaN\"]"},
		{"\xef\xbb\xbf[-Infinity]", "[\"\x7f-Infin\"]"},
		{"\xef\xbb", "\xef\xbb"},
		{`-Infinit`, `-Infinit`},
		{"[\"open\nNaN", "[\"open\n\"\x7f\""},
		{``, ``},
	}
	for _, tt := range tests {
		for n := 1; n <= len(tt.in)+1; n++ {
			got, err := io.ReadAll(newFilter(small{strings.NewReader(tt.in), n}))
			if err != nil || string(got) != tt.want {
				t.Errorf("filter(%q) in pieces of %d = %q, %v, want %q", tt.in, n, got, err, tt.want)
			}
		}
		got, err := io.ReadAll(newFilter(iotest.DataErrReader(strings.NewReader(tt.in))))
		if err != nil || string(got) != tt.want {
			t.Errorf("filter(%q) with data and EOF at once = %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

// TestFilterWindow puts literals over the filter's own window.
func TestFilterWindow(t *testing.T) {
	for shift := range 12 {
		in := "[" + strings.Repeat(" ", window-6-shift) + `-Infinity,"\\",Infinity,"` + strings.Repeat("x", window) + `",NaN]`
		r := NewReader("", strings.NewReader(in))
		var got []float64
		_, err := r.Array(func(int) error {
			v, ok, err := r.Float()
			if ok {
				got = append(got, v)
			}
			return err
		})
		if err != nil || len(got) != 3 || !math.IsInf(got[0], -1) || !math.IsInf(got[1], 1) || !math.IsNaN(got[2]) {
			t.Fatalf("shift %d: %v, %v, want -Inf, +Inf and NaN", shift, got, err)
		}
	}
}

func TestFloat(t *testing.T) {
	tests := []struct {
		in   string
		want float64
		ok   bool
	}{
		{"1.5", 1.5, true}, {"-2e3", -2000, true}, {`"inf"`, math.Inf(1), true}, {`"-inf"`, math.Inf(-1), true}, {`"Infinity"`, math.Inf(1), true},
		{"Infinity", math.Inf(1), true}, {"-Infinity", math.Inf(-1), true}, {"NaN", math.NaN(), true}, {`"nan"`, math.NaN(), true}, {`" 12 "`, 12, true},
		{`"x"`, 0, false}, {`""`, 0, false}, {"null", 0, false}, {"true", 0, false}, {"[1]", 0, false}, {`{"a":1}`, 0, false}, {`"0x10"`, 0, false}, {`"1_0"`, 0, false},
	}
	for _, tt := range tests {
		v, ok, err := NewReader("", strings.NewReader(tt.in)).Float()
		same := v == tt.want || math.IsNaN(v) && math.IsNaN(tt.want)
		if err != nil || ok != tt.ok || !same {
			t.Errorf("Float(%s) = %v, %v, %v, want %v, %v", tt.in, v, ok, err, tt.want, tt.ok)
		}
	}
	if v, ok, err := NewReader("", strings.NewReader("1e999")).Float(); err != nil || !ok || v < math.MaxFloat64 {
		t.Errorf("Float(1e999) = %v, %v, %v, want the largest there is", v, ok, err)
	}
}

func TestScalarAndText(t *testing.T) {
	r := NewReader("", strings.NewReader(`["häää\n", 12.50, true, null, NaN, {"a":[1]}, "ok"]`))
	var got []string
	if _, err := r.Array(func(int) error {
		s, ok, err := r.Scalar(6)
		got = append(got, fmt.Sprintf("%c|%s|%v", s.Kind, s.Text, ok))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"\"|hä…|true", "0|12.50|true", "t|true|true", "n|null|true", "0|NaN|true", "\x00||false", "\"|ok|true"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("scalars %q, want %q", got, want)
	}
}

func TestPositions(t *testing.T) {
	in := "\xef\xbb\xbf{\"a\": 1,\n \"text\": \"x\\ny\",\n\n \"requests\": [\n  {\"ttft_ms\": 1},\n  {\"ttft_ms\": \"bad\"}\n ]\n}\n"
	for _, n := range []int{1, 7, 1000} {
		r := NewReader("f.json", small{strings.NewReader(in), n})
		var at []string
		_, err := r.Object(func(name string) error {
			if name != "requests" {
				return r.Skip()
			}
			_, err := r.Array(func(int) error {
				_, err := r.Object(func(string) error {
					_, ok, err := r.Float()
					if !ok {
						at = append(at, r.Problemf("no number").String())
					}
					return err
				})
				return err
			})
			return err
		})
		if err != nil || len(at) != 1 || at[0] != "f.json:6: requests[1].ttft_ms: no number" {
			t.Errorf("in pieces of %d: %q, %v", n, at, err)
		}
	}
}

// records reads the field n of every record.
func records(in io.Reader) (ns []float64, layout Layout, problems []serving.Problem, err error) {
	r := NewReader("f.json", in)
	var ps serving.Problems
	_, layout, err = r.Records("vllm-serve", &ps, func(int) error {
		var n float64
		_, err := r.Object(func(name string) error {
			if name != "n" {
				return r.Skip()
			}
			var err error
			n, _, err = r.Float()
			return err
		})
		if err == nil {
			ns = append(ns, n)
		}
		return err
	})
	return ns, layout, ps.List(), err
}

func TestRecords(t *testing.T) {
	tests := []struct {
		name, in string
		want     []float64
		layout   Layout
		problems []string
		err      string
	}{
		{"single", `{"n":1}`, []float64{1}, Single, nil, ""},
		{"pretty", "{\n \"n\": 1\n}\n", []float64{1}, Single, nil, ""},
		{"array", `[{"n":1},{"n":2}]`, []float64{1, 2}, Array, nil, ""},
		{"lines", "{\"n\":1}\n{\"n\":2}\n", []float64{1, 2}, Lines, nil, ""},
		{"glued", `{"n":1}{"n":2}`, []float64{1, 2}, Lines, nil, ""},
		{"cut last line", "{\"n\":1}\n{\"n\":2,\"x\":[1,", []float64{1}, Lines, []string{"f.json:2: x: the file ends in the middle of a value: this record is left out"}, ""},
		{"bad line", "{\"n\":1}\n{\"n\":2,\"x\":oops}\n{\"n\":3}\n{\"n\":4}", []float64{1, 3, 4}, Lines, []string{"f.json:2: x: invalid character 'o' at start of value: this record is left out"}, ""},
		{"unclosed string", "{\"n\":1,\"x\":\"oops\n{\"n\":NaN,\"m\":2}\n{\"n\":3}", nil, Lines, nil, ""},
		{"cut single", `{"n":1,"x":`, nil, Single, nil, "f.json:1: x: the file ends in the middle of a value, want JSON; the writer may still have been running, or was stopped; write the file again"},
		{"cut array", `[{"n":1},{"n":2}, {"n"`, []float64{1, 2}, Array, []string{"f.json:1: [2].n: the file ends in the middle of a value: this record and those after it are left out"}, ""},
		{"empty", "", nil, Nothing, nil, "f.json: no JSON value in the file"},
		{"nul", "\x00\x00", nil, Nothing, nil, "f.json:1: invalid character '\\x00' at start of value, want JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 5, 4096} {
				got, layout, ps, err := records(small{strings.NewReader(tt.in), n})
				if tt.name == "unclosed string" {
					if err != nil || len(got) != 2 || !math.IsNaN(got[0]) || got[1] != 3 || len(ps) != 1 {
						t.Fatalf("got %v, %v, %v", got, ps, err)
					}
					continue
				}
				if !reflect.DeepEqual(got, tt.want) || layout != tt.layout {
					t.Errorf("in pieces of %d: %v %q, want %v %q", n, got, layout, tt.want, tt.layout)
				}
				if msg := fmt.Sprint(err); (err == nil) != (tt.err == "") || err != nil && msg != tt.err {
					t.Errorf("in pieces of %d: error %v, want %q", n, err, tt.err)
				}
				if tt.err == "" {
					var list []string
					for _, p := range ps {
						list = append(list, p.String())
					}
					if !reflect.DeepEqual(list, tt.problems) {
						t.Errorf("in pieces of %d: problems %q, want %q", n, list, tt.problems)
					}
				}
			}
		})
	}
}

// TestLinesAfterDamage checks that lines stay true behind a damaged record that
// is longer than any buffer.
func TestLinesAfterDamage(t *testing.T) {
	in := "{\"n\":1}\n{\"n\":oops" + strings.Repeat("\n ,1", 200_000) + "\n{\"n\":2}\n\n{\"n\":bad}\n{\"n\":3}"
	got, _, ps, err := records(strings.NewReader(in))
	if err != nil || !reflect.DeepEqual(got, []float64{1, 2, 3}) || len(ps) != 2 || ps[1].At.Line != 200_005 {
		t.Errorf("got %v, %v, %v; want the second problem on line 200005", got, ps, err)
	}
}

func TestFailingReader(t *testing.T) {
	boom := errors.New("disk on fire")
	rd := io.MultiReader(strings.NewReader("{\"n\":1}\n{\"n\":"), iotest.ErrReader(boom))
	got, _, ps, err := records(rd)
	if err != nil || len(got) != 1 || len(ps) != 1 || !strings.Contains(ps[0].Message, "disk on fire") {
		t.Errorf("got %v, %v, %v; want one record and a problem that names the failure", got, ps, err)
	}
	_, _, _, err = records(iotest.ErrReader(boom))
	if err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestDepth(t *testing.T) {
	for _, in := range []string{strings.Repeat("[", 200_000), strings.Repeat(`{"a":`, 200_000), `{"a":` + strings.Repeat("[", 200_000)} {
		_, _, _, err := records(strings.NewReader(in))
		if err == nil || !strings.Contains(err.Error(), "depth") || len(err.Error()) > 1000 {
			t.Errorf("error %v, want one about depth", err)
		}
		s, err := Probe("f.json", strings.NewReader(in), nil)
		if err != nil || s.Damage == nil {
			t.Errorf("probe: %v, %v, want damage", s.Damage, err)
		}
	}
}

// endless never ends; memory must.
type endless struct {
	head string
	fill byte
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	if n == 0 {
		for n = range p {
			p[n] = e.fill
		}
		n = len(p)
	}
	return n, nil
}

func TestEndless(t *testing.T) {
	for _, e := range []endless{{`{"a":"`, 'x'}, {`{"a":1`, '1'}, {`{"a":`, ' '}} {
		r := NewReader("f.json", &e)
		_, err := r.Object(func(string) error { return r.Skip() })
		if err = r.Describe(err, ""); err == nil || !strings.Contains(err.Error(), "16 MiB") {
			t.Errorf("%q…: error %v, want one about 16 MiB", e.fill, err)
		}
	}
}

func TestProbe(t *testing.T) {
	big := strings.Repeat("[0.25,0.5],", 1000) + "[]"
	tests := []struct {
		in     string
		layout Layout
		keys   string
	}{
		{`{"a":1,"itls":[` + big + `],"b":{"c":1}}`, Single, "a,b,itls"},
		{`[{"a":1},{"z":1}]`, Array, "a"},
		{"{\"a\":1}\n{\"z\":1}\n", Lines, "a"},
		{`[]`, Array, ""}, {``, Nothing, ""}, {`12`, Single, ""}, {`{"a":1,"b`, Single, "a"},
	}
	for _, tt := range tests {
		s, err := Probe("f", strings.NewReader(tt.in), nil)
		var keys []string
		for _, k := range []string{"a", "b", "c", "itls", "z"} {
			if s.Keys[k] {
				keys = append(keys, k)
			}
		}
		if err != nil || s.Layout != tt.layout || strings.Join(keys, ",") != tt.keys {
			t.Errorf("Probe(%.30q) = %q %v, %v, want %q %s", tt.in, s.Layout, keys, err, tt.layout, tt.keys)
		}
	}
	// Enough is enough: the rest, however long, is not read.
	e := &endless{`{"a":1,"itls":[`, '1'}
	s, err := Probe("f", e, func(k map[string]bool) bool { return k["itls"] })
	if err != nil || s.Whole || !s.Keys["a"] || !s.Keys["itls"] {
		t.Errorf("Probe = %+v, %v", s, err)
	}
}

// FuzzScan checks that nothing panics, that pieces do not matter, and that
// what the standard library accepts is accepted with the same numbers.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"n":1}`, "[{\"n\":NaN},{\"n\":-Infinity}]", "{\"n\":1}\n{\"n\":oops}\n{\"n\":2}", "\xef\xbb\xbf{\"n\":\"inf\"}", `{"n":"a\\\"`, "{\"n\":\"\n{\"n\":1}", `[[[[`, `{"n":1e999}`, `{{"0"`, "00\uf8e3"} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, n byte) {
		whole, l1, p1, e1 := records(bytes.NewReader(in))
		pieces, l2, p2, e2 := records(small{bytes.NewReader(in), int(n%17) + 1})
		if fmt.Sprint(whole, l1, p1, e1) != fmt.Sprint(pieces, l2, p2, e2) {
			t.Fatalf("pieces matter:\n%v %v %v %v\n%v %v %v %v", whole, l1, p1, e1, pieces, l2, p2, e2)
		}
		if _, err := Probe("f", bytes.NewReader(in), nil); err != nil {
			t.Fatalf("probe: %v", err)
		}
		if len(in) > 0 && in[0] == '{' && json.Valid(in) {
			if e1 != nil {
				t.Fatalf("valid JSON refused: %v", e1)
			}
		}
	})
}

func BenchmarkSkip(b *testing.B) {
	in := []byte(`{"itls":[` + strings.Repeat("[0.012345678901234,0.023456789012345678],", 200_000) + `[]],"texts":["` + strings.Repeat("abc\\n", 1<<20) + `"]}`)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r := NewReader("", bytes.NewReader(in))
		if err := r.Skip(); err != nil {
			b.Fatal(err)
		}
	}
}
