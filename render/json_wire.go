package render

// The wire structs are the JSON of schema vreport.report/v1, field for field.
// They are apart from the types of package analyze, because these may change
// and the schema may not. A test holds them and the published schema
// (docs/schema) together.
//
// Missing values are nil pointers and absent; an empty list that is present
// says "looked, found none". Latencies are milliseconds, a name ending in _s is
// seconds, shares are 0…1, instants RFC 3339 in UTC.

// reportSchema is the name and version of the JSON.
const reportSchema = "vreport.report/v1"

// A wireReport is written in three parts, for its slices are most of it.
type wireReport struct {
	wireReportHead
	Slices []wireSlice `json:"slices,omitzero"`
	wireReportTail
}

type wireReportHead struct {
	Schema    string        `json:"schema"`
	Generator wireGenerator `json:"generator"`
	Title     string        `json:"title,omitempty"`
	Command   string        `json:"command,omitempty"`
	Gate      wireGate      `json:"gate"`
	Summary   *wireSummary  `json:"summary,omitempty"`
	Compare   *wireCompare  `json:"compare,omitempty"`
	Inputs    []wireInput   `json:"inputs,omitzero"`
	Runs      []wireRun     `json:"runs,omitzero"`
}

type wireReportTail struct {
	Datasets      []wireDataset   `json:"datasets,omitzero"`
	Sweeps        []wireSweep     `json:"sweeps,omitzero"`
	Grids         []wireGrid      `json:"grids,omitempty"`
	Ceilings      []wireCeiling   `json:"ceilings,omitzero"`
	Advice        []wireAdvice    `json:"advice,omitzero"`
	Experiment    *wireExperiment `json:"experiment,omitempty"`
	Diagnosis     *wireDiagnosis  `json:"diagnosis,omitempty"`
	MoreDiagnoses []wireDiagnosis `json:"more_diagnoses,omitempty"`
	Incident      *wireIncident   `json:"incident,omitempty"`
	MoreIncidents []wireIncident  `json:"more_incidents,omitempty"`
	Cost          *wireCost       `json:"cost,omitempty"`
	Servers       []wireServer    `json:"servers,omitzero"`
	Timeline      *wireTimeline   `json:"timeline,omitempty"`
	MoreTimelines []wireTimeline  `json:"more_timelines,omitempty"`
	Quality       []wireFinding   `json:"quality,omitzero"`
	Skipped       []wireSkipped   `json:"skipped,omitempty"`
	Notes         []wireNotes     `json:"notes,omitempty"`
}

type wireGenerator struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type wireGate struct {
	Result  string   `json:"result"`
	Reasons []string `json:"reasons"`
}

type wireSkipped struct {
	Section string `json:"section"`
	Reason  string `json:"reason"`
}

type wireNotes struct {
	Section string   `json:"section"`
	Notes   []string `json:"notes"`
}

type wireSummary struct {
	Tone   string     `json:"tone,omitempty"`
	Badge  string     `json:"badge,omitempty"`
	Title  string     `json:"title"`
	Points []string   `json:"points"`
	Cards  []wireCard `json:"cards,omitempty"`
	Chips  []wireChip `json:"chips,omitempty"`
}

type wireCard struct {
	Label  string   `json:"label"`
	Metric string   `json:"metric,omitempty"`
	Unit   string   `json:"unit"`
	Value  *float64 `json:"value,omitempty"`
	Before *float64 `json:"before,omitempty"`
	N      *int64   `json:"n,omitempty"`
	Sub    string   `json:"sub,omitempty"`
	SLO    string   `json:"slo,omitempty"`
	Tone   string   `json:"tone,omitempty"`
}

