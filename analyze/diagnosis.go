package analyze

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Diagnoses is the value of section "diagnosis": one diagnosis a set of sources
// that cover the same time.
type Diagnoses struct{ Diagnoses []*Diagnosis }

// A Diagnosis leads from what users notice to the experiment to run next.
type Diagnosis struct {
	Label      string
	From, To   int64 // ns; of Relative an offset
	Relative   bool
	Known      bool   // something changed: there is a baseline and an incident
	Baseline   string // windows, in words
	Incident   string
	Lead       string // the signal that shows where the incident begins
	Onsets     []Onset
	Symptoms   []Symptom
	Stages     []Stage
	Checks     []CheckResult
	Hypotheses []Explanation
	Separate   string
	Verdict    string // the outcome in a sentence
	Given      bool   // the incident is the window that the user marked

	subject *diagSubject // for the incident's report, until it is made
}

// An Onset is when a signal left its baseline. Their order is evidence for what
// came first, and no proof.
type Onset struct {
	Signal        string
	Source        string
	At            int64 // ns
	Before, After float64
	Unit          serving.Unit // of the levels
	Width         float64      // seconds: the window in which it lies, which is how uncertain At is
}

// Shift is the size of the step.
func (o Onset) Shift() float64 { return o.After - o.Before }

// A Symptom is one of the four that users notice.
type Symptom struct {
	ID       string // ttft, streaming, tail, unfinished
	Present  bool
	Known    bool // false: nothing in the data tells
	Evidence []string
}

// An Explanation is a rule applied to the data.
type Explanation struct {
	ID, Case, Cause, Title string
	Status                 rules.Status
	Score, Coverage        float64
	For, Against, Missing  []string
	Next                   []string
	Remedies               []rules.Remedy
}

// Top is the best supported hypothesis, nil where none is supported.
func (d *Diagnosis) Top() *Explanation {
	if len(d.Hypotheses) > 0 && d.Hypotheses[0].Status == rules.Supported {
		return &d.Hypotheses[0]
	}
	return nil
}

// Present lists the symptoms that are there.
func (d *Diagnosis) Present() []Symptom {
	return slices.DeleteFunc(slices.Clone(d.Symptoms), func(s Symptom) bool { return !s.Present })
}

func runDiagnosis(ctx context.Context, in *Input, rep *Report) (any, []string, error) {
	out, notes, err := diagnose(ctx, in)
	if err != nil || out == nil {
		return nil, notes, err
	}
	return out, append(notes,
		"A score is coverage × (support − contradiction): it orders hypotheses and is no probability. Several may hold at once.",
		"What moves together in the same windows is a correlation; only the next experiment tells what causes what."), nil
}

// Diagnose runs the diagnosis alone.
func Diagnose(ctx context.Context, ds *serving.Dataset, opt Options) (*Diagnoses, error) {
	out, _, err := diagnose(ctx, &Input{Data: ds, Opt: opt})
	return out, err
}

