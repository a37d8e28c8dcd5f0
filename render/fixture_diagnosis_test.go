package render

import (
	"math"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// fixtureDiagnosis holds a diagnosis with every status, answer and kind of
// stage, and one without a symptom; names try to become markup.
func fixtureDiagnosis() *analyze.Diagnoses {
	nan := math.NaN()
	at := fixtureStart
	d := &analyze.Diagnosis{
		Label: hostileLabel, From: at, To: at + 450e9, Known: true, Baseline: "2026-01-31T12:00:00Z to 12:03:20Z", Incident: "2026-01-31T12:03:30Z to 12:07:30Z", Lead: "ttft",
		Verdict:  "A few prompts have become long (case B, long_prompts) is the best supported explanation. " + hostileText,
		Separate: "long_prompts against prefix_reuse_lost: fall of the share of prompt tokens that the prefix cache held, which needs cached tokens",
		Onsets: []analyze.Onset{{Signal: "ttft", Source: hostileText, At: at + 210e9, Before: 0.05, After: 0.2, Unit: serving.Seconds, Width: 7.5},
			{Signal: "waiting", Source: "scrapes", At: at + 225e9, Before: 0, After: 12, Unit: serving.RequestsUnit, Width: 15}},
		Symptoms: []analyze.Symptom{
			{ID: "ttft", Present: true, Known: true, Evidence: []string{"TTFT mean 50 ms → 200 ms, × 4 (" + hostileText + ")"}},
			{ID: "streaming", Known: true}, {ID: "tail", Known: true, Present: true, Evidence: []string{"TTFT p95 900 ms → 2.2 s"}}, {ID: "unfinished"},
		},
		Stages: []analyze.Stage{
			{Of: serving.TTFT, Window: "baseline", Band: "mean", Source: "requests", N: 400, Whole: 0.05, Queue: 0.01, Prefill: 0.035, Decode: nan, Front: 0.005, Rest: 0},
			{Of: serving.E2E, Window: "incident", Band: "p95", Source: "requests", N: 40, Tail: true, Whole: 12.5, Queue: 0.02, Prefill: 1.9, Decode: 10.5, Front: 0.005, Rest: 0.075,
				By: []serving.Term{{Dim: hostileDim, Value: hostileText}}},
			{Of: serving.E2E, Window: "all", Band: "mean", Source: "scrapes", N: 900, Means: true, Whole: 9, Queue: nan, Prefill: 0.4, Decode: 8.5, Front: 0.0259, Rest: -0.001},
		},
		Checks: []analyze.CheckResult{
			{Case: "A", ID: "hot_replica", Question: "Does one replica hold more than its share of the queue?", Answer: "yes", Value: serving.Some(2.9), Threshold: serving.Some(1.5), Unit: serving.NoUnit,
				Window: "12:03 to 12:07", Source: "scrapes", Where: "replica " + hostileText, PromQL: "avg_over_time(vllm:num_requests_waiting[240s])"},
			{Case: "E", ID: "gpu_idle", Question: "Were the GPUs idle?", Answer: "no", Value: serving.Some(0.9), Threshold: serving.Some(0.4), AtMost: true, Unit: serving.Share},
			{Case: "E", ID: "cpu_throttled", Question: "Was the API server throttled?", Answer: "needs", Threshold: serving.Some(0.05), Needs: "container_cpu_cfs_throttled_periods_total"},
		},
		Hypotheses: []analyze.Explanation{
			{ID: "prefill_cost", Case: "B", Cause: "long_prompts", Title: "A few prompts have become long", Status: rules.Supported, Score: 0.82, Coverage: 0.9,
				For: []string{"prompt p95: 2.54 (counts above 1.2; " + hostileText + ")"}, Against: []string{"queue's share: 10 %"}, Missing: []string{"cached tokens"}, Next: []string{"Look at the long requests first."},
				Remedies: []rules.Remedy{{Text: "Fewer retrieved chunks.", Price: "Answers may lose context."}}},
			{ID: "prefill_cost", Case: "B", Cause: "prefix_reuse_lost", Title: "Prompts no longer share a prefix", Status: rules.CannotTell, Score: 0.2, Coverage: 0.4, Missing: []string{"cached tokens"}, Next: []string{"Look at two prompts."}},
			{ID: "kv_shortage", Case: "D", Cause: "kv_concurrency", Title: "More sequences run than the KV pool holds", Status: rules.NotSupported, Against: []string{"preemptions in the window: 0"}},
			{ID: "queue_capacity", Case: "A", Cause: "over_capacity", Title: "More arrives than the servers can take", Status: rules.Refuted, Against: []string{"users' requests/s: 1"}},
		},
	}
	calm := &analyze.Diagnosis{Label: "log of vllm-0", Relative: true, To: 300e9, Verdict: "No symptom: nothing got worse against the beginning of the data.",
		Symptoms: []analyze.Symptom{{ID: "ttft", Known: true}, {ID: "streaming", Known: true}, {ID: "tail"}, {ID: "unfinished"}}}
	return &analyze.Diagnoses{Diagnoses: []*analyze.Diagnosis{d, calm}}
}