type wireChip struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type wireInput struct {
	Path        string        `json:"path"`
	Label       string        `json:"label,omitempty"`
	Format      string        `json:"format"`
	Bytes       int64         `json:"bytes"`
	SHA256      string        `json:"sha256,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Records     int64         `json:"records"`
	Problems    []wireProblem `json:"problems"`
	Tried       []string      `json:"tried,omitempty"`
	Note        string        `json:"note,omitempty"`
}

type wireProblem struct {
	At      string `json:"at"`
	Message string `json:"message"`
	Count   int    `json:"count,omitempty"`
}

type wireRun struct {
	ID           string               `json:"id"`
	Label        string               `json:"label"`
	Source       string               `json:"source"`
	At           string               `json:"at,omitempty"`
	Format       string               `json:"format,omitempty"`
	Engine       *string              `json:"engine,omitempty"`
	Backend      *string              `json:"backend,omitempty"`
	Version      *string              `json:"version,omitempty"`
	Model        *string              `json:"model,omitempty"`
	Tokenizer    *string              `json:"tokenizer,omitempty"`
	GPUs         *int                 `json:"gpus,omitempty"`
	Workload     *string              `json:"workload,omitempty"`
	Started      *string              `json:"started,omitempty"`
	Settings     map[string]string    `json:"settings"`
	Load         wireLoad             `json:"load"`
	Sent         *int64               `json:"sent,omitempty"`
	Completed    *int64               `json:"completed,omitempty"`
	Failed       *int64               `json:"failed,omitempty"`
	Outcomes     map[string]int64     `json:"outcomes,omitempty"`
	Duration     *float64             `json:"duration_s,omitempty"`
	Tokens       wireTokens           `json:"tokens"`
	Throughput   wireThroughput       `json:"throughput"`
	Peak         *wirePeak            `json:"peak,omitempty"`
	Goodput      *wireGoodput         `json:"goodput,omitempty"`
	SLO          []wireSLO            `json:"slo,omitempty"`
	Metrics      map[string]*wireDist `json:"metrics"`
	FileMismatch []wireMismatch       `json:"file_mismatch,omitempty"`
	Warnings     []string             `json:"warnings,omitempty"`
	Reading      string               `json:"reading,omitempty"`
	Examples     []wireExample        `json:"examples,omitempty"`
}

type wireLoad struct {
	Mode           string   `json:"mode"`
	MaxConcurrency *int64   `json:"max_concurrency,omitempty"`
	RequestRate    *float64 `json:"request_rate,omitempty"`
	Unlimited      bool     `json:"unlimited,omitempty"`
	Burstiness     *float64 `json:"burstiness,omitempty"`
}

type wireTokens struct {
	Input  *int64 `json:"input,omitempty"`
	Output *int64 `json:"output,omitempty"`
}

type wireThroughput struct {
	Requests      *float64 `json:"requests_per_s,omitempty"`
	Output        *float64 `json:"output_tokens_per_s,omitempty"`
	Total         *float64 `json:"total_tokens_per_s,omitempty"`
	OutputPerGPU  *float64 `json:"output_tokens_per_s_per_gpu,omitempty"`
	OutputPerUser *float64 `json:"output_tokens_per_s_per_user,omitempty"`
	InFlight      *float64 `json:"in_flight,omitempty"`
}

type wirePeak struct {
	Output     *float64 `json:"output_tokens_per_s,omitempty"`
	Concurrent *float64 `json:"concurrent_requests,omitempty"`
}

type wireGoodput struct {
	PerSecond *float64     `json:"requests_per_s,omitempty"`
	Share     *float64     `json:"share,omitempty"`
	Interval  wireInterval `json:"interval,omitempty"`
	Good      *int64       `json:"good,omitempty"`
	Of        *int64       `json:"of,omitempty"`
	Origin    string       `json:"origin"`
}

type wireSLO struct {
	Expr       string       `json:"expr"`
	Attainment *float64     `json:"attainment,omitempty"`
	Interval   wireInterval `json:"interval,omitempty"`
	Value      *float64     `json:"value,omitempty"`
	Result     string       `json:"result"`
	Reason     string       `json:"reason,omitempty"`
}

type wireMismatch struct {
	Field string   `json:"field"`
	File  *float64 `json:"file"`
	Ours  *float64 `json:"ours"`
}

// A wireInterval is [lo, hi]; an end that there is none of is null. nil where
// there is no interval at all.
type wireInterval []*float64

// A wireDist is DIST of the contract. Its quantiles are fields of the object
// under their own names, which a struct cannot say. json_append.go writes it.
type wireDist struct {
	Unit          string                   `json:"unit"`
	Count         *int64                   `json:"count,omitempty"`
	Mean          *float64                 `json:"mean,omitempty"`
	Std           *float64                 `json:"std,omitempty"`
	Min           *float64                 `json:"min,omitempty"`
	Max           *float64                 `json:"max,omitempty"`
	Quantiles     []wireNamed[float64]     `json:"-"` // p50, p99.9
	Interval      wireByName[wireInterval] `json:"interval,omitempty"`
	Quality       wireByName[string]       `json:"quality,omitempty"`
	Origin        string                   `json:"origin"`
	Side          string                   `json:"side"`
	Gaps          string                   `json:"gaps,omitempty"`
	RelativeError *float64                 `json:"relative_error,omitempty"`
}

// A wireByName is an object of few keys: what a map would say, for less.
type wireByName[V any] []wireNamed[V]

type wireNamed[V any] struct {
	Name  string
	Value V
}

// A wireSlice is written in two parts: a large report is slices, and a slice is
// distributions.
type wireSlice struct {
	wireSliceHead
	Metrics map[string]*wireDist `json:"metrics"`
}

type wireSliceHead struct {
	Dataset     string            `json:"dataset"`
	Grouping    string            `json:"grouping"`
	By          map[string]string `json:"by"`
	Sent        *int64            `json:"sent,omitempty"`
	Completed   *int64            `json:"completed,omitempty"`
	Failed      *int64            `json:"failed,omitempty"`
	Share       *float64          `json:"share,omitempty"`
	Outcomes    map[string]int64  `json:"outcomes,omitempty"`
	Tokens      wireTokens        `json:"tokens"`
	CachedShare *float64          `json:"cached_share,omitempty"`
	Goodput     *wireGoodput      `json:"goodput,omitempty"`
	SLO         []wireSLO         `json:"slo,omitempty"`
}

type wireDataset struct {
	Dataset  string         `json:"dataset"`
	Run      string         `json:"run,omitempty"`
	Side     string         `json:"side"`
	Rows     int64          `json:"rows"`
	Span     *float64       `json:"span_s,omitempty"`
	GroupBy  []string       `json:"group_by,omitempty"`
	Columns  []wireColumn   `json:"columns,omitempty"`
	Excluded []wireExcluded `json:"excluded,omitempty"`
	Folded   map[string]int `json:"folded,omitempty"`
	Examples []wireExample  `json:"examples,omitempty"`
	Problems []wireProblem  `json:"problems,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
}

