package aiperf

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// One run of 25 seconds in slices of ten: between the second and the third no
// request started, and the run ended within the third. The newer layout says when
// slices were; the older one numbers those that it writes and says only when their
// first requests started, if that.
const (
	sliceA = `"time_to_first_token":{"unit":"ms","avg":100.0,"p50":90.0,"p99":200.0,"count":4,"sum":400.0},"request_latency":{"unit":"ms","avg":1000.0,"p50":900.0,"p99":2000.0},"http_req_total":{"unit":"ms","avg":1.0},"request_count":{"unit":"requests","avg":4.0},"error_request_count":{"unit":"requests","avg":1.0},"total_isl":{"unit":"tokens","avg":400.0},"total_osl":{"unit":"tokens","avg":40.0},"request_throughput":{"unit":"requests/sec","avg":0.4},"benchmark_duration":{"unit":"sec","avg":9.0},"min_request_timestamp":{"unit":"ns","avg":1.7600000050e18},"max_response_timestamp":{"unit":"ns","avg":1.7600000140e18}`
	sliceB = `"time_to_first_token":{"unit":"ms","avg":300.0,"p50":290.0,"p99":400.0},"request_count":{"unit":"requests","avg":2.0},"error_request_count":{"unit":"requests","avg":0.0},"total_isl":{"unit":"tokens","avg":200.0},"total_osl":{"unit":"tokens","avg":20.0},"request_throughput":{"unit":"requests/sec","avg":0.2},"effective_concurrency":{"unit":"requests","avg":1.5,"max":2.0},"effective_decode_throughput":{"unit":"tokens/sec","avg":3.0},"min_request_timestamp":{"unit":"ns","avg":1.7600000160e18},"max_response_timestamp":{"unit":"ns","avg":1.7600000290e18}`
	sliceC = `"time_to_first_token":{"unit":"ms","avg":500.0},"request_count":{"unit":"requests","avg":1.0},"error_request_count":{"unit":"requests","avg":0.0},"total_isl":{"unit":"tokens","avg":100.0},"total_osl":{"unit":"tokens","avg":10.0},"min_request_timestamp":{"unit":"ns","avg":1.7600000360e18},"max_response_timestamp":{"unit":"ns","avg":1.7600000390e18}`

	sliceConfig = `"input_config":{"endpoint":{"model_names":["m/x"],"type":"chat"},"output":{"slice_duration":10.0},"loadgen":{"concurrency":8}}`

	slicesNew = `{"timeslices":[{"start_ns":1760000005000000000,"end_ns":1760000015000000000,` + sliceA + `},{"start_ns":1760000015000000000,"end_ns":1760000025000000000,` + sliceB +
		`},{"start_ns":1760000035000000000,"end_ns":1760000039000000000,"is_complete":false,` + sliceC + `}],` + sliceConfig + `}`
	slicesOld = `{"timeslices":[{"timeslice_index":0,` + sliceA + `},{"timeslice_index":1,` + sliceB + `},{"timeslice_index":2,` + sliceC + `}],` + sliceConfig + `}`

	// Damage: no slice, times the wrong way round, a unit that is none, a number
	// that is none, numbers in no order.
	slicesOdd = `{"timeslices":[7,{"timeslice_index":5,"start_ns":20,"end_ns":10,"time_to_first_token":{"unit":"parsecs","avg":5},"request_latency":{"unit":"ms","avg":"x","p50":7.0}},{"timeslice_index":5,"start_ns":"soon"}]}`

	sliceRowsNew = "Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value\r\n" +
		"0,1760000005000000000,1760000015000000000,Time to First Token,ms,avg,100.00\r\n" +
		"0,1760000005000000000,1760000015000000000,Time to First Token,ms,sum,400.00\r\n" +
		"0,1760000005000000000,1760000015000000000,Time to First Token,ms,p99,200.00\r\n" +
		"0,1760000005000000000,1760000015000000000,HTTP Blocked,ms,avg,0.00\r\n" +
		"0,1760000005000000000,1760000015000000000,Request Count,requests,avg,4.00\r\n" +
		"1,1760000015000000000,1760000025000000000,Time to First Token,ms,avg,300.00\r\n" +
		"1,1760000015000000000,1760000025000000000,Request Count,requests,avg,2.00\r\n" +
		"2,1760000035000000000,1760000039000000000,Request Count,requests,avg,1.00\r\n"
	sliceRowsOld = "Timeslice,Metric,Unit,Stat,Value\n0,Time to First Token,ms,avg,\"1,100.50\"\n0,Request Throughput,requests/sec,avg,0.40\n1,Time to First Token,ms,avg,N/A\n1,Time to First Token,ms,p50,290.00\n"
)

