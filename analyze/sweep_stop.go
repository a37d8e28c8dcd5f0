package analyze

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// What stops a server first.
const (
	StoppedBySeqs      = "max_num_seqs"
	StoppedByKV        = "kv_pool"
	StoppedByBandwidth = "bandwidth"
	StoppedByCompute   = "compute"
	StoppedByUnknown   = "unknown"
)

// Rules of what counts as a limit that was hit (judgement).
const (
	atBatchLimit = 0.75 // of the limit run by Little's law: a run's start and end are in the mean
	overLimit    = 1.2  // of the limit by Little's law: what waits for its first token is in the mean
	atGaugeLimit = 0.95 // of the limit by the engine's own gauge
	poolFull     = 0.97 // of the KV pool
)

// stopEvidence is what is known of a server beside the curve itself, at the
// levels of its third region.
type stopEvidence struct {
	limit       serving.Opt[float64] // of requests that run at once in an engine
	engines     float64              // that share the load
	limitFrom   string
	running     serving.Opt[float64] // the most that ran, by the engine's gauge
	kvUsage     serving.Opt[float64] // the highest share of the KV pool in use
	preemptions serving.Opt[float64] // increase over the levels
	scrapes     string               // which scrapes, and why they are of these runs; "" without any

	// Where model and hardware are known: the share of each ceiling that the
	// highest level reaches, and how many requests of this length the KV pool
	// holds.
	bandwidth, compute serving.Opt[float64]
	pool               serving.Opt[float64]
	poolFrom           string
}

// stop says what stopped the server first, with the evidence, or what is
// missing to tell.
func (r *Region) stop(s *Sweep, ev stopEvidence) {
	r.StoppedBy = StoppedByUnknown
	run := s.runsAtOnce(r.From)
	if run.OK {
		r.Evidence = append(r.Evidence, fmt.Sprintf("by Little's law %s requests run at once beyond it", kneeNumber(run.V)))
	}
	if ev.scrapes != "" {
		r.Evidence = append(r.Evidence, ev.scrapes)
	}
	set := func(by, text string) {
		if r.StoppedBy == StoppedByUnknown {
			r.StoppedBy = by
		}
		r.Evidence = append(r.Evidence, text)
	}
	if ev.limit.OK {
		all := ev.limit.V * max(1, ev.engines)
		text := fmt.Sprintf("the limit %s is %s", ev.limitFrom, number(ev.limit.V))
		if all > ev.limit.V {
			text += fmt.Sprintf(" in each of %s engines", number(ev.engines))
		}
		switch {
		case ev.running.OK && ev.running.V >= atGaugeLimit*ev.limit.V:
			set(StoppedBySeqs, text+fmt.Sprintf(", and the engine ran %s", number(ev.running.V)))
		case ev.running.OK:
			r.Evidence = append(r.Evidence, text+fmt.Sprintf(", and the engine ran no more than %s", number(ev.running.V)))
		case run.OK && run.V >= atBatchLimit*all && run.V <= overLimit*all:
			set(StoppedBySeqs, text)
		default:
			r.Evidence = append(r.Evidence, text+", which is not what runs at once")
		}
	} else {
		r.Missing = append(r.Missing, "max_num_seqs (pass it with --metadata, or keep the engine's log beside the results)")
	}
	r.weighPool(ev, run, set)
	r.hardware(ev, set)
}

// weighPool weighs the KV pool: by its own gauges, else by how many requests it
// holds against how many run.
func (r *Region) weighPool(ev stopEvidence, run serving.Opt[float64], set func(by, text string)) {
	if ev.kvUsage.OK {
		text := "KV pool in use up to " + percent(math.Round(ev.kvUsage.V*1000)/1000)
		if ev.preemptions.OK {
			text += fmt.Sprintf(", %s", plural(int(ev.preemptions.V), "preemption", "preemptions"))
		}
		if ev.kvUsage.V >= poolFull || ev.preemptions.Or(0) > 0 {
			set(StoppedByKV, text)
		} else {
			r.Evidence = append(r.Evidence, text)
		}
		return
	}
	if ev.pool.OK && run.OK {
		text := fmt.Sprintf("the KV pool holds %s requests of this length (%s)", number(math.Floor(ev.pool.V)), ev.poolFrom)
		if run.V >= bindsTokens*ev.pool.V {
			set(StoppedByKV, text)
		} else {
			r.Evidence = append(r.Evidence, text)
		}
	}
	if r.StoppedBy == StoppedByUnknown {
		r.Missing = append(r.Missing, "scrapes of /metrics during the runs, for KV usage, preemptions and running requests")
	}
}

// hardware weighs the ceilings, where they are known. Where the batch limit is
// not known they decide nothing: a server at its batch limit may be near them as
// well.
func (r *Region) hardware(ev stopEvidence, set func(by, text string)) {
	for _, c := range []struct {
		by    string
		share serving.Opt[float64]
		binds float64
	}{{StoppedByCompute, ev.compute, bindsMFU}, {StoppedByBandwidth, ev.bandwidth, bindsMBU}} {
		if !c.share.OK {
			continue
		}
		text := fmt.Sprintf("%s of the %s ceiling is reached", percent(math.Round(c.share.V*1000)/1000), c.by)
		if c.share.V >= c.binds && ev.limit.OK {
			set(c.by, text)
		} else {
			r.Evidence = append(r.Evidence, text)
		}
	}
	if r.StoppedBy == StoppedByUnknown && !ev.bandwidth.OK && !ev.compute.OK {
		r.Missing = append(r.Missing, "the model and the hardware (--model, --hardware), for the bandwidth and compute ceilings")
	}
}

