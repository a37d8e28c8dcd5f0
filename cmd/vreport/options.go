package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/promql"
	hypotheses "github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// options are the choices of a command, resolved and validated: what the
// program works with. Nothing after resolve looks at a flag again.
type options struct {
	ingest  ingest.Options
	analyze analyze.Options

	html, json, markdown string // where each output goes; "" for nowhere, "-" for standard output
	at                   given  // where compare cuts one trace in two; its time is cut
	cut                  int64
	echarts              string // a stock echarts.min.js; "" for the library inside
	strict               bool
	maxMemory            int64 // bytes; 0 for no limit
	progress             *bool // nil: only on a terminal

	flags     []string   // that give the same report again, for the command printed in it
	slolessAt string     // where a gate slo was asked for without an objective
	bucketed  []bucketed // what --buckets named
	groupedAt string     // where --group-by was given; "" for the default
}

// resolve turns a layer into options. All that is wrong is said at once.
func resolve(l layer) (*options, error) {
	o := &options{analyze: analyze.DefaultOptions()}
	var errs []error
	errs = append(errs, o.setOwnHardware(l[ownHardware]))
	errs = append(errs, o.setExperiment(l[experimentKey]))
	for _, s := range settings {
		vs, ok := l[s.name]
		if !ok || len(vs) == 0 {
			continue
		}
		if err := s.apply(o, vs); err != nil {
			errs = append(errs, err)
		}
		if s.echo {
			o.echo(s, vs)
		}
	}
	errs = append(errs, o.check(l))
	return o, errors.Join(errs...)
}

// check looks at what concerns more than one setting.
func (o *options) check(l layer) error {
	if len(l["slo"]) > 0 {
		return nil
	}
	if slices.Contains(o.analyze.Gates, "capacity") {
		return noObjective(l["gate"][0].at, "capacity")
	}
	if slices.Contains(o.analyze.Gates, "slo") {
		o.slolessAt = l["gate"][0].at
	}
	return nil
}

func noObjective(at, gate string) error {
	return errors.New(at + ": the gate " + gate + " has no objective to decide on, want --slo, e.g. --slo 'ttft:p99<500ms'")
}

// decidable refuses a gate without an objective: none was given, and none is in
// the rollups of the data.
func (o *options) decidable(data []*serving.Dataset) error {
	if o.slolessAt == "" {
		return nil
	}
	for _, ds := range data {
		if slices.ContainsFunc(ds.Rollups, func(r *serving.Rollup) bool { return len(r.Spec.SLOs) > 0 }) {
			return nil
		}
	}
	return noObjective(o.slolessAt, "slo")
}

// echo remembers a setting for the command line that is printed in the report.
func (o *options) echo(s *setting, vs []given) {
	if s.shape == toggle {
		switch text := last(vs).text; {
		case text == "true" && !s.on:
			o.flags = append(o.flags, "--"+s.name)
		case text == "false" && s.on:
			o.flags = append(o.flags, "--no-"+s.name)
		}
		return
	}
	if s.typed != nil {
		vs = []given{{s.typed(o), ""}}
	} else if s.joins {
		vs = []given{{joined(vs), ""}}
	} else if s.shape == one {
		vs = vs[len(vs)-1:]
	}
	for _, v := range vs {
		o.flags = append(o.flags, "--"+s.name, quote(v.text))
	}
}

// wrong puts the place of a value before a complaint about it.
func wrong(v given, format string, a ...any) error {
	return fmt.Errorf("%s: %w", v.at, fmt.Errorf(format, a...))
}

// last returns the value of a setting that has one: the last one typed wins.
func last(vs []given) given { return vs[len(vs)-1] }

func (o *options) setOutput(vs []given) error   { return setTarget(&o.html, last(vs)) }
func (o *options) setJSON(vs []given) error     { return setTarget(&o.json, last(vs)) }
func (o *options) setMarkdown(vs []given) error { return setTarget(&o.markdown, last(vs)) }

func setTarget(to *string, v given) error {
	if v.text == "" {
		return wrong(v, "no file name, want a file or - for standard output")
	}
	*to = v.text
	return nil
}

func (o *options) setTitle(vs []given) error {
	o.analyze.Title = last(vs).text
	return nil
}

func (o *options) setSLO(vs []given) error {
	var errs []error
	for _, v := range vs {
		slo, err := serving.ParseSLO(v.text)
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		o.analyze.SLOs = append(o.analyze.SLOs, slo)
	}
	return errors.Join(errs...)
}

func (o *options) setGoodput(vs []given) error {
	// Conditions that were given apart are one goodput all the same, so that a
	// metric named twice is found across them.
	conds, err := serving.ParseGoodput(joined(vs))
	if err != nil {
		return wrong(vs[0], "%w", err)
	}
	o.analyze.Goodput = conds
	return nil
}

