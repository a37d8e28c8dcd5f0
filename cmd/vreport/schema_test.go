package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vreport/vreport/samples"
)

// published compiles a schema as it is published.
func published(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(readFile(t, filepath.Join("docs", "schema", name))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the program writes of real files is what the published schemas promise:
// the fixtures of package render are made by hand, these reports are not.
func TestJSONFollowsThePublishedSchema(t *testing.T) {
	report, inspect := published(t, "vreport.report.v1.schema.json"), published(t, "vreport.inspect.v1.schema.json")
	dir := t.TempDir()
	if err := samples.Write(dir, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	unknown := filepath.Join(dir, "sweep", "notes.txt")
	if err := os.WriteFile(unknown, []byte("nothing we know\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	check := func(s *jsonschema.Schema, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if status := run(append(args, "--json", "-"), strings.NewReader(""), &stdout, &stderr); status != statusDone && status != statusUndecided && status != statusFailed {
			t.Fatalf("%q: status %d: %s", args, status, stderr.String())
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(stdout.Bytes()))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%q: %v", args, err)
		}
		var any any
		if json.Unmarshal(stdout.Bytes(), &any) != nil {
			t.Errorf("%q: no JSON", args)
		}
	}
	all := []string{"--slo", "ttft:p95<800ms", "--slo", "workload=chat:tpot:mean<50ms", "--goodput", "ttft:800,tpot:50", "--gate", "slo"}
	for _, part := range []string{"sweep", "sweep-moe", "server", "server-v0", "trace", "scenarios/kv-restart", "scenarios/hot-replica", "scenarios/proxy-buffering", "pairs/slice-regression"} {
		path := filepath.Join(dir, filepath.FromSlash(part))
		check(report, append([]string{"report", path}, all...)...)
		check(inspect, "inspect", path)
	}
	check(report, "report", dir, "--promql", "queue=max(vllm:num_requests_waiting)", "--annotation", "2026-01-05T04:02:00Z deploy", "--workload", "x=run=~sweep")
}
