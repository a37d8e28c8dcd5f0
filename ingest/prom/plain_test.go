package prom

import (
	"io"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// byParser is what Prometheus' parser makes of the series part of a line.
func byParser(key string) (ls labels.Labels, ok bool) {
	p := textparse.NewPromParser([]byte(key+" 1\n"), labels.NewSymbolTable(), false)
	if e, err := p.Next(); err == io.EOF || err != nil || e != textparse.EntrySeries {
		return ls, false
	}
	p.Labels(&ls)
	return ls, ls.Get(nameLabel) != ""
}

// checkPlain holds what is read the plain way against Prometheus' parser.
func checkPlain(t *testing.T, key string) {
	t.Helper()
	n := plainEnd([]byte(key))
	if n == 0 {
		return
	}
	want, ok := byParser(key)
	if !ok {
		t.Fatalf("%q is read the plain way; Prometheus' parser refuses it", key)
	}
	if got := plainLabels([]byte(key), n); !labels.Equal(got, want) {
		t.Fatalf("%q: labels %v, want %v", key, got, want)
	}
}

func TestPlainSeries(t *testing.T) {
	for _, c := range []struct {
		key   string
		plain bool
	}{
		{`up`, true},
		{`vllm:num_requests_running{model_name="m",engine="0"}`, true},
		{`a{b="x y, z{}=",c=""}`, true},
		{`a{b="é"}`, true},
		{`a{}`, false},
		{`a{b="x",}`, false},
		{`a{ b="x"}`, false},
		{`a{b="x\"y"}`, false},
		{`a{b="x",b="y"}`, false},
		{`a{__name__="b"}`, false},
		{`a{b:c="x"}`, false},
		{`a{1b="x"}`, false},
		{"a{b=\"\xff\"}", false},
		{"a{b=\"\x00\"}", false},
		{`{"a",b="x"}`, false},
		{`1a`, false},
		{`a{b="x"`, false},
		{`a{b="x"}}`, false},
	} {
		if got := plainEnd([]byte(c.key)) > 0; got != c.plain {
			t.Errorf("%q: read the plain way %v, want %v", c.key, got, c.plain)
		}
		checkPlain(t, c.key)
	}
}

func FuzzPlainSeries(f *testing.F) {
	for _, s := range []string{`up`, `a{b="x",c="y"}`, `a{b="x",}`, `a{b="\\"}`, "a{b=\"\x00\"}", `a{le="0.5"}`, `a:b{c="d"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if n := seriesEnd([]byte(key)); n == len(key) { // as the decoder asks
			checkPlain(t, key)
		}
	})
}
