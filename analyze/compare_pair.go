package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// pair finds the levels that both sides have. Load always has to be equal. Of
// everything else that must be which varies within a side, so that a grid of
// settings is compared setting by setting; what is one thing on one side and
// another on the other is what was changed, and pairs are made across it.
func (c *comparing) pair() {
	keys := c.pairKeys()
	groups := [2]map[string][]*unit{{}, {}}
	var order []string
	for side, units := range c.units {
		for _, u := range units {
			k := u.key(keys)
			if len(groups[0][k])+len(groups[1][k]) == 0 {
				order = append(order, k)
			}
			groups[side][k] = append(groups[side][k], u)
		}
	}
	for _, k := range order {
		b, a := groups[before][k], groups[after][k]
		switch {
		case len(b) > 0 && len(a) > 0:
			c.pairLengths(b, a, keys)
		default:
			c.unpaired(append(b, a...))
		}
	}
	slices.SortStableFunc(c.out.Pairs, func(a, b *Pair) int {
		return cmp.Or(cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.XName, b.XName), cmp.Compare(a.X.V, b.X.V), cmp.Compare(a.Label, b.Label))
	})
}

func newPair(b, a []*unit, keys []string) *Pair {
	p := &Pair{units: [2][]*unit{b, a}}
	first := b[0]
	if first.trace() {
		p.Label = "traces"
		return p
	}
	l := first.run.Run.Load
	p.Mode = l.Mode
	switch {
	case l.MaxConcurrency.OK && !(l.RequestRate.OK && l.Mode == serving.OpenLoop):
		p.X, p.XName = serving.Some(float64(l.MaxConcurrency.V)), sweep.Concurrency
	case l.RequestRate.OK:
		p.X, p.XName = l.RequestRate, sweep.Rate
	}
	p.Label = loadText(first.run)
	for _, k := range keys {
		if v := first.fact(k); v != "" {
			p.Label += ", " + k + " " + v
		}
	}
	return p
}

// loadText names a level as people write it.
func loadText(r *RunStats) string {
	l := r.Run.Load
	switch {
	case l.MaxConcurrency.OK && l.RequestRate.OK:
		return fmt.Sprintf("%s requests/s, at most %d in flight", number(l.RequestRate.V), l.MaxConcurrency.V)
	case l.MaxConcurrency.OK:
		return fmt.Sprintf("concurrency %d", l.MaxConcurrency.V)
	case l.RequestRate.OK:
		return number(l.RequestRate.V) + " requests/s"
	case l.Unlimited:
		return "all requests at once"
	}
	return "load not stated"
}

func (c *comparing) unpaired(units []*unit) {
	for _, u := range units {
		why := "the other side has no trace"
		if !u.trace() {
			why = "the other side has no run at " + loadText(u.run)
			if c.hasLoad(1-u.side, u.run) {
				why += " with the same settings and like lengths"
			}
		}
		c.out.Unpaired = append(c.out.Unpaired, Unpaired{Side: c.in.sides.Names[u.side], Label: u.label, Why: why})
	}
}

func (c *comparing) hasLoad(side int, r *RunStats) bool {
	return slices.ContainsFunc(c.units[side], func(u *unit) bool { return !u.trace() && loadKey(u.run) == loadKey(r) })
}

// loadKey is what must be equal of the load.
func loadKey(r *RunStats) string {
	l := r.Run.Load
	sent := ""
	if l.Unlimited && !l.MaxConcurrency.OK {
		sent = fmt.Sprint(r.Counts.Sent.V)
	}
	return fmt.Sprint(l.Mode, l.MaxConcurrency, l.RequestRate, sent)
}

// key is what must be equal of a unit.
func (u *unit) key(keys []string) string {
	if u.trace() {
		return "trace"
	}
	parts := []string{loadKey(u.run)}
	for _, k := range keys {
		parts = append(parts, u.fact(k))
	}
	return strings.Join(parts, "\x00")
}

// Facts of a run that are no settings of its file.
const (
	factModel    = "model"
	factEngine   = "engine"
	factVersion  = "version"
	factBackend  = "backend"
	factGPUs     = "gpus"
	factWorkload = "workload"
	factLengths  = "lengths"
	factHarness  = "format"
	factRequests = "requests"
	factArrival  = "burstiness"
)

// fact returns what a run says under a key; "" where it says nothing.
func (u *unit) fact(key string) string {
	if u.run == nil {
		return ""
	}
	r := u.run.Run
	switch key {
	case factModel:
		return r.Model.Or("")
	case factEngine:
		return r.Engine.Or("")
	case factVersion:
		return r.Version.Or("")
	case factBackend:
		return r.Backend.Or("")
	case factWorkload:
		return r.Workload.Or("")
	case factHarness:
		return r.Format
	case factGPUs:
		if r.GPUs.OK {
			return fmt.Sprint(r.GPUs.V)
		}
		return ""
	case factRequests:
		if n := u.run.Counts.Sent; n.OK {
			return fmt.Sprint(n.V)
		}
		return ""
	case factArrival:
		if r.Load.Burstiness.OK {
			return number(r.Load.Burstiness.V)
		}
		return ""
	}
	v, _ := r.Setting(key)
	return v
}

// runFacts are the facts that every run has beside its settings, in the order
// they are listed.
var runFacts = []string{factModel, factEngine, factVersion, factBackend, factGPUs, factWorkload, factHarness, factRequests, factArrival}

// factKeys lists the facts and settings of all runs.
func (c *comparing) factKeys() []string {
	keys := slices.Clone(runFacts)
	var settings []string
	for _, side := range c.units {
		for _, u := range side {
			if u.trace() {
				continue
			}
			for _, s := range u.run.Run.Settings {
				if !sweep.Volatile(s.Key) && !slices.Contains(settings, s.Key) && !slices.Contains(loadSettings, s.Key) {
					settings = append(settings, s.Key)
				}
			}
		}
	}
	slices.Sort(settings)
	return append(keys, settings...)
}

// loadSettings say again what the load says.
var loadSettings = []string{sweep.Concurrency, sweep.Rate, "concurrency", "rate"}

// values lists a fact's distinct values on a side, sorted.
func (c *comparing) values(side int, key string) []string {
	var out []string
	for _, u := range c.units[side] {
		if v := u.fact(key); !u.trace() && v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// pairKeys are the facts that vary on a side beside the load and have a value
// that both sides know.
func (c *comparing) pairKeys() []string {
	var out []string
	for _, k := range c.factKeys() {
		b, a := c.values(before, k), c.values(after, k)
		if k == factRequests || len(b) < 2 && len(a) < 2 || c.byLoad(k) {
			continue
		}
		if slices.ContainsFunc(b, func(v string) bool { return slices.Contains(a, v) }) {
			out = append(out, k)
		}
	}
	return out
}

// byLoad reports whether a fact only follows the load: one value a level, as the
// number of prompts that a sweep raises with its concurrency.
func (c *comparing) byLoad(key string) bool {
	for _, side := range c.units {
		at := map[string]string{}
		for _, u := range side {
			if u.trace() {
				continue
			}
			k, v := loadKey(u.run), u.fact(key)
			if old, ok := at[k]; ok && old != v {
				return false
			}
			at[k] = v
		}
	}
	return true
}
