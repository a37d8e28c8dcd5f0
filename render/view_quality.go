package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// qualityView lists the doubts about the data: by kind, with what to do about
// them, then each with its evidence.
type qualityView struct {
	Kinds    *Table // nil where there is one finding or none
	Findings *Table
}

func viewQuality(_ *pageContext, value any) (any, error) {
	q, err := valueAs[analyze.QualityFindings](value)
	if err != nil {
		return nil, err
	}
	if len(q.Findings) == 0 {
		return &qualityView{}, nil
	}
	return &qualityView{kindsTable(q.Findings), findingsTable(q.Findings)}, nil
}

// kindsTable says what each kind of finding means, the gravest first as the
// list of kinds has them.
func kindsTable(fs []analyze.Finding) *Table {
	t := &Table{ID: "quality-kinds", Caption: "What was found, and what it means", Sortable: true,
		Head: []Head{col("Finding"), numCol("how often", "", ""), col("What it means"), col("Held against")}}
	for _, k := range kindsOf(fs) {
		var n int64
		first := -1
		for i := range fs {
			if fs[i].ID == k.ID {
				if n++; first < 0 {
					first = i
				}
			}
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: k.Title, Link: findingID(first)}, countCell(serving.Some(n)), wrapped(orMissing(k.Means)), wrapped(orMissing(k.Threshold))}})
	}
	return t
}

// kindsOf lists the kinds that occur, those without a definition last.
func kindsOf(fs []analyze.Finding) []analyze.FindingKind {
	var out []analyze.FindingKind
	seen := map[string]bool{}
	for i := range fs {
		seen[fs[i].ID] = true
	}
	for _, k := range analyze.FindingKinds {
		if seen[k.ID] {
			out = append(out, k)
			delete(seen, k.ID)
		}
	}
	for i := range fs {
		if seen[fs[i].ID] {
			out = append(out, analyze.KindOf(fs[i].ID))
			delete(seen, fs[i].ID)
		}
	}
	return out
}

func findingsTable(fs []analyze.Finding) *Table {
	t := &Table{ID: "quality-findings", Caption: "Each finding with its evidence: what was found, what it is held against, and the requests it rests on", Sortable: true,
		Head: []Head{col("Finding"), col("Of"), numCol("Found", "", ""), numCol("Threshold", "", ""), numCol("n", "", ""), col("Evidence")}}
	for i, f := range fs {
		k, tone := analyze.KindOf(f.ID), "warn"
		if k.Grave {
			tone = "bad"
		}
		t.Rows = append(t.Rows, Row{ID: findingID(i), Cells: []Cell{{Text: k.Title, Pill: tone}, {Text: orMissing(f.Subject), Class: "clip"},
			valueCell(serving.NoUnit, f.Value), valueCell(serving.NoUnit, f.Threshold), countCell(f.N), wrapped(f.Message)}})
	}
	return t.dropEmpty()
}
