package render

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// pageReport is a report as a reader meets it: a sweep of nine runs, a trace
// with slices, two servers and their timeline. Its numbers come from formulas
// and a seeded generator, so that it is the same every time.
func pageReport() *analyze.Report {
	f := &pageFixture{rng: rand.New(rand.NewPCG(7, 7))}
	runs := f.runs()
	ds := f.dataset()
	values := map[string]any{
		"summary": f.summary(runs), "runs": runs, "latency": f.latency(runs, ds), "sweeps": f.sweeps(runs),
		"slices": &analyze.Slices{Datasets: []*analyze.DatasetStats{ds}}, "servers": f.servers(), "timeline": f.timelines(),
		"quality": f.quality(), "inputs": f.inputs(),
	}
	rep := &analyze.Report{Title: "Llama-3.1-8B-Instruct on one H100: concurrency sweep"}
	for _, s := range reportSections() {
		res := analyze.Result{Section: s, Value: values[s.Name]}
		if s.Name == "latency" {
			res.Notes = []string{"Quantiles are type 7 (linear interpolation). Intervals are 95 % order-statistic intervals; they assume independent requests."}
		}
		if res.Value == nil {
			res.Skipped = "needs " + s.Needs
		}
		rep.Results = append(rep.Results, res)
	}
	return rep
}

type pageFixture struct{ rng *rand.Rand }

// dist is a log-normal distribution with a median in seconds.
func (f *pageFixture) dist(k serving.MetricKey, n int64, median, sigma float64, side serving.Side) *analyze.Dist {
	at := func(p float64) float64 {
		p = min(max(p, .5/float64(n)), 1-.5/float64(n))
		return median * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*p-1))
	}
	d := &analyze.Dist{Metric: k, Count: serving.Some(n), Origin: analyze.FromRequests, Side: side,
		Mean: serving.Some(median * math.Exp(sigma*sigma/2)), Std: serving.Some(median * sigma), Min: serving.Some(at(0)), Max: serving.Some(at(1))}
	for _, p := range []float64{.5, .9, .95, .99, .999} {
		se := math.Sqrt(p*(1-p)/float64(n)) * 1.96
		q := analyze.Quantile{P: p, Value: serving.Some(at(p)), Lo: serving.Some(at(p - se)), Hi: serving.Some(at(p + se)), Quality: analyze.QualityOK}
		switch {
		case float64(n)*(1-p) < 2:
			q.Quality, q.Hi = analyze.QualityUnsupported, serving.None[float64]()
		case float64(n)*(1-p) < 10:
			q.Quality = analyze.QualityWeak
		}
		d.Quantiles = append(d.Quantiles, q)
	}
	for _, p := range cube.CDFGrid {
		d.CDF = append(d.CDF, at(p))
	}
	return d
}

