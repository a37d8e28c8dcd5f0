package render

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// inputsView is what was read, and how.
type inputsView struct {
	Files    *Table
	Problems []inputDetail
	Settings *Table
	Fields   []inputDetail
}

type inputDetail struct {
	ID, Title, Short string
	Tried            []string
	Table            *Table
}

func viewInputs(c *pageContext, value any) (any, error) {
	in, err := valueAs[analyze.Inputs](value)
	if err != nil {
		return nil, err
	}
	v := &inputsView{Files: filesTable(in)}
	for i, f := range in.Inputs {
		if n := f.Problems.Len(); n > 0 || len(f.Tried) > 0 {
			d := inputDetail{ID: inputID(i), Title: f.Path, Tried: f.Tried, Table: problemsTable(inputID(i)+"-problems", f.Problems.List())}
			d.Short = problemCount(n)
			if f.Format == "unknown" {
				d.Short = "not recognized"
			}
			v.Problems = append(v.Problems, d)
		}
		if t := fieldsTable(inputID(i)+"-fields", f.Fields); t != nil {
			v.Fields = append(v.Fields, inputDetail{Title: f.Path, Short: f.Format, Table: t})
		}
	}
	v.Fields = oneOfAKind(v.Fields)
	if runs := analyze.Value[analyze.Runs](c.rep); runs != nil {
		v.Settings = settingsTable(runs.Runs)
	}
	return v, nil
}

func inputID(i int) string { return fmt.Sprintf("input-%d", i+1) }

func problemCount(n int) string {
	if n == 1 {
		return "1 problem"
	}
	return FormatCount(int64(n)) + " problems"
}

func filesTable(in *analyze.Inputs) *Table {
	t := &Table{ID: "inputs-files", Caption: fmt.Sprintf("%d files read, %d not recognized", in.Known, in.Unknown), Sortable: true,
		Head: []Head{col("File"), col("Format"), numCol("Records", "", ""), numCol("Size", "", "B"), col("SHA-256"), col("Problems"), col("Note")}}
	for i, f := range in.Inputs {
		name := Cell{Text: f.Path, Class: "prose"}
		if f.Label != "" {
			name.Sub = "as " + f.Label
		}
		format := text(f.Format)
		if f.Format == "unknown" {
			format = Cell{Text: "unknown", Pill: "warn"}
		}
		problems := faint("none")
		if n := f.Problems.Len(); n > 0 {
			problems = Cell{Text: problemCount(n), Link: inputID(i), Class: "warn", Raw: fmt.Sprint(n)}
		} else if len(f.Tried) > 0 {
			problems = Cell{Text: "what was tried", Link: inputID(i), Class: "warn"}
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, format, number(FormatCount(f.Records), fmt.Sprint(f.Records)), number(FormatBytes(float64(f.Bytes)), fmt.Sprint(f.Bytes)),
			sumCell(f), problems, wrapped(orMissing(f.Note))}})
	}
	return t.dropEmpty()
}

// sumCell shows the head of a checksum; copying and CSV have the whole.
func sumCell(f *serving.Input) Cell {
	switch {
	case f.SHA256 != "":
		return Cell{Text: f.SHA256[:min(12, len(f.SHA256))], Raw: f.SHA256, Code: true}
	case f.Fingerprint != "":
		return Cell{Text: f.Fingerprint[:min(20, len(f.Fingerprint))], Sub: "fingerprint", Raw: f.Fingerprint, Code: true}
	}
	return faint(Missing)
}

func fieldsTable(id string, fs []serving.Field) *Table {
	if len(fs) == 0 {
		return nil
	}
	t := &Table{ID: id, Caption: "What each field was taken for, and what decided its unit", Head: []Head{col("Field"), col("Taken for"), col("Unit"), col("Decided by")}}
	for _, f := range fs {
		as := text(orMissing(f.As))
		if f.As == "" {
			as = faint("not used")
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: f.Name, Code: true}, as, text(orMissing(f.Unit)), text(orMissing(f.How))}})
	}
	return t
}

// oneOfAKind folds files whose fields were read alike: thirty scrapes need one
// table, not thirty.
func oneOfAKind(list []inputDetail) []inputDetail {
	var out []inputDetail
	more := []int{}
	for _, d := range list {
		i := slices.IndexFunc(out, func(o inputDetail) bool { return o.Short == d.Short && sameRows(o.Table, d.Table) })
		if i >= 0 {
			more[i]++
			continue
		}
		out, more = append(out, d), append(more, 0)
	}
	for i, n := range more {
		if n > 0 {
			out[i].Short += fmt.Sprintf(", and %s more files read alike", FormatCount(int64(n)))
		}
	}
	return out
}

func sameRows(a, b *Table) bool {
	return slices.EqualFunc(a.Rows, b.Rows, func(x, y Row) bool { return slices.Equal(x.Cells, y.Cells) })
}

// settingsTable lists the settings of all runs. What differs comes first, and a
// value that is the same everywhere is said once.
func settingsTable(runs []*analyze.RunStats) *Table {
	var keys []string
	for _, r := range runs {
		for _, s := range r.Run.Settings {
			if !slices.Contains(keys, s.Key) {
				keys = append(keys, s.Key)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	differs := func(k string) bool {
		first, ok := runs[0].Run.Setting(k)
		return slices.ContainsFunc(runs, func(r *analyze.RunStats) bool {
			v, has := r.Run.Setting(k)
			return v != first || has != ok
		})
	}
	if len(runs) == 1 {
		t := &Table{ID: "inputs-settings", Caption: "Settings of " + runs[0].Run.Label + ", as the file has them", Head: []Head{col("Setting"), col("Value")}}
		for _, k := range keys {
			v, _ := runs[0].Run.Setting(k)
			t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: k, Code: true}, wrapped(v)}})
		}
		return t
	}
	t := &Table{ID: "inputs-settings", Caption: "Settings as the files have them: what differs first", Head: []Head{col("Setting"), col("All runs")}}
	for _, r := range runs {
		t.Head = append(t.Head, col(r.Run.Label))
	}
	for _, want := range []bool{true, false} {
		for _, k := range keys {
			if differs(k) == want {
				t.Rows = append(t.Rows, settingRow(k, want, runs))
			}
		}
	}
	return t.dropEmpty("All runs")
}

func settingRow(key string, differs bool, runs []*analyze.RunStats) Row {
	row := Row{Cells: []Cell{{Text: key, Code: true}}}
	if !differs {
		v, _ := runs[0].Run.Setting(key)
		row.Class = "faint"
		row.Cells = append(row.Cells, wrapped(v))
		for range runs {
			row.Cells = append(row.Cells, text(""))
		}
		return row
	}
	row.Cells = append(row.Cells, Cell{Text: "differs", Pill: "warn"})
	for _, r := range runs {
		v, ok := r.Run.Setting(key)
		if !ok {
			row.Cells = append(row.Cells, faint(Missing))
			continue
		}
		row.Cells = append(row.Cells, Cell{Text: v, Class: "clip"})
	}
	return row
}
