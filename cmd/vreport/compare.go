package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/serving"
)

// compareCmd is `vreport compare`.
type compareCmd struct {
	Before string `arg:"" help:"The side to compare with: a file, a directory or a quoted glob. Several runs of a level are repeats. name=PATH names the side."`
	After  string `arg:"" optional:"" help:"The side to judge. Not with --at, which cuts one side in two."`

	At        *string  `name:"at" placeholder:"TIME" help:"Cut one trace in two: what arrived before this time against what arrived from it on."`
	Headline  []string `name:"headline" sep:"none" placeholder:"FIGURES" help:"What the verdict and the gate rest on (ttft:p95,tpot:p95,requests_per_s,failed_share)."`
	Threshold []string `name:"threshold" sep:"none" placeholder:"FIGURE=SHARE" help:"The change that matters: ttft:p95=5%, tpot=2%, or of one slice workload=chat:ttft:p95=5%, which the gate then decides on, too. Repeatable."`

	ReportFlags
}

func (c *compareCmd) run(e *env, typed layer) (int, error) {
	fromFile, err := configLayer(typed)
	if err != nil {
		return 0, err
	}
	o, err := resolve(typed.over(fromFile))
	if err != nil {
		return 0, err
	}
	if o.html == "" && o.json == "" && o.markdown == "" {
		o.html = "compare.html"
	}
	sides, err := c.sides(o)
	if err != nil {
		return 0, err
	}
	r := &reporting{env: e, opt: o, command: commandLine("compare", o.flags, sides.args)}
	r.load = func() ([]*serving.Dataset, error) { return sides.load(e, o) }
	r.analyze = func(opt analyze.Options, data []*serving.Dataset) (*analyze.Report, error) {
		return analyze.Compare(e.ctx, sides.of(data), opt)
	}
	outs := r.outputs()
	if err := checkOutputs(outs); err != nil {
		return 0, err
	}
	return r.run(outs)
}

// comparedSides are the two sides as they were asked for.
type comparedSides struct {
	args  []string // as typed
	names [2]string
	paths [2]string
	cut   *int64 // where one side is cut in two
}

// sides reads the arguments. Without names the sides are called before and
// after, which is the order they are typed in.
func (c *compareCmd) sides(o *options) (*comparedSides, error) {
	s := &comparedSides{names: [2]string{"before", "after"}}
	switch {
	case c.Incident != nil:
		return nil, &usageError{errors.New("--incident belongs to report: compare holds two sides against each other (or what is before and after --at TIME)")}
	case o.at.text != "" && c.After != "":
		return nil, &usageError{errors.New("--at cuts one side in two, want one path, not two")}
	case o.at.text != "":
		s.args, s.cut = []string{c.Before}, &o.cut
		s.paths = [2]string{c.Before, c.Before}
		return s, nil
	case c.After == "":
		return nil, &usageError{errors.New("compare takes two sides, want BEFORE AFTER (or one path and --at TIME)")}
	}
	s.args = []string{c.Before, c.After}
	for i, arg := range s.args {
		label, path := ingest.SplitLabel(arg)
		if s.paths[i] = path; label != "" {
			s.names[i] = label
		}
	}
	if s.names[0] == s.names[1] {
		return nil, &usageError{fmt.Errorf("both sides are called %q, want two names", s.names[0])}
	}
	return s, nil
}

// load reads each side by itself. Of a cut the one side is read twice: its rows
// are scanned anyway, and each side limits them by its own window.
func (s *comparedSides) load(e *env, o *options) ([]*serving.Dataset, error) {
	var out []*serving.Dataset
	for i, path := range s.paths {
		ds, err := load(e, []string{path}, o)
		if err != nil {
			return out, fmt.Errorf("%s: %w", s.names[i], err)
		}
		out = append(out, ds)
		if err := groupable(o, ds); err != nil {
			return out, err
		}
	}
	if s.cut != nil && len(tables(out[0])) == 0 {
		return out, fmt.Errorf("--at: %s has no requests with arrival times to cut in two", s.paths[0])
	}
	return out, nil
}

// of hands the sides over.
func (s *comparedSides) of(data []*serving.Dataset) analyze.Sides {
	out := analyze.Sides{Names: s.names, Data: [2]*serving.Dataset{data[0], data[1]}}
	if s.cut != nil {
		out.Windows = [2]cube.Window{{From: math.MinInt64, To: *s.cut}, {From: *s.cut, To: math.MaxInt64}}
	}
	return out
}

func (o *options) setAt(vs []given) error {
	v := last(vs)
	ns, err := parseInstant(v.text)
	if err != nil {
		return wrong(v, "%w", err)
	}
	o.at, o.cut = v, ns
	return nil
}

func (o *options) setHeadline(vs []given) error {
	for _, v := range vs {
		for name := range strings.SplitSeq(v.text, ",") {
			f, err := verdict.ParseFigure(strings.TrimSpace(name))
			if err != nil {
				return wrong(v, "%w", err)
			}
			if _, latency := serving.MetricOf(f.Metric); latency && f.Stat == "" {
				return wrong(v, "%q has no statistic, want e.g. %s:p95 or %s:mean", f, f.Metric, f.Metric)
			}
			o.analyze.Headline = append(o.analyze.Headline, f)
		}
	}
	return nil
}

// setThreshold reads the change that matters of a figure: ttft:p95=5%. Without a
// statistic it is for all of a metric's; with a slice in front of it the gate
// decides on that slice, too: workload=chat:ttft:p95=5%.
func (o *options) setThreshold(vs []given) error {
	for _, v := range vs {
		by, name, share, err := cutThreshold(v.text)
		if err != nil {
			return wrong(v, "%w", err)
		}
		f, err := verdict.ParseFigure(name)
		if err != nil {
			return wrong(v, "%w", err)
		}
		x, err := parseShare(share)
		if err != nil {
			return wrong(v, "%w", err)
		}
		if len(by) > 0 {
			o.analyze.SliceThresholds = append(o.analyze.SliceThresholds, analyze.SliceThreshold{By: by, Figure: f, Share: x})
			continue
		}
		if o.analyze.Thresholds == nil {
			o.analyze.Thresholds = map[verdict.Figure]float64{}
		}
		o.analyze.Thresholds[f] = x
	}
	return nil
}

// cutThreshold splits [dim=value:]…FIGURE=SHARE.
func cutThreshold(s string) (by []serving.Term, figure, share string, err error) {
	i := strings.LastIndexByte(s, '=')
	if i < 0 {
		return nil, "", "", fmt.Errorf("%q, want FIGURE=SHARE, e.g. ttft:p95=5%% or workload=chat:ttft:p95=5%%", s)
	}
	figure, share = s[:i], s[i+1:]
	for {
		head, rest, ok := strings.Cut(figure, ":")
		dim, value, term := strings.Cut(head, "=")
		if !ok || !term {
			return by, strings.TrimSpace(figure), share, nil
		}
		by, figure = append(by, serving.Term{Dim: strings.TrimSpace(dim), Value: strings.TrimSpace(value)}), rest
	}
}

// parseShare reads 5% or 0.05.
func parseShare(s string) (float64, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0 && x < 10) {
		return 0, fmt.Errorf("%q is no share, want e.g. 5%% or 0.05", s)
	}
	return x, nil
}
