package analyze

import (
	"context"
	"testing"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A request of a test table. A negative time is missing.
type request struct {
	at, ttft, tpot, e2e float64 // seconds
	in, out             int64
	workload            string
	outcome             serving.Outcome
}

// newTable builds a table of requests in memory.
func newTable(name string, side serving.Side, reqs []request) *column.Table {
	n := len(reqs)
	t := column.NewTable(name, name+".parquet", side, n)
	seconds := func(k serving.MetricKey, get func(request) float64) {
		v, ok := make([]float64, n), serving.NewBitmap(n)
		for i, r := range reqs {
			if x := get(r); x >= 0 {
				v[i] = x
				ok.Set(i)
			}
		}
		t.Floats(serving.Column{Name: string(k), Kind: serving.KindDuration}, v, ok)
	}
	count := func(k serving.MetricKey, get func(request) int64) {
		v := make([]int64, n)
		for i, r := range reqs {
			v[i] = get(r)
		}
		t.Ints(serving.Column{Name: string(k), Kind: serving.KindCount}, v, nil)
	}
	at := make([]int64, n)
	workload, outcome := make([]int32, n), make([]int32, n)
	names := serving.NewDict()
	for i, r := range reqs {
		at[i] = int64(r.at * 1e9)
		workload[i] = names.Code(r.workload)
		outcome[i] = int32(r.outcome)
	}
	t.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime}, at, nil)
	seconds(serving.TTFT, func(r request) float64 { return r.ttft })
	seconds(serving.TPOT, func(r request) float64 { return r.tpot })
	seconds(serving.E2E, func(r request) float64 { return r.e2e })
	count(serving.PromptTokens, func(r request) int64 { return r.in })
	count(serving.OutputTokens, func(r request) int64 { return r.out })
	t.Text(serving.Column{Name: serving.ColWorkload, Kind: serving.KindText}, workload, names, nil)
	t.Text(serving.Column{Name: serving.ColOutcome, Kind: serving.KindText}, outcome, serving.NewOutcomeDict(), nil)
	return t
}

// steady returns n requests a second apart whose TTFT runs evenly from lo to
// hi, milliseconds.
func steady(n int, lo, hi float64) []request {
	out := make([]request, n)
	for i := range out {
		// A stride through the range, so that neighbours in time are no
		// neighbours in value.
		k := float64((i * 37) % n)
		ttft := (lo + (hi-lo)*k/float64(max(n-1, 1))) / 1000
		out[i] = request{at: float64(i), ttft: ttft, tpot: 0.02, e2e: ttft + 0.02*49, in: 1000, out: 50, workload: "chat"}
	}
	return out
}

// newRun wraps requests as a benchmark run.
func newRun(id string, cap int64, reqs []request) *serving.Run {
	r := &serving.Run{ID: id, Label: id, Source: serving.Pos{Path: "r/" + id + ".json"}, Format: "vllm-serve", Model: serving.Some("m"),
		Load: serving.LoadOf(serving.Some(cap), serving.None[float64](), true), Duration: serving.Some(100.0)}
	r.Requests = newTable(id, serving.Client, reqs)
	return r
}

func analyzed(t *testing.T, ds *serving.Dataset, opt Options) *Report {
	t.Helper()
	rep, err := Run(context.Background(), ds, opt)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func slos(t *testing.T, exprs ...string) []serving.SLO {
	t.Helper()
	var out []serving.SLO
	for _, e := range exprs {
		s, err := serving.ParseSLO(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}
