package prom

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

type decoding func(context.Context, string, io.Reader, *serving.Input) ([]*Scrape, error)

func decoded(t *testing.T, dec decoding, path, text string) ([]*Scrape, *serving.Input) {
	t.Helper()
	in := &serving.Input{Path: path}
	s, err := dec(context.Background(), path, strings.NewReader(text), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s, in
}

func onlyServer(t *testing.T, scrapes []*Scrape) *serving.Server {
	t.Helper()
	servers, ps := Assemble(scrapes, AssembleOptions{})
	if len(servers) != 1 || len(ps) > 0 {
		t.Fatalf("%d servers, problems %v", len(servers), ps)
	}
	return servers[0]
}

func counterNamed(s *serving.Server, name serving.SeriesName, by ...serving.Term) *serving.Counter {
	for i := range s.Counters {
		if c := &s.Counters[i]; c.Name == name && slices.Equal(c.By, by) {
			return c
		}
	}
	return nil
}

// same compares numbers, holes included.
func sameNumbers(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

// The same course, kept in five ways, is the same server.
func TestEveryWayOfKeeping(t *testing.T) {
	const labels = `instance="a:8000",model_name="m"`
	times := []int64{1760000000, 1760000015, 1760000030}
	running, finished := []float64{3, 4, 5}, []float64{10, 20, 40}
	var text, om, dump, dumpOM, csv strings.Builder
	values := func(v []float64) string {
		var out []string
		for i, x := range v {
			out = append(out, fmt.Sprintf("[%d.25,\"%g\"]", times[i], x))
		}
		return strings.Join(out, ",")
	}
	csv.WriteString(`"Time","vllm:num_requests_running{instance=""a:8000"", model_name=""m""}","vllm:prompt_tokens_total{instance=""a:8000"", model_name=""m""}"` + "\n")
	for i, at := range times {
		fmt.Fprintf(&text, "vllm:num_requests_running{%s} %g %d250\nvllm:prompt_tokens_total{%[1]s} %[4]g %[3]d250\n", labels, running[i], at, finished[i])
		fmt.Fprintf(&om, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{%s} %g %d.25\n# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total{%[1]s} %[4]g %[3]d.25 # {trace_id=\"x\"} 1\n# EOF\n", labels, running[i], at, finished[i])
		fmt.Fprintf(&csv, "%d250,%g,%g\n", at, running[i], finished[i])
	}
	for _, s := range []struct {
		name string
		v    []float64
	}{{"vllm:num_requests_running", running}, {"vllm:prompt_tokens_total", finished}} {
		for i, at := range times {
			fmt.Fprintf(&dump, "{__name__=%q, instance=\"a:8000\", model_name=\"m\"} %g %d250\n", s.name, s.v[i], at)
			fmt.Fprintf(&dumpOM, "%s{instance=\"a:8000\", model_name=\"m\"} %g %d.250\n", s.name, s.v[i], at)
		}
	}
	dumpOM.WriteString("# EOF\n")
	api := fmt.Sprintf(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"vllm:num_requests_running","instance":"a:8000","model_name":"m"},"values":[%s]},{"metric":{"__name__":"vllm:prompt_tokens_total","instance":"a:8000","model_name":"m"},"values":[%s]}]}}`, values(running), values(finished))
	for _, c := range []struct {
		name string
		dec  decoding
		text string
	}{{"text", Parse, text.String()}, {"openmetrics", Parse, om.String()}, {"dump", notRaw(DecodeDump), dump.String()}, {"dump-openmetrics", notRaw(DecodeDump), dumpOM.String()},
		{"api", notRaw(DecodeAPI), api}, {"csv", DecodeCSV, csv.String()}} {
		scrapes, in := decoded(t, c.dec, c.name, c.text)
		s := onlyServer(t, scrapes)
		g, n := s.GaugeOf(serving.Running), counterNamed(s, serving.PromptTotal)
		if in.Problems.Len() > 0 || g == nil || n == nil || !slices.Equal(g.Values, running) || !slices.Equal(n.Values, finished) {
			t.Errorf("%s: gauge %v, counter %v, problems %v", c.name, g, n, in.Problems.List())
			continue
		}
		want := []int64{1760000000250e6, 1760000015250e6, 1760000030250e6}
		if !slices.Equal(s.Times, want) || s.Relative || s.Engine != "vllm" || s.Model.V != "m" || s.Replica.V != "a:8000" {
			t.Errorf("%s: %v %v %q %v %v", c.name, s.Times, s.Relative, s.Engine, s.Model, s.Replica)
		}
		if n.PromQL != `vllm:prompt_tokens_total{model_name="m",instance="a:8000"}` {
			t.Errorf("%s: %s", c.name, n.PromQL)
		}
	}
	if ok, why := SniffDump([]byte(dumpOM.String())); !ok {
		t.Error(why)
	}
	for _, s := range []string{text.String(), om.String(), csv.String(), api} {
		if ok, _ := SniffDump([]byte(s)); ok {
			t.Errorf("a dump: %.60s", s)
		}
	}
}

// An evaluated expression is a level: nothing is computed from it.
func TestEvaluatedExpressions(t *testing.T) {
	const text = `{"query":"histogram_quantile(0.99, x)","status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"model_name":"m","le":"1"},"values":[[1760000000,"0.5"],[1760000015,"NaN"],[1760000030,"+Inf"]]},
		{"metric":{"model_name":"m","le":"2"},"values":[[1760000000,"0.25"]]}]}}
{"status":"success","data":{"resultType":"scalar","result":[1760000000,"7"]}}`
	scrapes, in := decoded(t, notRaw(DecodeAPI), "dir/load.json", text)
	servers, _ := Assemble(scrapes, AssembleOptions{})
	if in.Problems.Len() > 0 || len(servers) == 0 {
		t.Fatal(servers, in.Problems.List())
	}
	found := map[string][]float64{}
	for _, s := range servers {
		if len(s.Counters)+len(s.Histograms) > 0 || s.Engine != "" {
			t.Errorf("%+v", s)
		}
		for _, g := range s.Gauges {
			found[fmt.Sprint(g.Name, g.By)] = g.Values
		}
	}
	want := map[string][]float64{
		"histogram_quantile(0.99, x)[{le 1}]": {0.5, math.Inf(1)},
		"histogram_quantile(0.99, x)[{le 2}]": {0.25, math.NaN()},
		"load[]":                              {7, math.NaN()},
	}
	for k, v := range want {
		if !sameNumbers(found[k], v) {
			t.Errorf("%s: %v, want %v; all %v", k, found[k], v, found)
		}
	}
}

// Scripts save a query a file; the server is one.
func TestQueryAFile(t *testing.T) {
	one := func(path, name, value string) []*Scrape {
		s, _ := decoded(t, notRaw(DecodeAPI), path, fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":%q,"model_name":"m"},"value":[1760000000,%q]}]}}`, name, value))
		return s
	}
	s := onlyServer(t, slices.Concat(one("d/running.json", "vllm:num_requests_running", "3"), one("d/waiting.json", "vllm:num_requests_waiting", "9"), one("d/again.json", "vllm:num_requests_waiting", "9")))
	if s.GaugeOf(serving.Running).Values[0] != 3 || s.GaugeOf(serving.Waiting).Values[0] != 9 || len(s.Times) != 1 {
		t.Errorf("%+v", s)
	}
}

