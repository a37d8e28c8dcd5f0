package render

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// Labels that try to become markup, script, a mention or a link wherever a
// report is shown.
const (
	hostileModel  = "</script><script>window.__pwn=1</script>"
	hostileLabel  = "__f__window.__pwn=1//"
	hostileText   = "[x](javascript:alert(1)) @everyone <img src=x onerror=alert(1)> | `a` #123 https://evil.example/"
	hostileDim    = "a|b\n# c"
	hostileBinary = "\x00\x1b[31m\u202e\xff&quot;{{.}}<!--\u2028"
)

// fixtureStart is the first instant of the hand-built report.
var fixtureStart = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixNano()

// richReport is a report that holds every kind of value a section can have:
// runs with and without requests, a sweep with its knee, slices in every
// grouping, a server whose histogram overflows, timelines with and without a
// date, findings, an unknown input, and hostile text wherever data is printed.
func richReport() *analyze.Report {
	runs := fixtureRuns()
	rep := &analyze.Report{
		Title: "Llama sweep " + hostileModel,
		Gate:  analyze.Gate{Result: analyze.GateUndecided, Reasons: []string{"run " + hostileText + ": ttft:p99<500ms: 93 requests cannot decide"}},
	}
	sweeps := fixtureSweeps(runs)
	values := map[string]any{
		"ceilings": fixtureCeilings(runs), "diagnosis": fixtureDiagnosis(), "incident": fixtureIncident(), "advice": fixtureAdvice(), "cost": fixtureCost(runs, sweeps),
		"summary": fixtureSummary(), "runs": runs, "sweeps": sweeps, "slices": fixtureSlices(runs),
		"servers": fixtureServers(), "timeline": fixtureTimelines(), "quality": fixtureQuality(runs), "inputs": fixtureInputs(),
	}
	notes := map[string][]string{"runs": {"Quantiles are type 7."}, "servers": {hostileText}}
	for _, s := range reportSections() {
		res := analyze.Result{Section: s, Value: values[s.Name], Notes: notes[s.Name]}
		if res.Value == nil {
			res.Skipped = "needs data that are not there"
		}
		rep.Results = append(rep.Results, res)
	}
	return rep
}

// reportSections are those of a report of one side.
func reportSections() []*analyze.Section {
	return slices.DeleteFunc(slices.Clone(analyze.Sections), func(s *analyze.Section) bool { return s.Sides })
}

// emptyReport is a report where every section was skipped.
func emptyReport() *analyze.Report {
	rep := &analyze.Report{}
	for _, s := range reportSections() {
		rep.Results = append(rep.Results, analyze.Result{Section: s, Skipped: "needs data that are not there"})
	}
	return rep
}

func fixtureSummary() *analyze.Summary {
	return &analyze.Summary{
		Tone: "warn", Badge: "undecided", Title: "4 runs of Llama-3.1-8B, knee at 64 in flight",
		Points: []string{"TTFT p99 grows from 41.2 ms to 282.2 ms.", "From " + hostileText},
		Cards: []analyze.Card{
			{Label: "TTFT p99", Metric: "ttft", Unit: serving.Seconds, Value: serving.Some(0.28217), N: serving.Some(int64(498)), Sub: "at 64 concurrent", SLO: "meets SLO ≤ 500 ms", Tone: "good"},
			{Label: "Output", Metric: string(serving.RateOutput), Unit: serving.PerSecond, Value: serving.Some(1481.48), Sub: hostileLabel},
			{Label: "Goodput", Unit: serving.Share, Value: serving.None[float64]()},
		},
		Chips: []analyze.Chip{{Key: "model", Value: hostileModel}, {Key: "runs", Value: "4"}},
	}
}

