package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// changed lists what differs between the sides, settings of the engine first, what is
// the same, and what cannot be told.
func (c *comparing) changed() {
	for _, k := range c.factKeys() {
		if k == factRequests {
			continue // told by counts, below
		}
		b, a := c.values(before, k), c.values(after, k)
		x := Changed{Kind: kindOf(k), Key: k, Before: orMissing(b), After: orMissing(a)}
		switch {
		case len(b)+len(a) == 0:
			continue
		case slices.Equal(b, a):
			c.out.Same = append(c.out.Same, x)
			continue
		}
		// A key that only one side's files can have is a difference of harness, not
		// of what was measured.
		if (len(b) == 0 || len(a) == 0) && c.otherHarness() && k != factWorkload {
			if slices.Contains(runFacts, k) {
				c.out.NotStated = append(c.out.NotStated, x)
			}
			continue
		}
		c.out.Changed = append(c.out.Changed, x)
	}
	c.changedServers()
	c.changedRows()
	c.changedLengths()
	c.notStated()
	c.changedCounts()
	slices.SortStableFunc(c.out.Changed, func(x, y Changed) int { return kindRank(x.Kind) - kindRank(y.Kind) })
}

// NotStated stands for the value of a side that states none.
const NotStated = "not stated"

func orMissing(values []string) string {
	if len(values) == 0 {
		return NotStated
	}
	return strings.Join(values, ", ")
}

func (c *comparing) otherHarness() bool {
	return !slices.Equal(c.values(before, factHarness), c.values(after, factHarness))
}

// kindOf says what a difference in a key means.
func kindOf(key string) ChangeKind {
	switch key {
	case factModel, "tokenizer", "tokenizer_id", "model_id", "quantization", "dtype":
		return ChangedModel
	case factVersion, factEngine, "image", "image_tag", "engine_version", "vllm_version":
		return ChangedVersion
	case factGPUs, "gpu", "gpu_name", "hardware", "gpu_type", "accelerator":
		return ChangedHardware
	case factHarness, factBackend, "endpoint", "endpoint_type", "base_url", "api_url":
		return ChangedMethod
	case factWorkload, factArrival:
		return ChangedWorkload
	}
	k := strings.ToLower(key)
	for _, w := range workloadWords {
		if strings.Contains(k, w) {
			return ChangedWorkload
		}
	}
	return ChangedSetting
}

// workloadWords mark settings that make other requests.
var workloadWords = []string{"dataset", "input_len", "output_len", "prefix_len", "range_ratio", "ignore_eos", "temperature", "top_p", "top_k", "sampling",
	"max_tokens", "prompt", "isl", "osl", "turns", "arrival", "streaming"}

func kindRank(k ChangeKind) int {
	return slices.Index([]ChangeKind{ChangedSetting, ChangedModel, ChangedVersion, ChangedHardware, ChangedWorkload, ChangedMethod}, k)
}

// changedServers lists what the engines state of themselves and no run did: scrapes
// and logs name the model, the version and settings. What only one side states is
// left out: releases differ in what they export.
func (c *comparing) changedServers() {
	var facts [2]map[string][]string
	var keys []string
	for side := range facts {
		facts[side] = map[string][]string{}
		for _, s := range c.in.sides.Data[side].Servers {
			for _, f := range statedBy(s) {
				if !slices.Contains(keys, f.Key) {
					keys = append(keys, f.Key)
				}
				if v := facts[side][f.Key]; f.Value != "" && !slices.Contains(v, f.Value) {
					facts[side][f.Key] = append(v, f.Value)
				}
			}
		}
	}
	slices.SortStableFunc(keys, func(x, y string) int {
		return cmp.Or(cmp.Compare(factRank(x), factRank(y)), cmp.Compare(x, y))
	})
	for _, k := range keys {
		b, a := facts[before][k], facts[after][k]
		slices.Sort(b)
		slices.Sort(a)
		told := len(c.values(before, k)) > 0 && len(c.values(after, k)) > 0
		if told || len(b) == 0 || len(a) == 0 {
			continue
		}
		x := Changed{Kind: kindOf(k), Key: k, Before: orMissing(b), After: orMissing(a)}
		if slices.Equal(b, a) {
			c.out.Same = append(c.out.Same, x)
			continue
		}
		c.out.Changed = append(c.out.Changed, x)
	}
}

// factRank puts what a server is before how it is set.
func factRank(key string) int {
	if i := slices.Index([]string{factModel, factEngine, factVersion}, key); i >= 0 {
		return i
	}
	return 3
}

// statedBy is what an engine states of itself; nothing of what is no engine.
func statedBy(s *serving.Server) []serving.Setting {
	if s.Engine == "" || !s.Model.OK && len(s.Histograms) == 0 {
		return nil
	}
	out := []serving.Setting{{Key: factModel, Value: s.Model.Or("")}, {Key: factEngine, Value: s.Engine}, {Key: factVersion, Value: s.Version.Or("")}}
	for _, i := range s.Info {
		if !derivedFact(i.Key) {
			out = append(out, i)
		}
	}
	return out
}

