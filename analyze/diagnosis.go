package analyze

import (
	"context"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// DumpFacts is for development.
func DumpFacts(ctx context.Context, ds *serving.Dataset) ([]rules.Facts, []string, error) {
	in := &Input{Data: ds, Opt: DefaultOptions()}
	src, notes, err := sourcesOf(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	var out []rules.Facts
	for _, u := range subjectsOf(src) {
		f, n := u.facts()
		out = append(out, f)
		notes = append(notes, n...)
	}
	return out, notes, nil
}

// facts finds the incident and says what every source knows of it.
func (u *diagSubject) facts() (rules.Facts, []string) {
	var notes []string
	var lead onset
	found := false
	all := map[*source][]onset{}
	for _, s := range u.sources {
		all[s] = onsetsOf(s.signals())
		for _, o := range all[s] {
			notes = append(notes, s.kind+" "+o.signal+" "+u.span2text(o.from, o.to)+" "+number(o.before)+" → "+number(o.after)+" w="+number(o.weight))
		}
		if o, ok := leadOf(all[s]); ok && !found && s.relative == u.relative {
			lead, found = o, true
		}
	}
	out := rules.Facts{}
	ph := map[*source]phases{}
	for _, s := range u.sources {
		o, ok := lead, found
		end := u.span
		if s.relative != u.relative {
			o, ok = leadOf(all[s])
			end = float64(s.to-s.from) / 1e9
		}
		p := phases{all: s.phase(0, end)}
		if ok {
			p.base, p.bad, p.known = s.phase(0, o.from), s.phase(o.from, min(o.to, end)), true
		} else {
			p.bad = p.all
		}
		ph[s] = p
		f := &factsOf{u: u, s: s, ph: p, out: out}
		f.take()
	}
	u.across(out, ph)
	if found {
		out["onset"] = rules.Fact{Value: lead.from, Source: lead.signal}
	}
	return out, notes
}