func diagnose(ctx context.Context, in *Input) (*Diagnoses, []string, error) {
	sources, notes, err := sourcesOf(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	client, err := generated(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	subjects := subjectsOf(sources)
	year := yearOf(in.Data, sources)
	if len(subjects) == 0 {
		return nil, notes, nil
	}
	out := Diagnoses{Diagnoses: make([]*Diagnosis, len(subjects))}
	sideBySide(in.Opt.Workers, len(subjects), func(i int) {
		u := subjects[i]
		u.client, u.given, u.logs, u.year = client, in.Opt.Incident, in.Data.Logs, year
		out.Diagnoses[i] = u.diagnose(in.Opt)
	})
	// What needs a reader's eye first.
	slices.SortStableFunc(out.Diagnoses, func(a, b *Diagnosis) int { return a.urgency() - b.urgency() })
	return &out, notes, nil
}

func (d *Diagnosis) urgency() int {
	switch {
	case d.Top() != nil:
		return 0
	case len(d.Present()) > 0:
		return 1
	}
	return 2
}

func (u *diagSubject) diagnose(opt Options) *Diagnosis {
	u.findIncident()
	u.gather()
	d := &Diagnosis{Label: u.label, From: u.origin, To: u.origin + int64(u.span*1e9), Relative: u.relative, Known: u.found}
	d.subject = u
	if u.found {
		d.Lead, d.Given = u.lead.signal, u.lead.given
		d.Incident = u.span2text(u.lead.from, min(u.lead.to, u.span))
		if u.lead.guard > u.lead.since {
			d.Baseline = u.span2text(u.lead.since, u.lead.guard)
		}
	}
	d.Onsets = u.onsets
	d.Symptoms = u.symptoms(opt)
	d.Stages = u.stages()
	d.Checks = u.checks()
	table := rules.Tuned(opt.Diagnosis)
	verdicts := rules.Judge(table, u.facts)
	for _, v := range verdicts {
		d.Hypotheses = append(d.Hypotheses, u.hypothesisOf(v))
	}
	if len(verdicts) > 1 && len(d.Present()) > 0 {
		d.Separate = separation(verdicts[0], verdicts[1], u.facts)
	}
	d.Verdict = d.sentence(u.facts)
	return d
}

// findIncident looks for the first change for the worse, in users' latencies
// before what sources without any have instead of them.
func (u *diagSubject) findIncident() {
	u.own, u.searched = map[*source]onset{}, map[*source]bool{}
	for _, s := range u.sources {
		signals := s.signals()
		u.searched[s] = slices.ContainsFunc(signals, func(g *signal) bool { return g.windows() >= leastWindows })
		os := onsetsOf(signals, search{})
		if s.rows != nil {
			os = append(os, onsetsOf(s.rows.coarse(), search{})...)
		}
		weights := s.leadSignals()
		o, ok := s.leadOf(os, weights)
		if !ok {
			continue
		}
		o = s.widened(o.refined(s), os, weights)
		u.own[s] = o
		if !u.found && u.mayLead(s) {
			u.lead, u.found = o, true
		}
	}
	u.markGiven()
	u.order()
	slices.SortStableFunc(u.onsets, func(a, b Onset) int { return cmp.Compare(a.At, b.At) })
}

// gather cuts every source into baseline and incident and collects its facts.
func (u *diagSubject) gather() {
	u.facts, u.phases, u.few = rules.Facts{}, map[*source]phases{}, map[rules.Key]string{}
	for _, s := range u.sources {
		o, ok, end := u.lead, u.found, u.span
		if s.relative != u.relative {
			o, ok = u.own[s]
			end = float64(s.to-s.from) / 1e9
		}
		p := phases{seconds: end, known: ok}
		if !ok {
			p.bad = s.phase(0, end)
		} else {
			p.bad = s.phase(o.from, min(o.to, end))
			if o.guard > o.since {
				p.base = s.phase(o.since, o.guard)
			}
		}
		u.phases[s] = p
		f := &factsOf{u: u, s: s, ph: p, out: u.facts}
		f.take()
		if s.rows != nil {
			f.fromRows()
		} else {
			f.fromServers()
		}
	}
	u.across(u.facts, u.phases)
	u.fromEvents()
	for k, f := range u.client {
		if u.of("client") != nil {
			u.facts[k] = f
		}
	}
}

// hypothesisOf puts a verdict into words.
func (u *diagSubject) hypothesisOf(v rules.Verdict) Explanation {
	r := v.Rule
	h := Explanation{ID: r.ID, Case: r.Case, Cause: r.Cause, Title: r.Title, Status: v.Status, Score: v.Score.Score, Coverage: v.Score.Coverage, Next: r.Next, Remedies: r.Remedies}
	seen := map[rules.Key]bool{}
	for _, rd := range v.Readings {
		if !rd.Known || seen[rd.Fact] && rd.Kind != "against" {
			continue
		}
		text := readingText(rd)
		switch {
		case rd.Kind == "required" && rd.Strength == 0, rd.Kind == "refutes" && rd.Strength == 1, rd.Kind == "against" && rd.Strength > 0, rd.Kind == "supports" && rd.Strength < 0.3:
			h.Against = append(h.Against, text)
			seen[rd.Fact] = true
		case rd.Kind == "supports":
			h.For = append(h.For, text)
			seen[rd.Fact] = true
		}
	}
	for _, k := range v.Missing {
		h.Missing = append(h.Missing, rules.AboutOf(k).Says+": needs "+u.needs(k))
	}
	return h
}

// readingText prints a predicate with its value, threshold, window, source and
// query.
func readingText(rd rules.Reading) string {
	a := rules.AboutOf(rd.Fact)
	s := fmt.Sprintf("%s: %s (%s; %s, %s)", a.Says, factText(rd.Got), thresholdText(rd.Predicate, rd.Got.Unit), rd.Got.Source, rd.Got.Window)
	if rd.Got.Where != "" {
		s = fmt.Sprintf("%s: %s, %s (%s; %s, %s)", a.Says, factText(rd.Got), rd.Got.Where, thresholdText(rd.Predicate, rd.Got.Unit), rd.Got.Source, rd.Got.Window)
	}
	if rd.Got.PromQL != "" {
		s += " = " + rd.Got.PromQL
	}
	return s
}

func factText(f rules.Fact) string {
	switch f.Unit {
	case serving.Seconds:
		return seconds(signif(f.Value))
	case serving.Share:
		return percent(signif(f.Value))
	}
	return number(signif(f.Value))
}

// signif keeps three significant digits: evidence, not accounting.
func signif(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return v
	}
	p := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	return math.Round(v/p) * p
}

func thresholdText(p rules.Predicate, u serving.Unit) string {
	at := func(v float64) string { return factText(rules.Fact{Value: v, Unit: u}) }
	switch {
	case math.IsInf(p.Lo, 1):
		return "limit: at most " + at(p.Hi)
	case p.Lo == p.Hi:
		return "limit: at least " + at(p.Hi)
	case p.Hi < p.Lo:
		return fmt.Sprintf("counts below %s, in full from %s down", at(p.Lo), at(p.Hi))
	}
	return fmt.Sprintf("counts above %s, in full from %s", at(p.Lo), at(p.Hi))
}

// separation names the check that would tell two rivals apart.
func separation(a, b rules.Verdict, facts rules.Facts) string {
	if a.Status != rules.Supported && a.Status != rules.CannotTell || b.Status != rules.Supported && b.Status != rules.CannotTell {
		return ""
	}
	k, ok := rules.Separate(a, b)
	if !ok {
		return ""
	}
	about := rules.AboutOf(k)
	s := fmt.Sprintf("%s against %s: %s", a.Rule.Cause, b.Rule.Cause, about.Says)
	if f, known := facts[k]; known {
		return s + fmt.Sprintf(", which is %s here", factText(f))
	}
	return s + ", which needs " + about.Needs
}

// sentence is the outcome in a sentence.
func (d *Diagnosis) sentence(facts rules.Facts) string {
	present := d.Present()
	if top := d.Top(); top != nil {
		s := fmt.Sprintf("%s (case %s, %s) is the best supported explanation, score %.2f with %s of the evidence known.", top.Title, top.Case, top.Cause, top.Score, percentRound(top.Coverage))
		if top.Cause == "long_prompts" {
			s += " Look at the long requests first, not at total capacity."
		}
		return s
	}
	if len(present) == 0 {
		return strings.Join(append([]string{d.calm(facts)}, d.whereTheTimeGoes()...), " ")
	}
	open := slices.DeleteFunc(slices.Clone(d.Hypotheses), func(h Explanation) bool { return h.Status != rules.CannotTell })
	if len(open) == 0 {
		return symptomsIn(present) + " None of the known causes is supported."
	}
	out := fmt.Sprintf("%s No hypothesis is supported; %s cannot be told from these files.", symptomsIn(present), plural(len(open), "hypothesis", "hypotheses"))
	if near := open[0]; near.Score >= leastNear && len(near.Missing) > 0 {
		out += fmt.Sprintf(" What there is speaks most for %s (case %s): %s. What would tell: %s.", near.Cause, near.Case, near.Title, strings.Replace(near.Missing[0], ": needs ", ", which needs ", 1))
	}
	return out
}

// symptomsIn says in a sentence what got worse, by how much and since when.
func symptomsIn(present []Symptom) string {
	var what []string
	for _, s := range present {
		if len(s.Evidence) > 0 {
			what = append(what, s.Evidence[0])
		}
	}
	if len(what) == 0 {
		return "A symptom is there."
	}
	return "A symptom is there: " + strings.Join(what, "; ") + "."
}

// leastNear is the score from which a hypothesis that cannot be told is named in
// the outcome: what was seen must speak for it, and not one figure alone.
const leastNear = 0.3

// calm is the outcome where no symptom was found: none is there, or the data
// cannot tell.
func (d *Diagnosis) calm(facts rules.Facts) string {
	if !slices.ContainsFunc(d.Symptoms, func(s Symptom) bool { return s.Known && s.ID != "unfinished" }) {
		if _, felt := symptomSignals[d.Lead]; felt && d.Known && !d.Given {
			return fmt.Sprintf("The data do not tell whether there is a symptom: %s got worse, over too short a time or in too few requests to call it one.", signalWords(d.Lead))
		}
		return "The data do not tell whether there is a symptom: no latency is recorded over enough time to find a change in it, and there is no objective (--slo) to hold one against." + d.proxies(facts)
	}
	s := "No symptom: nothing got worse against the beginning of the data"
	if d.Given {
		s = "No symptom: nothing is worse in the marked window than before it"
	}
	if slices.ContainsFunc(d.Symptoms, func(s Symptom) bool { return s.Known && slices.ContainsFunc(s.Evidence, isObjective) }) {
		s = "No symptom: busy or not, the latencies of completed requests are within the objectives"
	}
	if gpu, ok := facts[rules.GPUUse]; ok && gpu.Value < 0.4 && facts[rules.WaitingMean].Value < 1 {
		return s + fmt.Sprintf(". The GPUs are %s busy and nobody waits: the next step is a capacity test, not a repair.", percent(signif(gpu.Value)))
	}
	return s + "."
}

// whereTheTimeGoes says of what the mean TTFT of the whole consists, the largest
// part first: what an idle hour has to say.
func (d *Diagnosis) whereTheTimeGoes() []string {
	i := slices.IndexFunc(d.Stages, func(s Stage) bool {
		return s.Of == serving.TTFT && s.Window == "all" && s.Band == "mean" && len(s.By) == 0 && s.Whole > 0
	})
	if i < 0 {
		return nil
	}
	type part struct {
		name string
		v    float64
	}
	s := d.Stages[i]
	parts := slices.DeleteFunc([]part{{"queue", s.Queue}, {"prefill", s.Prefill}, {"front end", s.Front}, {"unexplained", s.Rest}}, func(p part) bool {
		return !(p.v >= 0.02*s.Whole)
	})
	if len(parts) == 0 {
		return nil
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.v, a.v) })
	var list []string
	for _, p := range parts {
		list = append(list, fmt.Sprintf("%s %s (%s)", p.name, seconds(signif(p.v)), percentRound(p.v/s.Whole)))
	}
	return []string{fmt.Sprintf("Of the mean TTFT of %s: %s.", seconds(signif(s.Whole)), strings.Join(list, ", "))}
}

func spearmanOfDiffs(x, y []float64) (rho float64, n int) {
	var dx, dy []float64
	for i := 1; i < len(x) && i < len(y); i++ {
		a, b := x[i]-x[i-1], y[i]-y[i-1]
		if !math.IsNaN(a) && !math.IsNaN(b) {
			dx, dy = append(dx, a), append(dy, b)
		}
	}
	return stat.Spearman(dx, dy), len(dx)
}