func (f *pageFixture) runs() *analyze.Runs {
	out := &analyze.Runs{}
	for i, c := range []int64{1, 2, 4, 8, 16, 32, 64, 128, 256} {
		n := min(max(5*c, 100), 1000)
		x := float64(c)
		rate := 7200 * (1 - math.Exp(-x/70))
		ttft := .021 * (1 + .02*x + math.Pow(x/95, 3))
		tpot := math.Max(.0078, x/rate*.93)
		failed := int64(0)
		if c >= 128 {
			failed = c / 64
		}
		dur := float64(n) * 256 / rate
		r := &serving.Run{ID: fmt.Sprintf("c%d", c), Label: fmt.Sprintf("c%d", c), Format: "vllm-serve", Source: serving.Pos{Path: fmt.Sprintf("results/c%d.json", c)},
			Engine: serving.Some("vllm"), Backend: serving.Some("openai"), Version: serving.Some("0.25.1"), Model: serving.Some("meta-llama/Llama-3.1-8B-Instruct"), GPUs: serving.Some(1), Workload: serving.Some("random 1024/256"),
			Settings: []serving.Setting{{Key: "max_concurrency", Value: fmt.Sprint(c)}, {Key: "max_num_seqs", Value: "128"}, {Key: "enable_chunked_prefill", Value: "true"}, {Key: "dataset", Value: "random"}},
			Load:     serving.LoadOf(serving.Some(c), serving.None[float64](), true)}
		ds := analyze.Dists{f.dist(serving.TTFT, n-failed, ttft, .38+x/900, serving.Client), f.dist(serving.TPOT, n-failed, tpot, .07, serving.Client),
			f.dist(serving.ITL, (n-failed)*255, tpot*.96, .22, serving.Client), f.dist(serving.E2E, n-failed, ttft+255*tpot, .1, serving.Client)}
		for _, m := range []struct {
			field, stat string
			key         serving.MetricKey
			v           float64
		}{{"mean_ttft_ms", "mean", serving.TTFT, ds[0].Mean.V}, {"p99_ttft_ms", "p99", serving.TTFT, ds[0].Quantiles[3].Value.V}, {"mean_tpot_ms", "mean", serving.TPOT, ds[1].Mean.V}} {
			r.Reported = append(r.Reported, serving.Reported{Field: m.field, Metric: m.key, Stat: m.stat, File: m.v * 1000, PerBase: 1000})
		}
		slo := analyze.SLOResult{Expr: "ttft:p99<500ms", Attainment: serving.Some(.995), Lo: serving.Some(.98), Hi: serving.Some(.999), Result: analyze.GatePass}
		tslo := analyze.SLOResult{Expr: "tpot:p90<20ms", Attainment: serving.Some(.999), Lo: serving.Some(.99), Hi: serving.Some(1.), Result: analyze.GatePass}
		if c == 128 {
			slo.Attainment, slo.Lo, slo.Hi, slo.Result = serving.Some(.987), serving.Some(.971), serving.Some(.994), analyze.GateUndecided
		}
		if c == 256 {
			slo.Attainment, slo.Lo, slo.Hi, slo.Result = serving.Some(.713), serving.Some(.68), serving.Some(.745), analyze.GateFail
			tslo.Attainment, tslo.Lo, tslo.Hi, tslo.Result = serving.Some(.01), serving.Some(.004), serving.Some(.02), analyze.GateFail
		}
		s := &analyze.RunStats{Run: r, Duration: serving.Some(dur), Input: serving.Some(n * 1024), Output: serving.Some(n * 256), Dists: ds,
			Counts: analyze.Counts{Sent: serving.Some(n), Completed: serving.Some(n - failed), Failed: serving.Some(failed)},
			Throughput: analyze.Throughput{Requests: serving.Some(rate / 256), Output: serving.Some(rate), Total: serving.Some(rate * 5), OutputPerGPU: serving.Some(rate), OutputPerUser: serving.Some(rate / x),
				PeakOutput: serving.Some(rate * 1.12), PeakConcurrent: serving.Some(x), InFlight: serving.Some(x * .985)},
			Goodput: &analyze.Goodput{PerSecond: serving.Some(rate / 256 * slo.Attainment.V), Share: slo.Attainment, Good: serving.Some(int64(slo.Attainment.V * float64(n))), Of: serving.Some(n), Origin: analyze.FromRequests},
			SLO:     []analyze.SLOResult{slo, tslo}, Reading: "Stalls: TPOT p99 is 1.2 × its median, so requests were fine on average; ITL p99 is 2.4 × its median, so single gaps grew. Prefill mixed into decode steps is the usual cause."}
		if i == 6 {
			s.Mismatch = []analyze.Mismatch{{Field: "mean_ttft_ms", File: 171.3, Ours: 155.2}}
			s.Warnings = []string{"mean_ttft_ms is 171.3 in the file, its requests give 155.2"}
		}
		out.Runs = append(out.Runs, s)
	}
	return out
}

func (f *pageFixture) latency(runs *analyze.Runs, ds *analyze.DatasetStats) *analyze.Latency {
	var l analyze.Latency
	for _, r := range runs.Runs {
		l.Groups = append(l.Groups, analyze.LatencyGroup{Label: r.Run.Label, Run: r, Side: serving.Client, Counts: r.Counts, Dists: r.Dists})
	}
	l.Groups = append(l.Groups, analyze.LatencyGroup{Label: ds.Dataset, Side: serving.ServerSide, Counts: ds.All.Counts, Dists: ds.All.Dists})
	return &l
}

