package serving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSLO(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want SLO
		err  string
	}{
		{in: "ttft:p99<500ms", want: SLO{Metric: TTFT, P: 0.99, Limit: 0.5}},
		{in: "tpot:p99.9<=50 ms", want: SLO{Metric: TPOT, P: 0.999, Limit: 0.05}},
		{in: "e2el:median<2s", want: SLO{Metric: E2E, P: 0.5, Limit: 2}},
		{in: "ttft:mean<1.5s", want: SLO{Metric: TTFT, Mean: true, Limit: 1.5}},
		{in: "workload=chat:ttft:p95<250ms", want: SLO{By: []Term{{"workload", "chat"}}, Metric: TTFT, P: 0.95, Limit: 0.25}},
		{in: "workload=chat:model=a=b:itl:p95<250us", want: SLO{By: []Term{{"workload", "chat"}, {"model", "a=b"}}, Metric: ITL, P: 0.95, Limit: 0.00025}},
		{in: "ttft<500ms", err: "no percentile"},
		{in: "ttft:p99>500ms", err: `no "<"`},
		{in: "ttfx:p99<500ms", err: "unknown metric"},
		{in: "ttft:p100<500ms", err: "no percentile between"},
		{in: "ttft:p0<500ms", err: "no percentile between"},
		{in: "ttft:max<500ms", err: "neither a percentile nor mean"},
		{in: "ttft:p99<500", err: "no known unit"},
		{in: "ttft:p99<-5ms", err: "is no duration"},
		{in: "ttft:p99<NaNms", err: "is no duration"},
		{in: "chat:ttft:p99<5ms", err: "is no dim=value"},
	} {
		got, err := ParseSLO(tc.in)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), "want e.g.") {
				t.Errorf("ParseSLO(%q): error %v, want one with %q and an example", tc.in, err, tc.err)
			}
			continue
		}
		tc.want.Expr = tc.in
		if d := cmp.Diff(tc.want, got); err != nil || d != "" {
			t.Errorf("ParseSLO(%q): %v\n%s", tc.in, err, d)
		}
	}
}

func TestParseGoodput(t *testing.T) {
	want := []Condition{{TTFT, 0.5}, {TPOT, 0.05}}
	for _, s := range []string{"ttft:500,tpot:50", "ttft:500 tpot:50"} {
		got, err := ParseGoodput(s)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("ParseGoodput(%q): %v\n%s", s, err, d)
		}
	}
	if a, _ := ParseGoodput("e2el:1"); len(a) != 1 || a[0].Metric != E2E {
		t.Errorf("e2el is %v, want e2e", a)
	}
	for _, s := range []string{"", "ttft", "ttft:x", "itl:5", "ttft:1,ttft:2", "ttft:-1", "ttft:inf"} {
		if got, err := ParseGoodput(s); err == nil {
			t.Errorf("ParseGoodput(%q) = %v, want an error", s, got)
		}
	}
}

func TestQuantileName(t *testing.T) {
	for p, want := range map[float64]string{0.5: "p50", 0.99: "p99", 0.999: "p99.9", 0.9999: "p99.99", 0.975: "p97.5"} {
		if got := QuantileName(p); got != want {
			t.Errorf("QuantileName(%v) = %s, want %s", p, got, want)
		}
	}
}

func TestStatName(t *testing.T) {
	for word, want := range map[string]string{
		"mean": "mean", "std": "std", "median": "p50", "p50": "p50", "p99.9": "p99.9", "p99.90": "p99.9", "p0": "min", "p100": "max",
		"": "", "p": "", "p101": "", "p-1": "", "pNaN": "", "99": "", "total": "",
	} {
		if got, ok := StatName(word); got != want || ok != (want != "") {
			t.Errorf("StatName(%q) = %q, %v; want %q", word, got, ok, want)
		}
	}
}

func FuzzParseSLO(f *testing.F) {
	for _, s := range []string{"ttft:p99<500ms", "workload=chat:ttft:p95<250ms", "e2e:mean<=1h", "::<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slo, err := ParseSLO(s)
		if err == nil && (slo.Limit < 0 || slo.Limit != slo.Limit || !slo.Mean && !(slo.P > 0 && slo.P < 1)) {
			t.Errorf("ParseSLO(%q) accepts %+v", s, slo)
		}
	})
}
