// Package sweep finds out which benchmark runs belong on one curve.
//
// Runs form a sweep when they differ in load only. What must be equal is what
// makes runs comparable at all: the model, the engine, the harness, the lengths
// and the load mode; closed and open loop are never on one curve. What happens
// to differ beside the load (a date, a seed) is listed, not hidden.
package sweep

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Names of load axes.
const (
	Concurrency = "max_concurrency"
	Rate        = "request_rate"
)

// A Group is a set of runs that differ in load only.
type Group struct {
	Mode   serving.LoadMode
	XName  string // Concurrency, Rate or the setting that was asked for
	Runs   []*serving.Run
	Levels []Level // ascending; a run without a limit last
}

// A Level is one load level with its repeats.
type Level struct {
	X         float64
	Unlimited bool // no limit on the rate: X is the number of requests sent at once
	Runs      []*serving.Run
}

// Find groups runs into sweeps of two or more levels, in the order of their
// first runs. by names a setting to take as the load axis instead of the load
// itself; "" for the load.
func Find(runs []*serving.Run, by string) []Group {
	var out []Group
	for _, same := range partition(runs, func(r *serving.Run) string { return identity(r, by) }) {
		for _, g := range splitLengths(same) {
			out = append(out, axes(g, by)...)
		}
	}
	return out
}