func (f *pageFixture) sweeps(runs *analyze.Runs) *analyze.Sweeps {
	s := &analyze.Sweep{ID: "sweep-1", Label: "Llama-3.1-8B-Instruct, vllm, 1024 in / 256 out", Mode: serving.ClosedLoop, XName: "max_concurrency", PerGPU: true,
		HeldEqual: []serving.Setting{{Key: "model", Value: "meta-llama/Llama-3.1-8B-Instruct"}, {Key: "max_num_seqs", Value: "128"}},
		Frontiers: []analyze.Frontier{{Key: analyze.UserAxis}, {Key: "ttft_p99", Metric: serving.TTFT, P: .99}},
		Regions:   []analyze.Region{{Name: analyze.Room, From: 1, To: 66}, {Name: analyze.Saturating, From: 66, To: 128}, {Name: analyze.Queueing, From: 128, To: 256, StoppedBy: analyze.StoppedBySeqs}},
		Knees:     []analyze.Knee{{Method: "saturation", X: serving.Some(66.), Level: serving.Some(66.), Confidence: "high", Text: "N* = highest tokens/s × time per token at the lowest load = 66 users in flight: beyond it more load mostly adds waiting."}},
		Notes:     []string{"Closed loop only: the capacity at a fixed arrival rate is not measured. Check it with vllm bench serve --request-rate at the rate you expect."}}
	for _, r := range runs.Runs {
		p := analyze.SweepPoint{Runs: []*analyze.RunStats{r}, X: float64(r.Run.Load.MaxConcurrency.V), Users: serving.Some(float64(r.Run.Load.MaxConcurrency.V)), OutputPerS: r.Throughput.OutputPerGPU, PerUser: r.Throughput.OutputPerUser,
			Dominance: "frontier", Goodput: r.Goodput.PerSecond, MeetsSLO: serving.Some(true)}
		q, _ := r.Dists.Of(serving.TTFT).Q(.99)
		p.TTFT99 = q.Value
		q, _ = r.Dists.Of(serving.TPOT).Q(.5)
		p.TPOT50 = q.Value
		q, _ = r.Dists.Of(serving.E2E).Q(.5)
		p.E2E50 = q.Value
		switch r.Run.Label {
		case "c256":
			p.MeetsSLO = serving.Some(false)
		case "c128":
			p.MeetsSLO = serving.None[bool]()
		case "c4":
			p.Dominance, p.PerUser = "dominated", serving.Some(p.PerUser.V*.83)
			p.OutputPerS = serving.Some(p.OutputPerS.V * .8)
		}
		p.Reached = true
		for k, x := range []serving.Opt[float64]{p.PerUser, p.TTFT99} {
			f := &s.Frontiers[k]
			f.Classes, f.Values = append(f.Classes, p.Dominance), append(f.Values, analyze.AxisValue{Y: p.OutputPerS, X: x})
		}
		s.Points = append(s.Points, p)
		s.Front = append(s.Front, r.Run.ID)
	}
	return &analyze.Sweeps{Sweeps: []*analyze.Sweep{s}}
}

func (f *pageFixture) slice(by []serving.Term, n int64, ttft float64) *analyze.Slice {
	failed := n / 90
	s := &analyze.Slice{By: by, Share: float64(n) / 5000, Counts: analyze.Counts{Sent: serving.Some(n), Completed: serving.Some(n - failed), Failed: serving.Some(failed), Outcomes: map[string]int64{"ok": n - failed}}}
	if failed > 0 {
		s.Counts.Outcomes["timeout"] = failed
	}
	good := 1 / (1 + math.Exp((ttft-.9)/.3))
	s.Goodput = &analyze.Goodput{Share: serving.Some(good), Good: serving.Some(int64(good * float64(n))), Of: serving.Some(n), Origin: analyze.FromRequests}
	s.Dists = analyze.Dists{f.dist(serving.TTFT, n-failed, ttft, .45, serving.ServerSide), f.dist(serving.TPOT, n-failed, .018+ttft*.004, .15, serving.ServerSide), f.dist(serving.E2E, n-failed, 3+ttft, .5, serving.ServerSide), f.dist(serving.Queue, n-failed, ttft*.3, .8, serving.ServerSide)}
	return s
}