func checkCourse(t *testing.T, c *serving.Course) {
	t.Helper()
	for _, s := range c.Series {
		if len(s.Values) != len(c.Slices) {
			t.Errorf("%s %s has %d values of %d slices", s.Metric, s.Stat, len(s.Values), len(c.Slices))
		}
		for _, v := range s.Values {
			if math.IsInf(v, 0) {
				t.Errorf("%s %s is infinite", s.Metric, s.Stat)
			}
		}
	}
	last := -1
	for _, s := range c.Slices {
		if s.Start.OK != s.End.OK || s.Start.OK && (s.Start.V < 0 || s.End.V <= s.Start.V) {
			t.Errorf("slice %+v", s)
		}
		if s.Index <= last || s.Index > maxIndex {
			t.Errorf("slice %d after %d", s.Index, last)
		}
		last = s.Index
	}
	if c.Step.OK && !(c.Step.V > 0 && c.Step.V < 1e10) {
		t.Errorf("a slice of %v s", c.Step.V)
	}
}

func TestCourse(t *testing.T) {
	const from = 1760000000e9
	nan := math.NaN()
	for _, tc := range []struct {
		name, text string
		starts     []float64 // seconds behind from; nil: no times
		cut        []bool
		step       float64 // 0: not known
		metric     serving.MetricKey
		stat       string
		want       []float64
		completed  int64
		duration   float64
	}{
		{"times", slicesNew, []float64{5, 15, 35}, []bool{false, false, true}, 10, serving.TTFT, "p99", []float64{.2, .4, nan}, 7, 34},
		{"numbers, placed by first requests", slicesOld, []float64{0, 10, 30}, []bool{false, false, false}, 10, serving.TTFT, "mean", []float64{.1, .3, .5}, 7, 34},
		{"numbers without a length", strings.Replace(slicesOld, "slice_duration", "other", 1), nil, []bool{false, false, false}, 0, serving.MeanConcurrent, "mean", []float64{nan, 1.5, nan}, 7, 34},
		{"numbers without first requests", strings.ReplaceAll(slicesOld, "min_request", "max_request"), nil, []bool{false, false, false}, 10, serving.RateDecoded, "mean", []float64{nan, 3, nan}, 7, 0},
		{"first requests in one slice", strings.ReplaceAll(slicesOld, "1.7600000160e18", "1.7600000060e18"), nil, []bool{false, false, false}, 10, serving.RateRequests, "", []float64{.4, .2, nan}, 7, 34},
		{"rows with times", sliceRowsNew, []float64{5, 15, 35}, []bool{false, false, true}, 10, serving.TTFT, "mean", []float64{.1, .3, nan}, 7, 0},
		{"rows", sliceRowsOld, nil, []bool{false, false}, 0, serving.TTFT, "mean", []float64{1.1005, nan}, -1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, in := decodeSummary(t, tc.text)
			c := r.Course
			if c == nil || in.Problems.Len() > 0 || r.Requests != nil || len(r.Reported) > 0 {
				t.Fatalf("run %+v, problems %v", r, in.Problems.List())
			}
			checkCourse(t, c)
			for i, s := range c.Slices {
				if s.Start.OK != (tc.starts != nil) || s.Start.OK && float64(s.Start.V-from)/1e9 != tc.starts[i] {
					t.Errorf("slice %d starts at %v, want %v", i, s.Start, tc.starts)
				}
				if s.Incomplete != tc.cut[i] {
					t.Errorf("slice %d incomplete: %v", i, s.Incomplete)
				}
			}
			if c.Step.V != tc.step {
				t.Errorf("slices of %v s, want %v", c.Step, tc.step)
			}
			if got := c.Of(tc.metric, tc.stat); fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("%s %s %v, want %v", tc.metric, tc.stat, got, tc.want)
			}
			if r.Completed.OK != (tc.completed >= 0) || r.Completed.OK && r.Completed.V != tc.completed || math.Abs(r.Duration.V-tc.duration) > 1e-6 {
				t.Errorf("completed %v, duration %v", r.Completed, r.Duration)
			}
		})
	}
}

