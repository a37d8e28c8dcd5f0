package analyze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Incidents is the value of section "incident": one a set of sources that cover
// the same time.
type Incidents struct{ Incidents []*Incident }

// An Incident is a stretch of time beside what precedes and what follows it:
// what an incident's review needs of the data.
type Incident struct {
	Label    string
	Relative bool   // times are offsets
	Given    bool   // the user marked it; else it was found by change points
	Lead     string // the signal that it was found by
	Summary  string // what happened, in a sentence
	Verdict  string // the diagnosis' outcome

	Window   Span
	Baseline Span    // empty: nothing precedes the window
	After    Span    // empty: the data end with the window
	Open     bool    // it lasts to the end of the data
	Width    float64 // seconds: how uncertain the begin of a found one is; 0 of a marked one
	EndWidth float64 // and its end; 0 of an open one, too

	Onsets   []Onset
	Panels   *Timeline // nil: nothing to draw
	Events   []Event
	Figures  []IncidentFigure
	Counters []IncidentCounter
	Replicas []IncidentReplica
	Skews    []Skew
	Examples []Replay

	Workload []WorkloadShare
	Settings []serving.Setting
	Inputs   []*serving.Input

	Mitigation []Measure // what to do now
	Analysis   []Measure // what it came from
	Prevention []Measure // so that it does not come back, or is seen
}

// A Span is a stretch of time, ns.
type Span struct{ From, To int64 }

// Empty reports whether a stretch has no length.
func (s Span) Empty() bool { return s.To <= s.From }

// Seconds is the length of a stretch.
func (s Span) Seconds() float64 { return float64(s.To-s.From) / 1e9 }

// A Measure is an entry of mitigation, analysis or prevention, with the finding
// that it rests on.
type Measure struct {
	Text    string
	Because string // the finding
	Price   string // what it costs, of what is done; "" of what is found
	Cause   string // of the hypothesis; "" of none
	PromQL  string // of an alert
	For     string // how long it has to hold: a duration as alert rules write it
	Command string
}

// moreAfter is how long after the window is looked at, as a part of its length;
// leastAfter in seconds.
const (
	moreAfter  = 1.0
	leastAfter = 120.0
)

func runIncident(ctx context.Context, in *Input, rep *Report) (any, []string, error) {
	all := Value[Diagnoses](rep)
	if all == nil {
		return nil, nil, nil
	}
	var out Incidents
	var notes []string
	for _, d := range all.Diagnoses {
		u := d.subject
		d.subject = nil // its requests are not needed any more
		if u == nil || !u.found || !u.lead.given && len(d.Present()) == 0 {
			continue
		}
		inc, more, err := u.incident(ctx, in, d)
		if err != nil {
			return nil, nil, err
		}
		out.Incidents = append(out.Incidents, inc)
		notes = append(notes, more...)
	}
	// A marked window is what was asked for; others were found beside it.
	slices.SortStableFunc(out.Incidents, func(a, b *Incident) int { return cmp.Compare(truth(b.Given), truth(a.Given)) })
	if len(out.Incidents) == 0 {
		return nil, notes, nil
	}
	return &out, append(notes,
		"The order of onsets is evidence of what came first, and no proof of what caused what.",
		"Nothing here is to be tried on live traffic during an incident: mitigation goes back to what is known to work, experiments belong on a bench."), nil
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (u *diagSubject) incident(ctx context.Context, in *Input, d *Diagnosis) (*Incident, []string, error) {
	o := u.lead
	at := func(t float64) int64 { return u.origin + int64(math.Round(t*1e9)) }
	to := min(o.to, u.span)
	inc := &Incident{Label: u.label, Relative: u.relative, Given: o.given, Lead: o.signal, Verdict: d.Verdict, Onsets: u.onsets,
		Window: Span{at(o.from), at(to)}, Open: o.open || to >= u.span, Width: o.width}
	if !inc.Open {
		inc.EndWidth = o.endWidth
	}
	if o.guard > o.since {
		inc.Baseline = Span{at(o.since), at(o.guard)}
	}
	until := min(u.span, to+max(moreAfter*(to-o.from), leastAfter))
	if until-to >= leastSeconds && !inc.Open {
		inc.After = Span{at(to), at(until)}
	}
	v := &incidentView{u: u, inc: inc, d: d, from: o.from, to: to, until: until, since: o.since, guard: o.guard}
	v.panels(in)
	v.figures()
	v.counters()
	v.replicas()
	var notes []string
	v.snapshot(in)
	if err := errors.Join(v.examples(ctx), v.skews(ctx)); err != nil {
		return nil, nil, err
	}
	v.measures(in)
	inc.Summary = v.summary()
	if u.yearless() {
		inc.countFrom(u.origin)
	}
	return inc, notes, nil
}

// An incidentView is an incident being made: seconds on the subject's axis.
type incidentView struct {
	u                             *diagSubject
	inc                           *Incident
	d                             *Diagnosis
	since, guard, from, to, until float64
	measured                      bool      // most was looked for
	most                          *capacity // what the data say the servers can do; nil: not told
}

// stretches are a source's phases before, during and after; nil where there is
// none. Of a source on an axis of its own they are those of its own incident.
func (v *incidentView) stretches(s *source) (b, i, a *phase) {
	p := v.u.phases[s]
	if !p.known {
		return nil, nil, nil
	}
	if !v.inc.After.Empty() && s.relative == v.u.relative {
		a = s.phase(v.to, v.until)
	}
	return p.base, p.bad, a
}

// yearless reports whether a subject's times count from the turn of a year that
// nobody knows: to a reader they count from their start.
func (u *diagSubject) yearless() bool {
	return u.relative && !slices.ContainsFunc(u.sources, func(s *source) bool { return s.servers == nil || !s.servers.views[0].YearTime.OK })
}

// countFrom lets all times of an incident count from a start.
func (i *Incident) countFrom(start int64) {
	for _, s := range []*Span{&i.Window, &i.Baseline, &i.After} {
		if !s.Empty() {
			s.From, s.To = s.From-start, s.To-start
		}
	}
	i.Onsets = slices.Clone(i.Onsets)
	for k := range i.Onsets {
		i.Onsets[k].At -= start
	}
	events := func(list []Event) {
		for k := range list {
			if list[k].At -= start; list[k].To != 0 {
				list[k].To -= start
			}
		}
	}
	events(i.Events)
	if i.Panels != nil {
		i.Panels.From -= start
		events(i.Panels.Events)
	}
}

// summary says what happened in a sentence.
func (v *incidentView) summary() string {
	inc := v.inc
	s := fmt.Sprintf("%s, %s: ", v.u.span2text(v.from, v.to), seconds(math.Round(inc.Window.Seconds())))
	if inc.Open {
		s = fmt.Sprintf("Since %s, to the end of the data: ", strings.SplitN(v.u.span2text(v.from, v.to), " to ", 2)[0])
	}
	var felt []string
	for _, y := range v.d.Present() {
		if len(y.Evidence) > 0 {
			felt = append(felt, symptomWords[y.ID]+" ("+y.Evidence[0]+")")
		} else {
			felt = append(felt, symptomWords[y.ID])
		}
	}
	if len(felt) == 0 {
		return s + "no symptom is worse than before."
	}
	return s + strings.Join(felt, "; ") + "."
}

// symptomWords name symptoms in a sentence.
var symptomWords = map[string]string{
	"ttft": "the first token is late", "streaming": "answers stream slowly", "tail": "some requests are slow", "unfinished": "requests do not finish",
}