func (f *pageFixture) dataset() *analyze.DatasetStats {
	d := &analyze.DatasetStats{Dataset: "trace.parquet", Side: serving.ServerSide, Rows: 5000, Span: serving.Some(1800.), GroupBy: []string{"workload", "prompt_tokens", "cache"},
		Columns: []serving.Column{{Name: "ttft", From: "time_to_first_token_ms", Unit: "ms", How: "suffix"}, {Name: "prompt_tokens", From: "input_length", How: "alias"}}}
	buckets := []string{"0-127", "128-511", "512-2047", "2048-8191", "8192-32767"}
	workloads := []string{"chat", "rag", "agent", "batch"}
	d.All = f.slice(nil, 5000, .41)
	alone := map[string][]*analyze.Slice{}
	for i, w := range workloads {
		for j, b := range buckets {
			for _, c := range []string{"cold", "warm"} {
				n := int64(20 + f.rng.IntN(300))
				if i == 0 && j == 4 || i == 3 && j == 0 {
					continue
				}
				t := (.07 + .03*float64(i)) * math.Pow(1.75, float64(j))
				if c == "warm" {
					t *= .6
				}
				d.Cross = append(d.Cross, f.slice([]serving.Term{{Dim: "workload", Value: w}, {Dim: "prompt_tokens", Value: b}, {Dim: "cache", Value: c}}, n, t))
			}
		}
		alone["workload"] = append(alone["workload"], f.slice([]serving.Term{{Dim: "workload", Value: w}}, int64(900+100*i), .2+.1*float64(i)))
	}
	for j, b := range buckets {
		alone["prompt_tokens"] = append(alone["prompt_tokens"], f.slice([]serving.Term{{Dim: "prompt_tokens", Value: b}}, 1000, .1*math.Pow(1.7, float64(j))))
	}
	for _, r := range []string{"pod-a", "pod-b", "pod-c"} {
		alone["replica"] = append(alone["replica"], f.slice([]serving.Term{{Dim: "replica", Value: r}}, 1660, .3))
	}
	for _, n := range []string{"workload", "prompt_tokens", "replica"} {
		d.Alone = append(d.Alone, analyze.Dimension{Name: n, Slices: alone[n]})
	}
	for i := range 5 {
		d.Examples = append(d.Examples, analyze.Example{Rank: serving.TTFT, ID: fmt.Sprintf("req-%04d", 17*i+3), Source: "trace.parquet", Row: int64(1000 + i),
			Values: map[serving.MetricKey]float64{serving.TTFT: 4.2 - .3*float64(i), serving.E2E: 9.1, serving.PromptTokens: 30211}, By: []serving.Term{{Dim: "workload", Value: "rag"}}})
	}
	d.Explore = fixtureExplorer([]string{"workload", "prompt_tokens", "cache", "replica"}, workloads, buckets, []string{"cold", "warm"}, []string{"pod-a", "pod-b", "pod-c"})
	return d
}