func TestCourseFacts(t *testing.T) {
	r, in := decodeSummary(t, slicesNew)
	if r.Model.V != "m/x" || r.Load.MaxConcurrency.V != 8 || r.Sent.V != 8 || r.Failed.V != 1 || r.Input.V != 700 || r.Output.V != 70 {
		t.Errorf("model %v load %v sent %v failed %v tokens %v %v", r.Model, r.Load, r.Sent, r.Failed, r.Input, r.Output)
	}
	if in.Records != 1 || in.First.V != 1760000005e9 || in.Last.V != 1760000039e9 {
		t.Errorf("%d records from %v to %v", in.Records, in.First, in.Last)
	}
	if want := "3 time slices of one run, 10 s each; not in it: time per output token, gaps between tokens"; in.Note != want {
		t.Errorf("note %q, want %q", in.Note, want)
	}
	fields := map[string]string{}
	for _, f := range in.Fields {
		fields[f.Name] = f.As + " " + f.Unit
	}
	for name, want := range map[string]string{"start_ns": "start ns", "is_complete": "incomplete ", "time_to_first_token": "ttft ms", "request_count": "completed requests", "http_req_total": " ", "input_config": "settings "} {
		if got, ok := fields[name]; !ok || got != want {
			t.Errorf("field %s taken for %q (%v), want %q", name, got, ok, want)
		}
	}
}

// Damage costs what it touches, and sums of slices that are not all there are none.
func TestCourseDamaged(t *testing.T) {
	r, in := decodeSummary(t, slicesOdd)
	if len(r.Course.Slices) != 2 || r.Course.Slices[1].Index != 1 || fmt.Sprint(r.Course.Of(serving.E2E, "p50")) != "[0.007 NaN]" {
		t.Errorf("course %+v", r.Course)
	}
	var all []string
	for _, p := range in.Problems.List() {
		all = append(all, p.String())
	}
	for _, want := range []string{"no time slice, want an object", `from "20" to "10"`, `unit "parsecs", want ns`, "no finite number"} {
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("no problem says %q: %q", want, all)
		}
	}
	r, in = decodeSummary(t, slicesNew[:strings.Index(slicesNew, `"is_complete"`)])
	if len(r.Course.Slices) != 3 || r.Completed.OK || in.Problems.Len() != 1 {
		t.Errorf("of a truncated file %d slices, completed %v, problems %v", len(r.Course.Slices), r.Completed, in.Problems.List())
	}
	if runs, err := DecodeSummary(t.Context(), "s", strings.NewReader(`{"timeslices":[{"timeslice_index":0}]}`), &serving.Input{}); err == nil {
		t.Errorf("slices without a figure give %d runs and no error", len(runs))
	}
}

// A file of more than anybody cuts a run into is bounded, not held.
func TestCourseBounds(t *testing.T) {
	var many, wide strings.Builder
	for i := range maxSlices + 3 {
		fmt.Fprintf(&many, `,{"request_count":{"unit":"requests","avg":1}}`)
		if i < maxFigures+3 {
			fmt.Fprintf(&wide, `,"p%.2f":1`, 1+float64(i)/100)
		}
	}
	r, in := decodeSummary(t, `{"timeslices":[`+many.String()[1:]+`]}`)
	if l := in.Problems.List(); len(r.Course.Slices) != maxSlices || r.Completed.OK || len(l) != 1 || l[0].Count != 3 {
		t.Errorf("%d slices, completed %v, problems %v", len(r.Course.Slices), r.Completed, l)
	}
	r, in = decodeSummary(t, `{"timeslices":[{"request_latency":{"unit":"ms"`+wide.String()+`}}]}`)
	if l := in.Problems.List(); len(r.Course.Series) != maxFigures || len(l) != 1 || l[0].Count != 3 {
		t.Errorf("%d figures, problems %v", len(r.Course.Series), l)
	}
}

