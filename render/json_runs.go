package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

func newWireRun(s *analyze.RunStats) wireRun {
	r := s.Run
	w := wireRun{
		ID: r.ID, Label: r.Label, Source: r.Source.Path, Format: r.Format,
		Engine: r.Engine.Ptr(), Backend: r.Backend.Ptr(), Version: r.Version.Ptr(), Model: r.Model.Ptr(),
		Tokenizer: r.Tokenizer.Ptr(), GPUs: r.GPUs.Ptr(), Workload: r.Workload.Ptr(), Started: r.Started.Ptr(),
		Settings: wireSettings(r.Settings), Load: newWireLoad(r.Load),
		Sent: s.Counts.Sent.Ptr(), Completed: s.Counts.Completed.Ptr(), Failed: s.Counts.Failed.Ptr(), Outcomes: s.Counts.Outcomes,
		Duration:   wireNumber(s.Duration),
		Tokens:     wireTokens{s.Input.Ptr(), s.Output.Ptr()},
		Throughput: newWireThroughput(s.Throughput), Peak: newWirePeak(s.Throughput),
		Goodput: newWireGoodput(s.Goodput), SLO: newWireSLOs(s.SLO), Metrics: wireMetrics(s.Dists),
		Warnings: s.Warnings, Reading: s.Reading,
		Examples: newWireExamples(s.Examples, relativeArrival(requestColumns(r))),
	}
	if at := r.Source.String(); at != r.Source.Path {
		w.At = at
	}
	for _, m := range s.Mismatch {
		w.FileMismatch = append(w.FileMismatch, wireMismatch{m.Field, wireFloat(m.File), wireFloat(m.Ours)})
	}
	return w
}

func requestColumns(r *serving.Run) []serving.Column {
	if r.Requests == nil {
		return nil
	}
	return r.Requests.Columns()
}

func newWireLoad(l serving.Load) wireLoad {
	w := wireLoad{
		Mode: string(l.Mode), MaxConcurrency: l.MaxConcurrency.Ptr(), RequestRate: wireNumber(l.RequestRate),
		Unlimited: l.Unlimited, Burstiness: wireNumber(l.Burstiness),
	}
	if w.Mode == "" {
		w.Mode = string(serving.UnknownLoad)
	}
	return w
}

func newWireThroughput(t analyze.Throughput) wireThroughput {
	return wireThroughput{
		Requests: wireNumber(t.Requests), Output: wireNumber(t.Output), Total: wireNumber(t.Total),
		OutputPerGPU: wireNumber(t.OutputPerGPU), OutputPerUser: wireNumber(t.OutputPerUser), InFlight: wireNumber(t.InFlight),
	}
}

func newWirePeak(t analyze.Throughput) *wirePeak {
	p := wirePeak{wireNumber(t.PeakOutput), wireNumber(t.PeakConcurrent)}
	if p == (wirePeak{}) {
		return nil
	}
	return &p
}

func newWireGoodput(g *analyze.Goodput) *wireGoodput {
	if g == nil {
		return nil
	}
	return &wireGoodput{
		PerSecond: wireNumber(g.PerSecond), Share: wireNumber(g.Share),
		Interval: newWireInterval(wireNumber(g.Lo), wireNumber(g.Hi)),
		Good:     g.Good.Ptr(), Of: g.Of.Ptr(), Origin: string(g.Origin),
	}
}

func newWireSLOs(list []analyze.SLOResult) []wireSLO {
	var out []wireSLO
	for _, s := range list {
		out = append(out, wireSLO{
			Expr: s.Expr, Attainment: wireNumber(s.Attainment),
			Interval: newWireInterval(wireNumber(s.Lo), wireNumber(s.Hi)),
			Value:    wireMillis(s.Value), // every metric of an objective is a duration
			Result:   string(s.Result), Reason: s.Reason,
		})
	}
	return out
}