type wireColumn struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Relative bool   `json:"relative,omitempty"`
	From     string `json:"from,omitempty"`
	Unit     string `json:"unit,omitempty"`
	How      string `json:"how,omitempty"`
	Gaps     string `json:"gaps,omitempty"`
}

type wireExcluded struct {
	Reason string `json:"reason"`
	Rows   int64  `json:"rows"`
}

type wireExample struct {
	Rank   string             `json:"rank"`
	ID     string             `json:"id,omitempty"`
	At     string             `json:"at,omitempty"`
	Source string             `json:"source,omitempty"`
	Row    int64              `json:"row,omitempty"`
	By     map[string]string  `json:"by,omitempty"`
	Values map[string]float64 `json:"values"`
}

type wireServer struct {
	ID         string               `json:"id"`
	Label      string               `json:"label,omitempty"`
	Engine     string               `json:"engine,omitempty"`
	Version    *string              `json:"version,omitempty"`
	Model      *string              `json:"model,omitempty"`
	Replica    *string              `json:"replica,omitempty"`
	Sources    []string             `json:"sources,omitempty"`
	Members    int                  `json:"members,omitempty"`
	Scrapes    int                  `json:"scrapes"`
	SinceStart bool                 `json:"since_start,omitempty"`
	Relative   bool                 `json:"relative,omitempty"`
	TimeRule   string               `json:"time_rule,omitempty"`
	Window     *wireWindow          `json:"window,omitempty"`
	Restarts   []string             `json:"restarts"`
	Gaps       []wireWindow         `json:"gaps"`
	Info       map[string]string    `json:"info,omitempty"`
	Increases  map[string]float64   `json:"increases"`
	Counters   []wireCounter        `json:"counters,omitempty"`
	Gauges     []wireGauge          `json:"gauges,omitempty"`
	Metrics    map[string]*wireDist `json:"metrics"`
	PromQL     map[string]string    `json:"promql,omitempty"`
}

