package column

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A SQLColumn is a column of a query: a name and the expression that makes it.
type SQLColumn struct{ Name, Expr string }

// SQL is a plan as a query: the same columns as a scan gives, made by the same
// rules inside a database engine. Each stage selects from the one before, all of
// its columns and those it adds; the first from the table itself, its own
// columns only.
//
// Columns are called v_ttft and so on: durations in seconds and instants in
// nanoseconds, null where a request has none. v_outcome is the number of the
// outcome, v_streaming yes or no, v_warmup true for requests to be left out, and
// w_itl the worst gap of a request.
type SQL struct {
	Engine *Engine
	Stages [][]SQLColumn

	plan     *Plan
	have     map[string]bool
	labelled bool // the workload follows rules; that of the table has a name of its own
}

// Has reports whether there is a column v_NAME.
func (q *SQL) Has(name string) bool { return q.have[name] }

// V is the quoted name of a column.
func (q *SQL) V(name string) string { return q.Engine.Quote("v_" + name) }

// SQL translates the plan. dims are further columns to offer, as texts; rules name
// workloads as Label does.
func (p *Plan) SQL(e *Engine, dims []string, rules []WorkloadRule) (*SQL, error) {
	q := &SQL{Engine: e, plan: p, have: map[string]bool{}}
	for _, r := range rules {
		dims = append(dims, r.Column)
	}
	if q.labelled = len(rules) > 0; q.labelled {
		dims = append(dims, serving.ColWorkload)
	}
	if err := q.sources(dims); err != nil {
		return nil, err
	}
	if q.labelled {
		q.label(rules)
	}
	q.derive(q.elapsed)
	q.derive(q.made)
	q.judge()
	q.filter()
	return q, nil
}

// add puts a column into the last stage.
func (q *SQL) add(name, expr string) {
	last := len(q.Stages) - 1
	q.Stages[last] = append(q.Stages[last], SQLColumn{"v_" + name, expr})
	q.have[name] = true
}

func (q *SQL) stage() { q.Stages = append(q.Stages, nil) }

