package render

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// An exploreView lets the reader combine the values of dimensions; the page's
// script fills its table and its charts from an exploreSpec of the same id.
type exploreView struct {
	ID      string
	Error   string
	Left    string // the dimensions it has no room for
	Dims    []exploreDim
	Metrics []SwitchOption
	Result  *Table
	Figure  *Figure
}

type exploreDim struct {
	Title, Note string
	Values      []exploreValue
}

type exploreValue struct {
	Label string
	Faint bool
	Sent  string
}

// An exploreSpec is what the script computes with: packed numbers, and what they
// are called.
type exploreSpec struct {
	Bits     uint            `json:"bits"`
	Regular  int             `json:"regular"` // the first bucket of the regular ones
	Least    int             `json:"least"`   // they start at 2^least
	Octaves  int             `json:"octaves"`
	Cells    int             `json:"cells"`
	Dims     []int           `json:"dims"` // how many values each has
	Outcomes []string        `json:"outcomes"`
	Good     string          `json:"good"` // what good requests are; "" where nothing says so
	SLOs     []string        `json:"slos"`
	Metrics  []exploreMetric `json:"metrics"`
	Data     string          `json:"data"` // cube.Explored.Pack in base64
}

type exploreMetric struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Long  string `json:"long"`
}

// explore lays an explorer out and leaves its numbers to the page.
func (c *pageContext) explore(id string, e *analyze.Explorer) (*exploreView, error) {
	if e == nil {
		return nil, nil
	}
	id += "-explore"
	v := &exploreView{ID: id, Error: exploreError(e), Left: exploreLeft(e)}
	spec := exploreSpec{Bits: e.Bits, Cells: len(e.Cells), Outcomes: serving.OutcomeNames(), Good: goodWord(e.Good),
		SLOs: []string{}, Data: base64.StdEncoding.EncodeToString(e.Packed)}
	spec.Regular, spec.Least, spec.Octaves = cube.Scale()
	for i, name := range e.Dims {
		spec.Dims = append(spec.Dims, len(e.Values[i]))
		v.Dims = append(v.Dims, exploreDimOf(e, i, name))
	}
	for _, s := range e.SLOs {
		spec.SLOs = append(spec.SLOs, s.Expr)
	}
	for _, k := range e.Metrics {
		m, ok := serving.MetricOf(k)
		if !ok {
			return nil, fmt.Errorf("unknown metric %s", k)
		}
		spec.Metrics = append(spec.Metrics, exploreMetric{string(m.Key), m.Title, m.Long})
		v.Metrics = append(v.Metrics, SwitchOption{Key: string(m.Key), Label: m.Title + ", " + m.Long, On: len(v.Metrics) == 0})
	}
	v.Result = &Table{ID: id + "-result", Caption: "Selected requests and all others", Head: []Head{col("Figure"), numCol("Selected", "", ""), numCol("All others", "", ""), numCol("Selected against others", "", "")}, Keys: exploreKeys()}
	var err error
	if v.Figure, err = c.exploreFigure(id); err != nil {
		return nil, err
	}
	c.explorers[id] = &spec
	return v, nil
}

// exploreKeys explains the marks that the script puts behind percentiles.
func exploreKeys() []Key {
	var out []Key
	for _, q := range []analyze.Quality{analyze.QualityWeak, analyze.QualityUnsupported} {
		out = append(out, Key{QualityMark(q), QualityText(q)})
	}
	return out
}

func exploreError(e *analyze.Explorer) string {
	return fmt.Sprintf("Counts and shares are exact. Percentiles are read from histograms whose buckets are up to %s wide: each figure is within %s of the exact one, which lies in the interval beneath it.",
		FormatShare(e.Error()), FormatShare(e.Error()))
}

func exploreLeft(e *analyze.Explorer) string {
	if len(e.Left) == 0 {
		return ""
	}
	var names []string
	for _, d := range e.Left {
		names = append(names, strings.ToLower(dimTitle(d)))
	}
	return "Left out to keep the page small: " + strings.Join(names, ", ") + ". What stands first in --group-by is taken first."
}

func goodWord(g analyze.GoodMeaning) string {
	switch g {
	case analyze.GoodConditions:
		return "Goodput"
	case analyze.GoodObjectives:
		return "Within all objectives"
	}
	return ""
}

func exploreDimOf(e *analyze.Explorer, i int, name string) exploreDim {
	d := exploreDim{Title: dimTitle(name)}
	if n := e.Folded[name]; n > 0 {
		d.Note = FormatCount(int64(n)) + " rarer values are folded into “(other)”"
	}
	sent := make([]int64, len(e.Values[i]))
	for c := range e.Cells {
		sent[e.Cells[c].Levels[i]] += e.Cells[c].Sent
	}
	for k, label := range e.Values[i] {
		d.Values = append(d.Values, exploreValue{Label: orMissing(label), Faint: label == cube.Unknown || label == cube.Other, Sent: FormatCount(sent[k])})
	}
	return d
}
