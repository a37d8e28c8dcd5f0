package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

type wireIncident struct {
	Label          string                 `json:"label"`
	Summary        string                 `json:"summary"`
	Verdict        string                 `json:"verdict"`
	Given          bool                   `json:"given"`
	FoundBy        string                 `json:"found_by,omitempty"`
	Window         wireWindow             `json:"window"`
	Baseline       *wireWindow            `json:"baseline,omitempty"`
	After          *wireWindow            `json:"after,omitempty"`
	Open           bool                   `json:"open"`
	Uncertainty    *float64               `json:"uncertainty_s,omitempty"`
	EndUncertainty *float64               `json:"end_uncertainty_s,omitempty"`
	Onsets         []wireOnset            `json:"onsets"`
	Figures        []wireIncidentFigure   `json:"figures"`
	Counters       []wireIncidentCounter  `json:"counters"`
	Replicas       []wireIncidentReplica  `json:"replicas"`
	Events         []wireEvent            `json:"events"`
	Timeline       *wireTimeline          `json:"timeline,omitempty"`
	Skews          []wireSkew             `json:"skews"`
	Examples       []wireReplay           `json:"examples"`
	Workload       []wireIncidentWorkload `json:"workload"`
	Settings       map[string]string      `json:"settings"`
	Inputs         []wireIncidentInput    `json:"inputs"`
	Mitigation     []wireMeasure          `json:"mitigation"`
	Analysis       []wireMeasure          `json:"analysis"`
	Prevention     []wireMeasure          `json:"prevention"`
}

type wireIncidentFigure struct {
	Metric  string   `json:"metric"`
	Stat    string   `json:"stat,omitempty"`
	Unit    string   `json:"unit"`
	Source  string   `json:"source"`
	Before  *float64 `json:"before,omitempty"`
	During  *float64 `json:"during,omitempty"`
	After   *float64 `json:"after,omitempty"`
	NBefore *float64 `json:"n_before,omitempty"`
	NDuring *float64 `json:"n_during,omitempty"`
	NAfter  *float64 `json:"n_after,omitempty"`
	PromQL  string   `json:"promql,omitempty"`
}

type wireIncidentCounter struct {
	Name            string            `json:"name"`
	By              map[string]string `json:"by"`
	Server          string            `json:"server"`
	Unit            string            `json:"unit"`
	Before          *float64          `json:"before,omitempty"`
	During          *float64          `json:"during,omitempty"`
	After           *float64          `json:"after,omitempty"`
	BeforePerMinute *float64          `json:"before_per_minute,omitempty"`
	DuringPerMinute *float64          `json:"during_per_minute,omitempty"`
	AfterPerMinute  *float64          `json:"after_per_minute,omitempty"`
	Resets          int               `json:"resets"`
	PromQL          string            `json:"promql,omitempty"`
}

type wireIncidentReplica struct {
	Name   string           `json:"name"`
	Source string           `json:"source"`
	Before wireReplicaState `json:"before"`
	During wireReplicaState `json:"during"`
}

type wireReplicaState struct {
	RequestsPerSecond *float64 `json:"requests_per_s,omitempty"`
	TTFT              *float64 `json:"ttft,omitempty"`
	TPOT              *float64 `json:"tpot,omitempty"`
	Waiting           *float64 `json:"waiting,omitempty"`
	Running           *float64 `json:"running,omitempty"`
	KV                *float64 `json:"kv_usage,omitempty"`
	Preemptions       *float64 `json:"preemptions,omitempty"`
	Restarts          int      `json:"restarts"`
}

type wireSkew struct {
	Source      string   `json:"source"`
	Against     string   `json:"against"`
	Offset      *float64 `json:"ahead_s,omitempty"`
	Starts      string   `json:"starts,omitempty"`
	Uncertainty *float64 `json:"uncertainty_s,omitempty"`
	N           int      `json:"n"`
	How         string   `json:"how"`
	Remedy      string   `json:"clock_offset"`
}

