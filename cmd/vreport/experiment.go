package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// experimentKey is the config file's key of the hypothesis. It has no flag: what
// would refute a change is written down before the change is tried, not typed
// once the figures are there.
const experimentKey = "experiment"

// experimentFields are the keys below it.
var experimentFields = []string{"statement", "expect", "refute", "built-in"}

// experiment reads the hypothesis of the config file:
//
//	experiment:
//	  statement: fewer sequences at once make each decode faster
//	  expect: tpot:p95 < -5%
//	  refute: [ttft:p95 > +20%]
//	  built-in: decode-pressure
func (d *configDecoder) experiment(n ast.Node) {
	kvs, ok := mapping(n)
	if !ok {
		d.fail(n, "experiment: %s, want a mapping with statement and expect", describe(n))
		return
	}
	d.out[experimentKey] = append(d.out[experimentKey], given{"", at(d.path, start(n)) + "experiment"})
	for _, kv := range kvs {
		key := kv.Key.GetToken().Value
		if !slices.Contains(experimentFields, key) {
			d.fail(kv.Key, "experiment: unknown key %q, did you mean %q? (keys are %s)", key, nearest(key, experimentFields), strings.Join(experimentFields, ", "))
			continue
		}
		items := []ast.Node{kv.Value}
		if seq, ok := kv.Value.(*ast.SequenceNode); ok && key == "refute" {
			items = seq.Values
		}
		for _, it := range items {
			text, ok := scalar(it)
			if !ok {
				d.fail(it, "experiment: %s: %s, want a single value", key, describe(it))
				continue
			}
			d.out[experimentKey] = append(d.out[experimentKey], given{key + "=" + text, at(d.path, start(it)) + "experiment: " + key})
		}
	}
}

func (o *options) setExperiment(vs []given) error {
	if len(vs) == 0 {
		return nil
	}
	h := &analyze.Hypothesis{}
	var errs []error
	for _, v := range vs[1:] {
		key, text, _ := strings.Cut(v.text, "=")
		v.text = text
		var err error
		switch key {
		case "statement":
			h.Statement = text
		case "expect":
			h.Expect, err = parseChange(text)
		case "refute":
			var l analyze.ChangeLimit
			l, err = parseChange(text)
			h.Refute = append(h.Refute, l)
		case "built-in":
			if h.BuiltIn = text; text != analyze.DecodePressure {
				err = fmt.Errorf("%q is no experiment that is built in, want %s", text, analyze.DecodePressure)
			}
		}
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
		}
	}
	if len(errs) == 0 && (h.Statement == "" || h.Expect.Text == "") {
		errs = append(errs, wrong(vs[0], "no %s, want what is believed (statement) and the change that it predicts (expect: tpot:p95 < -5%%)", map[bool]string{true: "statement", false: "expect"}[h.Statement == ""]))
	}
	o.analyze.Hypothesis = h
	return errors.Join(errs...)
}

// parseChange reads FIGURE < CHANGE or FIGURE > CHANGE: tpot:p95 < -5%.
func parseChange(s string) (analyze.ChangeLimit, error) {
	i := strings.IndexAny(s, "<>")
	if i < 0 {
		return analyze.ChangeLimit{}, fmt.Errorf("%q is no change, want FIGURE < CHANGE or FIGURE > CHANGE, e.g. tpot:p95 < -5%% or ttft:p95 > +20%%", s)
	}
	f, err := verdict.ParseFigure(strings.TrimSpace(s[:i]))
	if err != nil {
		return analyze.ChangeLimit{}, err
	}
	if _, latency := serving.MetricOf(f.Metric); latency && f.Stat == "" {
		return analyze.ChangeLimit{}, fmt.Errorf("%q names no statistic, want e.g. %s:p95 or %s:mean", s, f.Metric, f.Metric)
	}
	text, percent := strings.CutSuffix(strings.TrimSpace(s[i+1:]), "%")
	x, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "\u2212", "-"), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > -1 && x < 100) {
		return analyze.ChangeLimit{}, fmt.Errorf("%q has no change behind %q, want e.g. -5%% or +20%%", s, s[i:i+1])
	}
	return analyze.ChangeLimit{Text: s, Figure: f, Above: s[i] == '>', Change: x}, nil
}