// partition splits runs by a key, in the order of first appearance.
func partition(runs []*serving.Run, key func(*serving.Run) string) [][]*serving.Run {
	index := map[string]int{}
	var out [][]*serving.Run
	for _, r := range runs {
		k := key(r)
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// identity is what must be equal on one curve, lengths aside.
func identity(r *serving.Run, by string) string {
	mode := r.Load.Mode
	if unlimitedRate(r) {
		// The end of a rate sweep: all requests at once.
		mode = serving.OpenLoop
	}
	parts := []string{string(mode), r.Model.Or(""), r.Engine.Or(""), r.Version.Or(""), r.Backend.Or(""), r.Workload.Or(""),
		fmt.Sprint(r.GPUs.Or(0)), r.Format}
	if by != "" {
		parts[0] = string(r.Load.Mode)
		if by != Concurrency {
			parts = append(parts, fmt.Sprint(r.Load.MaxConcurrency.Or(0)))
		}
		if by != Rate {
			parts = append(parts, fmt.Sprint(r.Load.RequestRate.Or(0)))
		}
	}
	if mode == serving.OpenLoop || mode == serving.CappedOpen {
		// How bursty arrivals are is part of the load.
		parts = append(parts, fmt.Sprint(r.Load.Burstiness.Or(1)))
	}
	for _, s := range r.Settings {
		if s.Key != by && !Volatile(s.Key) {
			parts = append(parts, s.Key+"="+s.Value)
		}
	}
	return strings.Join(parts, "\x00")
}

// unlimitedRate reports whether a run sent everything at once without a cap.
func unlimitedRate(r *serving.Run) bool {
	return r.Load.Unlimited && !r.Load.MaxConcurrency.OK
}

// Volatile reports whether a setting changes from run to run without changing
// what is measured.
func Volatile(key string) bool {
	switch strings.ToLower(key) {
	case "num_prompts", "date", "label", "seed", "result_filename", "result_dir", "run_id", "run_number", "run", "timestamp",
		"request_id", "request_id_prefix", "uuid", "host", "port", "base_url", "burstiness", "sweep_index":
		return true
	}
	return false
}

// How far mean lengths of one sweep may be apart, as a ratio (judgement). Answers stop
// early by chance, prompts do not; half as many tokens is another workload.
const (
	sameInput  = 1.3
	sameOutput = 1.5
)

// splitLengths splits runs whose mean lengths differ by more than chance and
// early stops explain: a sweep of short prompts is not one of long prompts.
func splitLengths(runs []*serving.Run) [][]*serving.Run {
	var out [][]*serving.Run
	for _, in := range splitBy(runs, meanInput, sameInput) {
		out = append(out, splitBy(in, meanOutput, sameOutput)...)
	}
	return out
}

func meanInput(r *serving.Run) (float64, bool)  { return mean(r.Input, r.Completed) }
func meanOutput(r *serving.Run) (float64, bool) { return mean(r.Output, r.Completed) }

func mean(total, n serving.Opt[int64]) (float64, bool) {
	if !total.OK || n.Or(0) <= 0 || total.V <= 0 {
		return 0, false
	}
	return float64(total.V) / float64(n.V), true
}

// splitBy cuts the runs, ordered by a length, wherever one is a ratio or more above the
// first of its part: held against its neighbour, a chain of small steps would have no
// end. Runs without the length (none completed) go with the
// first part: nothing says that they differ.
func splitBy(runs []*serving.Run, length func(*serving.Run) (float64, bool), ratio float64) [][]*serving.Run {
	var known, unknown []*serving.Run
	for _, r := range runs {
		if _, ok := length(r); ok {
			known = append(known, r)
		} else {
			unknown = append(unknown, r)
		}
	}
	slices.SortStableFunc(known, func(a, b *serving.Run) int {
		x, _ := length(a)
		y, _ := length(b)
		return cmp.Compare(x, y)
	})
	var out [][]*serving.Run
	for _, r := range known {
		if n := len(out); n == 0 || apart(out[n-1][0], r, length, ratio) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	if len(unknown) > 0 {
		if len(out) == 0 {
			out = append(out, nil)
		}
		out[0] = append(out[0], unknown...)
	}
	return out
}

// apart reports whether a run's mean is a ratio or more above another's, and more than
// chance makes of few requests: a mean of n lengths that vary by as much as they are
// long wavers by 1/√n.
func apart(a, b *serving.Run, length func(*serving.Run) (float64, bool), ratio float64) bool {
	x, _ := length(a)
	y, _ := length(b)
	n := float64(min(a.Completed.V, b.Completed.V))
	return y >= x*ratio*(1+1/math.Sqrt(n))
}

// axes finds the load axis of comparable runs and their levels. Under a finite
// rate with a cap, either may vary; where both do, each rate is a curve.
func axes(runs []*serving.Run, by string) []Group {
	mode := runs[0].Load.Mode
	switch {
	case by != "":
		return byDirectory(mode, by, runs, func(r *serving.Run) (float64, bool) { return settingValue(r, by) })
	case mode == serving.CappedOpen:
		if distinct(runs, rate) == 1 {
			return byDirectory(mode, Concurrency, runs, concurrency)
		}
		if distinct(runs, concurrency) == 1 {
			return byDirectory(mode, Rate, runs, rate)
		}
		var out []Group
		for _, same := range partition(runs, func(r *serving.Run) string { return fmt.Sprint(r.Load.RequestRate.V) }) {
			out = append(out, byDirectory(mode, Concurrency, same, concurrency)...)
		}
		return out
	case slices.ContainsFunc(runs, func(r *serving.Run) bool { return r.Load.Mode == serving.OpenLoop }):
		return byDirectory(serving.OpenLoop, Rate, runs, rate)
	case mode == serving.ClosedLoop:
		return byDirectory(mode, Concurrency, runs, concurrency)
	}
	return nil
}

func rate(r *serving.Run) (float64, bool) { return r.Load.RequestRate.V, r.Load.RequestRate.OK }

// concurrency is the cap. A run without one that sends all at once has none: how many
// it sends is how long it lasts, and no load.
func concurrency(r *serving.Run) (float64, bool) {
	return float64(r.Load.MaxConcurrency.V), r.Load.MaxConcurrency.OK
}

func settingValue(r *serving.Run, key string) (float64, bool) {
	switch key {
	case Concurrency:
		return concurrency(r)
	case Rate:
		return rate(r)
	}
	v, ok := r.Setting(key)
	if !ok {
		return 0, false
	}
	var f float64
	_, err := fmt.Sscan(v, &f)
	return f, err == nil
}

func distinct(runs []*serving.Run, x func(*serving.Run) (float64, bool)) int {
	seen := map[float64]bool{}
	for _, r := range runs {
		v, _ := x(r)
		seen[v] = true
	}
	return len(seen)
}

// byDirectory makes a sweep of the runs of each directory or label, where
// those are sweeps by themselves: two directories that hold the same levels are
// two experiments, not repeats. Where every directory holds one level they are
// one sweep together.
func byDirectory(mode serving.LoadMode, name string, runs []*serving.Run, x func(*serving.Run) (float64, bool)) []Group {
	parts := partition(runs, func(r *serving.Run) string { return filepath.Dir(r.Source.Path) })
	var out []Group
	single := 0
	for _, p := range parts {
		g := Group{Mode: mode, XName: name, Runs: p, Levels: levels(p, x)}
		if len(g.Levels) < 2 {
			single++
			continue
		}
		out = append(out, g)
	}
	if single == len(parts) && len(parts) > 1 {
		if g := (Group{Mode: mode, XName: name, Runs: runs, Levels: levels(runs, x)}); len(g.Levels) > 1 {
			out = append(out, g)
		}
	}
	return out
}

// levels orders runs by load and folds repeats.
func levels(runs []*serving.Run, x func(*serving.Run) (float64, bool)) []Level {
	var out []Level
	for _, r := range runs {
		l := Level{}
		v, ok := x(r)
		switch {
		case ok:
			l.X = v
		case unlimitedRate(r):
			l.X, l.Unlimited = float64(r.Sent.V), true
		default:
			continue
		}
		i := slices.IndexFunc(out, func(o Level) bool { return o.Unlimited == l.Unlimited && (l.Unlimited || o.X == l.X) })
		if i < 0 {
			out = append(out, l)
			i = len(out) - 1
		}
		out[i].Runs = append(out[i].Runs, r)
	}
	slices.SortStableFunc(out, func(a, b Level) int {
		if a.Unlimited != b.Unlimited {
			if a.Unlimited {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.X, b.X)
	})
	return out
}
