package main

import (
	"fmt"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/samples"
)

// A bound is what is wanted of a share.
type bound struct {
	share  float64
	atMost bool
}

func (b bound) String() string {
	switch {
	case b.share == 0:
		return "never"
	case b.atMost:
		return fmt.Sprintf("≤ %.0f %%", b.share*100)
	}
	return fmt.Sprintf("≥ %.0f %%", b.share*100)
}

func (b bound) met(hits, trials int) bool {
	share := float64(hits) / float64(trials)
	if b.atMost {
		return share <= b.share
	}
	return share >= b.share
}

// A row is a kind of pair, and what is counted of its comparisons.
type row struct {
	name    string
	what    string
	first   uint64 // the first of the published seeds
	most    int    // trials
	compare func(seed uint64) (*analyze.Comparison, error)
	counts  []count
}

// A count is one thing to count of a row's comparisons.
type count struct {
	of     string
	wanted bound
	hit    func(*analyze.Comparison) bool
}

// The published noise and effect.
const (
	noise    = 0.02
	repeats  = 3
	requests = 300
	planted  = 1.12
)

// enough trials for a share of 5 %, and for a row that shows more than is promised.
const (
	full  = 200
	extra = 100
)

// The first of the published seeds. After those of 1001 to 1040 had shaped the estimate
// of drift, long traces were published from seeds that nothing was tuned on.
const (
	published = 1001
	unseen    = 2001
)

// seldom is wanted of all pairs of the same thing.
var seldom = []count{{"called better, worse or mixed", bound{0.05, true}, called}}

// rows lists the studies in the order of the table.
var rows = []row{
	{
		"same-trace", "A/A: traces of two pools, three repeats a side, runs differ by 2 %", published, full,
		trial(samples.Trial{Story: samples.SlowSlice, Noise: noise, Ratio: 1}), seldom,
	},
	{
		"slice", "the same with TTFT and TPOT of one slice 12 % slower", published, full,
		trial(samples.Trial{Story: samples.SlowSlice, Noise: noise, Ratio: planted}),
		[]count{
			{"called worse or mixed, with that slice's TTFT or TPOT called slower", bound{0.95, false}, found},
			{"another slice is called, too", bound{0.05, true}, elsewhere},
		},
	},
	{
		"mix", "traces of one pool in which only the mix of requests changed", published, full,
		trial(samples.Trial{Story: samples.OtherMix, Noise: noise, Fresh: true, Requests: 2 * requests}),
		[]count{{"put down to the mix, and not called better, worse or mixed", bound{0.95, false}, mix}},
	},
	{
		"settings", "benchmark files with two settings changed", published, full,
		trial(samples.Trial{Story: samples.TwoSettings, Noise: noise}),
		[]count{{"a cause is named", bound{0, true}, caused}},
	},
	{
		"same-bench", "A/A: benchmark files, three repeats a side, runs differ by 2 %", published, extra,
		trial(samples.Trial{Story: samples.Benchmark, Noise: noise}), seldom,
	},
	{
		"same-noisy", "A/A: the traces, runs differ by 5 %", published, extra,
		trial(samples.Trial{Story: samples.SlowSlice, Noise: 0.05, Ratio: 1}), seldom,
	},
	{
		"same-fresh", "A/A: the traces, other requests in each run", published, extra,
		trial(samples.Trial{Story: samples.SlowSlice, Noise: noise, Ratio: 1, Fresh: true}), seldom,
	},
	{"large-same", "A/A: two traces of 100,000 requests, times that drift for minutes", unseen, extra, large(1), seldom},
	{
		"large-slow", "the same with TTFT and TPOT 30 % slower", unseen, extra, large(1.3),
		[]count{{"called worse", bound{0.95, false}, func(c *analyze.Comparison) bool { return c.Verdict == analyze.VerdictWorse }}},
	},
}
