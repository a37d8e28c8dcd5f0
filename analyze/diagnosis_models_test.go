package analyze

import (
	"slices"
	"testing"
)

// Of a table with two models each is looked at alone.
func TestByModel(t *testing.T) {
	s := &rowSource{name: "requests", models: []string{"70b", "8b", "tiny"}, workloads: []string{"chat", "rag"}, replicas: []string{"a", "b"}}
	for i := range 400 {
		r := diagRow{at: float64(i), model: int32(i % 2), workload: int32(i % 2), replica: int32(i % 2)}
		if i >= 300 {
			r.model = 1
		}
		if i == 7 {
			r.model = -1
		}
		s.rows = append(s.rows, r)
	}
	s.rows[9].model = 2
	parts, left := s.byModel()
	if len(parts) != 2 || parts[0].name != "requests · 8b" || len(parts[0].rows) != 248 || len(parts[1].rows) != 150 || left == "" {
		t.Fatalf("%d parts, left %q", len(parts), left)
	}
	if p := parts[1]; !slices.Equal(p.workloads, []string{"chat"}) || !slices.Equal(p.replicas, []string{"a"}) || p.rows[0].model != 0 {
		t.Errorf("70b has %v, %v", p.workloads, p.replicas)
	}
	one := &rowSource{models: []string{"8b"}, rows: s.rows[:10]}
	if parts, left := one.byModel(); len(parts) != 1 || parts[0] != one || left != "" {
		t.Errorf("a table of one model is cut: %v, %q", parts, left)
	}
}

func TestOtherModel(t *testing.T) {
	table := func(m string) *source { return &source{model: m, rows: &rowChannel{}} }
	scrapes := func(m string) *source { return &source{model: m} }
	for _, c := range []struct {
		a, b *source
		want bool
	}{
		{table("llama-8b"), scrapes("meta-llama/Llama-8B"), false},
		{table("llama-70b"), scrapes("meta-llama/Llama-8B"), true},
		{table(""), scrapes("meta-llama/Llama-8B"), false},
		{scrapes("/models/a"), scrapes("served-b"), false},
	} {
		if got := c.a.otherModel(c.b); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.a.model, c.b.model, got, c.want)
		}
	}
}
