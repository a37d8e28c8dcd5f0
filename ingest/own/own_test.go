package own

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

const report = `{"schema":"vreport.report/v1","generator":{"name":"vreport"},"gate":{"result":"none","reasons":[]},
"runs":[{"id":"c64.json","label":"c64","source":"c64.json","format":"vllm-serve","model":"m","gpus":2,"settings":{"b":"2","a":"1"},
 "load":{"mode":"closed","max_concurrency":64,"unlimited":true},"sent":200,"completed":198,"failed":2,"duration_s":20.5,"tokens":{"input":1000,"output":2000},
 "throughput":{"requests_per_s":9.7,"output_tokens_per_s":97.5},
 "metrics":{"ttft":{"unit":"ms","count":198,"mean":50,"p50":40,"p99.9":200,"p95":90,"interval":{"p95":[80,null],"p50":[38,43]},"origin":"requests","side":"client"},
  "prompt_tokens":{"unit":"tokens","count":198,"mean":512,"origin":"requests","side":"client"}}}],
"slices":[{"dataset":"t.parquet","by":{},"sent":500,"completed":490,"failed":10,"tokens":{"input":5,"output":6},"metrics":{"ttft":{"unit":"ms","count":490,"p50":30,"side":"server"}}},
 {"dataset":"t.parquet","by":{"workload":"rag"},"sent":100,"completed":90,"tokens":{},"metrics":{"ttft":{"unit":"ms","count":90,"p50":60,"side":"server"}}}],
"datasets":[{"dataset":"t.parquet","side":"server","rows":500,"span_s":60}],
"timeline":{"series":[{"values":[1,2,3]}]}}`

func decode(t *testing.T, text string) ([]*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	runs, err := Decode(t.Context(), "base.json", strings.NewReader(text), in)
	if err != nil {
		t.Fatal(err)
	}
	return runs, in
}

func TestDecode(t *testing.T) {
	runs, in := decode(t, report)
	if len(runs) != 2 || in.Problems.Len() != 0 {
		t.Fatalf("%d runs, problems %v", len(runs), in.Problems.List())
	}
	r := runs[0]
	if r.Label != "c64" || r.Format != "vllm-serve" || r.Load.Mode != serving.ClosedLoop || r.Load.MaxConcurrency.V != 64 || r.GPUs.V != 2 || r.Completed.V != 198 || r.Settings[0].Key != "a" {
		t.Errorf("run %+v", r)
	}
	figures := map[string]serving.Reported{}
	for _, a := range r.Reported {
		figures[a.Field] = a
	}
	p95 := figures["ttft.p95"]
	if p95.Value() != 0.09 || p95.Lo.V != 0.08 || p95.Hi.OK || p95.N.V != 198 || p95.Side != serving.Client {
		t.Errorf("p95 %+v", p95)
	}
	if v := figures["ttft.p99.9"]; v.Value() != 0.2 || v.Lo.OK {
		t.Errorf("p99.9 %+v", v)
	}
	if v := figures["prompt_tokens.mean"]; v.Value() != 512 {
		t.Errorf("prompt tokens %+v", v)
	}
	if v := figures["requests_per_s"]; v.Value() != 9.7 {
		t.Errorf("rate %+v", v)
	}
	tr := runs[1]
	if !tr.Trace || tr.Sent.V != 500 || tr.Failed.V != 10 || tr.Duration.V != 60 || len(tr.Reported) != 1 || tr.Reported[0].Side != serving.ServerSide {
		t.Errorf("trace %+v", tr)
	}
	if len(tr.Slices) != 1 || tr.Slices[0].By[0] != (serving.Term{Dim: "workload", Value: "rag"}) || tr.Slices[0].Reported[0].Value() != 0.06 {
		t.Errorf("slices %+v", tr.Slices)
	}
}

// A comparison's second side is the newer measurement.
func TestDecodeComparison(t *testing.T) {
	text := strings.Replace(report, `"runs":[{"id":"c64.json","label":"c64"`, `"compare":{"verdict":"worse","sides":[{"name":"main"},{"name":"pr"}]},
"runs":[{"id":"main/c64.json","label":"main · c64"},{"id":"pr/c64.json","label":"pr · c64"`, 1)
	runs, in := decode(t, text)
	if len(runs) != 1 || runs[0].Label != "c64" || runs[0].Completed.V != 198 || in.Note == "" {
		t.Errorf("%d runs, note %q", len(runs), in.Note)
	}
}

