package ingest

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// aiperfFormats in the order in which they are tried.
var aiperfFormats = []*Format{formatAIPerfParquet, formatAIPerfRecords, formatGPUTelemetry, formatAIPerfMetrics, formatAIPerfSummary, formatGenAIPerf}

// readAIPerf recognizes and reads files as Load does, with AIPerf's formats alone.
func readAIPerf(t *testing.T, paths ...string) (*serving.Dataset, []found, []loaded) {
	t.Helper()
	ds := &serving.Dataset{}
	var files []found
	all := make([]loaded, len(paths))
	for i, path := range paths {
		f := found{path: path, rel: filepath.Base(path)}
		file, err := openFile(t.Context(), f, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.raw.Close() })
		in := &serving.Input{Path: path, Format: unknown, Bytes: file.size}
		p := &probe{file: file, in: in}
		for _, format := range aiperfFormats {
			ok, why := format.sniff(p)
			if !ok {
				if why == "" {
					t.Errorf("%s: %s refuses it without a reason", path, format.Name)
				}
				continue
			}
			in.Format = format.Name
			if err := format.decode(t.Context(), p, &all[i]); err != nil {
				in.Problems.Add(problemOf(path, err))
			}
			break
		}
		files, ds.Inputs = append(files, f), append(ds.Inputs, in)
	}
	return ds, files, all
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An artifact directory in small: every file is of one run.
const (
	aiperfRecords = `{"metadata":{"x_request_id":"a","request_start_ns":1760000002000000123,"request_end_ns":1760000003000000123,"benchmark_phase":"profiling","was_cancelled":false},"metrics":{"request_latency":{"value":1000.0,"unit":"ms"},"time_to_first_token":{"value":400.0,"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"},"input_sequence_length":{"value":100,"unit":"tokens"}},"error":null}` + "\n"
	aiperfSummary = `{"aiperf_version":"0.8.0","benchmark_id":"x","request_latency":{"unit":"ms","avg":1000.0},"time_to_first_token":{"unit":"ms","avg":400.0},"request_count":{"unit":"requests","avg":1.0},"min_request_timestamp":{"unit":"ns","avg":1.7600000020000000e18},"input_config":{"loadgen":{"concurrency":8}},"was_cancelled":false,"error_summary":[]}`
	aiperfCSV     = "Metric,avg,min,max,p1,p99,std\nRequest Latency (ms),1000.00,,,,,\nTime to First Token (ms),400.00,,,,,\n\nMetric,Value\nMinimum Request Timestamp (ns),1760000002000000000.00\nRequest Count,1.00\n"
	aiperfMetrics = `{"schema_version":"1.0","aiperf_version":"0.8.0","summary":{"endpoints_configured":[],"endpoint_info":{"http://h:8000/metrics":{"last_update_ns":1760000100000000000}}},"metrics":{"vllm:num_requests_running":{"type":"gauge","series":[{"endpoint_url":"http://h:8000/metrics","labels":{"model_name":"m","engine":"0"},"stats":{"avg":3.5}}]},"vllm:prompt_tokens":{"type":"counter","series":[{"endpoint_url":"http://h:8000/metrics","labels":{"model_name":"m","engine":"0"},"stats":{"total":5000,"rate":100}}]}}}`
	aiperfLines   = `{"endpoint_url":"http://h:8000/metrics","timestamp_ns":1760000000000000000,"metrics":{"vllm:num_requests_running":[{"labels":{"model_name":"m"},"value":3.0}],"vllm:num_preemptions":[{"labels":{"model_name":"m"},"value":7.0}]}}` + "\n" +
		`{"endpoint_url":"http://h:8000/metrics","timestamp_ns":1760000001000000000,"metrics":{"vllm:num_requests_running":[{"labels":{"model_name":"m"},"value":4.0}],"vllm:num_preemptions":[{"labels":{"model_name":"m"},"value":9.0}]}}` + "\n" +
		`{"endpoint_url":"http://h:8000/metrics","timestamp_ns":1760000002000000000,"metrics":{"vllm:num_requests_running":[{"labels":{"model_name":"m"},"value":4.0}],"vllm:num_preemptions":[{"labels":{"model_name":"m"},"value":9.0}]}}` + "\n"
	aiperfMetricsCSV = "# AIPerf Server Metrics Export (CSV)\nEndpoint,Type,Metric,Unit,total,rate,model_name,Description\nh:8000,counter,vllm:prompt_tokens,tokens,5000.0,100.0,m,d\n"
	aiperfTelemetry  = `{"timestamp_ns":1760000000000000000,"dcgm_url":"http://h:9400/metrics","gpu_index":0,"gpu_uuid":"A","telemetry_data":{"gpu_utilization":50.0,"gpu_memory_used":40.0,"gpu_power_usage":100.0}}` + "\n"
	genaiSummary     = `{"request_latency":{"unit":"ms","avg":1000.0},"time_to_first_token":{"unit":"ms","avg":400.0},"input_config":{"concurrency":4}}`
)

