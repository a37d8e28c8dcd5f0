package analyze

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// cards picks the headline figures: of the run in focus, else of the first
// trace, else of the first server.
func (s *Summary) cards(rep *Report) {
	if c := Value[Comparison](rep); c != nil {
		s.comparedCards(c)
		return
	}
	if r, name := focus(rep); r != nil {
		s.runCards(rep, r, name)
		return
	}
	if sl := Value[Slices](rep); sl != nil {
		s.traceCards(sl.Datasets[0])
		return
	}
	if sv := Value[Servers](rep); sv != nil {
		s.serverCards(sv.Servers[0])
	}
}

func (s *Summary) runCards(rep *Report, r *RunStats, name string) {
	n := r.Counts.Completed
	add := func(c Card) {
		if c.Value.OK {
			c.Sub = name
			s.Cards = append(s.Cards, c)
		}
	}
	add(Card{Label: "Output throughput", Metric: string(serving.RateOutput), Unit: serving.PerSecond, Value: r.Throughput.Output, N: n})
	add(completedCard(r.Throughput.Requests, n))
	s.latencyCards(r.Dists, r.SLO, add)
	if g := r.Goodput; g != nil {
		add(Card{Label: "Goodput", Metric: "goodput_share", Unit: serving.Share, Value: g.Share, N: g.Of})
	}
	add(failedCard(r.Counts))
	if c, ok := ceilingCard(rep, r); ok {
		add(c)
	} else if k, ok := ceilingChip(rep); ok {
		s.Chips = append(s.Chips, k)
	}
}

// latencyCards are the tails of the four times of a request.
func (s *Summary) latencyCards(ds Dists, slos []SLOResult, add func(Card)) {
	for _, k := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E} {
		d := ds.Of(k)
		if d == nil {
			continue
		}
		m, _ := serving.MetricOf(k)
		// The highest tail that n carries: a p99 of 100 requests is their maximum.
		for _, p := range []float64{0.99, 0.95, 0.9, 0.5} {
			q, ok := d.Q(p)
			if !ok || q.Quality == QualityUnsupported && p != 0.5 {
				continue
			}
			c := Card{Label: m.Title + " " + serving.QuantileName(p), Metric: string(k), Unit: serving.Seconds, Value: q.Value, N: d.Count}
			for _, r := range slos {
				if slo, err := serving.ParseSLO(r.Expr); err == nil && slo.Metric == k && c.SLO == "" {
					c.SLO, c.Tone = r.Expr+": "+string(r.Result), toneOf(r.Result)
				}
			}
			add(c)
			break
		}
	}
}

func toneOf(r GateResult) string {
	switch r {
	case GatePass:
		return "good"
	case GateFail:
		return "bad"
	}
	return "warn"
}

func failedCard(c Counts) Card {
	out := Card{Label: "Failed", Metric: "failed_share", Unit: serving.Share, N: c.Sent}
	if c.Sent.Or(0) > 0 && c.Failed.OK {
		out.Value = serving.Some(float64(c.Failed.V) / float64(c.Sent.V))
	}
	return out
}

// completedCard is the rate of completed requests: of a run over its duration, of a
// trace from its first arrival to its last end. Failures are no throughput.
func completedCard(rate serving.Opt[float64], n serving.Opt[int64]) Card {
	return Card{Label: "Requests completed", Metric: string(serving.RateRequests), Unit: serving.PerSecond, Value: rate, N: n}
}

func (s *Summary) traceCards(d *DatasetStats) {
	add := func(c Card) {
		if c.Value.OK {
			c.Sub = d.Dataset
			s.Cards = append(s.Cards, c)
		}
	}
	if d.Span.Or(0) > 0 {
		if done := d.All.Counts.Completed; done.OK {
			add(completedCard(serving.Some(float64(done.V)/d.Span.V), done))
		}
		add(Card{Label: "Output throughput", Metric: string(serving.RateOutput), Unit: serving.PerSecond, N: d.All.Counts.Completed,
			Value: serving.Some(float64(d.All.Output) / d.Span.V)})
	}
	s.latencyCards(d.All.Dists, d.All.SLO, add)
	if g := d.All.Goodput; g != nil {
		add(Card{Label: "Goodput", Metric: "goodput_share", Unit: serving.Share, Value: g.Share, N: g.Of})
	}
	add(failedCard(d.All.Counts))
	if d.All.CachedShare.OK {
		add(Card{Label: "Prompt tokens from cache", Metric: "cached_share", Unit: serving.Share, Value: d.All.CachedShare, N: d.All.Counts.Completed})
	}
}

func (s *Summary) serverCards(x *ServerStats) {
	add := func(c Card) {
		c.Sub = x.Server.Label
		s.Cards = append(s.Cards, c)
	}
	for _, k := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.Queue, serving.E2E} {
		if d := x.Dists.Of(k); d != nil {
			if q, ok := d.Q(0.95); ok && q.Value.OK {
				m, _ := serving.MetricOf(k)
				add(Card{Label: m.Title + " p95", Metric: string(k), Unit: serving.Seconds, Value: q.Value, N: d.Count,
					SLO: fmt.Sprintf("in the bucket %s to %s", seconds(q.Lo.Or(0)), seconds(q.Hi.Or(math.Inf(1)))), Tone: "neutral"})
			}
		}
	}
	for _, g := range x.Gauges {
		if len(g.By) > 0 {
			continue
		}
		switch g.Name {
		case serving.Waiting:
			add(Card{Label: "Waiting, highest", Metric: string(g.Name), Unit: serving.RequestsUnit, Value: serving.Some(g.Max), N: serving.Some(int64(g.N))})
		case serving.KVUsage:
			add(Card{Label: "KV cache, highest", Metric: string(g.Name), Unit: serving.Share, Value: serving.Some(g.Max), N: serving.Some(int64(g.N))})
		}
	}
	for _, i := range x.Increases {
		if i.Name == serving.Preemptions && len(i.By) == 0 && !x.SinceStart {
			add(Card{Label: "Preemptions", Metric: string(i.Name), Unit: serving.NoUnit, Value: serving.Some(i.Value)})
		}
	}
}
