package column

import "github.com/vreport/vreport/ingest/serving"

// Dicts holds the intern tables of a plan's text columns, shared by all scans
// of a table.
type Dicts struct {
	plan    *Plan
	sources []*serving.Dict
	outcome *serving.Dict
	yesNo   *serving.Dict
	phase   *serving.Dict
}

// NewDicts returns empty tables for a plan.
func (p *Plan) NewDicts() *Dicts {
	d := &Dicts{plan: p, outcome: serving.NewOutcomeDict(), yesNo: serving.NewDict("no", "yes"), phase: serving.NewDict("profiling", "warmup")}
	d.sources = make([]*serving.Dict, len(p.Sources))
	for i, s := range p.Sources {
		if s.Kind == serving.KindText {
			d.sources[i] = serving.NewDict()
		}
	}
	return d
}

// Source returns the table that a decoder interns a source's texts in.
func (d *Dicts) Source(i int) *serving.Dict { return d.sources[i] }

// Of returns the table of a column that can be asked for, or nil.
func (d *Dicts) Of(column string) *serving.Dict {
	_, hasPhase := d.plan.byName[serving.ColPhase]
	switch {
	case column == serving.ColOutcome:
		return d.outcome
	case column == serving.ColStreaming:
		return d.yesNo
	case column == serving.ColPhase && !hasPhase:
		return d.phase
	}
	if i, ok := d.plan.Source(column); ok {
		return d.sources[i]
	}
	return nil
}
