package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

func typedAs(kv ...string) layer {
	l := layer{}
	for i := 0; i < len(kv); i += 2 {
		l[kv[i]] = append(l[kv[i]], given{kv[i+1], "--" + kv[i]})
	}
	return l
}

func TestResolve(t *testing.T) {
	o, err := resolve(typedAs("slo", "ttft:p99<500ms", "slo", "workload=chat:ttft:p95<250ms", "gate", "slo",
		"goodput", "ttft:500 tpot:50", "goodput", "e2el:9000", "group-by", "workload, cache", "group-by", "tenant",
		"buckets", "prompt_tokens=512,2048", "side", "server", "sweep-by", "max_num_seqs", "strict", "true", "use-mtime", "true",
		"json", "x", "progress", "false", "title", "T"))
	if err != nil {
		t.Fatal(err)
	}
	a := o.analyze
	if len(a.SLOs) != 2 || a.SLOs[1].By[0] != (serving.Term{Dim: "workload", Value: "chat"}) {
		t.Errorf("SLOs = %+v", a.SLOs)
	}
	if len(a.Goodput) != 3 || a.Goodput[2] != (serving.Condition{Metric: serving.E2E, Limit: 9}) {
		t.Errorf("Goodput = %+v", a.Goodput)
	}
	if !slices.Equal(a.GroupBy, []string{"workload", "cache", "tenant"}) {
		t.Errorf("GroupBy = %q", a.GroupBy)
	}
	if !slices.Equal(a.Buckets["prompt_tokens"], cube.Bounds{512, 2048}) || len(a.Buckets["output_tokens"]) == 0 {
		t.Errorf("Buckets = %v: one replaced, the other kept", a.Buckets)
	}
	if a.Title != "T" || a.SweepBy != "max_num_seqs" || !slices.Equal(a.Gates, []string{"slo"}) {
		t.Errorf("options = %+v", a)
	}
	if !o.strict || !o.ingest.UseMTime || o.ingest.Checksums || o.ingest.Side != serving.ServerSide {
		t.Errorf("options = %+v", o)
	}
	if o.progress == nil || *o.progress || o.json != "x" || o.html != "" {
		t.Errorf("options = %+v", o)
	}
}

func TestResolveDefaults(t *testing.T) {
	o, err := resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := analyze.DefaultOptions()
	if !slices.Equal(o.analyze.GroupBy, want.GroupBy) || !slices.Equal(o.analyze.Buckets["prompt_tokens"], want.Buckets["prompt_tokens"]) {
		t.Errorf("options = %+v, want the defaults", o.analyze)
	}
	if o.progress != nil || len(o.flags) != 0 {
		t.Errorf("options = %+v: something was chosen", o)
	}
}

func TestResolveErrors(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"slo", "ttft<5ms", `--slo: objective "ttft<5ms"`},
		{"slo", "ttft:p99<500", "no known unit"},
		{"goodput", "", "no condition"},
		{"goodput", "ttft:500,ttft:400", "ttft is given twice"},
		{"group-by", "a,,b", `--group-by: "a,,b" has an empty name`},
		{"group-by", "a,a", "a is named twice"},
		{"buckets", "512,1024", `--buckets: "512,1024", want a column and its bounds`},
		{"buckets", "n=0", `"0" is no bound`},
		{"buckets", "n=1,1", "1 after 1"},
		{"buckets", "ttft=1,2", "ttft is no count and has no buckets, want prompt_tokens, output_tokens, cached_tokens, preemptions or a count column"},
		{"buckets", "workload=1,2", "workload is no count"},
		{"buckets", "n=1e3", `"1e3" is no bound`},
		{"promql", "queue=sum((", `queue: 1:6: parse error`},
		{"gate", "latency", `"latency" is no gate, want slo`},
		{"side", "Server", "want client or server"},
		{"strict", "yes", `"yes" is neither true nor false`},
		{"output", "", "want a file or - for standard output"},
		{"window", "a/b", `"a" is no time with a zone`},
		{"window", "/", "want FROM/TO"},
		{"echarts-js", "", "want an echarts.min.js"},
		{"sweep-by", "", "no key"},
		{"map", "ttft", "--map: "},
		{"headline", "tpot:p95,ttft", `"ttft" has no statistic, want e.g. ttft:p95`},
	} {
		_, err := resolve(typedAs(tt.name, tt.value))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "--"+tt.name+": ") {
			t.Errorf("--%s %q: error %v, want it to start with the flag and contain %q", tt.name, tt.value, err, tt.want)
		}
	}
	if _, err := resolve(typedAs("gate", "capacity>=8")); err == nil || !strings.Contains(err.Error(), "no objective") {
		t.Errorf("a gate without objectives: %v", err)
	}
	o, err := resolve(typedAs("gate", "slo")) // a rollup may bring its objectives
	if err != nil {
		t.Fatal(err)
	}
	if err := o.decidable([]*serving.Dataset{{Rollups: []*serving.Rollup{{}}}}); err == nil || !strings.Contains(err.Error(), "no objective") {
		t.Errorf("a gate without objectives: %v", err)
	}
	with := &serving.Rollup{Spec: serving.RollupSpec{SLOs: []string{"ttft:p90<1s"}}}
	if err := o.decidable([]*serving.Dataset{{Rollups: []*serving.Rollup{with}}}); err != nil {
		t.Errorf("a gate with the objectives of a rollup: %v", err)
	}
}

