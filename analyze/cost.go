package analyze

import (
	"context"
	"fmt"

	"github.com/vreport/vreport/ingest/serving"
)

// Cost is the value of section "cost".
type Cost struct {
	Price    Price
	Rows     []CostRow
	Capacity []CapacityCost
}

// A CostRow is what a run's tokens cost: price × GPUs over its rate.
type CostRow struct {
	Run             *RunStats
	GPUs            int
	GPUsFrom        string               // what says their number: "--hardware", or where in which file the run stands
	PerHour         float64              // of all GPUs
	PerMillionOut   serving.Opt[float64] // a million output tokens
	PerMillionTotal serving.Opt[float64] // a million prompt and output tokens
}

// A CapacityCost is the cost at the highest load of a sweep that meets every
// objective.
type CapacityCost struct {
	Sweep         *Sweep
	Level         string
	PerMillionOut float64
	Run           *RunStats
}

func runCost(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	p, runs := in.Opt.Price, Value[Runs](rep)
	if p == nil || runs == nil {
		return nil, nil, nil
	}
	f := &ceilingFinder{in: in, runs: runs}
	f.countGPUs()
	out := Cost{Price: *p}
	lost := 0
	for _, r := range runs.Runs {
		c := &Ceiling{}
		f.setGPUs(c, &subject{facts: deployment{gpus: gpusOf(r.Run).Or(0)}})
		if !c.GPUs.OK {
			lost++
			continue
		}
		row := CostRow{Run: r, GPUs: c.GPUs.V, GPUsFrom: c.GPUsFrom, PerHour: p.PerGPUHour * float64(c.GPUs.V)}
		if c.GPUsFrom == fromFile {
			row.GPUsFrom = r.Run.Source.String()
		}
		row.PerMillionOut, row.PerMillionTotal = perMillion(row.PerHour, r.Throughput.Output), perMillion(row.PerHour, r.Throughput.Total)
		if row.PerMillionOut.OK || row.PerMillionTotal.OK {
			out.Rows = append(out.Rows, row)
		}
	}
	notes := []string{
		"Cost = price × GPUs ÷ tokens/s: of the hours in which the server is as busy as in the run. Idle hours, hosts and network are not in it.",
		"A million output tokens carries the cost of its prompts; a million of all tokens spreads it over both.",
	}
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("%s left out: the number of GPUs is not in the files. Give --hardware NAME:COUNT.", plural(lost, "run is", "runs are")))
	}
	if len(out.Rows) == 0 {
		return nil, notes[2:], nil
	}
	out.atCapacity(Value[Sweeps](rep))
	return &out, notes, nil
}

// perMillion is the cost of a million tokens at a rate.
func perMillion(perHour float64, rate serving.Opt[float64]) serving.Opt[float64] {
	if !rate.OK || rate.V <= 0 {
		return serving.None[float64]()
	}
	return finite(perHour / 3600 / rate.V * 1e6)
}

// atCapacity takes the cost at each sweep's highest level that meets every
// objective.
func (c *Cost) atCapacity(s *Sweeps) {
	if s == nil {
		return
	}
	for _, sw := range s.Sweeps {
		if sw.Capacity == nil || sw.Capacity.At == nil {
			continue
		}
		p := sw.Capacity.At
		for _, row := range c.Rows {
			if row.Run == p.Runs[0] && row.PerMillionOut.OK {
				c.Capacity = append(c.Capacity, CapacityCost{Sweep: sw, Level: number(p.X), PerMillionOut: row.PerMillionOut.V, Run: row.Run})
			}
		}
	}
}