// fixtureDist is a distribution whose quantiles are scaled from a median.
func fixtureDist(k serving.MetricKey, n int64, median float64) *analyze.Dist {
	d := &analyze.Dist{
		Metric: k, Count: serving.Some(n), Mean: serving.Some(median * 1.1), Std: serving.Some(median / 3),
		Min: serving.Some(median / 4), Max: serving.Some(median * 4),
		Origin: analyze.FromRequests, Side: serving.Client,
	}
	for i, p := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
		q := analyze.Quantile{P: p, Value: serving.Some(median * (1 + float64(i)/2)), Quality: analyze.QualityOK}
		q.Lo, q.Hi = serving.Some(q.Value.V*0.97), serving.Some(q.Value.V*1.05)
		switch {
		case p == 0.99:
			q.Quality = analyze.QualityWeak
		case p == 0.999:
			q.Quality, q.Hi = analyze.QualityUnsupported, serving.None[float64]()
		}
		d.Quantiles = append(d.Quantiles, q)
	}
	return d
}

func fixtureCounts(ok, failed int64) analyze.Counts {
	return analyze.Counts{
		Sent: serving.Some(ok + failed), Completed: serving.Some(ok), Failed: serving.Some(failed),
		Outcomes: map[string]int64{"ok": ok, "error": failed, "timeout": 0, "cancelled": 0, "incomplete": 0},
	}
}

// fixtureTable stands for the requests of a run; nothing scans it.
type fixtureTable struct{ serving.Requests }

func (fixtureTable) Columns() []serving.Column {
	return []serving.Column{{Name: serving.ColArrival, Kind: serving.KindTime, Relative: true, From: "start_times", Unit: "s", How: "dialect"}}
}

func fixtureRuns() *analyze.Runs {
	return &analyze.Runs{Runs: []*analyze.RunStats{
		fixtureRun(1, 0.021, fixtureCounts(100, 0)),
		fixtureRun(16, 0.041, fixtureCounts(500, 0)),
		fixtureRun(64, 0.1129, fixtureCounts(498, 2)),
		aggregateRun(),
		failedRun(),
	}}
}

func fixtureRun(conc int64, ttft float64, counts analyze.Counts) *analyze.RunStats {
	r := &serving.Run{
		ID: fmt.Sprintf("c%d", conc), Label: fmt.Sprintf("c%d", conc), Format: "vllm-serve",
		Source: serving.Pos{Path: fmt.Sprintf("results/c%d.json", conc)},
		Engine: serving.Some("vllm"), Backend: serving.Some("openai"), Model: serving.Some(hostileModel), Tokenizer: serving.Some(hostileText),
		GPUs: serving.Some(1), Workload: serving.Some("random"), Started: serving.Some("20260131-120000"),
		Settings: []serving.Setting{{Key: "max_num_seqs", Value: "64"}, {Key: hostileDim, Value: hostileText}},
		Load:     serving.LoadOf(serving.Some(conc), serving.None[float64](), true),
		Requests: fixtureTable{},
		Notes:    []string{"the burstiness is not stated"},
	}
	tpot := fixtureDist(serving.TPOT, counts.Completed.V, 0.04012)
	itl := fixtureDist(serving.ITL, counts.Completed.V*127, 0.03875)
	itl.Gaps = "chunk"
	return &analyze.RunStats{
		Run: r, Counts: counts, Duration: serving.Some(86.4), Input: serving.Some(int64(1024000)), Output: serving.Some(int64(128000)),
		Throughput: analyze.Throughput{
			Requests: serving.Some(float64(conc) * 0.18), Output: serving.Some(float64(conc) * 23.148), Total: serving.Some(float64(conc) * 208.33),
			OutputPerGPU: serving.Some(float64(conc) * 23.148), OutputPerUser: serving.Some(23.148),
			PeakOutput: serving.Some(1650.0), PeakConcurrent: serving.Some(float64(conc)), InFlight: serving.Some(float64(conc) * 0.98),
		},
		Goodput: &analyze.Goodput{
			PerSecond: serving.Some(float64(conc) * 0.17), Share: serving.Some(0.942), Lo: serving.Some(0.92575), Hi: serving.Some(0.95487),
			Good: serving.Some(int64(471)), Of: counts.Sent, Origin: analyze.FromRequests,
		},
		SLO: []analyze.SLOResult{
			{Expr: "ttft:p90<500ms", Attainment: serving.Some(0.98), Lo: serving.Some(0.96), Hi: serving.Some(0.99), Value: serving.Some(ttft * 1.5), Result: analyze.GatePass},
			{Expr: "ttft:p99<500ms", Attainment: serving.Some(0.98), Lo: serving.Some(0.96), Hi: serving.Some(0.995), Value: serving.Some(ttft * 2.5), Result: analyze.GateUndecided, Reason: "the interval holds 0.99"},
		},
		Dists:    analyze.Dists{fixtureDist(serving.TTFT, counts.Completed.V, ttft), tpot, itl, fixtureDist(serving.E2E, counts.Completed.V, 5.2)},
		Mismatch: []analyze.Mismatch{{Field: "mean_ttft_ms", File: 1.5, Ours: 124.2}},
		Warnings: []string{"chunks are not tokens"},
		Reading:  "Stalls: ITL p99 is 2.5 times its median.",
		Examples: []analyze.Example{{Rank: serving.TTFT, ID: "req-<7>", At: serving.Some(int64(12.5e9)), Source: "results/c64.json", Row: 8, Values: map[serving.MetricKey]float64{serving.TTFT: 1.2, serving.PromptTokens: 4096}}},
	}
}