func (f *pageFixture) servers() *analyze.Servers {
	var out analyze.Servers
	for i, name := range []string{"vllm-0", "vllm-1"} {
		srv := &serving.Server{ID: name, Label: name, Engine: "vllm", Version: serving.Some("0.25.1"), Model: serving.Some("meta-llama/Llama-3.1-8B-Instruct"), Replica: serving.Some(name), TimeRule: "file name",
			Info: []serving.Setting{{Key: "num_gpu_blocks", Value: "27,461"}, {Key: "block_size", Value: "16"}, {Key: "enable_prefix_caching", Value: "True"}}}
		d := &analyze.Dist{Metric: serving.TTFT, Count: serving.Some(int64(2111)), Mean: serving.Some(.31), Origin: analyze.FromHistogram, Side: serving.ServerSide,
			PromQL: `histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{model_name="meta-llama/Llama-3.1-8B-Instruct"}[436s])))`}
		for _, q := range [][4]float64{{.5, .24, .2, .25}, {.9, .66, .5, .75}, {.95, .81, .75, 1}} {
			d.Quantiles = append(d.Quantiles, analyze.Quantile{P: q[0], Value: serving.Some(q[1]), Lo: serving.Some(q[2]), Hi: serving.Some(q[3]), Quality: analyze.QualityOK})
		}
		d.Quantiles = append(d.Quantiles, analyze.Quantile{P: .99, Lo: serving.Some(10.), Quality: analyze.QualityCoarse})
		s := &analyze.ServerStats{Server: srv, From: serving.Some(fixtureStart), To: serving.Some(fixtureStart + int64(435*time.Second)), Scrapes: 30, Dists: analyze.Dists{d},
			Increases: []analyze.Increase{{Name: serving.Preemptions, Unit: serving.NoUnit, Value: float64(3 * i), PromQL: "sum(increase(vllm:num_preemptions_total[436s]))", Resets: i}, {Name: serving.GenerationTotal, Unit: serving.Tokens, Value: 512000, PromQL: "sum(increase(vllm:generation_tokens_total[436s]))"}},
			Gauges: []analyze.GaugeStats{{Name: serving.Waiting, Unit: serving.RequestsUnit, Mean: 3.4, Min: 0, Max: 41, Last: 2, N: 30, PromQL: "avg_over_time(vllm:num_requests_waiting[436s])"},
				{Name: serving.KVUsage, Unit: serving.Share, Mean: .71, Min: .2, Max: .993, Last: .64, N: 30, PromQL: "avg_over_time(vllm:kv_cache_usage_perc[436s])"}}}
		out.Servers = append(out.Servers, s)
	}
	return &out
}

func (f *pageFixture) timelines() *analyze.Timelines {
	const n, step = 300, 6.0
	bump := func(i int) float64 {
		switch {
		case i < 130:
			return 0
		case i < 165:
			return 1 - math.Exp(-float64(i-130)/6)
		}
		return math.Exp(-float64(i-165) / 12)
	}
	series := func(metric, stat, panel string, u serving.Unit, side serving.Side, v func(i int) float64) analyze.TimelineSeries {
		s := analyze.TimelineSeries{Metric: metric, Stat: stat, Label: "vllm-0", Unit: u, Side: side, Panel: panel, Values: make([]float64, n), PromQL: "rate(x[1m])"}
		for i := range s.Values {
			s.Values[i] = v(i) * (1 + .03*f.rng.NormFloat64())
			if u == serving.Share {
				s.Values[i] = min(s.Values[i], 1)
			}
			if i >= 210 && i < 218 {
				s.Values[i] = math.NaN()
			}
		}
		return s
	}
	t := &analyze.Timeline{Title: "vllm-0", From: fixtureStart, Step: step, N: n, Series: []analyze.TimelineSeries{
		series("output_tokens_per_s", "", "throughput", serving.PerSecond, serving.ServerSide, func(i int) float64 { return 4200 * (1 - .5*bump(i)) }),
		series("ttft", "p50", "latency", serving.Seconds, serving.ServerSide, func(i int) float64 { return .17 * (1 + 1.6*bump(i)) }),
		series("ttft", "p99", "latency", serving.Seconds, serving.ServerSide, func(i int) float64 { return .46 * (1 + 3.4*bump(i)) }),
		series("running", "", "requests", serving.RequestsUnit, serving.ServerSide, func(i int) float64 { return 92 * (1 - .3*bump(i)) }),
		series("waiting", "", "requests", serving.RequestsUnit, serving.ServerSide, func(i int) float64 { return 4 + 118*bump(i) }),
		series("kv_usage", "", "kv", serving.Share, serving.ServerSide, func(i int) float64 { return math.Min(.96, .68+.28*bump(i)) }),
	}, Events: []analyze.Event{{At: fixtureStart + int64(210*step*1e9), To: fixtureStart + int64(218*step*1e9), Kind: "gap", Text: "no scrape of vllm-0 for 48 s", Source: "vllm-0"},
		{At: fixtureStart + int64(218*step*1e9), Kind: "restart", Text: "restart of vllm-0", Source: "vllm-0"}}}
	return &analyze.Timelines{Timelines: []*analyze.Timeline{t}}
}

