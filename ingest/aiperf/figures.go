package aiperf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A block is one metric of a summary as it stands in the file.
type block struct {
	name  string
	unit  string
	stats []statistic
	at    serving.Pos
}

type statistic struct {
	stat string // the program's name
	key  string // the file's
	v    float64
}

// A summary collects what a summary file says, JSON or CSV.
type summary struct {
	path     string
	in       *serving.Input
	blocks   []block
	facts    map[string]string
	settings []serving.Setting
	uuids    map[string]bool
	failures serving.Opt[int64] // of error_summary
	seen     map[string]bool
	pooled   bool // inter token latency of GenAI-Perf's first versions
}

func newSummary(path string, in *serving.Input) *summary {
	return &summary{path: path, in: in, facts: map[string]string{}, uuids: map[string]bool{}, seen: map[string]bool{}}
}

func (s *summary) add(b block) {
	if len(s.blocks) < maxBlocks {
		s.blocks = append(s.blocks, b)
	}
}

func (s *summary) fact(key, value string) {
	if len(s.facts) < maxSettings {
		s.facts[key] = value
	}
}

func (s *summary) setting(key, value string) {
	if len(s.settings) < maxSettings && value != "" {
		s.settings = append(s.settings, serving.Setting{Key: key, Value: value})
	}
}

func (s *summary) field(name, as, unit, how string) {
	name = jsonscan.Cut(name, maxID)
	if s.seen[name] || len(s.in.Fields) >= maxFields {
		return
	}
	s.seen[name] = true
	s.in.Fields = append(s.in.Fields, serving.Field{Name: name, As: as, Unit: unit, How: how})
}

// run makes a run of a summary.
func (s *summary) run() (*serving.Run, error) {
	r := &serving.Run{Source: serving.Pos{Path: s.path}, Format: FormatSummary, Label: baseLabel(s.path), Load: serving.Load{Mode: serving.UnknownLoad}}
	for _, b := range s.blocks {
		s.block(r, b)
	}
	if len(r.Reported) == 0 && !r.Completed.OK {
		return nil, noFigure(s.path)
	}
	s.configure(r)
	if !r.Failed.OK {
		r.Failed = s.failures
	}
	if r.Completed.OK && r.Failed.OK {
		r.Sent = serving.Some(r.Completed.V + r.Failed.V)
	}
	if n := len(s.uuids); n > 0 {
		r.GPUs = serving.Some(n)
		r.Notes = append(r.Notes, fmt.Sprintf("the number of GPUs (%d) is that of the GPUs whose telemetry was read; whether all of them served is not stated", n))
	}
	if s.facts["was_cancelled"] == "true" {
		r.Notes = append(r.Notes, "the run was cancelled before it ended")
	}
	if v := s.facts["start_time"]; v != "" {
		r.Started = serving.Some(v)
	}
	return r, nil
}

// noFigure is the error of a file without one.
func noFigure(path string) error {
	return &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatSummary, Found: "no figure that could be read",
		Want: `metrics such as "time_to_first_token" with "unit" and "avg"`}
}

// unitProblem tells of a metric whose unit is none of its dimension.
func (s *summary) unitProblem(b block, m meaning) serving.Problem {
	return serving.Problem{At: serving.Pos{Path: s.path, Line: b.at.Line, Field: b.name},
		Message: fmt.Sprintf("unit %q, want %s; left out", b.unit, m.dim.want())}
}