// A run counts once, whatever stands beside it.
func TestAIPerfDirectory(t *testing.T) {
	dir := t.TempDir()
	paths := []string{
		write(t, dir, "profile_export.jsonl", aiperfRecords),
		write(t, dir, "profile_export_aiperf.csv", aiperfCSV),
		write(t, dir, "profile_export_aiperf.json", aiperfSummary),
		write(t, dir, "gpu_telemetry_export.jsonl", aiperfTelemetry),
		write(t, dir, "server_metrics_export.csv", aiperfMetricsCSV),
		write(t, dir, "server_metrics_export.json", aiperfMetrics),
		write(t, dir, "server_metrics_export.jsonl", aiperfLines),
		write(t, dir, "profile_export_genai_perf.json", genaiSummary),
	}
	ds, files, all := readAIPerf(t, paths...)
	want := []string{"aiperf-records", "aiperf-summary", "aiperf-summary", "gpu-telemetry", "aiperf-server-metrics", "aiperf-server-metrics", "aiperf-server-metrics", "genai-perf"}
	for i, in := range ds.Inputs {
		if in.Format != want[i] || in.Problems.Len() > 0 {
			t.Errorf("%s is %s, want %s; problems %v", in.Path, in.Format, want[i], in.Problems.List())
		}
	}
	joinAIPerf(ds, files, all)
	var runs []*serving.Run
	for i, l := range all {
		runs = append(runs, l.runs...)
		if i < 2 && (len(l.runs) != 0 || ds.Inputs[i].Note == "") {
			t.Errorf("%s still has its run, or no note: %q", files[i].path, ds.Inputs[i].Note)
		}
		if servers := len(l.servers); (i == 3 || i == 6) != (servers == 1) {
			t.Errorf("%s has %d servers", files[i].path, servers)
		}
	}
	if len(runs) != 2 || runs[0].Requests == nil || runs[0].Load.MaxConcurrency.V != 8 || runs[0].Format != "aiperf-summary" || runs[1].Format != "genai-perf" {
		t.Fatalf("runs %+v, want the summary with its requests and GenAI-Perf's", runs)
	}
	s := all[6].servers[0]
	if len(s.Times) != 3 || s.Relative || s.GaugeOf(serving.Running) == nil || len(s.Counters) != 1 || s.Counters[0].Name != serving.Preemptions || s.Counters[0].Values[1] != 9 {
		t.Errorf("server %+v", s)
	}
	for _, f := range ds.Inputs[6].Fields {
		if f.As == "" {
			t.Errorf("field %+v is the second name of a value", f)
		}
	}
}

// Aggregates are two scrapes with the right time between them, and gauges facts.
func TestAIPerfAggregates(t *testing.T) {
	dir := t.TempDir()
	_, _, all := readAIPerf(t, write(t, dir, "a.json", aiperfMetrics), write(t, dir, "b.csv", aiperfMetricsCSV))
	j, c := all[0].servers[0], all[1].servers[0]
	if j.Relative || j.Times[0] != 1760000050000000000 || j.Times[1] != 1760000100000000000 || len(j.Info) != 1 || j.Info[0].Value != "3.5" {
		t.Errorf("from JSON %+v", j)
	}
	if !c.Relative || c.Times[0] != 0 || c.Times[1] != 50e9 || c.Counters[0].Values[1] != 5000 {
		t.Errorf("from CSV %+v", c)
	}
}

