package render

import (
	"github.com/vreport/vreport/analyze"
)

type wireExperiment struct {
	Hypothesis string          `json:"hypothesis"`
	Result     string          `json:"result"`
	Conditions []wireCondition `json:"conditions"`
}

type wireCondition struct {
	Kind     string       `json:"kind"`
	Text     string       `json:"text"`
	Answer   string       `json:"answer"`
	Value    *float64     `json:"value,omitempty"`
	Interval wireInterval `json:"interval,omitempty"`
	Why      string       `json:"why,omitempty"`
}

func newWireExperiment(e *analyze.Experiment) *wireExperiment {
	if e == nil {
		return nil
	}
	w := &wireExperiment{Hypothesis: e.Statement, Result: string(e.Result), Conditions: []wireCondition{}}
	for _, c := range e.Conditions {
		w.Conditions = append(w.Conditions, wireCondition{string(c.Kind), c.Text, c.Answer, wireNumber(c.Value), newWireInterval(wireNumber(c.Lo), wireNumber(c.Hi)), c.Why})
	}
	return w
}
