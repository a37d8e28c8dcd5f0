package prom

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// fuzzDecoder checks that nothing panics and that servers are whole: times
// ascend and every figure has a value a time.
func fuzzDecoder(f *testing.F, dec decoding, sniff func([]byte) (bool, string)) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if ok, why := sniff(b); !ok && why == "" {
			t.Error("refused without a reason")
		}
		in := &serving.Input{Path: "f"}
		scrapes, err := dec(context.Background(), "f", bytes.NewReader(b), in)
		if err != nil {
			return
		}
		servers, _ := Assemble(scrapes, AssembleOptions{})
		for _, s := range servers {
			if !slices.IsSorted(s.Times) {
				t.Errorf("times %v", s.Times)
			}
			for _, g := range s.Gauges {
				if len(g.Values) != len(s.Times) {
					t.Errorf("%s has %d values", g.Name, len(g.Values))
				}
			}
			for _, h := range s.Histograms {
				if len(h.Counts) != len(s.Times) || len(h.Sum) != len(s.Times) {
					t.Errorf("%s has %d rows", h.Metric, len(h.Counts))
				}
			}
		}
	})
}

func FuzzDump(f *testing.F) {
	f.Add([]byte("{__name__=\"vllm:num_requests_running\", instance=\"a\"} 3 1760000000000\n{__name__=\"vllm:num_requests_running\", instance=\"a\"} 4 1760000015000\n"))
	f.Add([]byte("vllm:ttft{a=\"b\"} 1 1.5\n# EOF\n"))
	fuzzDecoder(f, notRaw(DecodeDump), SniffDump)
}

func FuzzAPI(f *testing.F) {
	f.Add([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"vllm:num_requests_running"},"values":[[1760000000,"3"],[1760000015,"NaN"]]}]}}`))
	f.Add([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}{"status":"error","errorType":"x","error":"y"}`))
	fuzzDecoder(f, notRaw(DecodeAPI), SniffAPI)
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("t,running,kv_cache_pct\n1,2,3\n2,3,4\n"))
	f.Add([]byte("sep=;\nTime;a;b\n10:00:00;1 ms;2%\n00:00:01;1.5 s;\n"))
	f.Add([]byte("timestamp,index,utilization.gpu [%]\n1760000000,0,5\n1760000000,1,5\n"))
	fuzzDecoder(f, DecodeCSV, SniffCSV)
}

func FuzzJSONPoll(f *testing.F) {
	f.Add([]byte(`{"ts":1,"running":2}` + "\n" + `{"ts":2,"running":3,"gpu":"0","model":"m"}`))
	f.Add([]byte(`[{"time":"2026-01-05T10:00:00Z","metrics":{"vllm:num_requests_running":1}}]`))
	fuzzDecoder(f, DecodeJSONPoll, SniffJSONPoll)
}
