package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

func newWireSweep(s *analyze.Sweep) wireSweep {
	w := wireSweep{
		ID: s.ID, Label: s.Label, By: map[string]string{}, HeldEqual: wireSettings(s.HeldEqual),
		Load: string(s.Mode), XName: s.XName, Points: []wirePoint{}, Notes: s.Notes,
	}
	if w.Load == "" {
		w.Load = string(serving.UnknownLoad)
	}
	for _, d := range s.Differed {
		w.Differed = append(w.Differed, wireDiffered(d))
	}
	for _, p := range s.Points {
		w.Points = append(w.Points, newWirePoint(p, s.PerGPU))
	}
	if len(s.Front) > 0 {
		w.Pareto = &wirePareto{Axes: paretoAxes(s.PerGPU), Front: s.Front}
	}
	if k := s.Knee; k != nil {
		w.Knees = []wireKnee{{k.Method, wireNumber(k.X), k.Confidence, k.Text}}
	}
	return w
}

func paretoAxes(perGPU bool) []string {
	if perGPU {
		return []string{"output_tokens_per_s_per_gpu", "output_tokens_per_s_per_user"}
	}
	return []string{"output_tokens_per_s", "output_tokens_per_s_per_user"}
}

func newWirePoint(p analyze.SweepPoint, perGPU bool) wirePoint {
	w := wirePoint{
		X: wireFloat(p.X), XUnlimited: p.XUnlimited, Users: wireNumber(p.Users), Repeats: len(p.Runs),
		PerUser: wireNumber(p.PerUser), TTFT99: wireMillis(p.TTFT99), TPOT50: wireMillis(p.TPOT50), E2E50: wireMillis(p.E2E50),
		Goodput: wireNumber(p.Goodput), Dominance: p.Dominance, MeetsSLO: p.MeetsSLO.Ptr(),
	}
	if perGPU {
		w.OutputPerGPU = wireNumber(p.OutputPerS)
	} else {
		w.Output = wireNumber(p.OutputPerS)
	}
	for i, r := range p.Runs {
		if i == 0 {
			w.Run = r.Run.ID
		}
		if len(p.Runs) > 1 {
			w.Runs = append(w.Runs, r.Run.ID)
		}
	}
	return w
}