// ceilings adds what the hardware allows at the highest level, where the model
// and the hardware are known.
func (in *Input) ceilings(s *Sweep, ev *stopEvidence) {
	sub := &subject{label: s.Label, sweep: s}
	for _, p := range s.Points {
		sub.runs = append(sub.runs, p.Runs...)
	}
	f := &ceilingFinder{in: in, runs: &Runs{Runs: sub.runs}}
	sub.facts = f.deployment(sub.runs[0].Run)
	if n, err := strconv.ParseFloat(sub.facts.maxSeqs, 64); err == nil && n > 0 && !ev.limit.OK {
		ev.limit, ev.limitFrom = serving.Some(n), "max_num_seqs (of the engine)"
	}
	c := f.ceiling(sub)
	if c == nil {
		return
	}
	if c.Machine != nil {
		ev.engines = float64(c.Machine.Replicas)
	}
	top := -1
	for i, l := range c.Levels {
		if l.Batch.OK && (top < 0 || l.Batch.V > c.Levels[top].Batch.V) {
			top = i
		}
	}
	if top >= 0 {
		ev.compute, ev.bandwidth = c.Levels[top].MFU, c.Levels[top].MBU
		if c.Levels[top].Beyond {
			ev.bandwidth = serving.None[float64]()
		}
	}
	if c.Capacity != nil {
		if p := c.Capacity.Best(); p != nil {
			ev.pool, ev.poolFrom = p.Requests, poolOrigin(c.Capacity)
		}
	}
}

// runsAtOnce is how many requests run beyond a load, by Little's law over the
// time that they do not wait for a place. A first token's own time is that of
// the highest level without a queue, and of an open loop, where arrivals queue
// at any rate, the shortest; where every level has a queue it is not known, and
// the requests in decode alone are counted.
func (s *Sweep) runsAtOnce(from float64) serving.Opt[float64] {
	own := 0.0
	for i := range s.Points {
		p := &s.Points[i]
		t := p.ttft()
		switch {
		case p.XUnlimited || !p.Reached || !t.OK:
		case s.offered():
			if p.X < from && (own == 0 || t.V < own) {
				own = t.V
			}
		case p.X < from || p.X == from && i > 0:
			own = t.V
		}
	}
	var vs []float64
	for i := range s.Points {
		if p := &s.Points[i]; p.X > from && !p.XUnlimited && p.Reached {
			if v := p.running(own); v.OK {
				vs = append(vs, v.V)
			}
		}
	}
	if len(vs) == 0 {
		return serving.None[float64]()
	}
	// The start and the end of a run, when fewer run, weigh least at the top.
	return serving.Some(slices.Max(vs))
}

// evidence collects what is known of the server of a sweep: its settings, and
// scrapes that were taken during its runs.
func (in *Input) evidence(s *Sweep) stopEvidence {
	var ev stopEvidence
	var limits []float64
	for _, p := range s.Points {
		for _, r := range p.Runs {
			for _, key := range batchKeys {
				if v, ok := r.Run.Setting(key); ok {
					if f, err := strconv.ParseFloat(v, 64); err == nil && f > 0 {
						ev.limitFrom = key
						if !slices.Contains(limits, f) {
							limits = append(limits, f)
						}
					}
				}
			}
		}
	}
	if len(limits) == 1 {
		ev.limit = serving.Some(limits[0])
	}
	in.scraped(s, &ev)
	in.ceilings(s, &ev)
	return ev
}

// scraped adds the gauges of scrapes taken during the runs of the upper levels.
// A result's date has no zone: it is taken as UTC, and believed only where
// scrapes of the same model cover the run.
func (in *Input) scraped(s *Sweep, ev *stopEvidence) {
	region := s.Region(Queueing)
	if region == nil {
		return
	}
	highest := func(to *serving.Opt[float64], v float64) {
		if !to.OK || v > to.V {
			*to = serving.Some(v)
		}
	}
	for i := range s.Points {
		p := &s.Points[i]
		if p.X < region.From {
			continue
		}
		for _, r := range p.Runs {
			w, ok := r.window()
			if !ok {
				continue
			}
			for _, srv := range in.Data.Servers {
				if srv.Relative || srv.Model.OK && r.Run.Model.OK && srv.Model.V != r.Run.Model.V || !covers(srv, w) {
					continue
				}
				x := viewOf(srv, w).stats()
				for _, g := range x.Gauges {
					switch {
					case len(g.By) > 0:
					case g.Name == serving.Running:
						highest(&ev.running, g.Max)
					case g.Name == serving.KVUsage:
						highest(&ev.kvUsage, g.Max)
					}
				}
				for _, c := range x.Increases {
					if c.Name == serving.Preemptions && len(c.By) == 0 && !x.SinceStart {
						ev.preemptions = serving.Some(ev.preemptions.Or(0) + c.Value)
					}
				}
				ev.scrapes = fmt.Sprintf("%s was scraped while %s ran (its date taken as UTC)", srv.Label, r.Run.Label)
			}
		}
	}
}

// window is when a run ran: vLLM writes the date when it is done.
func (r *RunStats) window() (cube.Window, bool) {
	if !r.Run.Started.OK || !r.Duration.OK {
		return cube.Window{}, false
	}
	for _, form := range []string{"20060102-150405", time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(form, r.Run.Started.V); err == nil {
			end := t.UnixNano()
			return cube.Window{From: end - int64(r.Duration.V*1e9), To: end + 1}, true
		}
	}
	return cube.Window{}, false
}

// covers reports whether a server was scraped before and after a window began
// and ended, and at least twice inside.
func covers(s *serving.Server, w cube.Window) bool {
	n := len(s.Times)
	return n > 1 && s.Times[0] <= w.From && s.Times[n-1] >= w.To-1 && viewOf(s, w).n() > 1
}