// aggregateRun has its file's own figures only: no n, no interval, no quality.
func aggregateRun() *analyze.RunStats {
	d := &analyze.Dist{Metric: serving.TTFT, Mean: serving.Some(0.2146), Origin: analyze.FromFile, Side: serving.Client,
		Quantiles: []analyze.Quantile{{P: 0.5, Value: serving.Some(0.1862)}, {P: 0.99, Value: serving.Some(0.84187)}}}
	return &analyze.RunStats{
		Run: &serving.Run{ID: "pasted", Label: hostileText, Source: serving.Pos{Path: "notes <b>.txt", Line: 12}, Format: "vllm-console",
			Load: serving.LoadOf(serving.None[int64](), serving.Some(10.0), false)},
		Counts:  analyze.Counts{Completed: serving.Some(int64(1000))},
		Dists:   analyze.Dists{d},
		Goodput: &analyze.Goodput{PerSecond: serving.Some(9.1), Origin: analyze.FromFile},
	}
}

// failedRun has no latency at all, and numbers that are none.
func failedRun() *analyze.RunStats {
	return &analyze.RunStats{
		Run:        &serving.Run{ID: "failed", Label: hostileBinary, Source: serving.Pos{Path: "results/failed.json"}, Format: "vllm-serve", Load: serving.LoadOf(serving.None[int64](), serving.None[float64](), true)},
		Counts:     fixtureCounts(0, 50),
		Duration:   serving.Some(math.NaN()),
		Throughput: analyze.Throughput{Requests: serving.Some(math.Inf(1))},
		Dists:      analyze.Dists{{Metric: serving.TTFT, Count: serving.Some(int64(0)), Mean: serving.Some(math.NaN()), Origin: analyze.FromRequests}},
		Warnings:   []string{hostileText},
	}
}