// sources reads the table's columns and removes values that cannot be, as clean
// does.
func (q *SQL) sources(dims []string) error {
	q.stage()
	e := q.Engine
	for _, s := range q.plan.Sources {
		r := q.plan.Raws[s.Raw]
		if q.plan.Textual && r.Kind == Instant {
			r.Kind = Text
		}
		canonical := canonByName(s.Name)
		isCanon := canonical != nil && canonical.name == s.Name && q.plan.chosen[s.Name]
		asked := slices.Contains(dims, s.Name)
		if !asked && (!isCanon || (s.Kind == serving.KindText || s.Kind == serving.KindCount) && !counted(s.Name)) {
			continue
		}
		x := e.path(r)
		switch s.Kind {
		case serving.KindTime:
			at := q.instant(x, r, s)
			if s.dated { // see cleanTimes
				at = fmt.Sprintf("CASE WHEN %s >= %d AND %s < %d THEN %s END", at, firstDate*1e9, at, lastDate*1e9, at)
			}
			q.add(s.Name, at)
		case serving.KindDuration, serving.KindRatio:
			y := e.Double(x)
			if q.plan.Textual && r.Kind == Span {
				return fmt.Errorf("column %s: durations as text cannot be read in SQL, want numbers", r.Name)
			}
			if s.Kind == serving.KindDuration {
				y = q.seconds(x, r, s)
			}
			most := " AND " + y + " < 1e300"
			if s.Kind == serving.KindRatio {
				most = " AND " + y + " <= 1e0"
			}
			q.add(s.Name, "CASE WHEN "+y+" >= 0"+most+" THEN "+y+" END")
		case serving.KindCount:
			whole := e.Whole(x)
			if r.Kind == Float {
				d := e.Double(x)
				whole = fmt.Sprintf("CASE WHEN %s = floor(%s) AND %s < 9e18 THEN %s END", d, d, d, whole)
				q.add(s.Name, fmt.Sprintf("CASE WHEN %s >= 0 THEN %s END", d, whole))
				continue
			}
			q.add(s.Name, "CASE WHEN "+whole+" >= 0 THEN "+whole+" END")
		case serving.KindGaps:
			if r.Kind != List {
				return fmt.Errorf("column %s: gaps of %s cannot be read in SQL, want a list of numbers", r.Name, r.Kind)
			}
			q.add(s.Name, x)
		case serving.KindText:
			if r.Kind == TextList {
				continue
			}
			name := s.Name
			if name == serving.ColWorkload && q.labelled {
				name = givenWorkload
			}
			q.add(name, q.text(x))
		default:
			if slices.Contains(dims, s.Name) {
				return fmt.Errorf("column %s holds %s: engines do not write fractions alike, so it cannot be grouped by in SQL", r.Name, r.Kind)
			}
		}
	}
	for raw, name := range q.plan.under {
		if slices.Contains(dims, raw) && (q.have[name] || name == serving.ColWorkload && q.have[givenWorkload]) {
			i := q.plan.byName[name]
			q.add(raw, q.text(e.path(q.plan.Raws[q.plan.Sources[i].Raw])))
		}
	}
	if len(q.Stages[0]) == 0 {
		return fmt.Errorf("no column of a request is known")
	}
	slices.SortStableFunc(q.Stages[0], func(a, b SQLColumn) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// text is a text column. In a text file some words stand for no value.
func (q *SQL) text(x string) string {
	x = q.Engine.Text(x)
	if !q.plan.Textual {
		return x
	}
	trimmed := "trim(BOTH " + q.Engine.Literal(" \t") + " FROM " + x + ")"
	return "CASE WHEN " + q.Engine.in(trimmed, nullWords...) + " THEN NULL ELSE " + trimmed + " END"
}

// nullWords are what text files write where there is no value, as package trace
// reads them.
var nullWords = []string{"", `\N`, "nan", "NaN", "NaT", "null", "NULL", "Null", "None", "<NA>"}

// instant is a time in nanoseconds.
func (q *SQL) instant(x string, r Raw, s Source) string {
	e := q.Engine
	switch r.Kind {
	case Instant:
		return fmt.Sprintf(e.nanos, x)
	case Text:
		return fmt.Sprintf(e.nanos, fmt.Sprintf(e.parse, e.Text(x)))
	case Float:
		return e.Whole(fmt.Sprintf("floor(%s * %s + 0.5e0)", e.Double(x), Number(float64(s.Unit.Nanoseconds()))))
	}
	return fmt.Sprintf("%s * %d", e.Whole(x), s.Unit.Nanoseconds())
}

// seconds is a duration in the file's unit, in seconds.
func (q *SQL) seconds(x string, r Raw, s Source) string {
	u := s.Unit
	if r.Kind == Span && r.Unit != NoUnit {
		u = r.Unit
	}
	return fmt.Sprintf("(%s / %s)", q.Engine.Double(x), Number(u.PerSecond()))
}

// derive adds a stage of the columns that rules make. One whose inputs are made
// in the same stage waits for the next.
func (q *SQL) derive(expr func(r rule) string) {
	q.stage()
	before := map[string]bool{}
	for n := range q.have {
		before[n] = true
	}
	for _, c := range canons {
		k := q.plan.ruleFor(c.name)
		if k < 0 || q.have[c.name] {
			continue
		}
		if slices.ContainsFunc(rules[k].from, func(n string) bool { return !before[n] }) {
			continue
		}
		if x := expr(rules[k]); x != "" {
			q.add(c.name, x)
		}
	}
}

// elapsed is a rule that subtracts instants.
func (q *SQL) elapsed(r rule) string {
	switch {
	case r.clocks:
		a, b := q.V(r.from[0]), q.V(r.from[1])
		return fmt.Sprintf("CASE WHEN %s >= %s THEN %s / 1e9 END", a, b, q.Engine.Double("("+a+" - "+b+")"))
	case r.makes == cachedTokens:
		return q.Engine.Whole(fmt.Sprintf("floor(%s * %s + 0.5e0)", q.V(r.from[0]), q.Engine.Double(q.V(r.from[1]))))
	}
	return ""
}

// made is a rule over durations and counts.
func (q *SQL) made(r rule) string {
	v := func(i int) string { return q.V(r.from[i]) }
	d := q.Engine.Double
	switch {
	case r.makes == tpot && len(r.from) == 3:
		return fmt.Sprintf("CASE WHEN %s >= 2 AND %s >= %s THEN (%s - %s) / %s END", v(2), v(0), v(1), v(0), v(1), d("("+v(2)+" - 1)"))
	case r.makes == tpot:
		return fmt.Sprintf("CASE WHEN %s >= 2 THEN %s / %s END", v(1), v(0), d("("+v(1)+" - 1)"))
	case r.makes == frontend:
		x := fmt.Sprintf("(%s - %s - %s - %s)", v(0), v(1), v(2), v(3))
		return fmt.Sprintf("CASE WHEN %s >= 0 THEN %s WHEN %s >= -%s THEN 0e0 END", x, x, x, Number(frontendSlack))
	case r.makes == normalized:
		return fmt.Sprintf("CASE WHEN %s >= 1 THEN %s / %s END", v(1), v(0), d(v(1)))
	}
	return ""
}

// filter replaces values that are not a request's own, as streamedOnly and cached
// do: under names of their own, for the stage before still has the plain ones.
func (q *SQL) filter() {
	q.stage()
	e := q.Engine
	for _, name := range []string{ttft, tpot} {
		if !q.have[name] {
			continue
		}
		var but []string
		if q.have["streamed"] {
			but = append(but, q.V("streamed")+" = 'no'")
		}
		if name == ttft && len(q.plan.outcomeInputs()) > 0 {
			but = append(but, "("+q.V(ttft)+" = 0 AND "+q.V("outcome_code")+" <> 0)")
		}
		q.add("own_"+name, unless(but, q.V(name)))
	}
	if q.have[itl] {
		x := q.V(itl)
		if q.have["streamed"] {
			x = unless([]string{q.V("streamed") + " = 'no'"}, fmt.Sprintf(e.worst, q.V(itl)))
		} else {
			x = fmt.Sprintf(e.worst, x)
		}
		u, _ := q.plan.Source(itl)
		s := q.plan.Sources[u]
		q.add("own_"+itl, q.seconds(x, q.plan.Raws[s.Raw], s))
	}
	if q.have[cachedTokens] {
		var but []string
		if q.have[promptTokens] {
			but = append(but, q.V(cachedTokens)+" > "+q.V(promptTokens))
		}
		q.add("own_"+cachedTokens, unless(but, q.V(cachedTokens)))
	}
}

// unless is a value, or null where one of some conditions holds.
func unless(conds []string, x string) string {
	if len(conds) == 0 {
		return x
	}
	return "CASE WHEN " + strings.Join(conds, " OR ") + " THEN NULL ELSE " + x + " END"
}

// Own is the column of a metric's own values: after filters.
func (q *SQL) Own(name string) string {
	if q.have["own_"+name] {
		return q.V("own_" + name)
	}
	return q.V(name)
}

// GapUnits is how many of the table's units one second of a gap has.
func (q *SQL) GapUnits() float64 {
	i, ok := q.plan.Source(itl)
	if !ok {
		return 1
	}
	return q.plan.Sources[i].Unit.PerSecond()
}

// counted reports whether a text or a count is needed even where nobody groups by
// it: it says how a request went, or how long it is.
func counted(name string) bool {
	switch name {
	case serving.ColStreaming, serving.ColPhase, colWarmup, promptTokens, outputTokens, cachedTokens:
		return true
	}
	return slices.ContainsFunc(outcomeColumns, func(c struct {
		name  string
		judge func(s string) int
	}) bool {
		return c.name == name
	})
}