func TestPage(t *testing.T) {
	page := "<!doctype html>\n<html><head><meta name=\"generator\" content=\"vreport 1.0\"></head><body>id=\"vreport-dat\n<script type=\"application/json\" id=\"vreport-data\">" + report + "</script></body></html>"
	if !SniffPage([]byte(page)) || SniffPage([]byte("<!doctype html><p>vreport")) {
		t.Error("pages are not told apart")
	}
	runs, err := DecodePage(t.Context(), "base.html", strings.NewReader(page), &serving.Input{})
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	var fe *serving.FormatError
	if _, err := DecodePage(t.Context(), "x.html", strings.NewReader("<!doctype html>"), &serving.Input{}); !errors.As(err, &fe) || fe.Remedy == "" {
		t.Errorf("a page without data: %v", err)
	}
}

func TestOtherVersion(t *testing.T) {
	for _, text := range []string{strings.Replace(report, "/v1", "/v9", 1), `{"generator":{}}`, `[1]`, `{"schema":{"x":1}}`} {
		_, err := Decode(t.Context(), "x.json", strings.NewReader(text), &serving.Input{})
		var fe *serving.FormatError
		if !errors.As(err, &fe) || fe.Want != schema || fe.Remedy == "" {
			t.Errorf("%.40s: error %v, want the version that is read", text, err)
		}
	}
}

// What is wrong with a figure is a problem with its place; the rest is read.
func TestDamagedFigures(t *testing.T) {
	text := strings.Replace(report, `"p50":40`, `"p50":"slow"`, 1)
	text = strings.Replace(text, `"p50":[38,43]`, `"p95":[90,80]`, 1)
	text = strings.Replace(text, `"slices":[`, `"slices":[7,`, 1)
	runs, in := decode(t, text)
	if len(runs) != 2 || in.Problems.Len() != 3 {
		t.Fatalf("%d runs, problems %v", len(runs), in.Problems.List())
	}
	for _, p := range in.Problems.List() {
		if p.At.Path != "base.json" || p.At.Line == 0 || p.At.Field == "" || !strings.Contains(p.Message, "want") && !strings.Contains(p.Message, "left out") {
			t.Errorf("problem %v", p)
		}
	}
}

func Fuzz(f *testing.F) {
	f.Add([]byte(report))
	f.Add([]byte(strings.Replace(report, `"settings":{`, `"settings":[{`, 1)))
	f.Add([]byte(`{"schema":"vreport.report/v1","runs":[{"metrics":{"ttft":{"unit":"ms","p50":1e999,"interval":{"p50":[NaN,"x"]}}}}]}`))
	f.Add([]byte(`<!doctype html><meta name="generator" content="vreport"><script id="vreport-data">{"schema":"vreport.report/v1","compare":{"sides":[{"name":1},2]},"runs":[{}],"datasets":[{"run":""}]}</script>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, dec := range []func(context.Context, string, *strings.Reader) ([]*serving.Run, error){
			func(c context.Context, p string, r *strings.Reader) ([]*serving.Run, error) {
				return Decode(c, p, r, &serving.Input{})
			},
			func(c context.Context, p string, r *strings.Reader) ([]*serving.Run, error) {
				return DecodePage(c, p, r, &serving.Input{})
			},
		} {
			runs, _ := dec(t.Context(), "x", strings.NewReader(string(b)))
			for _, r := range runs {
				for _, a := range r.Reported {
					if math.IsNaN(a.Value()) || math.IsInf(a.Value(), 0) || a.Value() < 0 || a.PerBase == 0 || a.Lo.OK && a.Hi.OK && a.Lo.V > a.Hi.V {
						t.Errorf("figure %+v", a)
					}
				}
			}
		}
	})
}

// A report has no negative figure: one that has was changed. It is a problem, and
// the rest is read.
func TestNegativeFigures(t *testing.T) {
	text := strings.NewReplacer(`"mean":50`, `"mean":-50`, `"duration_s":20.5`, `"duration_s":-20.5`, `"requests_per_s":9.7`, `"requests_per_s":-9.7`).Replace(report)
	runs, in := decode(t, text)
	if in.Problems.Len() != 1 || runs[0].Duration.OK {
		t.Errorf("duration %v, problems %v", runs[0].Duration, in.Problems.List())
	}
	for _, a := range runs[0].Reported {
		if a.File < 0 || a.Field == "ttft.mean" || a.Field == "requests_per_s" {
			t.Errorf("%s is %g", a.Field, a.File)
		}
	}
}