// A refusal is told, and one damaged sample does not lose the others.
func TestDamagedAnswers(t *testing.T) {
	in := &serving.Input{}
	_, err := DecodeAPI(context.Background(), "x", strings.NewReader(`{"status":"error","errorType":"bad_data","error":"parse error"}`), in, false)
	if err == nil || !strings.Contains(err.Error(), "parse error") {
		t.Error(err)
	}
	_, in = decoded(t, notRaw(DecodeAPI), "x", `{"data":{"result":[{"metric":{"__name__":"vllm:num_requests_running"},"values":[[1760000000,"3"],["x"],[1760000015,"4"]]}],"resultType":"matrix"},"status":"success"}`)
	if in.Records != 2 || in.Problems.Len() != 1 {
		t.Error(in.Records, in.Problems.List())
	}
	_, in = decoded(t, notRaw(DecodeDump), "x", `{__name__="vllm:num_requests_running"} 3 1760000000000
{__name__="vllm:num_requests_running" 3
{__name__="h"} {count:3, sum:4} 1760000000000
{__name__="vllm:num_requests_running"} 3 1760000015000
`)
	if in.Records != 2 || in.Problems.Len() != 2 {
		t.Error(in.Records, in.Problems.List())
	}
}

// An exporter beside the engine is asked at other moments.
func TestOtherMoments(t *testing.T) {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "{__name__=\"vllm:num_requests_running\", pod=\"p\", instance=\"a:8000\"} %d %d\n", i, 1760000000000+15000*i)
	}
	for i := range 4 {
		fmt.Fprintf(&b, "{__name__=\"DCGM_FI_DEV_GPU_UTIL\", gpu=\"0\", pod=\"p\", instance=\"n:9400\"} %d %d\n", 10*i, 1760000004000+15000*i)
	}
	scrapes, _ := decoded(t, notRaw(DecodeDump), "x", b.String())
	s := onlyServer(t, scrapes)
	if len(s.Times) != 4 || !sameNumbers(s.GaugeOf(serving.GPUUtil).Values, []float64{math.NaN(), 0, 0.1, 0.2}) {
		t.Errorf("%v: %v", s.Times, s.GaugeOf(serving.GPUUtil))
	}
}

// notRaw is a decoder of recordings that keeps what a figure is made of.
func notRaw(dec func(ctx context.Context, path string, r io.Reader, in *serving.Input, raw bool) ([]*Scrape, error)) decoding {
	return func(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*Scrape, error) {
		return dec(ctx, path, r, in, false)
	}
}
