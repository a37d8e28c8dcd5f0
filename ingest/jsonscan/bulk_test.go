package jsonscan

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A walk reads everything and writes down what it saw and where, with Numbers
// or with Array: both must give the same.
type walk struct {
	r    *Reader
	bulk bool
	log  []string
}

func (w *walk) say(a ...any) { w.log = append(w.log, fmt.Sprint(a...)) }

func (w *walk) value(int) error {
	r := w.r
	switch r.Peek() {
	case '{':
		if _, err := r.Object(func(name string) error { w.say("name ", name); return w.value(0) }); err != nil {
			return err
		}
	case '[':
		w.say("[ ", r.Offset())
		numbers := func(element func(int) error) (bool, error) { return r.Array(element) }
		if w.bulk {
			numbers = func(element func(int) error) (bool, error) {
				return r.Numbers(func(vs []float64) error {
					for _, v := range vs {
						w.say(v)
					}
					return nil
				}, element)
			}
		}
		if _, err := numbers(w.value); err != nil {
			return err
		}
	case '0':
		v, _, err := r.Float()
		if err != nil {
			return err
		}
		w.say(v)
		if v < 0 || math.IsInf(v, 0) || math.Signbit(v) || v == math.MaxFloat64 {
			w.say(r.Pos())
		}
		return nil
	default:
		s, _, err := r.Scalar(100)
		if err != nil {
			return err
		}
		w.say(s, r.Pos(), r.NextLine())
		return nil
	}
	w.say(r.Pos(), " ", r.Offset())
	return nil
}

func walked(in []byte, bulk bool, piece int) []string {
	w := &walk{r: NewReader("f", small{bytes.NewReader(in), piece}), bulk: bulk}
	var ps serving.Problems
	whole, layout, err := w.r.Records("x", &ps, w.value)
	w.say(whole, layout, err, ps.List())
	return w.log
}

func checkWalk(t *testing.T, in []byte, piece int) {
	t.Helper()
	want, got := walked(in, false, 1<<20), walked(in, true, piece)
	if !reflect.DeepEqual(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%.200q in pieces of %d, step %d: Numbers gives %q, Array %q", in, piece, i, got[i], want[i])
			}
		}
		t.Fatalf("%.200q in pieces of %d: Numbers gives %d steps, Array %d", in, piece, len(got), len(want))
	}
}

var walks = []string{
	`{"a":[1,2.5,3e2],"b":[]}`, `[[1,2],[3],[],[4,5]]`, "{\"itls\": [[1, 2],\n [3,\n 4.5], [ ], [\"x\", 1], [6]] , \"n\": 1}", `{"a":[1,2,null,3,[4,5],NaN,-1,6]}`,
	`{"a":[1,-Infinity,2],"b":{"c":[[[1]],[2,{"d":[3,4,"e",{"f":[1,true]}]}]]}}`, `{"a":[1,2,],"b":1}`, `{"a":[1,,2]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":[1`, `{"a":[1,`, `{"a":[1,2`, `{"a":[`, `{"a":[1.]}`, `{"a":[01]}`, `{"a":[1}`, `{"a":[1]]`,
	"{\"a\":[1,2]}\n{\"a\":[1,oops]}\n{\"a\":[[3],[4,oops]]}\n\n{\"a\":[5],\"b\":{\"x/y~z\":[[1],[2,null]]}}", `[{"a":[1]},{"a":[2,"x"]},{"a":[3,{"b":[1,2,[7,"y"]]}]}]`, `{"a":[1e400,1],"b":[1e-400,0.0]}`, `{"":[1,[2],"z"],"0":[[1],[2,"q"]]}`,
	"\xef\xbb\xbf{\"a\":[1,\n2,\n\"x\"]}", `{"a" : [ 1 , 2 ] , "b" : [ [ 1 ] , [ 2 ] ] }`, `[1,2,3]`, `1 [2,3] [[4],[5]]`, "{\"a\":[[1],{\n\"b\":2}]}",
}

func TestNumbers(t *testing.T) {
	for _, s := range walks {
		for _, piece := range []int{1, 2, 3, 7, 1000} {
			checkWalk(t, []byte(s), piece)
		}
	}
}

// TestNumbersWindow reads rows over several windows, with oddities far from and
// near to their ends, behind white space and strings longer than any buffer.
func TestNumbersWindow(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"text":"` + strings.Repeat("x", window*2) + `","itls":[`)
	for i := range 3000 {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteByte('[')
		for j := range i % 700 {
			if j > 0 {
				b.WriteString(", "[:1+j%2])
			}
			if i%50 == 7 && j == 600 {
				b.WriteString(`"bad"`)
				continue
			}
			b.WriteString(strconv.FormatFloat(float64(i*j)/977, 'f', -1, 64))
		}
		b.WriteByte(']')
		if i == 1500 {
			b.WriteString(strings.Repeat(" \n", window))
		}
	}
	b.WriteString(`],"errors":["` + strings.Repeat(`\"\n`, 5000) + `"],"flat":[` + strings.Repeat("1.25,", window) + `null,2]}`)
	for _, piece := range []int{1000, 1 << 20} {
		checkWalk(t, []byte(b.String()), piece)
	}
}

// FuzzNumbers checks that reading past the decoder changes nothing that a
// caller sees: values, offsets, lines, fields and damage.
func FuzzNumbers(f *testing.F) {
	for _, s := range walks {
		f.Add([]byte(s), byte(3))
	}
	f.Add([]byte("\"\"\"\"\"000000000\xbb(\xecgb\x9e\\u00\x8b\xd6"), byte('"')) // an escape that a read may cut
	f.Add([]byte("\"\"\"\"\"000000000\xbb(\xecgb\x9e\\u0K\xd6"), byte('O'))
	f.Add([]byte("\"\"\"\"\"000000000\xbb(\xecgb\x9e\\u0K\""), byte('4'))
	f.Add([]byte("\"\"::\n"), byte(1))
	f.Fuzz(func(t *testing.T, in []byte, n byte) { checkWalk(t, in, int(n%17)+1) })
}
