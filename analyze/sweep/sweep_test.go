package sweep

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// run describes a benchmark run for a test.
type run struct {
	path     string
	cap      int64   // 0: none
	rate     float64 // 0: none, <0: unlimited
	in, out  float64 // mean lengths
	settings []serving.Setting
	n        int64 // completed; 0: 100
}

func (r run) build() *serving.Run {
	n := int64(100)
	if r.n > 0 {
		n = r.n
	}
	if r.rate < 0 && r.cap == 0 {
		n = int64(r.out) * 60 // all at once, and each a number of its own
	}
	out := &serving.Run{ID: r.path, Source: serving.Pos{Path: r.path}, Format: "vllm-serve", Model: serving.Some("m"), Settings: r.settings,
		Sent: serving.Some(n), Completed: serving.Some(n)}
	if r.in > 0 {
		out.Input, out.Output = serving.Some(int64(r.in*float64(n))), serving.Some(int64(r.out*float64(n)))
	}
	limit, rate := serving.None[int64](), serving.None[float64]()
	if r.cap > 0 {
		limit = serving.Some(r.cap)
	}
	if r.rate > 0 {
		rate = serving.Some(r.rate)
	}
	out.Load = serving.LoadOf(limit, rate, r.rate < 0)
	return out
}

// shape writes groups as "mode axis: level(repeats) …".
func shape(groups []Group) []string {
	var out []string
	for _, g := range groups {
		s := fmt.Sprintf("%s %s:", g.Mode, g.XName)
		for _, l := range g.Levels {
			if l.Unlimited {
				s += " inf"
			} else {
				s += fmt.Sprintf(" %g", l.X)
			}
			if n := len(l.Runs); n > 1 {
				s += fmt.Sprintf("(%d)", n)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestFind(t *testing.T) {
	set := func(k, v string) []serving.Setting { return []serving.Setting{{Key: k, Value: v}} }
	for _, tc := range []struct {
		name string
		runs []run
		by   string
		want []string
	}{
		{"closed loop in order of load", []run{{"a/c16.json", 16, -1, 100, 50, nil, 0}, {"a/c2.json", 2, -1, 100, 50, nil, 0}},
			"", []string{"closed max_concurrency: 2 16"}},
		{"one level is no sweep", []run{{"a/1.json", 4, -1, 100, 50, nil, 0}, {"a/2.json", 4, -1, 100, 50, nil, 0}}, "", nil},
		{"repeats at one level", []run{{"a/1.json", 2, -1, 100, 50, nil, 0}, {"a/2.json", 2, -1, 100, 50, nil, 0}, {"a/3.json", 4, -1, 100, 50, nil, 0}},
			"", []string{"closed max_concurrency: 2(2) 4"}},
		{"closed and open loop stay apart", []run{{"a/1.json", 2, -1, 100, 50, nil, 0}, {"a/2.json", 4, -1, 100, 50, nil, 0}, {"a/3.json", 0, 1, 100, 50, nil, 0}, {"a/4.json", 0, 2, 100, 50, nil, 0}},
			"", []string{"closed max_concurrency: 2 4", "open request_rate: 1 2"}},
		{"an unlimited run ends a rate sweep", []run{{"a/r.json", 0, -1, 100, 50, nil, 0}, {"a/1.json", 0, 1, 100, 50, nil, 0}, {"a/2.json", 0, 2, 100, 50, nil, 0}},
			"", []string{"open request_rate: 1 2 inf"}},
		{"a finite rate under varying caps is capped-open", []run{{"a/1.json", 1, 10, 100, 50, nil, 0}, {"a/2.json", 64, 10, 100, 50, nil, 0}},
			"", []string{"capped-open max_concurrency: 1 64"}},
		{"lengths far apart are two sweeps", []run{{"a/1.json", 2, -1, 100, 50, nil, 0}, {"a/2.json", 4, -1, 101, 50, nil, 0}, {"a/3.json", 2, -1, 1000, 50, nil, 0}, {"a/4.json", 4, -1, 1000, 50, nil, 0}},
			"", []string{"closed max_concurrency: 2 4", "closed max_concurrency: 2 4"}},
		{"answers half as long are another workload", []run{{"a/1.json", 2, -1, 1024, 1024, nil, 0}, {"a/2.json", 4, -1, 1024, 1020, nil, 0}, {"a/3.json", 2, -1, 1024, 512, nil, 0}, {"a/4.json", 4, -1, 1024, 512, nil, 0}},
			"", []string{"closed max_concurrency: 2 4", "closed max_concurrency: 2 4"}},
		{"answers that stop early are one workload", []run{{"a/1.json", 2, -1, 1024, 140, nil, 0}, {"a/2.json", 4, -1, 1024, 100, nil, 0}, {"a/3.json", 8, -1, 1024, 128, nil, 0}},
			"", []string{"closed max_concurrency: 2 4 8"}},
		{"few answers of any length are one workload", []run{{"a/1.json", 1, -1, 1024, 100, nil, 10}, {"a/2.json", 2, -1, 1024, 160, nil, 20}, {"a/3.json", 8, -1, 1024, 128, nil, 80}},
			"", []string{"closed max_concurrency: 1 2 8"}},
		{"a chain of small steps is no one workload", []run{{"a/1.json", 2, -1, 1024, 100, nil, 0}, {"a/2.json", 4, -1, 1024, 140, nil, 0}, {"a/3.json", 2, -1, 1024, 190, nil, 0}, {"a/4.json", 4, -1, 1024, 260, nil, 0}},
			"", []string{"closed max_concurrency: 2 4", "closed max_concurrency: 2 4"}},
		{"how many are sent at once is no load", []run{{"a/1.json", 0, -1, 100, 50, nil, 0}, {"a/2.json", 0, -1, 100, 51, nil, 0}}, "", nil},
		{"another setting is another sweep", []run{{"a/1.json", 2, -1, 100, 50, set("tp", "1"), 0}, {"a/2.json", 4, -1, 100, 50, set("tp", "1"), 0}, {"a/3.json", 2, -1, 100, 50, set("tp", "2"), 0}, {"a/4.json", 4, -1, 100, 50, set("tp", "2"), 0}},
			"", []string{"closed max_concurrency: 2 4", "closed max_concurrency: 2 4"}},
		{"a date is no setting", []run{{"a/1.json", 2, -1, 100, 50, set("date", "1"), 0}, {"a/2.json", 4, -1, 100, 50, set("date", "2"), 0}},
			"", []string{"closed max_concurrency: 2 4"}},
		{"two directories of the same levels are two experiments", []run{{"a/1.json", 2, -1, 100, 50, nil, 0}, {"a/2.json", 4, -1, 100, 50, nil, 0}, {"b/1.json", 2, -1, 100, 50, nil, 0}, {"b/2.json", 4, -1, 100, 50, nil, 0}},
			"", []string{"closed max_concurrency: 2 4", "closed max_concurrency: 2 4"}},
		{"a directory a level is one sweep", []run{{"c2/r.json", 2, -1, 100, 50, nil, 0}, {"c4/r.json", 4, -1, 100, 50, nil, 0}},
			"", []string{"closed max_concurrency: 2 4"}},
		{"a setting as the axis", []run{{"a/1.json", 8, -1, 100, 50, set("max_num_seqs", "64"), 0}, {"a/2.json", 8, -1, 100, 50, set("max_num_seqs", "8"), 0}},
			"max_num_seqs", []string{"closed max_num_seqs: 8 64"}},
		{"a run that completed nothing stays in its sweep", []run{{"a/1.json", 2, -1, 100, 50, nil, 0}, {"a/2.json", 4, -1, 0, 0, nil, 0}},
			"", []string{"closed max_concurrency: 2 4"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var runs []*serving.Run
			for _, r := range tc.runs {
				runs = append(runs, r.build())
			}
			if d := cmp.Diff(tc.want, shape(Find(runs, tc.by))); d != "" {
				t.Errorf("sweeps differ (-want +got):\n%s", d)
			}
		})
	}
}
