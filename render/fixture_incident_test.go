package render

import (
	"math"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// fixtureIncident holds an incident with everything one can have, and one that a
// log alone gives; names try to become markup.
func fixtureIncident() *analyze.Incidents {
	at := fixtureStart
	nan := math.NaN()
	some := serving.Some[float64]
	none := serving.None[float64]()
	full := &analyze.Incident{
		Label: hostileLabel, Lead: "ttft", Summary: "From 12:03:30: the first token is late (" + hostileText + ").", Verdict: "More arrives than the servers can take. " + hostileModel,
		Window: analyze.Span{From: at + 210e9, To: at + 390e9}, Baseline: analyze.Span{From: at, To: at + 202.5e9}, After: analyze.Span{From: at + 390e9, To: at + 450e9}, Width: 7.5,
		Onsets: []analyze.Onset{{Signal: "arrivals", Source: hostileText, At: at + 202.5e9, Before: 1.25, After: 2.5, Unit: serving.PerSecond, Width: 7.5},
			{Signal: "ttft", Source: "requests", At: at + 210e9, Before: 0.05, After: 0.2, Unit: serving.Seconds, Width: 7.5}},
		Panels: &analyze.Timeline{Title: hostileLabel, From: at, Step: 15, N: 4, Series: []analyze.TimelineSeries{
			{Metric: "waiting", Label: hostileText, Unit: serving.RequestsUnit, Side: serving.ServerSide, Panel: analyze.PanelRequests, Values: []float64{0, 1, 12, nan}, PromQL: "vllm:num_requests_waiting"},
			{Metric: "ttft", Stat: "p95", Label: "requests", Unit: serving.Seconds, Side: serving.Client, Panel: analyze.PanelLatency, Values: []float64{.05, .05, .2, .2}}},
			Events: []analyze.Event{{At: at + 15e9, To: at + 45e9, Kind: analyze.EventIncident, Text: "the incident's window", Source: hostileLabel}, {At: at + 10e9, Kind: "deploy", Text: hostileText, Source: "annotation"}}},
		Events: []analyze.Event{{At: at + 200e9, Kind: "deploy", Text: hostileText, Source: "annotation"}, {At: at + 250e9, To: at + 280e9, Kind: "gap", Text: "no scrape", Source: "vllm-0"}},
		Figures: []analyze.IncidentFigure{{Metric: "ttft", Stat: "mean", Unit: serving.Seconds, Source: hostileText, Before: some(.05), During: some(.2), After: some(.06), N: [3]float64{250, 450, 70}, PromQL: "sum(increase(x_sum[240s])) / sum(increase(x_count[240s]))"},
			{Metric: "failed", Stat: "share of arrived", Unit: serving.Share, Source: "requests", Before: some(0), During: some(.125), After: none}},
		Counters: []analyze.IncidentCounter{{Name: serving.Preemptions, Unit: serving.NoUnit, Server: hostileText, Before: some(0), During: some(12), After: none, PerMinute: [3]serving.Opt[float64]{some(0), some(4), none}, Resets: 1, PromQL: "increase(vllm:num_preemptions_total[181s])"},
			{Name: serving.FinishedTotal, By: []serving.Term{{Dim: hostileDim, Value: hostileText}}, Unit: serving.RequestsUnit, Server: "vllm-0", Before: some(250), During: some(450)}},
		Replicas: []analyze.IncidentReplica{{Name: hostileText, Source: "scrapes", Before: analyze.ReplicaState{RequestsPerSecond: some(1), TTFT: some(.05), Waiting: some(0)}, During: analyze.ReplicaState{RequestsPerSecond: some(2), TTFT: some(.3), Waiting: some(20), KV: some(.99), Preemptions: some(12), Restarts: 1}},
			{Name: "vllm-1", Source: "scrapes"}},
		Skews: []analyze.Skew{{Source: hostileText, Against: "requests", Offset: 2.5, Uncertainty: .02, N: 412, How: "the same requests on both sides", Kind: "client"},
			{Source: "log", Against: "requests", Offset: .1, Uncertainty: 5, N: 40, How: "requests in flight", Kind: "log"}, {Source: "runs", Against: "requests", Uncertainty: 1, N: 40, How: "requests in flight", Kind: "client", Relative: true, Start: at}},
		Examples: []analyze.Replay{{Why: "slowest TTFT", Source: "requests", File: hostileLabel, Row: 17, ID: hostileText, At: at + 300e9, Offset: 90, Outcome: "ok", Workload: hostileText, Replica: "vllm-0", TTFT: some(4.2), E2E: some(9), Queue: some(4), Prompt: some(512), Output: some(128)},
			{Why: "did not finish", Source: "requests", File: "requests.parquet", Row: 3, At: at + 310e9, Offset: 100, Outcome: "timeout"}},
		Workload: []analyze.WorkloadShare{{Source: "requests", Before: analyze.WorkloadState{PerSecond: some(1.25), Share: some(1), PromptP50: some(300)}, During: analyze.WorkloadState{PerSecond: some(2.5), Share: some(1), PromptP50: some(310), CachedShare: some(.4)}},
			{Source: "requests", By: []serving.Term{{Dim: hostileDim, Value: hostileText}}, During: analyze.WorkloadState{PerSecond: some(.5), Share: some(.2)}}},
		Settings:   []serving.Setting{{Key: "max_num_seqs", Value: "32"}, {Key: hostileText, Value: hostileModel}},
		Inputs:     []*serving.Input{{Path: hostileLabel, Format: "trace-parquet", Bytes: 431022, Records: 5000, SHA256: "00ff"}, {Path: "big.parquet", Format: "trace-parquet", Bytes: 1 << 31, Records: 5_000_000, Fingerprint: "2147483648-aa"}},
		Mitigation: []analyze.Measure{{Text: "Admit no more than 2 requests/s.", Because: "over_capacity is supported: " + hostileText, Price: "What comes above it is refused.", Cause: "over_capacity"}},
		Analysis:   []analyze.Measure{{Text: "What changed first: arrivals.", Because: "change points"}, {Text: "vllm-0 restarted; evidence from before is lost.", Because: "vllm-0"}},
		Prevention: []analyze.Measure{{Text: "Alert on the combination.", Because: "waiting 0 → 12", PromQL: "(sum(vllm:num_requests_waiting)) > 6 and (" + hostileText + ")", For: "2m"}, {Text: "A regression benchmark.", Because: "the baseline", Command: "vreport report RESULTS --slo 'ttft:p95<75ms' --gate slo"}},
	}
	log := &analyze.Incident{Label: "log of vllm-0", Relative: true, Given: true, Open: true, Summary: "Since 60 s: no symptom is worse than before.", Verdict: "No symptom.", Window: analyze.Span{From: 60e9, To: 120e9}}
	return &analyze.Incidents{Incidents: []*analyze.Incident{full, log}}
}
