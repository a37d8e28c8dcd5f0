package prom

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/value"

	"github.com/vreport/vreport/ingest/serving"
)

func parseRaw(t *testing.T, path, text string) []*Scrape {
	t.Helper()
	in := &serving.Input{}
	scrapes, err := ParseRaw(t.Context(), path, strings.NewReader(text), in)
	if err != nil || in.Problems.Len() > 0 {
		t.Fatal(err, in.Problems.List())
	}
	return scrapes
}

func showRaw(r serving.Raw) string {
	var lines []string
	for _, s := range r.Series {
		var ls []string
		for k, v := range s.Labels {
			ls = append(ls, k+"="+v)
		}
		slices.Sort(ls)
		line := strings.Join(ls, ",")
		for i := range s.T {
			v := fmt.Sprint(s.V[i])
			if value.IsStaleNaN(s.V[i]) {
				v = "stale"
			}
			line += fmt.Sprintf(" %d:%s", s.T[i]/1000-1764417600, v)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestRawSeries(t *testing.T) {
	page := func(sec int, lines ...string) string {
		return fmt.Sprintf("# Timestamp: %d\n# Pod: p\n", 1764417600+sec) + strings.Join(lines, "\n") + "\n"
	}
	up := func(v int) string { return fmt.Sprintf("my_counter_total{a=\"x\"} %d", v) }
	var all []*Scrape
	for _, text := range []string{
		page(0, up(1), "gone 1", "vllm:num_requests_running{model_name=\"m\"} 4"),
		page(15, up(2), "vllm:num_requests_running{model_name=\"m\"} 5"),
		page(30, up(3), "late 7"),
	} {
		all = append(all, parseRaw(t, "p.prom", text)...)
	}
	const want = "__name__=gone 0:1 15:stale\n__name__=late 30:7\n__name__=my_counter_total,a=x 0:1 15:2 30:3\n" +
		"__name__=vllm:num_requests_running,model_name=m 0:4 15:5 30:stale"
	raw, ps := RawSeries(all, AssembleOptions{})
	if got := showRaw(raw); got != want || raw.Relative || len(ps) > 0 {
		t.Errorf("%s\nwant %s\n%v", got, want, ps)
	}
	// What is kept beside changes nothing about the servers.
	servers, _ := Assemble(all, AssembleOptions{})
	if len(servers) != 1 || len(servers[0].Gauges) != 1 || len(servers[0].Counters) != 0 {
		t.Errorf("servers %+v", servers)
	}
	// A second endpoint tells its series from those of the first.
	all = append(all, parseRaw(t, "q.prom", strings.Replace(page(0, "gone 9"), "Pod: p", "Pod: q", 1))...)
	raw, _ = RawSeries(all, AssembleOptions{})
	if got := showRaw(raw); !strings.Contains(got, "__name__=gone,instance=p 0:1 15:stale\n__name__=gone,instance=q 0:9\n") {
		t.Errorf("two endpoints: %s", got)
	}
	// One whose times nobody knows is left out, and that is said.
	all = append(all, parseRaw(t, "before.prom", "z_total 1\n")...)
	raw, ps = RawSeries(all, AssembleOptions{})
	if strings.Contains(showRaw(raw), "z_total") || len(ps) != 1 || ps[0].At.Path != "before.prom" {
		t.Errorf("without a time: %s, %v", showRaw(raw), ps)
	}
	raw, _ = RawSeries(all[len(all)-1:], AssembleOptions{})
	if !raw.Relative || len(raw.Series) != 1 {
		t.Errorf("without any time: %+v", raw)
	}
}

// Scrapes that were read without their raw series have none to give.
func TestRawSeriesNotKept(t *testing.T) {
	scrapes, _ := parse(t, "a.prom", "vllm:num_requests_running{model_name=\"m\"} 4 1764417600000\n")
	if raw, ps := RawSeries(scrapes, AssembleOptions{}); len(raw.Series) > 0 || len(ps) > 0 {
		t.Errorf("%+v, %v", raw, ps)
	}
}

func TestRawSeriesOfBlock(t *testing.T) {
	m := t.TempDir()
	writeBlock(t, m, twoPods(), nil)
	scrapes, _, err := decodeBlock(t, readFS(t, m), true)
	if err != nil {
		t.Fatal(err)
	}
	raw, ps := RawSeries(scrapes, AssembleOptions{})
	if len(raw.Series) != 13 || len(ps) > 0 {
		t.Fatalf("%d series, %v", len(raw.Series), ps)
	}
	if got := showRaw(raw); !strings.Contains(got, "__name__=vllm:num_requests_waiting,instance=b:8000,job=vllm,model_name=m,pod=b 0:0 15:1 30:2 45:stale 60:4") {
		t.Error(got)
	}
}

// Answers of the API and dumps have series under their own names, whatever is
// made of them; an expression that was evaluated has none.
func TestRawSeriesOfRecordings(t *testing.T) {
	const api = `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"__name__":"vllm:num_requests_running","instance":"a:8000"},"values":[[1764417600,"4"],[1764417615,"5"]]},
		{"metric":{"__name__":"my_queue_total","instance":"a:8000","kind":"<b>"},"values":[[1764417600,"1"],[1764417615,"3"]]},
		{"metric":{"instance":"a:8000"},"values":[[1764417600,"7"]]}]}}`
	const dump = `{__name__="vllm:num_requests_running", instance="a:8000"} 4 1764417600000
{__name__="vllm:num_requests_running", instance="a:8000"} 5 1764417615000
{__name__="my_queue_total", instance="a:8000", kind="<b>"} 1 1764417600000
{__name__="my_queue_total", instance="a:8000", kind="<b>"} 3 1764417615000
`
	want := "__name__=my_queue_total,instance=a:8000,kind=<b> 0:1 15:3\n__name__=vllm:num_requests_running,instance=a:8000 0:4 15:5"
	for name, dec := range map[string]func(in *serving.Input, raw bool) ([]*Scrape, error){
		"api": func(in *serving.Input, raw bool) ([]*Scrape, error) {
			return DecodeAPI(context.Background(), "a.json", strings.NewReader(api), in, raw)
		},
		"dump": func(in *serving.Input, raw bool) ([]*Scrape, error) {
			return DecodeDump(context.Background(), "a.txt", strings.NewReader(dump), in, raw)
		},
	} {
		for _, keep := range []bool{true, false} {
			scrapes, err := dec(&serving.Input{Path: "a"}, keep)
			if err != nil {
				t.Fatal(err)
			}
			raw, ps := RawSeries(scrapes, AssembleOptions{})
			got := strings.TrimSpace(showRaw(raw))
			if keep && got != want || !keep && len(raw.Series) > 0 || len(ps) > 0 {
				t.Errorf("%s, kept %v: %s, problems %v, want %s", name, keep, got, ps, want)
			}
		}
	}
}