type wireReplay struct {
	Why      string   `json:"why"`
	ID       string   `json:"id,omitempty"`
	Source   string   `json:"source"`
	File     string   `json:"file"`
	Row      int64    `json:"row"`
	At       string   `json:"at"`
	Offset   *float64 `json:"offset_s,omitempty"`
	Outcome  string   `json:"outcome"`
	Workload string   `json:"workload,omitempty"`
	Replica  string   `json:"replica,omitempty"`
	TTFT     *float64 `json:"ttft,omitempty"`
	TPOT     *float64 `json:"tpot,omitempty"`
	E2E      *float64 `json:"e2e,omitempty"`
	Queue    *float64 `json:"queue,omitempty"`
	Prefill  *float64 `json:"prefill,omitempty"`
	Decode   *float64 `json:"decode,omitempty"`
	Prompt   *float64 `json:"prompt_tokens,omitempty"`
	Output   *float64 `json:"output_tokens,omitempty"`
	Cached   *float64 `json:"cached_tokens,omitempty"`
	Preempt  *float64 `json:"preemptions,omitempty"`
}

type wireIncidentWorkload struct {
	By     map[string]string `json:"by"`
	Source string            `json:"source"`
	Before wireWorkloadState `json:"before"`
	During wireWorkloadState `json:"during"`
}

type wireWorkloadState struct {
	Requests   *float64 `json:"requests,omitempty"`
	PerSecond  *float64 `json:"requests_per_s,omitempty"`
	Share      *float64 `json:"share,omitempty"`
	PromptMean *float64 `json:"prompt_tokens_mean,omitempty"`
	PromptP50  *float64 `json:"prompt_tokens_p50,omitempty"`
	PromptP95  *float64 `json:"prompt_tokens_p95,omitempty"`
	OutputMean *float64 `json:"output_tokens_mean,omitempty"`
	OutputP50  *float64 `json:"output_tokens_p50,omitempty"`
	OutputP95  *float64 `json:"output_tokens_p95,omitempty"`
	Cached     *float64 `json:"cached_share,omitempty"`
	TTFT       *float64 `json:"ttft_mean,omitempty"`
	TPOT       *float64 `json:"tpot_mean,omitempty"`
}

