package analyze

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// Quality is the value of section "quality".
type QualityFindings struct{ Findings []Finding }

// A Finding is a doubt about the data, with its evidence.
type Finding struct {
	ID        string               // of FindingKinds
	Subject   string               // run id, dataset or server
	Value     serving.Opt[float64] // what was found, in the unit that Message says
	Threshold serving.Opt[float64] // what it is held against, in the same unit
	N         serving.Opt[int64]   // requests it rests on
	Metrics   []serving.MetricKey  // the figures it touches; none: the run as a whole
	Message   string
}

// Touches reports whether the finding is about this metric of its subject.
func (f *Finding) Touches(m serving.MetricKey) bool { return slices.Contains(f.Metrics, m) }

// Of returns the positions of the findings about a run, dataset or server.
func (q *QualityFindings) Of(subject string) []int {
	var out []int
	if q == nil {
		return nil
	}
	for i := range q.Findings {
		if q.Findings[i].Subject == subject {
			out = append(out, i)
		}
	}
	return out
}

// A FindingKind is one check: what it looks for, against what, and why the
// limit is where it is. Where no source is named the limit is judgement.
type FindingKind struct {
	ID        string
	Title     string // what was found, in a few words
	Means     string // what a reader should do about it
	Threshold string
	Source    string
	Grave     bool // the figures it touches do not say what they seem to
}

// FindingKinds lists every check in the order of the report.
var FindingKinds = []FindingKind{
	{"units", "Units that disagree", "A figure is a thousand times (or a million times) what the others say it can be: correct its unit in the file, or with --map.", "a factor within 2 of 10³, 10⁶ or 10⁹; more than 10,000 tokens a second for one request", "arithmetic", true},
	{"little", "More (or fewer) in flight than the load allows", "Above the cap, times or rates have another unit or the cap counts something else. Below it, ramp, drain or the client keep the load away from the server.", "throughput × mean E2E above the cap by 2 %, or below 90 % of it", "Little 1961", true},
	{"times_do_not_add_up", "TTFT + TPOT × (output − 1) is not E2E", "The three times of a request contradict each other: one has another definition.", "1 % in more than 1 % of the requests", "the definition of TPOT", true},
	{"backlog", "A backlog that grows", "The server takes less than is offered. Every latency percentile depends on how long the test lasted: compare none of them, and lower the rate.", "Kendall p < 0.01, growth above 20 % of the mean, and less than 97 % served", "Kendall 1938, Sen 1968", true},
	{"no_steady_state", "No steady state", "The latencies drift over the whole run: it is too short, or all requests were sent at once. Percentiles describe the ramp.", "MSER-5 finds its minimum at half of the run, and the drift is significant (Kendall p < 0.01, above 20 %)", "White 1997", true},
	{"warmup", "Warm-up inside the figures", "The first requests were slower or faster than the rest. Send warm-up requests that are not measured.", "MSER-5 (100 requests or more), where leaving it out moves p50 or p99 by 5 % or more", "White 1997", false},
	{"drain", "Ramp and drain inside the throughput", "The rate over the whole duration holds the time when the load was not on. Send more requests for each slot.", "10 % below the rate while the load was on", "", false},
	{"few_requests", "Few requests for the concurrency", "Ramp and drain weigh heavily. Send at least 5 requests for each slot.", "5 requests a slot", "", false},
	{"concurrency_above_requests", "Concurrency above the number of requests", "The concurrency on the axis was never reached: this level is no real increase.", "the number of requests sent", "arithmetic", true},
	{"below_offered_rate", "Offered rate not achieved", "The rate on the axis is not the load that the server had.", "95 % of the offered rate", "", false},
	{"above_offered_rate", "More achieved than offered", "A server completes no more than it is sent: the rate, the count or the duration is not of this run, and no throughput made of them can be trusted.", "125 % of the offered rate, and three times what chance makes of random arrivals", "", true},
	{"generator_saturated", "The load generator was the limit", "The server had room and was not asked for more: use more client processes, or a closer client.", "95 % of the offered rate (90 % of the slots) with in-flight below the cap and TTFT flat", "", true},
	{"failures_look_fast", "Failures that make the server look fast", "Latencies cover completed requests only. Compare goodput, which counts failures as misses.", "1 % of the requests", "", true},
	{"warm_cache", "A prefix cache warmed by an earlier level", "A later level with more load has a faster first token: it used what the level before left in the cache. Restart the server, or change the seed, between levels.", "TTFT p50 at least 20 % below that of an earlier level with less load", "", false},
	{"chunks", "Gaps between chunks, not tokens", "ITL is between chunks; TPOT is per token. Do not compare them.", "1 % more or fewer gaps than tokens; 30 % where only means are known", "", false},
	{"file_mismatch", "The file disagrees with its own requests", "See the run's own table for both figures. Of a file without requests: its rates with its own counts over its duration.", "0.1 %; rates without requests 1 %", "", false},
	{"stray_times", "Requests far from all others in time", "Rates and the timeline are over the whole time. If a clock was off, leave them out with --window.", "1 % of the requests outside of 2 % of the time", "", false},
	{"columns_disagree", "Columns that disagree", "A column is not what others of the same requests give. It is used as it is read; one of them is measured elsewhere, or counts something else.", "1 % in the median of the first requests", "arithmetic", true},
	{"small_n", "Too few requests for p99", "Read p99 as a lower bound.", "as many requests as an interval of p99 takes", "order statistics", false},
	{"excluded", "Rows left out", "They are in no figure.", "any", "", false},
	{"restart", "Restart inside the window", "Counters are added up across it; requests in flight are lost.", "any", "", false},
	{"scrape_gap", "Gap between scrapes", "What happened in it is not known.", "any", "", false},
	{"log_disagrees", "The engine's log and its /metrics disagree", "They are of one server at one time: one of them is of another server, of another clock, or counts something else.", "20 % of the generated tokens/s, half of the running or waiting requests (and 3), 15 points of KV usage", "", true},
	{"broken_histogram", "A histogram that contradicts itself", "Its quantiles are not to be trusted.", "1 % between buckets and count", "", true},
	{"negative_observations", "Negative times were observed", "A known engine bug; no mean is given.", "any", "", true},
	{"no_time", "Scrapes without a time", "Only their order is known.", "any", "", false},
	{"unknown_input", "A file that was not recognized", "It was left out.", "any", "", false},
	{"input_problems", "Records that could not be used", "They are listed with their positions under Inputs.", "any", "", false},
}

// KindOf returns the kind of a finding; an empty one where it is none.
func KindOf(id string) FindingKind {
	for _, k := range FindingKinds {
		if k.ID == id {
			return k
		}
	}
	return FindingKind{ID: id, Title: id}
}

// latencies are the metrics a doubt about all latencies touches.
var latencies = []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E, serving.Queue, serving.Normalized}

// rates are the figures that ramp and drain take from.
var rates = []serving.MetricKey{serving.RateRequests, serving.RateOutput, serving.RateTotal}

// finding makes a finding about a run.
func (s *RunStats) finding(id string, value, threshold float64, touches []serving.MetricKey, format string, a ...any) Finding {
	return Finding{ID: id, Subject: s.Run.ID, Value: serving.Some(value), Threshold: serving.Some(threshold), N: s.Counts.Sent, Metrics: touches,
		Message: s.Run.Label + ": " + fmt.Sprintf(format, a...)}
}
