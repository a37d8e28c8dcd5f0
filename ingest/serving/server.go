package serving

// A Server is what scrapes say of one engine (one replica, one data-parallel
// rank): gauges, counters and histograms on a common time axis, in the
// program's own vocabulary whatever the exporter called them.
type Server struct {
	ID      string // unique within a dataset; ingest sets it
	Label   string
	Engine  string // vllm, sglang, …; "" unknown
	Version Opt[string]
	Model   Opt[string]
	Replica Opt[string] // pod, instance or engine rank
	Sources []string    // the files, in time order

	Times    []int64    // ns, ascending; one per scrape
	Relative bool       // the times are only an order: no time was found
	YearTime Opt[int64] // of Relative times: the first one within a year that is not known, ns after 1 January of a leap year
	TimeRule string     // what decided the times: header, timestamps, file name, counters, mtime

	Gauges     []Gauge
	Counters   []Counter
	Histograms []HistogramSeries
	Reported   []Reported // quantiles and means as a file states them, without buckets
	Info       []Setting  // facts from info series: block size, pool size, …
	Restarts   []int64    // first scrape time after each restart, ns
	Gaps       []Gap      // scrapes that are missing
}

// A Gap is a stretch without a scrape.
type Gap struct{ From, To int64 }

// A SeriesName names a server figure in the program's vocabulary.
type SeriesName string

// Server gauges and counters.
const (
	Running        SeriesName = "running"  // requests in the batch
	Waiting        SeriesName = "waiting"  // requests in the queue
	Swapped        SeriesName = "swapped"  // requests swapped to CPU (V0)
	KVUsage        SeriesName = "kv_usage" // share of KV blocks in use, 0…1
	PrefixHitRatio SeriesName = "prefix_hit_ratio"
	PromptRate     SeriesName = "prompt_tokens_per_s"     // over the interval that ends here, as an engine log states it
	GenerationRate SeriesName = "generation_tokens_per_s" // likewise

	Preemptions     SeriesName = "preemptions"
	PromptTotal     SeriesName = "prompt_tokens"
	GenerationTotal SeriesName = "generation_tokens"
	FinishedTotal   SeriesName = "requests_finished" // all finish reasons; By reason in Series.By
	PrefixQueries   SeriesName = "prefix_queries"    // tokens
	PrefixHits      SeriesName = "prefix_hits"       // tokens
	HTTPRequests    SeriesName = "http_requests"     // By status
	ProcessCPU      SeriesName = "process_cpu"       // seconds
	SpecDraft       SeriesName = "spec_draft_tokens"
	SpecAccepted    SeriesName = "spec_accepted_tokens"
	Iterations      SeriesName = "iterations"

	ExternalPrefixQueries SeriesName = "external_prefix_queries" // tokens, through a KV connector
	ExternalPrefixHits    SeriesName = "external_prefix_hits"    // tokens, through a KV connector
	CachedPromptTotal     SeriesName = "cached_prompt_tokens"    // prompt tokens that were not computed
	SpecDrafts            SeriesName = "spec_drafts"             // draft rounds; mean accepted length = 1 + accepted/drafts

	GPUUtil       SeriesName = "gpu_util"        // share of time a kernel ran, 0…1
	GPUMemoryUsed SeriesName = "gpu_memory_used" // bytes
	GPUPower      SeriesName = "gpu_power"       // watts
	GPUMemActive  SeriesName = "gpu_dram_active" // share of cycles in which the memory interface was busy, 0…1

	CPUPeriods   SeriesName = "cpu_periods"           // scheduling periods under a CPU limit
	CPUThrottled SeriesName = "cpu_throttled_periods" // of those, the ones in which the limit was hit
	CPUWaiting   SeriesName = "cpu_waiting"           // seconds in which tasks waited for a CPU (pressure stall)
)

// A Gauge is a level over time. Values are aligned with Server.Times; a NaN is
// a scrape without it.
type Gauge struct {
	Name   SeriesName
	By     []Term // labels that split it further; empty for the whole
	Unit   Unit
	From   string // the exporter's own series name
	PromQL string // the query it equals, without a window
	Values []float64
}

// A Counter is a cumulative count over time, as scraped: resets are still in
// it. A NaN is a scrape without it.
type Counter struct {
	Name   SeriesName
	By     []Term
	Unit   Unit
	From   string
	PromQL string // the selector it equals, without a range
	Values []float64
}

// A HistogramSeries is a cumulative bucket histogram over time, as scraped.
type HistogramSeries struct {
	Metric MetricKey
	From   string // the exporter's own family name
	PromQL string // the selector of its buckets, without a range
	Unit   Unit
	Bounds []float64   // upper bounds ascending in base units, +Inf last where the file has it
	Counts [][]float64 // a scrape × a bound: cumulative counts; a nil row is a scrape without it
	Sum    []float64   // NaN where missing
	Count  []float64   // NaN where missing
}

// GaugeOf returns a gauge by name, the whole before its splits.
func (s *Server) GaugeOf(n SeriesName) *Gauge {
	for i := range s.Gauges {
		if s.Gauges[i].Name == n && len(s.Gauges[i].By) == 0 {
			return &s.Gauges[i]
		}
	}
	return nil
}

// HistogramOf returns a histogram by metric.
func (s *Server) HistogramOf(m MetricKey) *HistogramSeries {
	for i := range s.Histograms {
		if s.Histograms[i].Metric == m {
			return &s.Histograms[i]
		}
	}
	return nil
}
