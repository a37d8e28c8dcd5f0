package serving

// A Run is one benchmark run at one load level: its settings, its totals, the
// aggregates its file states and, where the file has them, its requests.
type Run struct {
	ID     string // unique within a dataset, the same whatever the order of arguments; ingest sets it
	Label  string // for people; ingest makes it unique
	Source Pos    // file and record
	Format string // a format name of the contract

	Engine    Opt[string] // vllm, sglang, …: the server's, not the client protocol
	Backend   Opt[string] // the client protocol the harness spoke
	Version   Opt[string] // the engine's
	Model     Opt[string]
	Tokenizer Opt[string]
	GPUs      Opt[int]    // never assumed to be 1
	Workload  Opt[string] // dataset or workload name
	Started   Opt[string] // as written in the file; no zone is made up

	Settings []Setting // everything else the file says of how it was run, in file order
	Load     Load

	Sent      Opt[int64]
	Completed Opt[int64]
	Failed    Opt[int64]
	Duration  Opt[float64] // seconds, first dispatch to last completion
	Input     Opt[int64]   // prompt tokens of completed requests
	Output    Opt[int64]   // generated tokens of completed requests

	Trace    bool            // stands for a table of requests that users sent: no load level, no rate of its own
	Slices   []ReportedSlice // of its requests, as the file states them
	Reported []Reported      // the file's own aggregates
	OnePiece float64         // share of completed answers of two tokens or more that came in one piece: their TTFT is their E2E
	Requests Requests        // nil where the file has no request-level data
	Course   *Course         // nil where no file states how it went over time
	Notes    []string        // doubts that concern this run as a whole
}

// A Setting is a key and value as the file has it.
type Setting struct{ Key, Value string }

// Setting returns the value of a key.
func (r *Run) Setting(key string) (string, bool) {
	for _, s := range r.Settings {
		if s.Key == key {
			return s.Value, true
		}
	}
	return "", false
}

// LoadMode says how requests were sent. Closed and open loop are never put on
// one curve.
type LoadMode string

// The load modes.
const (
	ClosedLoop  LoadMode = "closed"      // a fixed number in flight; the rate is an outcome
	OpenLoop    LoadMode = "open"        // a fixed arrival rate
	CappedOpen  LoadMode = "capped-open" // a finite rate under a cap on requests in flight
	UnknownLoad LoadMode = "unknown"
)

// A Load is the load level of a run.
type Load struct {
	Mode           LoadMode
	MaxConcurrency Opt[int64]
	RequestRate    Opt[float64] // requests/s; missing where unlimited
	Unlimited      bool         // the file says "no rate limit" (inf, 1e9, …)
	Burstiness     Opt[float64]
}

// LoadOf derives the mode from the two limits: a finite rate under a cap is
// capped-open, a finite rate alone open, a cap alone closed. No limit at all is
// a closed loop of all requests at once, whose level is the number sent.
func LoadOf(maxConcurrency Opt[int64], rate Opt[float64], unlimited bool) Load {
	l := Load{Mode: UnknownLoad, MaxConcurrency: maxConcurrency, RequestRate: rate, Unlimited: unlimited}
	switch {
	case rate.OK && maxConcurrency.OK:
		l.Mode = CappedOpen
	case rate.OK:
		l.Mode = OpenLoop
	case maxConcurrency.OK || unlimited:
		l.Mode = ClosedLoop
	}
	return l
}

// A Reported is an aggregate as the file states it.
type Reported struct {
	Field   string    // the file's own name, e.g. p99_ttft_ms
	Metric  MetricKey // or one of the Rate… keys
	Stat    string    // mean, p50, p99, std, min, max; "" for totals
	File    float64   // the number as it stands in the file
	PerBase float64   // how many of the file's units make one base unit: 1000 for ms

	// What few files say.
	N      Opt[int64]   // the number of values
	Lo, Hi Opt[float64] // its interval, base unit
	Side   Side         // where it was measured; "" for what the harness implies
	Gaps   string       // of itl: token or chunk
}

// A ReportedSlice is a slice of a run's requests as the file states it.
type ReportedSlice struct {
	By                      []Term
	Sent, Completed, Failed Opt[int64]
	Input, Output           Opt[int64]
	Reported                []Reported
}

// Value returns the aggregate in the metric's base unit.
func (r Reported) Value() float64 { return r.File / r.PerBase }

// Keys of reported totals, beside the request metrics.
const (
	RateRequests       MetricKey = "requests_per_s"
	RateOutput         MetricKey = "output_tokens_per_s"
	RateTotal          MetricKey = "total_tokens_per_s"
	PeakOutput         MetricKey = "peak_output_tokens_per_s"
	PeakConcurrent     MetricKey = "peak_concurrent_requests"
	GoodRequests       MetricKey = "goodput_requests_per_s"
	TotalInputTokens   MetricKey = "total_input_tokens"
	TotalOutputTokens  MetricKey = "total_output_tokens"
	SpecAcceptanceRate MetricKey = "spec_acceptance_rate"   // share 0…1
	SpecAcceptanceLen  MetricKey = "spec_acceptance_length" // tokens
)

// ReportedValue returns the file's own value of a metric's statistic, in base
// units.
func (r *Run) ReportedValue(m MetricKey, stat string) (float64, bool) {
	for _, a := range r.Reported {
		if a.Metric == m && a.Stat == stat {
			return a.Value(), true
		}
	}
	return 0, false
}