func (f *pageFixture) summary(runs *analyze.Runs) *analyze.Summary {
	best := runs.Runs[6]
	p99, _ := best.Dists.Of(serving.TTFT).Q(.99)
	tpot, _ := best.Dists.Of(serving.TPOT).Q(.99)
	e2e, _ := best.Dists.Of(serving.E2E).Q(.99)
	return &analyze.Summary{Tone: "warn", Badge: "read with care", Title: "64 users keep every objective; beyond it only the queue grows",
		Points: []string{"Throughput saturates near 66 users in flight (knee, confidence high).", "At 256 users 71 % of requests meet TTFT ≤ 500 ms.", "One file disagrees with its own requests: mean_ttft_ms of c64."},
		Cards: []analyze.Card{
			{Label: "Output throughput", Metric: "output_tokens_per_s", Unit: serving.PerSecond, Value: best.Throughput.Output, Sub: "c64, the highest level that meets all objectives"},
			{Label: "TTFT p99", Metric: "ttft", Unit: serving.Seconds, Value: p99.Value, N: best.Counts.Completed, Sub: "c64, client", SLO: "meets SLO < 500 ms", Tone: "good"},
			{Label: "TPOT p99", Metric: "tpot", Unit: serving.Seconds, Value: tpot.Value, N: best.Counts.Completed, Sub: "c64, client", SLO: "meets SLO < 20 ms", Tone: "good"},
			{Label: "E2E p99", Metric: "e2e", Unit: serving.Seconds, Value: e2e.Value, N: best.Counts.Completed, Sub: "c64, client"},
			{Label: "Goodput", Metric: "goodput_share", Unit: serving.Share, Value: serving.Some(.713), N: serving.Some(int64(1000)), Sub: "c256, of sent", SLO: "misses the objective", Tone: "bad"},
			{Label: "Failed", Metric: "failed", Unit: serving.RequestsUnit, Value: serving.Some(6.), N: serving.Some(int64(2940)), Sub: "all runs"},
		},
		Chips: []analyze.Chip{{Key: "model", Value: "meta-llama/Llama-3.1-8B-Instruct"}, {Key: "engine", Value: "vllm 0.25.1"}, {Key: "runs", Value: "9"}, {Key: "load", Value: "closed loop, 1 to 256"}, {Key: "requests", Value: "2,940"}}}
}

func (f *pageFixture) quality() *analyze.QualityFindings {
	return &analyze.QualityFindings{Findings: []analyze.Finding{
		{ID: "few_requests", Subject: "c256", Value: serving.Some(1000.), Threshold: serving.Some(1280.), Message: "fewer than 5 requests a concurrency slot: ramp-up and drain weigh on every figure"},
		{ID: "chunks", Subject: "trace.parquet", Message: "the recorded gaps are between chunks of several tokens: ITL is no gap between tokens here"},
	}}
}

func (f *pageFixture) inputs() *analyze.Inputs {
	in := &analyze.Inputs{Known: 10, Unknown: 1}
	for _, c := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256} {
		in.Inputs = append(in.Inputs, &serving.Input{Path: fmt.Sprintf("results/c%d.json", c), Format: "vllm-serve", Bytes: 1 << 20, Records: 1, SHA256: fmt.Sprintf("%064x", sha256.Sum256([]byte{byte(c)})),
			Fields: []serving.Field{{Name: "ttfts", As: "ttft", Unit: "s", How: "dialect"}, {Name: "itls", As: "itl", Unit: "s", How: "dialect"}, {Name: "errors"}}})
	}
	bad := &serving.Input{Path: "trace.parquet", Format: "trace-parquet", Bytes: 431022, Records: 5000, SHA256: fmt.Sprintf("%064x", sha256.Sum256([]byte("trace")))}
	bad.Problems.Add(serving.Problem{At: serving.Pos{Path: "trace.parquet", Row: 1048, Field: "output_tokens"}, Message: "null, want a count; the row is left out", Count: 3})
	in.Inputs = append(in.Inputs, bad, &serving.Input{Path: "notes.txt", Format: "unknown", Bytes: 212, Tried: []string{"vllm-serve: not JSON", "prometheus-text: line 1 is no sample"}})
	return in
}