// block takes one metric into the run: what it counts, or what it reports.
func (s *summary) block(r *serving.Run, b block) {
	tag := tagOf(b.name)
	m, ok := meanings[tag]
	if s.pooled && m.metric == serving.TPOT {
		m.metric = "inter_token_latency" // not averaged a request: neither TPOT nor single gaps
	}
	if !ok {
		s.field(b.name, "", b.unit, "")
		return
	}
	per, known := perBase(b.unit, m.dim)
	if !known {
		s.in.Problems.Add(s.unitProblem(b, m))
		return
	}
	as := string(m.metric)
	switch tag {
	case tagRequests:
		as, r.Completed = "completed", wholeMean(b)
	case tagErrors:
		as, r.Failed = "failed", wholeMean(b)
	case tagDuration:
		as = "duration"
		if v, ok := mean(b); ok && v > 0 {
			r.Duration = serving.Some(v / per)
		}
	case "total_isl":
		r.Input = wholeMean(b)
	case "total_osl":
		r.Output = wholeMean(b)
	}
	s.field(b.name, as, b.unit, "sibling")
	if m.metric == "" {
		return
	}
	for _, st := range b.stats {
		if m.total && st.stat != "mean" {
			continue // a single number's min and max say nothing
		}
		name := st.stat
		if m.total {
			name = ""
		}
		r.Reported = append(r.Reported, serving.Reported{Field: b.name + "." + st.key, Metric: m.metric, Stat: name, File: st.v, PerBase: per})
	}
}

func mean(b block) (float64, bool) {
	for _, st := range b.stats {
		if st.stat == "mean" {
			return st.v, true
		}
	}
	return 0, false
}

func wholeMean(b block) serving.Opt[int64] {
	if v, ok := mean(b); ok && v >= 0 && v < 1<<53 && v == math.Trunc(v) {
		return serving.Some(int64(v))
	}
	return serving.None[int64]()
}

// last is the last part of a dotted name.
func last(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// leftOut are settings that change from run to run without changing what is
// measured, and those that repeat others: the command line.
var leftOut = map[string]bool{
	"cli_command": true, "benchmark_id": true, "artifact_directory": true, "artifact_dir": true, "random_seed": true, "profile_export_file": true,
	"request_count": true, "warmup_request_count": true, "num_requests": true, "num_dataset_entries": true,
	"url": true, "urls": true, "formatted_model_name": true, "gpu_telemetry": true, "server_metrics": true,
	"verbose": true, "ui_type": true, "log_level": true, "generate_plots": true, "workers": true, "workers_max": true,
}

// configure takes what input_config says of how the run was made.
func (s *summary) configure(r *serving.Run) {
	var conc serving.Opt[int64]
	var rate serving.Opt[float64]
	for _, set := range s.settings {
		lower := strings.ToLower(set.Key)
		name := last(lower)
		if strings.Contains(lower, "warmup") {
			continue
		}
		placed := true
		switch {
		case name == "concurrency":
			if n, err := strconv.ParseFloat(set.Value, 64); err == nil && n >= 1 && n < 1<<53 && n == math.Trunc(n) && !conc.OK {
				conc = serving.Some(int64(n))
			}
		case name == "request_rate":
			if v, err := strconv.ParseFloat(set.Value, 64); err == nil && v > 0 && v < 1e9 && !rate.OK {
				rate = serving.Some(v)
			}
		case name == "model_names" || lower == "model" || lower == "models.items.name":
			r.Model = or(r.Model, set.Value)
		case lower == "endpoint.type" || name == "endpoint_type":
			r.Backend = or(r.Backend, set.Value)
		case lower == "tokenizer.name" || lower == "tokenizer":
			r.Tokenizer = or(r.Tokenizer, set.Value)
		case name == "public_dataset" || name == "custom_dataset_type" || name == "detected_loader":
			r.Workload = or(r.Workload, set.Value)
			placed = r.Workload.V == set.Value
		default:
			placed = leftOut[name]
		}
		if !placed {
			r.Settings = append(r.Settings, set)
		}
	}
	r.Load = serving.LoadOf(conc, rate, false)
	if v := s.facts["aiperf_version"]; v != "" {
		r.Settings = append(r.Settings, serving.Setting{Key: "aiperf_version", Value: v})
	}
	for _, f := range []struct{ name, as string }{{"input_config", "settings"}, {"start_time", "started"}, {"aiperf_version", "setting"}} {
		if f.name != "input_config" && s.facts[f.name] == "" || f.name == "input_config" && len(s.settings) == 0 {
			continue
		}
		s.field(f.name, f.as, "", "dialect")
	}
}

func or(o serving.Opt[string], v string) serving.Opt[string] {
	if o.OK || v == "" {
		return o
	}
	return serving.Some(v)
}