func joined(vs []given) string {
	var texts []string
	for _, v := range vs {
		texts = append(texts, v.text)
	}
	return strings.Join(texts, ",")
}

func (o *options) setWindow(vs []given) error {
	v := last(vs)
	w, err := parseWindow(v.text)
	if err != nil {
		return wrong(v, "%w", err)
	}
	o.analyze.Window = w
	return nil
}

func (o *options) setGroupBy(vs []given) error {
	var dims []string
	for _, v := range vs {
		for d := range strings.SplitSeq(v.text, ",") {
			d = strings.TrimSpace(d)
			if d == "" {
				return wrong(v, "%q has an empty name in it, want e.g. workload,prompt_tokens,cache", v.text)
			}
			if slices.Contains(dims, d) {
				return wrong(v, "%s is named twice", d)
			}
			dims = append(dims, d)
		}
	}
	o.analyze.GroupBy, o.groupedAt = dims, vs[0].at
	return nil
}

func (o *options) setBuckets(vs []given) error {
	var errs []error
	for _, v := range vs {
		name, bounds, err := parseBuckets(v.text)
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		if err := bucketable(name); err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		o.analyze.Buckets[name] = bounds
		o.bucketed = append(o.bucketed, bucketed{name, v.at})
	}
	return errors.Join(errs...)
}

func (o *options) setMap(vs []given) error {
	var errs []error
	for _, v := range vs {
		m, err := column.ParseMapping(v.text)
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		o.ingest.Map = append(o.ingest.Map, m)
	}
	return errors.Join(errs...)
}

func (o *options) setWorkload(vs []given) error {
	var errs []error
	for _, v := range vs {
		r, err := column.ParseWorkloadRule(v.text)
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		o.ingest.Workloads = append(o.ingest.Workloads, r)
	}
	return errors.Join(errs...)
}

func (o *options) setPromQL(vs []given) error {
	var errs []error
	for _, v := range vs {
		name, expr, ok := strings.Cut(v.text, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.TrimSpace(expr) == "" {
			errs = append(errs, wrong(v, "%q, want NAME=EXPR, e.g. queue=max(vllm:num_requests_waiting)", v.text))
			continue
		}
		if err := promql.Check(expr); err != nil {
			errs = append(errs, wrong(v, "%s: %w, want a PromQL expression", name, err))
			continue
		}
		o.analyze.PromQL = append(o.analyze.PromQL, analyze.Query{Name: name, Expr: strings.TrimSpace(expr)})
		o.ingest.KeepRaw = true
	}
	return errors.Join(errs...)
}

// setDiagnosis reads limits of the diagnosis' rules.
func (o *options) setDiagnosis(vs []given) error {
	var errs []error
	for _, v := range vs {
		r, err := hypotheses.ParseOverride(v.text)
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		o.analyze.Diagnosis = append(o.analyze.Diagnosis, r)
	}
	return errors.Join(errs...)
}

// setAnnotation reads moments with what happened: `2026-11-03T10:00:00Z deploy 0.12`.
func (o *options) setAnnotation(vs []given) error {
	var errs []error
	for _, v := range vs {
		at, text, _ := strings.Cut(strings.TrimSpace(v.text), " ")
		ns, err := parseInstant(at)
		switch {
		case err != nil:
			errs = append(errs, wrong(v, "%w, want a time and a text, e.g. '2026-11-03T10:00:00Z deploy 0.12'", err))
		case strings.TrimSpace(text) == "":
			errs = append(errs, wrong(v, "%q says no text, want a time and a text, e.g. '2026-11-03T10:00:00Z deploy 0.12'", v.text))
		default:
			o.analyze.Annotations = append(o.analyze.Annotations, analyze.Event{At: ns, Kind: "deploy", Text: strings.TrimSpace(text), Source: "annotation"})
		}
	}
	return errors.Join(errs...)
}

func (o *options) setSide(vs []given) error {
	v := last(vs)
	switch s := serving.Side(v.text); s {
	case serving.Client, serving.ServerSide:
		o.ingest.Side = s
		return nil
	}
	return wrong(v, "%q is no side, want client or server", v.text)
}

func (o *options) setSweepBy(vs []given) error {
	v := last(vs)
	if v.text == "" {
		return wrong(v, "no key, want a setting of the runs, e.g. max_num_seqs")
	}
	o.analyze.SweepBy = v.text
	return nil
}

// setTarget reads a rate: 30/s, 1800/min, or a number of requests a second.
func (o *options) setTarget(vs []given) error {
	v := last(vs)
	text, per := strings.TrimSpace(v.text), 1.0
	for unit, seconds := range map[string]float64{"/s": 1, "/sec": 1, "/min": 60, "/h": 3600} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, per = rest, seconds
			break
		}
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		return wrong(v, "%q is no rate, want requests/s above 0, e.g. 30/s", v.text)
	}
	o.analyze.Target = f / per
	return nil
}

