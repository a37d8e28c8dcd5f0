package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// diagnosisView is one diagnosis after the other.
type diagnosisView struct{ Items []diagnosisItem }

type diagnosisItem struct {
	ID, Title, Verdict, Tone string
	Facts                    []Fact
	Symptoms                 *Table
	Hypotheses               []hypothesisView
	Rest                     []hypothesisView
	Separate                 string
	Stages                   *Table
	Checks                   *Table
	Onsets                   *Table
}

type hypothesisView struct {
	ID, Title, Status, Tone, Score string
	Evidence                       []evidenceView
	Remedies                       *Table
	Open                           bool
}

func viewDiagnosis(_ *pageContext, value any) (any, error) {
	v, err := valueAs[analyze.Diagnoses](value)
	if err != nil {
		return nil, err
	}
	var out diagnosisView
	for i, d := range v.Diagnoses {
		out.Items = append(out.Items, newDiagnosisItem(fmt.Sprintf("diagnosis-%d", i+1), d))
	}
	return &out, nil
}

func newDiagnosisItem(id string, d *analyze.Diagnosis) diagnosisItem {
	it := diagnosisItem{ID: id, Title: labelTitle(d.Label), Verdict: d.Verdict, Separate: d.Separate, Tone: "warn"}
	if len(d.Present()) == 0 {
		it.Tone = ""
	}
	if d.Known {
		foundBy := signalName(d.Lead)
		if d.Given {
			foundBy = "given (--incident)"
		}
		it.Facts = []Fact{{"Baseline", orMissing(d.Baseline)}, {"Incident", d.Incident}, {"Found by", foundBy}}
	} else {
		it.Facts = []Fact{{"Baseline", "none: no latency, queue or failure changed for the worse"}}
	}
	it.Symptoms = symptomTable(id, d)
	for i, h := range d.Hypotheses {
		hv := newHypothesisView(id+"-"+strings.ReplaceAll(h.Cause, "_", "-"), h)
		if i < 3 && (h.Status == rules.Supported || h.Status == rules.CannotTell && len(d.Present()) > 0) {
			hv.Open = i == 0
			it.Hypotheses = append(it.Hypotheses, hv)
		} else {
			it.Rest = append(it.Rest, hv)
		}
	}
	it.Stages, it.Checks, it.Onsets = stageTable(id, d), checkTable(id, d), onsetTable(id, d)
	return it
}

// signalName writes a signal as people say it.
func signalName(s string) string {
	switch s {
	case "ttft":
		return "TTFT"
	case "ttft_tail":
		return "the tail of TTFT"
	case "tpot":
		return "TPOT"
	case "tpot_tail":
		return "the tail of TPOT"
	case "kv_usage":
		return "KV cache usage"
	case "failed":
		return "failed share"
	case "arrivals":
		return "arriving requests/s"
	case "prompt_tokens":
		return "prompt tokens"
	case "output_tokens":
		return "output tokens"
	case "cache_missed":
		return "prompt share not in the prefix cache"
	}
	return s
}

var symptomNames = map[string]string{
	"ttft": "The first token is late", "streaming": "It starts, then streams slowly", "tail": "Only some requests are slow", "unfinished": "Requests do not finish",
}

func symptomTable(id string, d *analyze.Diagnosis) *Table {
	t := &Table{ID: id + "-symptoms", Caption: "Symptoms", Head: []Head{col("Symptom"), col("Present"), col("Evidence")}}
	for _, s := range d.Symptoms {
		c := Cell{Text: "no", Pill: "good"}
		switch {
		case !s.Known:
			c = Cell{Text: "not known", Pill: "neutral"}
		case s.Present:
			c = Cell{Text: "yes", Pill: "bad"}
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(symptomNames[s.ID]), c, wrapped(orMissing(strings.Join(s.Evidence, "; ")))}})
	}
	return t
}

func statusText(s rules.Status) (string, string) {
	switch s {
	case rules.Supported:
		return "supported", "bad"
	case rules.CannotTell:
		return "cannot tell", "warn"
	case rules.Refuted:
		return "refuted", "good"
	}
	return "not supported", "neutral"
}