type wireWindow struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

type wireCounter struct {
	Name     string            `json:"name"`
	By       map[string]string `json:"by,omitempty"`
	Unit     string            `json:"unit"`
	Increase *float64          `json:"increase,omitempty"`
	Resets   int               `json:"resets,omitempty"`
	PromQL   string            `json:"promql,omitempty"`
}

type wireGauge struct {
	Name   string            `json:"name"`
	By     map[string]string `json:"by,omitempty"`
	Unit   string            `json:"unit"`
	Mean   *float64          `json:"mean,omitempty"`
	Min    *float64          `json:"min,omitempty"`
	Max    *float64          `json:"max,omitempty"`
	Last   *float64          `json:"last,omitempty"`
	N      int               `json:"n"`
	PromQL string            `json:"promql,omitempty"`
}

type wireTimeline struct {
	Title    string       `json:"title,omitempty"`
	From     string       `json:"from"`
	Relative bool         `json:"relative,omitempty"`
	Counted  bool         `json:"counted,omitempty"`
	Step     *float64     `json:"step_s,omitempty"`
	Series   []wireSeries `json:"series"`
	Events   []wireEvent  `json:"events"`
}

type wireSeries struct {
	Metric string            `json:"metric"`
	Stat   string            `json:"stat,omitempty"`
	Label  string            `json:"label,omitempty"`
	By     map[string]string `json:"by"`
	Unit   string            `json:"unit"`
	Side   string            `json:"side"`
	Panel  string            `json:"panel,omitempty"`
	Values []*float64        `json:"values"`
	PromQL string            `json:"promql,omitempty"`
}

type wireEvent struct {
	At     string `json:"at"`
	To     string `json:"to,omitempty"`
	Kind   string `json:"kind"`
	Text   string `json:"text,omitempty"`
	Source string `json:"source,omitempty"`
	Count  int64  `json:"count,omitempty"`
}

type wireFinding struct {
	ID        string   `json:"id"`
	Subject   string   `json:"subject,omitempty"`
	Value     *float64 `json:"value,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	N         *int64   `json:"n,omitempty"`
	Metrics   []string `json:"metrics,omitempty"`
	Message   string   `json:"message"`
}

// A wireInspected is one object of `inspect --json`.
type wireInspected struct {
	Path        string        `json:"path"`
	Label       string        `json:"label,omitempty"`
	Format      string        `json:"format"`
	Version     *string       `json:"version,omitempty"`
	Guess       string        `json:"version_guess,omitempty"`
	From        *string       `json:"from,omitempty"`
	To          *string       `json:"to,omitempty"`
	Records     int64         `json:"records"`
	Bytes       int64         `json:"bytes"`
	SHA256      string        `json:"sha256,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Fields      []wireField   `json:"fields"`
	Problems    []wireProblem `json:"problems"`
	Tried       []string      `json:"tried,omitempty"`
	Note        string        `json:"note,omitempty"`
}

type wireField struct {
	Name string `json:"name"`
	As   string `json:"as,omitempty"`
	Unit string `json:"unit,omitempty"`
	How  string `json:"how,omitempty"`
}