func fixtureSweeps(runs *analyze.Runs) *analyze.Sweeps {
	s := &analyze.Sweep{
		ID: "s1", Label: hostileLabel, Mode: serving.ClosedLoop, XName: "max_concurrency", PerGPU: true,
		HeldEqual: []serving.Setting{{Key: "model", Value: hostileModel}},
		Differed:  []analyze.Differed{{Key: "num_prompts", Values: []string{"100", "500"}}},
		Front:     []string{"c1", "c64"},
		Frontiers: []analyze.Frontier{
			{Key: analyze.UserAxis, Classes: []string{"frontier", "dominated", "frontier"}, Shares: []float64{0.98, 0.2, 1}, Basis: "2000 resamples"},
			{Key: "ttft_p99", Metric: serving.TTFT, P: 0.99, Classes: []string{"frontier", "tied", "frontier"}},
		},
		Knees: []analyze.Knee{
			{Method: "saturation", X: serving.Some(48.0), Unit: "users", Level: serving.Some(48.0), Confidence: "medium", Text: "throughput grows less than half as fast as the load from here on", Basis: "6 of 8 answers agree " + hostileText},
			{Method: "power", X: serving.Some(16.0), Unit: "users", Level: serving.Some(16.0), Confidence: "high", Text: "most throughput for its latency", Shares: map[string]float64{"16": 0.9, "64": 0.1}},
			{Method: "usl", Unit: "users", Confidence: "not_reached", Text: "Not reached: no fall of throughput."},
		},
		Regions: []analyze.Region{
			{Name: analyze.Room, From: 1, To: 16, Text: "Room in the batch."}, {Name: analyze.Saturating, From: 16, To: 48, Text: "Saturation."},
			{Name: analyze.Queueing, From: 48, To: 64, Text: "Only the queue grows.", StoppedBy: analyze.StoppedByUnknown, Evidence: []string{hostileText}, Missing: []string{"max_num_seqs"}},
		},
		Capacity: &analyze.Capacity{Pass: serving.Some(16.0), Fail: serving.Some(64.0), Estimate: serving.Some(41.5), SurePass: serving.Some(1.0), Reentry: []float64{64}, Objectives: []string{"ttft:p99<500ms"}, Text: "Between 16 and 64."},
		Attained: []analyze.Attained{{Share: 0.9, Pass: serving.Some(16.0), Fail: serving.Some(64.0), Decided: true}, {Share: 0.99}},
		TurnDown: &analyze.TurnDown{X: 16, PerSecond: 2.7, Reached: true, Text: "Goodput is highest at 16."},
		Target:   &analyze.Target{Rate: 30, Capacity: serving.Some(18.1), Instances: serving.Some(int64(2)), Headroom: serving.Some(0.171), Text: "30 requests/s take 2 instances."},
		Trade:    "The server gives more, each user gets less.",
		Notes:    []string{"one repeat a level"},
	}
	for i, r := range runs.Runs[:3] {
		p := analyze.SweepPoint{
			Runs: []*analyze.RunStats{r}, X: float64(r.Run.Load.MaxConcurrency.V), Users: r.Throughput.InFlight,
			OutputPerS: r.Throughput.OutputPerGPU, PerUser: r.Throughput.OutputPerUser,
			TTFT99: serving.Some(0.28217), TPOT50: serving.Some(0.04012), E2E50: serving.Some(5.2),
			Dominance: []string{"frontier", "dominated", "frontier"}[i], MeetsSLO: serving.Some(i < 2), Goodput: r.Goodput.PerSecond,
			Reached: i < 2, Rate: r.Throughput.Requests, Share: serving.Some([]float64{0.98, 0.2, 1}[i]), Attainment: r.Goodput, Within: serving.Some(i < 2),
		}
		if i == 1 {
			p.Runs = append(p.Runs, r)
		}
		s.Points = append(s.Points, p)
		s.Frontiers[0].Values = append(s.Frontiers[0].Values, analyze.AxisValue{Y: p.OutputPerS, X: p.PerUser})
		s.Frontiers[1].Values = append(s.Frontiers[1].Values, analyze.AxisValue{Y: p.OutputPerS, X: p.TTFT99})
	}
	slice := *s
	slice.By, slice.Label, slice.Slices = []serving.Term{{Dim: hostileDim, Value: hostileText}}, hostileText, nil
	s.Slices = []*analyze.Sweep{&slice}
	open := &analyze.Sweep{
		ID: "s2", Mode: serving.OpenLoop, XName: "request_rate",
		Points: []analyze.SweepPoint{{Runs: runs.Runs[3:4], X: 10}, {Runs: runs.Runs[4:5], X: math.Inf(1), XUnlimited: true}},
		Knees:  []analyze.Knee{{Method: "saturation", Confidence: "not_reached"}},
	}
	other := *s
	other.ID, other.Label, other.Slices = "s3", hostileText, nil
	grid := &analyze.Grid{Label: hostileModel, YName: "max_num_seqs", XName: "max_num_batched_tokens", Y: []string{"64", "128"}, X: []string{"2048", "4096"}, Limit: "500", Best: 1, Missing: 1,
		Cells: []analyze.GridCell{{Y: 0, X: 0, Run: runs.Runs[0], Rate: serving.Some(9.8), E2E: serving.Some(0.45)}, {Y: 0, X: 1, Run: runs.Runs[1], Rate: serving.Some(12.5)}, {Y: 1, X: 0, Run: runs.Runs[2]}}}
	return &analyze.Sweeps{Sweeps: []*analyze.Sweep{s, open, &other}, Grids: []*analyze.Grid{grid},
		Overlays: []analyze.Overlay{{Sweeps: []int{0, 2}, Differ: []string{hostileDim + " (" + hostileText + ")"}}}}
}