func newHypothesisView(id string, h analyze.Explanation) hypothesisView {
	v := hypothesisView{ID: id, Title: fmt.Sprintf("%s (case %s, %s)", h.Title, h.Case, h.Cause)}
	v.Status, v.Tone = statusText(h.Status)
	v.Score = fmt.Sprintf("score %.2f, %s of the evidence known", h.Score, FormatShare(h.Coverage))
	for _, e := range []evidenceView{{"For", h.For}, {"Against", h.Against}, {"Missing", h.Missing}} {
		if len(e.Items) > 0 {
			v.Evidence = append(v.Evidence, e)
		}
	}
	if h.Status == rules.Supported || h.Status == rules.CannotTell {
		v.Evidence = append(v.Evidence, evidenceView{"Next", h.Next})
	}
	if h.Status == rules.Supported {
		v.Remedies = &Table{ID: id + "-remedies", Caption: "Remedies, each an experiment with its price", Head: []Head{col("Try"), col("Price")}}
		for _, r := range h.Remedies {
			v.Remedies.Rows = append(v.Remedies.Rows, Row{Cells: []Cell{wrapped(r.Text), wrapped(r.Price)}})
		}
	}
	return v
}

// stageTable says where the time went. Parts of a row add up to its whole.
func stageTable(id string, d *analyze.Diagnosis) *Table {
	if len(d.Stages) == 0 {
		return nil
	}
	t := &Table{ID: id + "-stages", Caption: "Where the time went: the parts of a row add up to its whole", Sortable: true,
		Head: []Head{col("Of"), col("Window"), col("Requests"), numCol("n", "", ""), metricCol("Whole", serving.Seconds), metricCol("Queue", serving.Seconds), metricCol("Prefill", serving.Seconds),
			metricCol("Decode", serving.Seconds), metricCol("Front end", serving.Seconds), metricCol("Residual", serving.Seconds), col("Source")}}
	for _, s := range d.Stages {
		which := "mean"
		switch {
		case s.Band == "p95" && s.Tail:
			which = "from p95 on"
		case s.Band == "p95":
			which = "around p95"
		}
		for _, b := range s.By {
			which += ", " + b.Dim + " " + b.Value
		}
		source := wrapped(s.Source)
		if s.Means {
			source.Sub = "means only: histograms"
		}
		row := []Cell{text(metricTitleOf(s.Of)), text(s.Window), text(which), countCell(serving.Some(int64(s.N)))}
		for _, v := range []float64{s.Whole, s.Queue, s.Prefill, s.Decode, s.Front, s.Rest} {
			row = append(row, valueCell(serving.Seconds, known(v)))
		}
		t.Rows = append(t.Rows, Row{Cells: append(row, source)})
	}
	return t
}

func metricTitleOf(k serving.MetricKey) string {
	m, _ := serving.MetricOf(k)
	return m.Title
}

// known is a value that may be missing as NaN.
func known(v float64) serving.Opt[float64] {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return serving.None[float64]()
	}
	return serving.Some(v)
}

func checkTable(id string, d *analyze.Diagnosis) *Table {
	t := &Table{ID: id + "-checks", Caption: "The checks of the five cases", Sortable: true,
		Head: []Head{col("Case"), col("Question"), col("Answer"), numCol("Value", "", ""), col("Limit"), col("Window and source")}}
	for _, c := range d.Checks {
		tone := map[string]string{"yes": "bad", "no": "good", "needs": "neutral"}[c.Answer]
		limit := "≥ "
		if c.AtMost {
			limit = "≤ "
		}
		where := c.Needs
		if c.Answer == "needs" {
			where = "needs " + where
		} else {
			where = strings.Join(nonEmpty(c.Where, c.Source, c.Window), "; ")
		}
		source := wrapped(where)
		source.Sub = c.PromQL
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(c.Case), wrapped(c.Question), {Text: c.Answer, Pill: tone}, number(plainValue(c.Unit, c.Value), RawValue(c.Unit, c.Value)),
			text(limit + plainValue(c.Unit, c.Threshold)), source}})
	}
	return t
}

func plainValue(u serving.Unit, v serving.Opt[float64]) string {
	if !v.OK {
		return Missing
	}
	switch u {
	case serving.Seconds, serving.Share:
		return FormatValue(u, v)
	}
	return FormatNumber(v.V)
}

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func onsetTable(id string, d *analyze.Diagnosis) *Table {
	if len(d.Onsets) == 0 {
		return nil
	}
	t := &Table{ID: id + "-onsets", Caption: "What changed for the worse, the first one first (an order, no proof)", Head: []Head{col("When"), col("Signal"), col("Before"), col("After"), col("Source")}}
	for _, o := range d.Onsets {
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(wireTime(o.At, d.Relative)), text(signalName(o.Signal)), text(plainValue(o.Unit, known(o.Before))), text(plainValue(o.Unit, known(o.After))), wrapped(o.Source)}})
	}
	return t
}

// labelTitle makes a heading of what the user, or a path, calls something: a word
// becomes one, a name stays as it is.
func labelTitle(label string) string {
	if first, _, _ := strings.Cut(label, " "); strings.ContainsAny(first, `/\._:=-0123456789`) {
		return label
	}
	return upperFirst(label)
}
