package rules

import (
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

var update = flag.Bool("update", false, "rewrite the table in docs/diagnosis.md")

// The table in the documentation is the one the program uses.
func TestDocsHaveTheRules(t *testing.T) {
	const doc, from, to = "../../docs/diagnosis.md", "<!-- rules -->\n", "<!-- end of rules -->"
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q", doc, from)
	}
	want := "\n" + markdown(Table)
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("%s has another table of rules: go test ./analyze/rules -update", doc)
	}
	if err := os.WriteFile(doc, []byte(before+from+want+to+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every rule can be weighed: it rests on more than one observation, its limits
// make sense, and everything it asks for is explained with what would tell it.
func TestRulesAreComplete(t *testing.T) {
	ids := []string{"queue_capacity", "prefill_cost", "decode_pressure", "kv_shortage", "outside_gpu"}
	seen := map[string]bool{}
	for _, r := range Table {
		if seen[r.Cause] {
			t.Errorf("%s is there twice", r.Cause)
		}
		seen[r.Cause] = true
		if i := slices.Index(ids, r.ID); i < 0 || r.Case != string(rune('A'+i)) {
			t.Errorf("%s: hypothesis %s in case %s", r.Cause, r.ID, r.Case)
		}
		if len(r.Supports) < 2 || len(r.Required) == 0 || len(r.Next) == 0 || len(r.Remedies) == 0 || r.Title == "" {
			t.Errorf("%s is not complete", r.Cause)
		}
		for _, m := range r.Remedies {
			if m.Price == "" {
				t.Errorf("%s: %q has no price", r.Cause, m.Text)
			}
		}
		for _, p := range slices.Concat(r.Required, r.Supports, r.Against, r.Refutes) {
			if a := AboutOf(p.Fact); a.Needs == "" {
				t.Errorf("%s asks for %s, which nothing explains", r.Cause, p.Fact)
			}
		}
		total := 0.0
		for _, p := range r.Supports {
			if p.Weight <= 0 || p.Lo == p.Hi {
				t.Errorf("%s: evidence %s has weight %g and limits %g and %g", r.Cause, p.Fact, p.Weight, p.Lo, p.Hi)
			}
			total += p.Weight
		}
		for _, p := range r.Supports {
			if p.Weight/total > 0.75 {
				t.Errorf("%s rests on %s alone", r.Cause, p.Fact)
			}
		}
	}
}

func facts(kv ...any) Facts {
	out := Facts{}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i].(Key)] = Fact{Value: kv[i+1].(float64), Unit: serving.NoUnit}
	}
	return out
}

func verdictOf(t *testing.T, cause string, f Facts) Verdict {
	t.Helper()
	vs := Judge(Table, f)
	i := slices.IndexFunc(vs, func(v Verdict) bool { return v.Rule.Cause == cause })
	if i < 0 {
		t.Fatalf("no rule for %s", cause)
	}
	return vs[i]
}

// A fleet whose queue is uneven, and of which nothing else is known, supports
// no hot replica: two tests of different load look the same.
func TestOneObservationIsNotEnough(t *testing.T) {
	v := verdictOf(t, "hot_replica", facts(LateFirst, 1.0, Replicas, 2.0, HotFactor, 2.0))
	if v.Status != CannotTell {
		t.Errorf("%s with score %.2f, want %s", v.Status, v.Score.Score, CannotTell)
	}
}

// One figure alone supports nothing: neither a full pool, nor a busy GPU, nor a
// counter, nor a late first token.
func TestNothingFromOneFigure(t *testing.T) {
	for k, v := range map[Key]float64{KVPeak: 0.9, GPUUse: 0.95, Preemptions: 5000, LateFirst: 1, QueueShare: 1, ArrivalRatio: 3, PromptTailRatio: 9, CachedDrop: 1, Symptom: 1} {
		for _, got := range Judge(Table, facts(k, v)) {
			if got.Status == Supported {
				t.Errorf("%s = %g alone supports %s", k, v, got.Rule.Cause)
			}
		}
	}
}