func fixtureSlice(by []serving.Term, share, ttft float64) *analyze.Slice {
	n := int64(5000 * share)
	queue := fixtureDist(serving.Queue, n, ttft/3)
	queue.Side = serving.ServerSide
	prompt := fixtureDist(serving.PromptTokens, n, 850)
	return &analyze.Slice{
		By: by, Counts: fixtureCounts(n, n/50), Share: share, Input: n * 850, Output: n * 128, CachedShare: serving.Some(0.37),
		Goodput: &analyze.Goodput{PerSecond: serving.Some(3.5), Share: serving.Some(0.9), Good: serving.Some(n), Of: serving.Some(n), Origin: analyze.FromRequests},
		SLO:     []analyze.SLOResult{{Expr: "ttft:p99<500ms", Attainment: serving.Some(0.9), Lo: serving.Some(0.88), Hi: serving.Some(0.92), Value: serving.Some(ttft * 2.5), Result: analyze.GateFail}},
		Dists:   analyze.Dists{fixtureDist(serving.TTFT, n, ttft), queue, prompt},
	}
}

func fixtureSlices(runs *analyze.Runs) *analyze.Slices {
	term := func(d, v string) serving.Term { return serving.Term{Dim: d, Value: v} }
	trace := &analyze.DatasetStats{
		Dataset: "trace.parquet", Side: serving.ServerSide, Rows: 5000, Span: serving.Some(3600.0),
		Columns: []serving.Column{
			{Name: serving.ColArrival, Kind: serving.KindTime, From: "ts", Unit: "us", How: "logical-type"},
			{Name: "ttft", Kind: serving.KindDuration, From: "ttft_ms", Unit: "ms", How: "suffix"},
			{Name: "itl", Kind: serving.KindGaps, From: "gaps", Unit: "ms", How: "sibling", Gaps: "token"},
			{Name: hostileDim, Kind: serving.KindText, From: hostileDim},
		},
		Excluded: []analyze.Excluded{{Reason: "warm-up", Rows: 40}},
		All:      fixtureSlice(nil, 1, 0.2),
		GroupBy:  []string{"workload", "prompt_tokens", "cache"},
		Cross: []*analyze.Slice{
			fixtureSlice([]serving.Term{term("workload", "rag"), term("prompt_tokens", "2048-8191"), term("cache", "cold")}, 0.2, 0.9),
			fixtureSlice([]serving.Term{term("workload", hostileText), term("prompt_tokens", "0-127"), term("cache", cube.Unknown)}, 0.5, 0.1),
		},
		Alone: []analyze.Dimension{
			{Name: "model", Folded: 12, Slices: []*analyze.Slice{fixtureSlice([]serving.Term{term("model", hostileModel)}, 1, 0.2)}},
			{Name: hostileDim, Slices: []*analyze.Slice{fixtureSlice([]serving.Term{term(hostileDim, hostileBinary)}, 1, 0.2)}},
		},
		Examples: []analyze.Example{{Rank: serving.E2E, ID: hostileText, At: serving.Some(fixtureStart), Source: "trace.parquet", Row: 77, Values: map[serving.MetricKey]float64{serving.E2E: 12.5, serving.TTFT: math.NaN()}, By: []serving.Term{term("workload", "rag")}}},
		Problems: []serving.Problem{{At: serving.Pos{Path: "trace.parquet", Row: 10482, Field: "output_tokens"}, Message: "null, want a count", Count: 3}},
		Warnings: []string{"the trace has no failed request"},
		Explore:  fixtureExplorer([]string{"workload", hostileDim, "model"}, []string{"rag", hostileText, cube.Other}, []string{hostileBinary, hostileLabel, cube.Unknown}, []string{hostileModel, "llama"}),
	}
	own := &analyze.DatasetStats{Dataset: "c64", Run: runs.Runs[2].Run, Side: serving.Client, Rows: 500, All: fixtureSlice(nil, 1, 0.11)}
	return &analyze.Slices{Datasets: []*analyze.DatasetStats{own, trace}}
}

