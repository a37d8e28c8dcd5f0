package tree

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func yamlOf(t *testing.T, text string) *Node {
	t.Helper()
	docs, err := YAML(context.Background(), "f.yaml", "x", strings.NewReader(text))
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	return docs[0]
}

func TestYAML(t *testing.T) {
	n := yamlOf(t, `
# a comment
base: &b {k: 1, l: two}
run:
  <<: *b
  l: own
  list: [1, .inf, -.inf, .nan, 0x10, 1_000, "7"]
  items:
    - name: a
      "--flag": null
    - name: b
  text: |
    two
    lines
  when: 2025-11-05T18:00:42Z
  version: '0.2'
  bare: 0.2
`)
	run := n.Get("run")
	for path, want := range map[string]string{"k": "1", "l": "own", "when": "2025-11-05T18:00:42Z", "version": "0.2", "bare": "0.2", "text": "two\nlines\n"} {
		if got := run.Get(path).Text(); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	var got []float64
	for _, v := range run.Get("list").List() {
		f, ok := v.Float()
		if !ok {
			t.Errorf("%q at %s is no number", v.Value, v.Path)
		}
		got = append(got, f)
	}
	want := []float64{1, math.Inf(1), math.Inf(-1), math.NaN(), 16, 1000, 7}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("numbers %v, want %v", got, want)
	}
	b := run.Get("items").List()[1].Get("name")
	if at := b.At("f.yaml").String(); at != "f.yaml:11: run.items[1].name" {
		t.Errorf("position %s", at)
	}
	if run.Get("items").List()[0].Has("--flag") || !run.Has("list") || run.Has("none") {
		t.Error("Has is wrong about null, a list or a missing name")
	}
}

func TestYAMLBounds(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	for name, tc := range map[string]struct{ in, want string }{
		"aliases":  {bomb, "262,144"},
		"loop":     {"a: &a\n  b: *a\n", ""},
		"flow":     {strings.Repeat("[", 100_000), "200 deep"},
		"block":    {strings.Repeat("- ", 100_000) + "x", "200 deep"},
		"size":     {"a: " + strings.Repeat("x", MaxYAML), "1 MiB"},
		"tab":      {"a:\n\tb: 1\n", ":2"},
		"unclosed": {"a: [1, 2\nb: 3\n", "f.yaml"},
	} {
		_, err := YAML(context.Background(), "f.yaml", "x", strings.NewReader(tc.in))
		if name == "loop" {
			continue // an error or a bounded tree, not a hang
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.want)
		}
	}
}

func TestJSON(t *testing.T) {
	var ps serving.Problems
	docs, err := JSON(context.Background(), "f.json", "x", strings.NewReader("{\"a\": {\"b\": [1, NaN]},\n \"c\": null, \"d\": \"Infinity\"}"), &ps)
	if err != nil || len(docs) != 1 || ps.Len() != 0 {
		t.Fatalf("%v, %v, %v", docs, err, ps.List())
	}
	n := docs[0]
	if v, ok := n.Get("d").Float(); !ok || !math.IsInf(v, 1) {
		t.Errorf("d is %v, %v", v, ok)
	}
	if v := n.Get("a", "b").List()[1]; v.Kind != Number || v.Path != "a.b[1]" {
		t.Errorf("NaN is %+v", v)
	}
	if c := n.Get("c"); c.Kind != Null || c.Line != 2 || n.Get("x", "y") != nil {
		t.Errorf("null is %+v", c)
	}
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	if _, err := JSON(context.Background(), "f.json", "x", strings.NewReader(`{"a":`+deep+`}`), &ps); err == nil {
		t.Error("500 levels are accepted")
	}
}

// FuzzYAML checks that no text panics, hangs or grows.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {y: z}]\n", "a: &a {b: 1}\nc: *a\n<<: *a\n", "- - -\n", "? a\n: b\n", "a: !!str 1\n---\nb: |\n  x\n", "{\"a\": .inf}", "a: &a [*a]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		docs, err := YAML(context.Background(), "f", "x", strings.NewReader(s))
		if err != nil {
			return
		}
		for _, d := range docs {
			n := 0
			walk(d, func(v *Node) { n++; v.Float(); v.Text() })
			if n > maxNodes {
				t.Fatalf("%d values", n)
			}
		}
	})
}

// walk calls f for every scalar below n in document order.
func walk(n *Node, f func(*Node)) {
	switch {
	case n == nil:
	case n.Kind == List || n.Kind == Object:
		for _, c := range n.Items {
			walk(c, f)
		}
	default:
		f(n)
	}
}
