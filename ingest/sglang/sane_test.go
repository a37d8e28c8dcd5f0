package sglang

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func servingRuns(t testing.TB, path string, text []byte) ([]*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{Bytes: int64(len(text))}
	runs, err := DecodeServing(t.Context(), path, bytes.NewReader(text), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, r := range runs {
		checkRun(t, r)
	}
	return runs, in
}

func batchRuns(t testing.TB, path string, text []byte) ([]*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{Bytes: int64(len(text))}
	runs, err := DecodeOneBatch(t.Context(), path, bytes.NewReader(text), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, r := range runs {
		checkRun(t, r)
	}
	return runs, in
}

// checkRun checks what holds of every run, whatever it was read from.
func checkRun(t testing.TB, r *serving.Run) {
	t.Helper()
	for _, n := range []serving.Opt[int64]{r.Sent, r.Completed, r.Failed, r.Input, r.Output, r.Load.MaxConcurrency} {
		if n.OK && n.V < 0 {
			t.Fatalf("a negative count in %+v", r)
		}
	}
	for _, a := range r.Reported {
		if a.PerBase == 0 || math.IsNaN(a.Value()) || math.IsInf(a.File, 0) {
			t.Fatalf("reported %+v", a)
		}
	}
	if v := r.Load.RequestRate; v.OK && !(v.V > 0 && v.V < unlimitedFrom) {
		t.Fatalf("request rate %v", v)
	}
	if r.GPUs.OK && r.GPUs.V < 1 || r.Duration.OK && !(r.Duration.V > 0) {
		t.Fatalf("GPUs %v, duration %v", r.GPUs, r.Duration)
	}
	if r.Requests == nil {
		return
	}
	for _, c := range r.Requests.Columns() {
		for _, row := range columnOf(t, r, c.Name) {
			for _, x := range row {
				if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
					t.Fatalf("column %s has %v", c.Name, x)
				}
			}
		}
	}
}

// columnOf reads a column: the values of each row, none where it is missing.
func columnOf(t testing.TB, r *serving.Run, name string) [][]float64 {
	t.Helper()
	var out [][]float64
	for _, p := range r.Requests.Parts() {
		err := p.Scan(context.Background(), []string{name}, nil, func(b *serving.Batch) error {
			v := b.Cols[0]
			for i := range b.N {
				var row []float64
				switch {
				case !v.Has(i):
				case v.Kind == serving.KindGaps:
					row = slices.Clone(v.Floats[v.Offsets[i]:v.Offsets[i+1]])
				case v.Ints != nil:
					row = []float64{float64(v.Ints[i])}
				case v.Codes != nil:
					row = []float64{float64(v.Codes[i])}
				default:
					row = []float64{v.Floats[i]}
				}
				out = append(out, row)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func hasColumn(r *serving.Run, name string) *serving.Column {
	for _, c := range r.Requests.Columns() {
		if c.Name == name {
			return &c
		}
	}
	return nil
}

// checkServer checks what holds of every server.
func checkServer(t testing.TB, s *serving.Server) {
	t.Helper()
	n := len(s.Times)
	if n == 0 || s.TimeRule == "" || s.Label == "" {
		t.Fatalf("%d instants, rule %q, label %q", n, s.TimeRule, s.Label)
	}
	for i := 1; i < n; i++ {
		if s.Times[i] <= s.Times[i-1] {
			t.Fatalf("times %v do not ascend", s.Times[i-1:i+1])
		}
	}
	for _, g := range s.Gauges {
		if len(g.Values) != n {
			t.Fatalf("%s has %d values for %d instants", g.Name, len(g.Values), n)
		}
		for _, v := range g.Values {
			if v < 0 || math.IsInf(v, 0) || g.Unit == serving.Share && v > 1.5 {
				t.Fatalf("%s is %v", g.Name, v)
			}
		}
	}
	for _, c := range s.Counters {
		if len(c.Values) != n {
			t.Fatalf("%s has %d values for %d instants", c.Name, len(c.Values), n)
		}
		for i := 1; i < n; i++ {
			if c.Values[i] < c.Values[i-1] && !slices.Contains(s.Restarts, s.Times[i]) {
				t.Fatalf("%s falls without a restart", c.Name)
			}
		}
	}
	for _, r := range s.Restarts {
		if !slices.Contains(s.Times, r) {
			t.Fatalf("restart at %v is no instant", r)
		}
	}
}

// lastOf is the last value of a counter, NaN where there is none.
func lastOf(s *serving.Server, name serving.SeriesName) float64 {
	for _, c := range s.Counters {
		if c.Name == name {
			return c.Values[len(c.Values)-1]
		}
	}
	return math.NaN()
}

func gaugeOf(s *serving.Server, name serving.SeriesName) []float64 {
	if g := s.GaugeOf(name); g != nil {
		return g.Values
	}
	return nil
}