func TestParseWindow(t *testing.T) {
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixNano()
	}
	ten, eleven := at("2026-11-03T10:00:00Z"), at("2026-11-03T11:00:00Z")
	for in, want := range map[string]cube.Window{
		"2026-11-03T10:00:00Z/2026-11-03T11:00:00Z":     {From: ten, To: eleven},
		"2026-11-03T10:00Z/2026-11-03T20:00+09:00":      {From: ten, To: eleven},
		"2026-11-03 10:00:00Z/2026-11-03T11:00:00.5Z":   {From: ten, To: eleven + 5e8},
		"2026-11-03T10:00Z/":                            {From: ten, To: math.MaxInt64},
		"/2026-11-03T11:00Z":                            {From: math.MinInt64, To: eleven},
		"60/120.5":                                      {From: 60e9, To: 120.5e9},
		"1793700000/1793700060":                         {From: 1793700000e9, To: 1793700060e9},
		" 2026-11-03T10:00:00Z / 2026-11-03T11:00:00Z ": {From: ten, To: eleven},
	} {
		got, err := parseWindow(in)
		if err != nil || got != want {
			t.Errorf("parseWindow(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "/", "1", "2/1", "1/1", "2026-11-03/2026-11-04", "2026-11-03T10:00:00/", "NaN/1", "1/Inf", "1e300/", "0001-01-01T00:00Z/"} {
		if w, err := parseWindow(in); err == nil {
			t.Errorf("parseWindow(%q) = %v, want an error", in, w)
		}
	}
}

func TestCommandLine(t *testing.T) {
	o, err := resolve(typedAs("title", "it's", "slo", "ttft:p99<500ms", "strict", "true", "json", "x", "progress", "true",
		"checksums", "true", "use-mtime", "false", "group-by", "workload,cache"))
	if err != nil {
		t.Fatal(err)
	}
	want := `vreport report --title 'it'\''s' --slo 'ttft:p99<500ms' --group-by workload,cache --checksums a.json 'b c.json'`
	for _, paths := range [][]string{{"a.json", "b c.json"}, {"b c.json", "a.json", "a.json"}} {
		if got := commandLine("report", o.flags, sorted(paths)); got != want {
			t.Errorf("commandLine(%q) = %s\nwant %s", paths, got, want)
		}
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	if got := commandLine("report", nil, many); !strings.HasSuffix(got, " … # and 960 further paths, see the inputs") {
		t.Errorf("commandLine of 1000 paths ends in %q", got[len(got)-60:])
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"a.json": "a.json", "hour=12/x": "hour=12/x", "": "''", "a b": "'a b'", "*.json": "'*.json'",
		"$(x)": "'$(x)'", "a'b": `'a'\''b'`, "ttft:500,tpot:50": "ttft:500,tpot:50", "가": "'가'",
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
