package render

import (
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// qualityView lists the doubts about the data.
type qualityView struct{ Findings *Table }

func viewQuality(_ *pageContext, value any) (any, error) {
	q, err := valueAs[analyze.QualityFindings](value)
	if err != nil {
		return nil, err
	}
	if len(q.Findings) == 0 {
		return &qualityView{}, nil
	}
	t := &Table{ID: "quality-findings", Caption: "Findings, each with what was found and what it is held against", Sortable: true,
		Head: []Head{col("Finding"), col("Of"), numCol("Found", "", ""), numCol("Threshold", "", ""), col("What it means")}}
	for _, f := range q.Findings {
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: strings.ReplaceAll(f.ID, "_", " "), Pill: "warn"}, {Text: orMissing(f.Subject), Class: "clip"},
			valueCell(serving.NoUnit, f.Value), valueCell(serving.NoUnit, f.Threshold), wrapped(f.Message)}})
	}
	return &qualityView{t.dropEmpty()}, nil
}
