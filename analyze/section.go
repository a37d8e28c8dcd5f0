package analyze

import (
	"context"

	"github.com/vreport/vreport/ingest/serving"
)

// A Section is one analysis and its place in the report: a value in an ordered
// list, not something that registers itself. Package render has a view and
// package templates a partial under the same name; tests hold the three lists
// together.
type Section struct {
	Name  string   // stable: HTML id and template name
	Title string   //
	Nav   string   // the short title of the navigation
	Doc   string   // what it shows, one sentence
	Needs string   // what it needs, said where it cannot be made
	After []string // sections whose results it reads
	Sides bool     // of a comparison only
	Alone bool     // of one side only: it has a baseline within itself

	// Lacks says what it needs of this input beyond what is there already; nil or "":
	// Needs.
	Lacks func(in *Input, rep *Report) string

	// Run returns a pointer to the section's value type, or nil where the data
	// for it are missing. The report holds the results of the sections in
	// After, and of no other. Other sections run at the same time: it changes
	// nothing of the input, and results that it reads are not its own.
	Run func(ctx context.Context, in *Input, rep *Report) (value any, notes []string, err error)
}

// Sections lists every section in the order of the report.
var Sections = []*Section{
	{Name: "summary", Title: "Summary", Nav: "Summary",
		Doc:   "What was measured, and the figures to see first.",
		Needs: "any input",
		After: []string{"compare", "runs", "latency", "diagnosis", "sweeps", "ceilings", "slices", "servers", "timeline", "quality", "inputs"}, Run: runSummary},
	{Name: "compare", Title: "Before and after", Nav: "Verdict", Sides: true,
		Doc:   "Whether the second side is better or worse, for whom, and how sure that is.",
		Needs: "two sides with something in common (vreport compare)", After: []string{"runs", "slices", "servers", "quality"}, Run: runCompare},
	{Name: "diagnosis", Title: "Diagnosis", Nav: "Diagnosis", Alone: true,
		Doc:   "Which symptom is there and since when, where the time went, which causes the data support or refute, what is missing to tell, and the check to do next.",
		Needs: "request-level data with arrival times, two or more scrapes, or an engine's log; of one run or load, not a sweep",
		After: []string{"quality"}, Run: runDiagnosis},
	{Name: "incident", Title: "Incident", Nav: "Incident", Alone: true,
		Doc:   "The incident's window beside what precedes it: what changed first, panels on one time axis, counters as increases, replicas side by side, requests to replay, and what to do now, what it came from, what prevents it.",
		Needs: "an incident: a window given with --incident FROM/TO, or a change for the worse in latency, queue or failures that carries a symptom",
		After: []string{"diagnosis", "inputs"}, Run: runIncident},
	{Name: "runs", Title: "Benchmark runs", Nav: "Runs",
		Doc:   "Every run's totals with its load, what failed, goodput, objectives, and where the file disagrees with its own requests.",
		Needs: "a benchmark result (vllm bench serve JSON, or its printed table)", Run: runRuns},
	{Name: "latency", Title: "Latency percentiles", Nav: "Latency",
		Doc:   "Distributions of TTFT, TPOT, ITL, E2E and the stages, each with n, interval and how far n carries it.",
		Needs: "benchmark results or request-level data", After: []string{"runs", "slices"}, Run: runLatency},
	{Name: "sweeps", Title: "Throughput against latency", Nav: "Sweeps",
		Doc:   "Runs that differ in load only: the frontier of tokens/s a user against tokens/s, the named knees, the three regions of the curve with what stopped it, and the highest load that meets the objectives.",
		Needs: "two or more runs that differ in load only, or a grid of settings", After: []string{"runs"}, Run: runSweeps},
	{Name: "ceilings", Title: "Hardware ceilings", Nav: "Ceilings",
		Doc:   "What memory bandwidth, compute and memory allow the model, how near the runs come, and which ceiling binds.",
		Needs: "the model (--model NAME or path/to/config.json) or the hardware (--hardware h100-sxm:1), where the files do not name them",
		After: []string{"runs", "sweeps", "servers"}, Run: runCeilings},
	{Name: "advice", Title: "Experiments to run next", Nav: "Advice",
		Doc:   "Which knob to try, in which direction, what was observed, and what it costs.",
		Needs: "a benchmark run, or scrapes, with an observation that suggests a knob: a missed objective (--slo), a full KV pool, a batch limit, a ceiling that binds",
		After: []string{"runs", "sweeps", "servers", "ceilings"}, Lacks: adviceLacks, Run: runAdvice},
	{Name: "cost", Title: "Cost", Nav: "Cost",
		Doc:   "What a million tokens costs at each level, and at the capacity under the objectives.",
		Needs: "a price (--price 2.5/gpu-hour) and the number of GPUs (--hardware NAME:COUNT, where the files do not state it)",
		After: []string{"runs", "sweeps"}, Run: runCost},
	{Name: "slices", Title: "Slices", Nav: "Slices",
		Doc:   "For whom it is slow: workload, prompt length and cache state crossed, and every other dimension alone.",
		Needs: "request-level data (a trace, or results saved with --save-detailed)", Run: runSlices},
	{Name: "servers", Title: "Servers", Nav: "Servers",
		Doc:   "What the engines say of themselves: histogram quantiles as bucket intervals, increases of counters, levels of gauges.",
		Needs: "Prometheus scrapes of the servers", Run: runServers},
	{Name: "timeline", Title: "Timeline", Nav: "Timeline",
		Doc:   "Throughput, latency, queue and KV cache on one time axis, with restarts and gaps.",
		Needs: "request arrival times, a run's time slices, or two or more scrapes", After: []string{"slices", "servers"}, Run: runTimeline},
	{Name: "quality", Title: "Data quality", Nav: "Quality",
		Doc:   "Doubts about the measurements, each with its evidence.",
		Needs: "benchmark results, request-level data or scrapes", After: []string{"runs", "sweeps", "servers"}, Run: runQuality},
	{Name: "inputs", Title: "Inputs", Nav: "Inputs",
		Doc:   "The files this report was made from: format, records, checksums, problems.",
		Needs: "any input", Run: runInputs},
}

// lacks is what a section needs that could not be made of the input.
func (s *Section) lacks(in *Input, rep *Report) string {
	if s.Lacks != nil {
		if text := s.Lacks(in, rep); text != "" {
			return text
		}
	}
	return s.Needs
}

// Input is what a section works on.
type Input struct {
	Data *serving.Dataset
	Opt  Options

	sides  *Sides   // of a comparison; nil of a report
	tables []*table // the filled cubes, runs in dataset order, then traces
}
