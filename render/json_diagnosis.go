package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/rules"
)

type wireDiagnosis struct {
	Label      string           `json:"label"`
	From       string           `json:"from"`
	To         string           `json:"to"`
	Verdict    string           `json:"verdict"`
	Baseline   string           `json:"baseline,omitempty"`
	Incident   string           `json:"incident,omitempty"`
	Symptoms   []wireSymptom    `json:"symptoms"`
	Stages     []wireStage      `json:"stages"`
	Checks     []wireCheck      `json:"checks"`
	Hypotheses []wireHypothesis `json:"hypotheses"`
	Separate   string           `json:"separate,omitempty"`
	Onsets     []wireOnset      `json:"onsets"`
}

type wireSymptom struct {
	ID       string   `json:"id"`
	Present  bool     `json:"present"`
	Known    bool     `json:"known"`
	Evidence []string `json:"evidence"`
}

type wireStage struct {
	Of       string            `json:"of"`
	By       map[string]string `json:"by"`
	Window   string            `json:"window"`
	Band     string            `json:"band"`
	Source   string            `json:"source"`
	N        int               `json:"n"`
	Whole    *float64          `json:"whole,omitempty"`
	Queue    *float64          `json:"queue,omitempty"`
	Prefill  *float64          `json:"prefill,omitempty"`
	Decode   *float64          `json:"decode,omitempty"`
	Frontend *float64          `json:"frontend,omitempty"`
	Residual *float64          `json:"residual,omitempty"`
	Tail     bool              `json:"tail_mean,omitempty"`
	Means    bool              `json:"from_histograms,omitempty"`
}

type wireCheck struct {
	Case      string   `json:"case"`
	ID        string   `json:"id"`
	Question  string   `json:"question"`
	Answer    string   `json:"answer"`
	Value     *float64 `json:"value,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	Unit      string   `json:"unit"`
	Window    string   `json:"window,omitempty"`
	Source    string   `json:"source,omitempty"`
	Where     string   `json:"where,omitempty"`
	PromQL    string   `json:"promql,omitempty"`
	Needs     string   `json:"needs,omitempty"`
}

type wireHypothesis struct {
	ID       string       `json:"id"`
	Case     string       `json:"case"`
	Cause    string       `json:"cause"`
	Title    string       `json:"title"`
	Status   string       `json:"status"`
	Score    *float64     `json:"score,omitempty"`
	Coverage *float64     `json:"coverage,omitempty"`
	For      []string     `json:"for"`
	Against  []string     `json:"against"`
	Missing  []string     `json:"missing"`
	Next     []string     `json:"next"`
	Remedies []wireRemedy `json:"remedies"`
}

type wireRemedy struct {
	Text  string `json:"text"`
	Price string `json:"price"`
}

type wireOnset struct {
	Signal string   `json:"signal"`
	Source string   `json:"source"`
	At     string   `json:"at"`
	Before *float64 `json:"before,omitempty"`
	After  *float64 `json:"after,omitempty"`
	Shift  *float64 `json:"shift,omitempty"`
	Unit   string   `json:"unit"`

	Uncertainty *float64 `json:"uncertainty_s,omitempty"`
}

func newWireDiagnosis(d *analyze.Diagnosis) wireDiagnosis {
	return wireDiagnosis{
		Label: d.Label, From: wireTime(d.From, d.Relative), To: wireTime(d.To, d.Relative), Verdict: d.Verdict, Baseline: d.Baseline, Incident: d.Incident,
		Symptoms: mapTo(d.Symptoms, func(s analyze.Symptom) wireSymptom {
			return wireSymptom{s.ID, s.Present, s.Known, texts(s.Evidence)}
		}),
		Stages: mapTo(d.Stages, newWireStage), Checks: mapTo(d.Checks, newWireCheck), Hypotheses: mapTo(d.Hypotheses, newWireHypothesis), Separate: d.Separate,
		Onsets: mapTo(d.Onsets, func(o analyze.Onset) wireOnset { return newWireOnset(o, d.Relative) }),
	}
}

func texts(list []string) []string { return mapTo(list, func(s string) string { return s }) }

func newWireStage(s analyze.Stage) wireStage {
	return wireStage{Of: string(s.Of), By: wireBy(s.By), Window: s.Window, Band: s.Band, Source: s.Source, N: s.N, Whole: wireMillis(known(s.Whole)), Queue: wireMillis(known(s.Queue)),
		Prefill: wireMillis(known(s.Prefill)), Decode: wireMillis(known(s.Decode)), Frontend: wireMillis(known(s.Front)), Residual: wireMillis(known(s.Rest)), Tail: s.Tail, Means: s.Means}
}

func newWireCheck(c analyze.CheckResult) wireCheck {
	return wireCheck{Case: c.Case, ID: c.ID, Question: c.Question, Answer: c.Answer, Value: wireValue(c.Unit, c.Value), Threshold: wireValue(c.Unit, c.Threshold), Unit: wireUnit(c.Unit),
		Window: c.Window, Source: c.Source, Where: c.Where, PromQL: c.PromQL, Needs: c.Needs}
}

func newWireHypothesis(h analyze.Explanation) wireHypothesis {
	return wireHypothesis{ID: h.ID, Case: h.Case, Cause: h.Cause, Title: h.Title, Status: string(h.Status), Score: wireFloat(h.Score), Coverage: wireFloat(h.Coverage),
		For: texts(h.For), Against: texts(h.Against), Missing: texts(h.Missing), Next: texts(h.Next),
		Remedies: mapTo(h.Remedies, func(r rules.Remedy) wireRemedy { return wireRemedy{r.Text, r.Price} })}
}