func fixtureServers() *analyze.Servers {
	ttft := &analyze.Dist{
		Metric: serving.TTFT, Count: serving.Some(int64(812)), Mean: serving.Some(0.31), Origin: analyze.FromHistogram, Side: serving.ServerSide,
		PromQL: `histogram_quantile(0.99, sum by (le) (increase(vllm:time_to_first_token_seconds_bucket[15m])))`,
		Quantiles: []analyze.Quantile{
			{P: 0.5, Value: serving.Some(0.2), Lo: serving.Some(0.1), Hi: serving.Some(0.25), Quality: analyze.QualityCoarse},
			{P: 0.99, Lo: serving.Some(10.0), Quality: analyze.QualityCoarse}, // beyond the last finite bucket
		},
	}
	s := &serving.Server{
		ID: "server-1", Label: "vllm-0 " + hostileModel, Engine: "vllm", Version: serving.Some("0.11.0"), Replica: serving.Some("pod-0"),
		Sources: []string{"scrapes/000.prom", "scrapes/001.prom"}, TimeRule: "timestamps",
		Restarts: []int64{fixtureStart + 60e9}, Gaps: []serving.Gap{{From: fixtureStart + 90e9, To: fixtureStart + 150e9}},
		Info: []serving.Setting{{Key: "block_size", Value: "16"}},
	}
	once := &serving.Server{ID: "server-2", Label: "order only", Engine: "vllm", Relative: true, Restarts: []int64{1500000000}}
	return &analyze.Servers{Servers: []*analyze.ServerStats{
		{
			Server: s, From: serving.Some(fixtureStart), To: serving.Some(fixtureStart + 900e9), Scrapes: 61, Dists: analyze.Dists{ttft},
			Increases: []analyze.Increase{
				{Name: serving.Preemptions, Unit: serving.NoUnit, Value: 17, Resets: 1, PromQL: "sum(increase(vllm:num_preemptions_total[15m]))"},
				{Name: serving.FinishedTotal, By: []serving.Term{{Dim: "finished_reason", Value: "abort"}}, Unit: serving.RequestsUnit, Value: 3},
				{Name: serving.ProcessCPU, Unit: serving.Seconds, Value: 12.5},
				{Name: serving.Iterations, Unit: serving.NoUnit, Value: math.NaN()},
			},
			Gauges: []analyze.GaugeStats{
				{Name: serving.KVUsage, Unit: serving.Share, Mean: 0.91, Min: 0.2, Max: 0.99, Last: math.NaN(), N: 61, PromQL: "avg_over_time(vllm:kv_cache_usage_perc[15m])"},
				{Name: serving.Waiting, By: []serving.Term{{Dim: "engine", Value: "0"}}, Unit: serving.RequestsUnit, Mean: 3.2, Min: 0, Max: 40, Last: 2, N: 61},
			},
		},
		{Server: once, Gaps: once.Gaps, Scrapes: 1, SinceStart: true, Members: 2},
	}}
}

