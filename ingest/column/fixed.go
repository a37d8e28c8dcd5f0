package column

import (
	"fmt"

	"github.com/vreport/vreport/ingest/serving"
)

// Fixed is the plan of a table whose columns are known by name and have no
// aliases or units: a rollup's. want says for each whether it is read as text,
// as whole numbers (KindTime, which may be negative, or KindCount) or as numbers.
// Columns that the file lacks are not offered.
func Fixed(raws []Raw, want func(name string) (serving.ColumnKind, bool)) (*Plan, error) {
	p := &Plan{Raws: raws, Side: serving.UnknownSide, byName: map[string]int{}, chosen: map[string]bool{}, under: map[string]string{}}
	p.Fields = make([]serving.Field, len(raws))
	for i, r := range raws {
		p.Fields[i].Name = r.Name
		kind, ok := want(r.Name)
		if !ok {
			continue
		}
		if _, dup := p.byName[r.Name]; dup {
			continue
		}
		number := r.Kind == Int || r.Kind == Float
		if text := kind == serving.KindText; text && r.Kind != Text || !text && !number {
			return nil, &ColumnError{r.Name, fmt.Sprintf("holds %s, want %s", r.Kind, map[bool]string{true: "text", false: "numbers"}[text])}
		}
		s := Source{Name: r.Name, Raw: i, Kind: kind}
		p.byName[r.Name] = len(p.Sources)
		p.Sources = append(p.Sources, s)
		p.Columns = append(p.Columns, p.column(s))
		p.Fields[i].As = r.Name
	}
	return p, nil
}
