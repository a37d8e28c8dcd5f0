package serving

// A Unit is what a metric's values are counted in, inside the program.
type Unit uint8

// The units. Durations are seconds inside and milliseconds in the JSON and on
// the page; only package render knows that.
const (
	Seconds Unit = iota
	Tokens
	RequestsUnit
	PerSecond // of whatever the metric's name says
	Share     // 0…1
	Bytes
	NoUnit
)

// Better says which direction of a metric is an improvement.
type Better int8

// The directions.
const (
	LowerIsBetter  Better = -1
	Indifferent    Better = 0
	HigherIsBetter Better = +1
)

// A MetricKey names a metric in files, flags and JSON. The keys are part of the
// contract.
type MetricKey string

// The metrics a request can have. Each is defined in Metrics.
const (
	TTFT         MetricKey = "ttft"
	TPOT         MetricKey = "tpot"
	ITL          MetricKey = "itl"
	E2E          MetricKey = "e2e"
	Queue        MetricKey = "queue"
	Prefill      MetricKey = "prefill"
	Decode       MetricKey = "decode"
	Frontend     MetricKey = "frontend"
	Normalized   MetricKey = "normalized"
	PromptTokens MetricKey = "prompt_tokens"
	OutputTokens MetricKey = "output_tokens"
	CachedTokens MetricKey = "cached_tokens"
)

// A Metric is the definition of a figure: what it is called, what it measures,
// its unit and which direction is better.
type Metric struct {
	Key    MetricKey
	Title  string // as practitioners write it
	Long   string // spelled out
	Unit   Unit
	Better Better
	Doc    string // definition, one sentence
}

// Metrics lists every request metric in the order reports show them.
var Metrics = []Metric{
	{TTFT, "TTFT", "time to first token", Seconds, LowerIsBetter, "From sending a request to its first token: queueing and prefill are inside. Streamed requests only."},
	{TPOT, "TPOT", "time per output token", Seconds, LowerIsBetter, "(E2E − TTFT) / (output tokens − 1), one value a request; undefined for one-token outputs."},
	{ITL, "ITL", "inter-token latency", Seconds, LowerIsBetter, "Each single gap between tokens as recorded, pooled over requests."},
	{E2E, "E2E", "end-to-end latency", Seconds, LowerIsBetter, "From sending a request to its last token."},
	{Queue, "Queue", "time in queue", Seconds, LowerIsBetter, "From arrival at the scheduler to the first time it was scheduled."},
	{Prefill, "Prefill", "prefill time", Seconds, LowerIsBetter, "From first scheduled to first token; re-queueing after a preemption is inside."},
	{Decode, "Decode", "decode time", Seconds, LowerIsBetter, "From first to last token."},
	{Frontend, "Front end", "front end and network", Seconds, LowerIsBetter, "E2E − queue − prefill − decode of the same request: what none of the engine's stages accounts for."},
	{Normalized, "Normalized", "E2E per output token", Seconds, LowerIsBetter, "E2E / output tokens, one value a request."},
	{PromptTokens, "Prompt tokens", "prompt length", Tokens, Indifferent, "Prompt tokens of a request, cached ones included."},
	{OutputTokens, "Output tokens", "output length", Tokens, Indifferent, "Generated tokens of a request."},
	{CachedTokens, "Cached tokens", "prompt tokens from the prefix cache", Tokens, HigherIsBetter, "Prompt tokens of a request that the prefix cache held."},
}

// MetricOf returns the definition of a key.
func MetricOf(k MetricKey) (Metric, bool) {
	for _, m := range Metrics {
		if m.Key == k {
			return m, true
		}
	}
	return Metric{}, false
}

// Side is where a time was measured. Times of different sides are never put
// into one column: a client's TTFT holds the network, a server's does not.
type Side string

// The sides.
const (
	Client      Side = "client"
	ServerSide  Side = "server"
	UnknownSide Side = "unknown"
)