// derivedFact reports whether an engine's fact follows from others, the machine or
// the request: no setting.
func derivedFact(key string) bool {
	for _, prefix := range []string{"_", "user_specified_", "log_", "gpu "} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return strings.Contains(key, " (") || slices.Contains([]string{"num_gpu_blocks", "num_cpu_blocks", "kv_cache_size_tokens", "kv_cache_max_concurrency", "hash_block_size",
		"mamba_page_size_padded", "skip_page_size_padded", "kv_cache_memory_bytes"}, key)
}

// lengthChange is how far mean lengths may differ before the workload counts as
// another.
const lengthChange = 0.05

// changedLengths compares the mean lengths over paired levels: what was asked of
// the server, whatever the settings say.
func (c *comparing) changedLengths() {
	for _, what := range []struct {
		key    string
		metric serving.MetricKey
		of     func(*unit) serving.Opt[float64]
	}{
		{"mean prompt tokens", serving.PromptTokens, func(u *unit) serving.Opt[float64] { return u.meanLength(serving.PromptTokens) }},
		{"mean output tokens", serving.OutputTokens, func(u *unit) serving.Opt[float64] { return u.meanLength(serving.OutputTokens) }},
	} {
		var sum [2]float64
		n := 0
		for _, p := range c.out.Pairs {
			b, a := meanOf(p.units[before], what.of), meanOf(p.units[after], what.of)
			if b.OK && a.OK {
				sum[before], sum[after], n = sum[before]+b.V, sum[after]+a.V, n+1
			}
		}
		if b, a := c.serverLengths(c.out.Pairs, what.metric); n == 0 && b > 0 && a > 0 {
			sum, n = [2]float64{b, a}, 1
		}
		if n == 0 || sum[before] <= 0 || math.Abs(sum[after]/sum[before]-1) <= lengthChange {
			continue
		}
		c.out.Changed = append(c.out.Changed, Changed{Kind: ChangedWorkload, Key: what.key,
			Before: number(math.Round(sum[before] / float64(n))), After: number(math.Round(sum[after] / float64(n)))})
	}
}

// meanLength is the mean prompt or output length of completed requests.
func (u *unit) meanLength(k serving.MetricKey) serving.Opt[float64] {
	if d := u.dists().Of(k); d != nil && d.Mean.OK {
		return d.Mean
	}
	if u.run == nil || u.run.Counts.Completed.Or(0) <= 0 {
		return serving.None[float64]()
	}
	total := u.run.Input
	if k == serving.OutputTokens {
		total = u.run.Output
	}
	if !total.OK {
		return serving.None[float64]()
	}
	return serving.Some(float64(total.V) / float64(u.run.Counts.Completed.V))
}

// meanOf averages a figure over units that have it.
func meanOf(units []*unit, of func(*unit) serving.Opt[float64]) serving.Opt[float64] {
	sum, n := 0.0, 0
	for _, u := range units {
		if v := of(u); v.OK {
			sum, n = sum+v.V, n+1
		}
	}
	if n == 0 {
		return serving.None[float64]()
	}
	return serving.Some(sum / float64(n))
}

// changedCounts names paired levels with other numbers of requests or durations:
// an overload's latencies grow with its length.
func (c *comparing) changedCounts() {
	const ratio = 1.5
	var requests, durations []Changed
	for _, p := range c.out.Pairs {
		sent := func(u *unit) serving.Opt[float64] {
			n := u.counts().Sent
			return serving.Opt[float64]{V: float64(n.V), OK: n.OK}
		}
		length := func(u *unit) serving.Opt[float64] {
			if u.run != nil {
				return u.run.Duration
			}
			return u.data.Span
		}
		if b, a := meanOf(p.units[before], sent), meanOf(p.units[after], sent); farApart(b, a, ratio) {
			requests = append(requests, Changed{Key: "requests sent at " + p.Label, Before: number(b.V), After: number(a.V)})
		}
		if b, a := meanOf(p.units[before], length), meanOf(p.units[after], length); farApart(b, a, ratio) && p.Mode != serving.ClosedLoop {
			durations = append(durations, Changed{Key: "duration at " + p.Label, Before: seconds(b.V), After: seconds(a.V)})
		}
	}
	for _, list := range [][]Changed{requests, durations} {
		if len(list) == 0 {
			continue
		}
		x := list[0]
		if x.Kind = ChangedMethod; len(list) > 1 {
			x.Key += fmt.Sprintf(" (and %d more levels)", len(list)-1)
		}
		c.out.Changed = append(c.out.Changed, x)
	}
}

func farApart(b, a serving.Opt[float64], ratio float64) bool {
	return b.OK && a.OK && b.V > 0 && a.V > 0 && (a.V/b.V > ratio || b.V/a.V > ratio)
}

// settingsChanged counts what an experiment would vary.
func (c *Comparison) settingsChanged() (keys []string, workload bool) {
	for _, x := range c.Changed {
		switch x.Kind {
		case ChangedSetting, ChangedModel, ChangedVersion, ChangedHardware:
			keys = append(keys, x.Key)
		case ChangedWorkload:
			workload = true
		}
	}
	return keys, workload
}