// setGate reads what is to be decided: slo, or capacity>=N.
func (o *options) setGate(vs []given) error {
	for _, v := range vs {
		for g := range strings.SplitSeq(v.text, ",") {
			g = strings.TrimSpace(g)
			if n, ok := strings.CutPrefix(strings.ReplaceAll(g, " ", ""), "capacity>="); ok {
				f, err := strconv.ParseFloat(n, 64)
				if err != nil || !(f > 0) || math.IsInf(f, 0) {
					return wrong(v, "%q is no load, want the capacity of a sweep, e.g. capacity>=48", n)
				}
				o.analyze.Capacity, g = f, "capacity"
			} else if g != "slo" && g != "regression" {
				return wrong(v, "%q is no gate, want slo, regression or capacity>=N", g)
			}
			if !slices.Contains(o.analyze.Gates, g) {
				o.analyze.Gates = append(o.analyze.Gates, g)
			}
		}
	}
	return nil
}

func (o *options) setStrict(vs []given) error    { return setBool(&o.strict, last(vs)) }
func (o *options) setChecksums(vs []given) error { return setBool(&o.ingest.Checksums, last(vs)) }
func (o *options) setUseMTime(vs []given) error  { return setBool(&o.ingest.UseMTime, last(vs)) }

func (o *options) setProgress(vs []given) error {
	o.progress = new(bool)
	return setBool(o.progress, last(vs))
}

func setBool(to *bool, v given) error {
	switch v.text {
	case "true":
		*to = true
	case "false":
		*to = false
	default:
		return wrong(v, "%q is neither true nor false", v.text)
	}
	return nil
}

func (o *options) setECharts(vs []given) error {
	v := last(vs)
	if v.text == "" {
		return wrong(v, "no file name, want an echarts.min.js")
	}
	o.echarts = v.text
	return nil
}

// parseBuckets reads `prompt_tokens=512,2048,8192`: the lower bounds of all
// buckets but the first.
func parseBuckets(s string) (string, cube.Bounds, error) {
	name, text, ok := strings.Cut(s, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return "", nil, fmt.Errorf("%q, want a column and its bounds, e.g. prompt_tokens=512,2048,8192", s)
	}
	var bounds cube.Bounds
	for f := range strings.SplitSeq(text, ",") {
		b, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
		if err != nil || b <= 0 {
			return "", nil, fmt.Errorf("%s: %q is no bound, want whole numbers above 0, e.g. 512,2048,8192", name, f)
		}
		if n := len(bounds); n > 0 && b <= bounds[n-1] {
			return "", nil, fmt.Errorf("%s: %d after %d, want ascending bounds", name, b, bounds[n-1])
		}
		bounds = append(bounds, b)
	}
	return name, bounds, nil
}

// parseWindow reads FROM/TO. Either end may be left open.
func parseWindow(s string) (cube.Window, error) {
	const want = "want FROM/TO, e.g. 2026-11-03T10:00:00Z/2026-11-03T10:15:00Z, or seconds for data without a calendar time, e.g. 60/120"
	from, to, ok := strings.Cut(s, "/")
	if !ok || from == "" && to == "" {
		return cube.Window{}, fmt.Errorf("%q, %s", s, want)
	}
	w := cube.Window{From: math.MinInt64, To: math.MaxInt64}
	for _, end := range []struct {
		text string
		to   *int64
	}{{from, &w.From}, {to, &w.To}} {
		if end.text == "" {
			continue
		}
		ns, err := parseInstant(end.text)
		if err != nil {
			return cube.Window{}, fmt.Errorf("%w, %s", err, want)
		}
		*end.to = ns
	}
	if w.From >= w.To {
		return cube.Window{}, fmt.Errorf("%q ends before it starts, %s", s, want)
	}
	return w, nil
}

// parseInstant reads a time with its zone, or a number of seconds: since the
// epoch, or since the start of a trace whose times count from there. A time
// without a zone is refused: it would mean something else on another machine.
func parseInstant(s string) (int64, error) {
	s = strings.TrimSpace(s)
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		t, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		if y := t.UTC().Year(); y < 1678 || y > 2261 {
			return 0, fmt.Errorf("%q is outside the years 1678 to 2261", s)
		}
		return t.UnixNano(), nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(v) < 9e9 {
		return int64(math.Round(v * 1e9)), nil
	}
	return 0, fmt.Errorf("%q is no time with a zone", s)
}