// A metricRow is a row of server_metrics_export.parquet.
type metricRow struct {
	Endpoint    string   `parquet:"endpoint_url,dict,snappy"`
	Metric      string   `parquet:"metric_name,dict,snappy"`
	Type        string   `parquet:"metric_type,dict,snappy"`
	Unit        *string  `parquet:"unit,optional,dict,snappy"`
	Description *string  `parquet:"description,optional,dict,snappy"`
	Time        int64    `parquet:"timestamp_ns,snappy"`
	Engine      *string  `parquet:"engine,optional,dict,snappy"`
	Model       *string  `parquet:"model_name,optional,dict,snappy"`
	Value       *float64 `parquet:"value,optional,snappy"`
	Sum         *float64 `parquet:"sum,optional,snappy"`
	Count       *float64 `parquet:"count,optional,snappy"`
	Bound       *string  `parquet:"bucket_le,optional,dict,snappy"`
	Bucket      *float64 `parquet:"bucket_count,optional,snappy"`
}

// metricRows are three scrapes of two endpoints, as AIPerf writes them: an
// endpoint after the other, a metric after the other. At every second TTFT has 10
// observations more, 8 of them within 0.5 s.
func metricRows() []metricRow {
	p := func(x float64) *float64 { return &x }
	var rows []metricRow
	for k, endpoint := range []string{"http://h:8000/metrics", "http://h:8001/metrics"} {
		row := func(metric, kind string, i int) metricRow {
			model, engine, unit := "m", "0", "x"
			return metricRow{Endpoint: endpoint, Metric: metric, Type: kind, Time: 1760000000e9 + int64(i)*1e9, Model: &model, Engine: &engine, Unit: &unit}
		}
		for i := range 3 {
			r := row("vllm:num_requests_running", "gauge", i)
			r.Value = p(float64(3 + i + 10*k))
			rows = append(rows, r)
		}
		for i := range 3 {
			r := row("vllm:num_preemptions", "counter", i)
			r.Value = p(float64(2 * i * (k + 1)))
			rows = append(rows, r)
		}
		for i := range 3 {
			for _, b := range []struct {
				le string
				n  float64
			}{{"0.5", 8}, {"1.0", 9}, {"+Inf", 10}} {
				r := row("vllm:time_to_first_token_seconds", "histogram", i)
				r.Sum, r.Count, r.Bound, r.Bucket = p(float64(i)*4.5), p(float64(i)*10), &b.le, p(float64(i)*b.n)
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// A Parquet export gives the servers that its scrapes would have given, whatever
// the order of its rows.
func TestAIPerfParquet(t *testing.T) {
	dir := t.TempDir()
	sorted := filepath.Join(dir, "a.parquet")
	if err := parquet.WriteFile(sorted, metricRows()); err != nil {
		t.Fatal(err)
	}
	rows := metricRows()
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	shuffled := filepath.Join(dir, "b.parquet")
	if err := parquet.WriteFile(shuffled, rows); err != nil {
		t.Fatal(err)
	}
	ds, _, all := readAIPerf(t, sorted, shuffled)
	for i, l := range all {
		in := ds.Inputs[i]
		if in.Format != "aiperf-server-metrics" || in.Records != 6 || in.Problems.Len() > 0 || len(l.servers) != 2 {
			t.Fatalf("%s: %d records, %d servers, problems %v", in.Format, in.Records, len(l.servers), in.Problems.List())
		}
		for k, s := range l.servers {
			running, h := s.GaugeOf(serving.Running), s.Histograms
			if running == nil || running.Values[2] != float64(5+10*k) || s.Relative || len(s.Times) != 3 || s.Times[2] != 1760000002e9 {
				t.Errorf("%s: server %+v", in.Path, s)
			}
			if len(s.Counters) != 1 || s.Counters[0].Name != serving.Preemptions || s.Counters[0].Values[2] != float64(4*(k+1)) {
				t.Errorf("%s: counters %+v", in.Path, s.Counters)
			}
			if len(h) != 1 || !slices.Equal(h[0].Bounds, []float64{0.5, 1, math.Inf(1)}) || !slices.Equal(h[0].Counts[2], []float64{16, 18, 20}) || h[0].Sum[2] != 9 || h[0].Count[1] != 10 {
				t.Errorf("%s: histograms %+v", in.Path, h)
			}
		}
	}
}

// Rows without a time or a name cost themselves alone.
func TestAIPerfParquetDamaged(t *testing.T) {
	rows := metricRows()
	rows[0].Time, rows[1].Metric = 0, "no name"
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	ds, _, all := readAIPerf(t, path)
	if l := ds.Inputs[0].Problems.List(); len(l) != 2 || l[0].At.Row != 1 || l[1].At.Row != 2 || len(all[0].servers) != 2 {
		t.Errorf("problems %v, %d servers", l, len(all[0].servers))
	}
}