type wireIncidentInput struct {
	Path        string `json:"path"`
	Format      string `json:"format"`
	Bytes       int64  `json:"bytes"`
	Records     int64  `json:"records"`
	SHA256      string `json:"sha256,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

type wireMeasure struct {
	Text    string `json:"text"`
	Because string `json:"because"`
	Price   string `json:"price,omitempty"`
	Cause   string `json:"cause,omitempty"`
	PromQL  string `json:"promql,omitempty"`
	For     string `json:"for,omitempty"`
	Command string `json:"command,omitempty"`
}

func newWireIncident(i *analyze.Incident) wireIncident {
	w := wireIncident{
		Label: i.Label, Summary: i.Summary, Verdict: i.Verdict, Given: i.Given, FoundBy: i.Lead,
		Window: *wireSpan(i.Window, i.Relative), Baseline: wireSpan(i.Baseline, i.Relative), After: wireSpan(i.After, i.Relative), Open: i.Open,
		Onsets:  mapTo(i.Onsets, func(o analyze.Onset) wireOnset { return newWireOnset(o, i.Relative) }),
		Figures: mapTo(i.Figures, newWireIncidentFigure), Counters: mapTo(i.Counters, newWireIncidentCounter), Replicas: mapTo(i.Replicas, newWireIncidentReplica),
		Events:   mapTo(i.Events, func(e analyze.Event) wireEvent { return newWireEvent(e, i.Relative) }),
		Skews:    mapTo(i.Skews, newWireSkew),
		Examples: mapTo(i.Examples, func(r analyze.Replay) wireReplay { return newWireReplay(r, i.Relative) }),
		Workload: mapTo(i.Workload, newWireIncidentWorkload), Settings: wireSettings(i.Settings),
		Inputs: mapTo(i.Inputs, func(f *serving.Input) wireIncidentInput {
			return wireIncidentInput{f.Path, f.Format, f.Bytes, f.Records, f.SHA256, f.Fingerprint}
		}),
		Mitigation: mapTo(i.Mitigation, newWireMeasure), Analysis: mapTo(i.Analysis, newWireMeasure), Prevention: mapTo(i.Prevention, newWireMeasure),
	}
	if i.Width > 0 {
		w.Uncertainty = wireFloat(i.Width)
	}
	if i.EndWidth > 0 {
		w.EndUncertainty = wireFloat(i.EndWidth)
	}
	if i.Panels != nil {
		t := newWireTimeline(i.Panels)
		w.Timeline = &t
	}
	return w
}

// wireSpan is nil for an empty stretch.
func wireSpan(s analyze.Span, relative bool) *wireWindow {
	if s.Empty() {
		return nil
	}
	return &wireWindow{wireTime(s.From, relative), wireTime(s.To, relative)}
}

func newWireOnset(o analyze.Onset, relative bool) wireOnset {
	w := wireOnset{Signal: o.Signal, Source: o.Source, At: wireTime(o.At, relative), Before: wireValue(o.Unit, known(o.Before)), After: wireValue(o.Unit, known(o.After)),
		Shift: wireValue(o.Unit, known(o.Shift())), Unit: wireUnit(o.Unit)}
	if o.Width > 0 {
		w.Uncertainty = wireFloat(o.Width)
	}
	return w
}

func newWireIncidentFigure(f analyze.IncidentFigure) wireIncidentFigure {
	n := func(v float64) *float64 {
		if v <= 0 {
			return nil
		}
		return wireFloat(v)
	}
	return wireIncidentFigure{f.Metric, f.Stat, wireUnit(f.Unit), f.Source, wireValue(f.Unit, f.Before), wireValue(f.Unit, f.During), wireValue(f.Unit, f.After), n(f.N[0]), n(f.N[1]), n(f.N[2]), f.PromQL}
}

func newWireIncidentCounter(c analyze.IncidentCounter) wireIncidentCounter {
	return wireIncidentCounter{string(c.Name), wireBy(c.By), c.Server, wireUnit(c.Unit), wireValue(c.Unit, c.Before), wireValue(c.Unit, c.During), wireValue(c.Unit, c.After),
		wireValue(c.Unit, c.PerMinute[0]), wireValue(c.Unit, c.PerMinute[1]), wireValue(c.Unit, c.PerMinute[2]), c.Resets, c.PromQL}
}

func newWireIncidentReplica(r analyze.IncidentReplica) wireIncidentReplica {
	state := func(s analyze.ReplicaState) wireReplicaState {
		return wireReplicaState{wireNumber(s.RequestsPerSecond), wireMillis(s.TTFT), wireMillis(s.TPOT), wireNumber(s.Waiting), wireNumber(s.Running), wireNumber(s.KV), wireNumber(s.Preemptions), s.Restarts}
	}
	return wireIncidentReplica{r.Name, r.Source, state(r.Before), state(r.During)}
}

func newWireSkew(s analyze.Skew) wireSkew {
	w := wireSkew{Source: s.Source, Against: s.Against, Uncertainty: wireFloat(s.Uncertainty), N: s.N, How: s.How, Remedy: s.Remedy()}
	if s.Relative {
		w.Starts = wireTime(s.Start, false)
	} else {
		w.Offset = wireFloat(s.Offset)
	}
	return w
}

func newWireReplay(r analyze.Replay, relative bool) wireReplay {
	return wireReplay{r.Why, r.ID, r.Source, r.File, r.Row, wireTime(r.At, relative), wireFloat(r.Offset), r.Outcome, r.Workload, r.Replica,
		wireMillis(r.TTFT), wireMillis(r.TPOT), wireMillis(r.E2E), wireMillis(r.Queue), wireMillis(r.Prefill), wireMillis(r.Decode),
		wireNumber(r.Prompt), wireNumber(r.Output), wireNumber(r.Cached), wireNumber(r.Preemptions)}
}

func newWireIncidentWorkload(s analyze.WorkloadShare) wireIncidentWorkload {
	state := func(w analyze.WorkloadState) wireWorkloadState {
		return wireWorkloadState{wireNumber(w.Requests), wireNumber(w.PerSecond), wireNumber(w.Share), wireNumber(w.PromptMean), wireNumber(w.PromptP50), wireNumber(w.PromptP95),
			wireNumber(w.OutputMean), wireNumber(w.OutputP50), wireNumber(w.OutputP95), wireNumber(w.CachedShare), wireMillis(w.TTFTMean), wireMillis(w.TPOTMean)}
	}
	return wireIncidentWorkload{wireBy(s.By), s.Source, state(s.Before), state(s.During)}
}

func newWireMeasure(m analyze.Measure) wireMeasure {
	return wireMeasure{m.Text, m.Because, m.Price, m.Cause, m.PromQL, m.For, m.Command}
}
