package column

import "testing"

func TestMeans(t *testing.T) {
	for _, tt := range []struct {
		name, canonical string
		kind            Kind
	}{
		{"error", "error", Text}, {"request.error.type", "error", Text}, {"cached_tokens", "cached_tokens", Int}, {"ttft_ms", "ttft", Float},
		{"ttft", "ttft", Opaque}, {"completionStartTime", "first_token_time", Opaque}, {"itl_ms", "itl", List}, {"itl", "itl", Opaque},
		{"gen_ai.latency.e2e", "e2e", Float}, {"kv_hit_rate", "kv_hit_rate", Float}, {"colour", "", Text}, {"finish_reason.type", "finish_reason", Text},
	} {
		if c, k := Means(tt.name); c != tt.canonical || k != tt.kind {
			t.Errorf("%s means %q as %s, want %q as %s", tt.name, c, k, tt.canonical, tt.kind)
		}
	}
}

// TestOffsets checks that a simulator's end of 0.8 s is no date in seconds, and
// that the names of a nested record tell its producer.
func TestOffsets(t *testing.T) {
	at := func(lo float64) func() (float64, float64, bool) {
		return func() (float64, float64, bool) { return lo, lo * 1.2, true }
	}
	p, err := Resolve([]Raw{{Name: "instance id", Kind: Int}, {Name: "arrival", Kind: Int, Range: at(46926808)}, {Name: "end_time", Kind: Int, Range: at(826431057)},
		{Name: "queuing_delay", Kind: Int}, {Name: "TTFT", Kind: Int}, {Name: "ITL", Kind: List}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	i, _ := p.Source("end_time")
	if s := p.Sources[i]; s.Unit != Nanosecond || !s.Relative || s.How != HowDialect {
		t.Errorf("end_time %+v", s)
	}
	p, err = Resolve([]Raw{{Name: "request.ttft_ms", Kind: Float}, {Name: "request.total_time_ms", Kind: Float}, {Name: "request.queue_depth", Kind: Int}, {Name: "request.kv_hit_rate", Kind: Float}}, nil)
	if err != nil || p.Dialect != "Dynamo" {
		t.Errorf("dialect %q, %v", p.Dialect, err)
	}
}