func TestStatuses(t *testing.T) {
	full := facts(LateFirst, 1.0, QueueShare, 0.95, ArrivalRatio, 1.6, WaitingLeft, 0.9, ArrivedOverCompleted, 1.4, NewWorkShare, 0.0, RetryShare, 0.0, HotFactor, 1.0, MixShift, 1.02, AbortShare, 0.0)
	with := func(k Key, v float64) Facts {
		out := Facts{}
		for key, f := range full {
			out[key] = f
		}
		if math.IsNaN(v) {
			delete(out, k)
		} else {
			out[k] = Fact{Value: v}
		}
		return out
	}
	both := with(AbortShare, 0.3)
	delete(both, RetryShare)
	for _, c := range []struct {
		what string
		f    Facts
		want Status
	}{
		{"all of it", full, Supported},
		{"no symptom", with(LateFirst, 0), NotSupported},
		{"users send what they did", with(ArrivalRatio, 1.0), Refuted},
		{"the queue drains", with(WaitingLeft, 0.1), Refuted},
		{"stages are not known", with(QueueShare, math.NaN()), CannotTell},
		{"clients give up and attempts are not known", both, CannotTell},
		{"one replica has it all", with(HotFactor, 3), Supported},
	} {
		v := verdictOf(t, "over_capacity", c.f)
		if v.Status != c.want {
			t.Errorf("%s: %s (score %.2f), want %s", c.what, v.Status, v.Score.Score, c.want)
		}
		if v.Status == CannotTell && len(v.Missing) == 0 {
			t.Errorf("%s: nothing is said to be missing", c.what)
		}
	}
	if a, b := verdictOf(t, "over_capacity", full).Score.Score, verdictOf(t, "over_capacity", with(HotFactor, 3)).Score.Score; b >= a {
		t.Errorf("counter-evidence leaves the score at %.2f, from %.2f", b, a)
	}
}

func TestSeparate(t *testing.T) {
	f := facts(LateFirst, 1.0, QueueShare, 0.9, ArrivalRatio, 1.6, WaitingLeft, 0.9, ArrivedOverCompleted, 1.4)
	k, ok := Separate(verdictOf(t, "over_capacity", f), verdictOf(t, "pool_shared", f))
	if !ok || k != NewWorkShare {
		t.Errorf("%s separates over_capacity from pool_shared, want %s", k, NewWorkShare)
	}
}

func TestOverride(t *testing.T) {
	o, err := ParseOverride("over_capacity.queue_share=0.5..0.9")
	if err != nil {
		t.Fatal(err)
	}
	limits := func(table []Rule, cause string) (lo, hi float64) {
		for _, r := range table {
			if r.Cause == cause {
				for _, p := range r.Supports {
					if p.Fact == QueueShare {
						return p.Lo, p.Hi
					}
				}
			}
		}
		t.Fatalf("%s has no %s", cause, QueueShare)
		return 0, 0
	}
	tuned := Tuned([]Override{o})
	if lo, hi := limits(tuned, "over_capacity"); lo != 0.5 || hi != 0.9 {
		t.Errorf("limits %g and %g, want 0.5 and 0.9", lo, hi)
	}
	if lo, hi := limits(tuned, "burst"); lo != 0.4 || hi != 0.8 {
		t.Errorf("another rule's limits became %g and %g", lo, hi)
	}
	if lo, hi := limits(Table, "over_capacity"); lo != 0.4 || hi != 0.8 {
		t.Errorf("the table itself became %g and %g", lo, hi)
	}
	for _, bad := range []string{"", "queue_share", "queue_share=", "queue_share=x", "queue_share=NaN", "nobody.queue_share=1", "over_capacity.kv_peak=1", "queue=1", "queue_share=1..1", "queue_share=1..Inf"} {
		if o, err := ParseOverride(bad); err == nil {
			t.Errorf("%q gives %+v", bad, o)
		} else if !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %v does not say what is wanted", bad, err)
		}
	}
}

// Whatever is typed, an override that is taken has limits that are numbers, names a
// fact of its rule and leaves a table that can be judged.
func FuzzParseOverride(f *testing.F) {
	for _, s := range []string{"over_capacity.queue_share=0.5..0.9", "hot_factor=2", "x", "=", "queue_share=NaN", "queue_share=1..1", "burst.arrival_peak_ratio=-1..1e300", "a.b.c=1..2..3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseOverride(s)
		if err != nil {
			if !strings.Contains(err.Error(), "want") {
				t.Fatalf("%q: %v does not say what is wanted", s, err)
			}
			return
		}
		if o.Hi-o.Hi != 0 || o.Lo == o.Hi || !used(o) {
			t.Fatalf("%q gives %+v", s, o)
		}
		for _, v := range Judge(Tuned([]Override{o}), facts(o.Fact, o.Hi)) {
			if !(v.Score.Score >= 0 && v.Score.Score <= 1) {
				t.Fatalf("%q: %s has the score %v", s, v.Rule.Cause, v.Score.Score)
			}
		}
	})
}
