package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/samples"
)

// What is asked of every rollup in these tests.
var peerFlags = []string{"--slo", "ttft:p95<800ms", "--slo", "workload=chat:e2e:p90<20s", "--goodput", "ttft:800,tpot:50", "--group-by", "workload,prompt_tokens,cache,tenant", "--buckets", "prompt_tokens=512,2048,8192"}

// peers returns the folder of the engines; without them the test is skipped, or
// fails where VREPORT_REQUIRE_PEERS asks for it, as make test does.
func peers(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(root, ".ci/peers"))
	if err != nil {
		t.Fatal(err)
	}
	_, node := exec.LookPath("node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules/@duckdb/node-api")); err != nil || node != nil {
		if os.Getenv("VREPORT_REQUIRE_PEERS") != "" {
			t.Fatal("the engines are not installed (make peers)")
		}
		t.Skip("the engines are not installed (make peers)")
	}
	return dir
}

// vreport runs the program in this process.
func vreport(t *testing.T, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(args, bytes.NewReader(nil), &out, &errs); status != statusDone {
		t.Fatalf("vreport %q: status %d\n%s%s", args, status, &out, &errs)
	}
}

func node(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("node", args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("node %q: %v\n%s", args, err, out)
	}
}

// A rollup that a real engine makes by the printed query gives the report that
// the requests give: the same slices with the same counts, quantiles within the
// stated relative error.
func TestEngines(t *testing.T) {
	dir, tmp := peers(t), t.TempDir()
	if err := samples.Write(tmp, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(tmp, "trace/requests.parquet")
	at := func(name string) string { return filepath.Join(tmp, name) }
	vreport(t, append([]string{"report", trace, "--json", at("direct.json")}, peerFlags...)...)
	direct := slicesOf(t, at("direct.json"))
	crooked := writeCrooked(t, tmp)
	for _, engine := range []string{"duckdb", "clickhouse"} {
		q := at(engine + ".sql")
		vreport(t, append([]string{"sql", "--dialect", engine, trace, "--from", "trace/requests.parquet", "-o", q}, peerFlags...)...)
		asked := []string{filepath.Join(dir, "query.mjs"), engine}
		for _, ext := range []string{".parquet", ".csv"} {
			asked = append(asked, q, engine+ext)
		}
		for _, c := range crooked {
			q := at(engine + c + ".sql")
			vreport(t, append([]string{"sql", "--dialect", engine, at(c), "--from", c, "-o", q}, crookedFlags...)...)
			asked = append(asked, q, engine+c+".csv")
		}
		node(t, tmp, asked...)
		for _, ext := range []string{".parquet", ".csv"} {
			t.Run(engine+ext, func(t *testing.T) {
				j := at(engine + ext + ".json")
				vreport(t, "report", at(engine+ext), "--json", j, "--strict")
				compareSlices(t, direct, slicesOf(t, j))
			})
		}
		for _, c := range crooked {
			t.Run(engine+"/"+c, func(t *testing.T) {
				local := at(c + ".csv")
				vreport(t, append([]string{"rollup", at(c), "-o", local}, crookedFlags...)...)
				compareRollups(t, local, at(engine+c+".csv"))
			})
		}
	}
	t.Run("local", func(t *testing.T) {
		vreport(t, append([]string{"rollup", trace, "-o", at("local.parquet")}, peerFlags...)...)
		vreport(t, "report", at("local.parquet"), "--json", at("local.json"), "--strict")
		compareSlices(t, direct, slicesOf(t, at("local.json")))
	})
}

// The queries for Trino and Spark are SQL by the grammars of both.
func TestGrammars(t *testing.T) {
	dir, tmp := peers(t), t.TempDir()
	for _, dialect := range []string{"trino", "spark"} {
		q := filepath.Join(tmp, dialect+".sql")
		columns := "arrival_time:timestamp,workload:text,status:text,stream:bool,http_status:int,finish_reason:text,prompt_tokens:int,cached_tokens:int,output_tokens:int,ttft_ms:double,e2e_s:double,itl_ms:list,tenant:text"
		vreport(t, append([]string{"sql", "--dialect", dialect, "--columns", columns, "--from", "lake.requests", "--window", "2026-01-05T08:00Z/2026-01-05T09:00Z", "-o", q}, peerFlags...)...)
		node(t, tmp, filepath.Join(dir, "parse.mjs"), dialect, q)
		broken := filepath.Join(tmp, "broken.sql")
		if err := os.WriteFile(broken, []byte("SELECT count( FROM WHERE\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command("node", filepath.Join(dir, "parse.mjs"), dialect, broken).Run(); err == nil {
			t.Errorf("the parser of %s takes anything", dialect)
		}
	}
}

type jsonSlice struct {
	By        map[string]string
	Sent      int64
	Completed int64
	Outcomes  map[string]int64
	Goodput   map[string]any
	SLO       []struct {
		Expr, Result string
		Attainment   float64
	}
	Metrics map[string]map[string]any
}

func slicesOf(t *testing.T, file string) map[string]jsonSlice {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rep struct{ Slices []jsonSlice }
	if err := json.Unmarshal(data, &rep); err != nil {
		t.Fatal(err)
	}
	out := map[string]jsonSlice{}
	for _, s := range rep.Slices {
		key, _ := json.Marshal(s.By)
		out[string(key)] = s
	}
	return out
}

func compareSlices(t *testing.T, want, got map[string]jsonSlice) {
	t.Helper()
	if len(want) < 20 || len(got) != len(want) {
		t.Fatalf("%d slices, want %d", len(got), len(want))
	}
	for key, a := range want {
		b, ok := got[key]
		if !ok {
			t.Errorf("no slice %s", key)
			continue
		}
		if a.Sent != b.Sent || a.Completed != b.Completed || !reflect.DeepEqual(a.Outcomes, b.Outcomes) || !reflect.DeepEqual(a.Goodput["good"], b.Goodput["good"]) || !reflect.DeepEqual(a.SLO, b.SLO) {
			t.Errorf("%s: %+v, want %+v", key, b, a)
		}
		for metric, d := range a.Metrics {
			e := b.Metrics[metric]
			if e["origin"] != "rollup" || e["count"] != d["count"] {
				t.Errorf("%s %s: %v of %v, want %v", key, metric, e["count"], e["origin"], d["count"])
				continue
			}
			for _, q := range []string{"mean", "p50", "p90", "p95", "p99"} {
				x, _ := d[q].(float64)
				y, ok := e[q].(float64)
				// 1/128 is the bucket; 1 µs what a value was rounded to.
				if !ok || math.Abs(x-y) > x*serving.RollupError+1e-3 {
					t.Errorf("%s %s %s: %v, want %v", key, metric, q, e[q], x)
				}
			}
		}
	}
}
