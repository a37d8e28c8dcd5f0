package stat

import "math"

// An Evidence is one observation for or against a hypothesis: its strength grows
// from 0 at Lo to 1 at Hi. Lo may lie above Hi, for what counts by being small.
type Evidence struct {
	Weight float64
	Value  float64 // NaN: not known
	Lo, Hi float64
}

// Strength is 0…1, NaN where the value is not known.
func (e Evidence) Strength() float64 {
	if math.IsNaN(e.Value) {
		return math.NaN()
	}
	if e.Lo == e.Hi {
		if e.Value >= e.Hi {
			return 1
		}
		return 0
	}
	return min(1, max(0, (e.Value-e.Lo)/(e.Hi-e.Lo)))
}

// A Score weighs what speaks for a hypothesis against what speaks against it. It
// is no probability.
type Score struct {
	Support  float64 // weighted mean strength of the evidence that is known
	Contra   float64 // likewise of the counter-evidence
	Coverage float64 // weight of the evidence that is known over the weight of all
	Score    float64 // coverage × (support − contra), 0 at least
}

// ScoreOf scores a hypothesis by its evidence and the counter-evidence.
func ScoreOf(evidence, counter []Evidence) Score {
	support, known, all := weigh(evidence)
	contra, _, _ := weigh(counter)
	s := Score{Support: support, Contra: contra}
	if all > 0 {
		s.Coverage = known / all
	}
	s.Score = max(0, s.Coverage*(support-contra))
	return s
}

func weigh(es []Evidence) (mean, known, all float64) {
	sum := 0.0
	for _, e := range es {
		all += e.Weight
		if v := e.Strength(); !math.IsNaN(v) {
			known += e.Weight
			sum += e.Weight * v
		}
	}
	if known > 0 {
		mean = sum / known
	}
	return mean, known, all
}