func fixtureTimelines() *analyze.Timelines {
	return &analyze.Timelines{Timelines: []*analyze.Timeline{
		{
			Title: "server " + hostileModel, From: fixtureStart, Step: 15, N: 4,
			Series: []analyze.TimelineSeries{
				{Metric: "waiting", Label: "vllm-0", Unit: serving.RequestsUnit, Side: serving.ServerSide, Panel: "requests", Values: []float64{0, math.NaN(), 3, 12345678}, PromQL: "vllm:num_requests_waiting"},
				{Metric: "ttft", Stat: "p99", Label: "vllm-0", By: []serving.Term{{Dim: "replica", Value: "pod-0"}}, Unit: serving.Seconds, Side: serving.ServerSide, Panel: "latency", Values: []float64{0.1, 0.123456789, math.Inf(1), 2}},
			},
			Events: []analyze.Event{
				{At: fixtureStart + 30e9, Kind: "restart", Text: "counters started again " + hostileText, Source: "scrapes/002.prom"},
				{At: fixtureStart + 35e9, To: fixtureStart + 50e9, Kind: "gap", Text: "no scrape"},
			},
		},
		{
			Title: "c64", From: 0, Relative: true, Step: 0.5, N: 2,
			Series: []analyze.TimelineSeries{{Metric: "requests_per_s", Stat: "rate", Label: "c64", Unit: serving.PerSecond, Side: serving.Client, Panel: "throughput", Values: []float64{11.5, 12}}},
			Events: []analyze.Event{{At: 12.5e9, Kind: "gap"}},
		},
	}}
}

func fixtureQuality(runs *analyze.Runs) *analyze.QualityFindings {
	return &analyze.QualityFindings{Findings: []analyze.Finding{
		{ID: "few_requests", Subject: runs.Runs[0].Run.ID, Value: serving.Some(100.0), Threshold: serving.Some(320.0), Message: "c1 has 100 requests, p99 needs 320"},
		{ID: "chunks", Subject: hostileText, Message: "gaps are chunks: " + hostileModel},
		{ID: "little", Subject: "c64", Value: serving.Some(math.Inf(1)), Message: "in flight disagrees"},
		{ID: "warmup", Subject: "c64", Value: serving.Some(0.31), Threshold: serving.Some(0.05), N: serving.Some(int64(498)), Metrics: []serving.MetricKey{serving.TTFT}, Message: "the first 40 of 498 requests are warm-up"},
	}}
}

func fixtureInputs() *analyze.Inputs {
	known := &serving.Input{
		Path: "results/c64.json", Label: hostileLabel, Format: "vllm-serve", Bytes: 1234567,
		SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Records: 1,
		Fields: []serving.Field{
			{Name: "ttfts", As: "ttft", Unit: "s", How: "dialect"}, {Name: "mean_ttft_ms", As: "ttft mean", Unit: "ms", How: "suffix"},
			{Name: hostileDim, As: "", Unit: "", How: ""},
		},
		Note: "the generated texts were skipped",
	}
	known.Problems.Add(serving.Problem{At: serving.Pos{Path: known.Path, Line: 12, Field: "requests[11].ttft_ms"}, Message: "-4 is negative, want a duration"})
	known.Problems.AddKind("cut", serving.Problem{At: serving.Pos{Path: known.Path, Field: hostileText}, Message: hostileModel})
	known.Problems.AddKind("cut", serving.Problem{Message: "again"})
	return &analyze.Inputs{
		Known: 1, Unknown: 1,
		Inputs: []*serving.Input{known, {
			Path: "notes " + hostileText, Bytes: 5 << 30, Fingerprint: "size+ends:1", Format: "unknown",
			Tried: []string{"JSON: line 1: invalid character 'h'", "Parquet: no PAR1"},
		}},
	}
}