// endless is a text behind which a quote is opened and never closed.
func endless(text string, n int) io.Reader {
	return io.MultiReader(strings.NewReader(text+"0,\""), io.LimitReader(letters{}, int64(n)), strings.NewReader("\n"))
}

type letters struct{}

func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = "a\n"[i&1]
	}
	return len(b), nil
}

// A quote that never closes costs what follows it, not the memory.
func TestEndlessRecord(t *testing.T) {
	in := &serving.Input{}
	runs, err := DecodeSummaryCSV(t.Context(), "s", endless(sliceRowsNew, 64<<20), in)
	if err != nil || len(runs) != 1 || len(runs[0].Course.Slices) != 3 || runs[0].Completed.OK {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if l := in.Problems.List(); len(l) != 1 || !strings.HasPrefix(l[0].String(), "s:10: a record of more than") {
		t.Errorf("problems %v", l)
	}
	in = &serving.Input{}
	if runs, err := DecodeSummaryCSV(t.Context(), "s", endless(csvNew, 64<<20), in); err != nil || len(runs) != 1 || in.Problems.Len() != 1 {
		t.Errorf("a summary gives %d runs, %v, problems %v", len(runs), err, in.Problems.List())
	}
	in = &serving.Input{}
	if m, err := DecodeMetricsCSV(t.Context(), "s", endless("Endpoint,Type,Metric,Unit,total,rate,model_name,Description\nh:8000,counter,vllm:prompt_tokens,tokens,5000.0,100.0,m,d\n", 64<<20), in); err != nil || m == nil || in.Problems.Len() != 1 {
		t.Errorf("server metrics: %v, problems %v", err, in.Problems.List())
	}
	// One that closes in time is a cell.
	in = &serving.Input{}
	text := sliceRowsOld + "1,\"" + strings.Repeat("a\n", 1000) + "\",ms,avg,1\n1,Request Latency,ms,avg,7.00\n"
	if runs, err := DecodeSummaryCSV(t.Context(), "s", strings.NewReader(text), in); err != nil || in.Problems.Len() > 0 || runs[0].Course.Of(serving.E2E, "mean")[1] != .007 {
		t.Errorf("a long cell: %v, problems %v", err, in.Problems.List())
	}
	for _, f := range in.Fields {
		if len(f.Name) > maxID+3 {
			t.Errorf("a field's name of %d bytes", len(f.Name))
		}
	}
}

func TestSameCourse(t *testing.T) {
	of := func(text string) *serving.Course { r, _ := decodeSummary(t, text); return r.Course }
	fine, coarse := of(strings.ReplaceAll(slicesNew, "100.0", "100.0041")), of(sliceRowsNew)
	if !SameCourse(fine, coarse) || !SameCourse(coarse, fine) {
		t.Error("slices and their CSV are two courses")
	}
	if SameCourse(of(strings.ReplaceAll(slicesNew, "300.0", "300.1")), coarse) || SameCourse(fine, of(sliceRowsOld)) {
		t.Error("two courses are one")
	}
	run := func(first string) *serving.Run {
		r, _ := decodeSummary(t, strings.Replace(sumNew, "1.760000002000000e18", first, 1))
		return r
	}
	for first, want := range map[string]bool{"1.760000005000000e18": true, "1.760000007000000e18": true, "1.760000002000000e18": false, "1.760000050000000e18": false} {
		if MayHold(run(first), fine) != want {
			t.Errorf("a run that starts at %s: %v, want %v", first, !want, want)
		}
	}
	if untimed := of(sliceRowsOld); !MayHold(run("1.760000002000000e18"), untimed) || !slices.Contains(untimed.Notes, "figures of a CSV, which have two decimals") {
		t.Errorf("notes %q", untimed.Notes)
	}
}
