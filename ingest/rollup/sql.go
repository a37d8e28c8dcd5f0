package rollup

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A Query is what SQL is printed of.
type Query struct {
	Engine *column.Engine
	Plan   *column.Plan       // the columns of the table
	From   string             // the table, as the engine takes it
	Spec   serving.RollupSpec // what cells there are, and what is counted
	Window [2]int64           // arrival times, ns, half open; both 0 for all
	Timed  []serving.MetricKey
	Rules  []column.WorkloadRule
	Notes  []string // for the head of the query
}

// SQL prints a query whose result is the rollup of a table. It asks for nothing
// but what is alike in every engine: whole numbers, comparisons, CASE, GROUPING
// SETS. An error says what cannot be asked.
func (q *Query) SQL() (string, error) {
	w := &writing{Query: q, e: q.Engine}
	var more []string
	more = append(more, q.Spec.Dims...)
	for _, expr := range q.Spec.SLOs {
		s, err := serving.ParseSLO(expr)
		if err != nil {
			return "", err
		}
		w.slos = append(w.slos, s)
		for _, t := range s.By {
			more = append(more, t.Dim)
		}
	}
	if q.Spec.Goodput != "" {
		conds, err := serving.ParseGoodput(q.Spec.Goodput)
		if err != nil {
			return "", err
		}
		w.conds = conds
	}
	var err error
	if w.cols, err = q.Plan.SQL(q.Engine, more, q.Rules); err != nil {
		return "", err
	}
	return w.query()
}

// A writing is a query being written.
type writing struct {
	*Query
	e     *column.Engine
	cols  *column.SQL
	slos  []serving.SLO
	conds []serving.Condition
	ids   []id
	b     strings.Builder
}

// An id is one thing that is counted a cell, by its number in the query.
type id struct {
	metric string
	expr   string // whole number or null; "" of gaps, which have rows of their own
	sum    bool   // only the sum is wanted: all values go to bucket 0
	timed  bool   // also counted a time window
}

const maxMicros = 1 << 52 // as the reader caps values

func (w *writing) name(s string) string { return w.e.Quote(s) }

func (w *writing) line(format string, a ...any) { fmt.Fprintf(&w.b, format+"\n", a...) }

// cte writes one more named select.
func (w *writing) cte(name, format string, a ...any) {
	sep := "WITH "
	if strings.Contains(w.b.String(), "WITH ") {
		sep = ", "
	}
	w.line("%s%s AS (", sep, name)
	w.line(format, a...)
	w.line(")")
}

func (w *writing) query() (string, error) {
	w.line("-- A rollup of requests, by vreport sql --dialect %s. Its result, as Parquet or", w.e.Name)
	w.line("-- CSV with a header, is an input of vreport report.")
	for _, n := range w.Notes {
		w.line("-- %s", strings.ReplaceAll(n, "\n", " "))
	}
	last := w.From
	for i, stage := range w.cols.Stages {
		var list []string
		if i > 0 {
			list = append(list, "*")
		}
		for _, c := range stage {
			list = append(list, c.Expr+" AS "+w.name(c.Name))
		}
		if len(list) == 1 && i > 0 {
			continue
		}
		name := "t" + strconv.Itoa(i)
		w.cte(name, "  SELECT %s\n  FROM %s", strings.Join(list, ",\n    "), last)
		last = name
	}
	w.cte("kept", "  SELECT *, %s AS left_out\n  FROM %s", w.skip(), last)
	if err := w.requests(); err != nil {
		return "", err
	}
	w.events()
	w.aggregates()
	if err := w.result(); err != nil {
		return "", err
	}
	return w.b.String(), nil
}

// skip says why a request is not counted; it is empty where it is.
func (w *writing) skip() string {
	var b strings.Builder
	b.WriteString("CASE")
	if w.cols.Has("warm") {
		fmt.Fprintf(&b, " WHEN %s = 1 THEN '%s'", w.cols.V("warm"), SkippedWarmUp)
	}
	if w.Window != [2]int64{} {
		a := "NULL"
		if w.cols.Has(serving.ColArrival) {
			a = w.cols.V(serving.ColArrival)
		}
		fmt.Fprintf(&b, " WHEN %s IS NULL THEN '%s'", a, SkippedNoTime)
		if w.Window[0] > math.MinInt64 {
			fmt.Fprintf(&b, " WHEN %s < %d THEN '%s'", a, w.Window[0], SkippedWindow)
		}
		if w.Window[1] < math.MaxInt64 {
			fmt.Fprintf(&b, " WHEN %s >= %d THEN '%s'", a, w.Window[1], SkippedWindow)
		}
	}
	if b.Len() == len("CASE") {
		return "''"
	}
	return b.String() + " ELSE '' END"
}

// requests selects one row a request: its dimensions, its time window, and a
// column a thing to count.
func (w *writing) requests() error {
	var list []string
	add := func(expr, name string) { list = append(list, expr+" AS "+w.name(name)) }
	for i, d := range w.Spec.Dims {
		x, err := w.dim(d)
		if err != nil {
			return err
		}
		add(x, "d"+strconv.Itoa(i+1))
	}
	add(w.window(), colWindow)
	if err := w.list(); err != nil {
		return err
	}
	for i, x := range w.ids {
		if x.expr != "" {
			add(x.expr, "m"+strconv.Itoa(i+1))
		}
	}
	if w.cols.Has(string(serving.ITL)) {
		add(w.cols.V(string(serving.ITL)), "gaps")
		streamed := ""
		if w.cols.Has("streamed") {
			streamed = "coalesce(" + w.cols.V("streamed") + ", '') <> 'no'"
		}
		add(w.done("1", streamed), "gaps_count")
	}
	add(w.micros(serving.ColArrival), "arrived_us")
	add(w.ended(), "ended_us")
	w.cte("req", "  SELECT %s\n  FROM kept\n  WHERE left_out = ''", strings.Join(list, ",\n    "))
	return nil
}

// dim is a dimension's value, never null or empty.
func (w *writing) dim(name string) (string, error) {
	unknown := w.e.Literal("unknown")
	v := w.cols.V(name)
	switch {
	case name == "cache":
		c, p := w.cols.Own(string(serving.CachedTokens)), w.cols.V(string(serving.PromptTokens))
		if !w.cols.Has(string(serving.CachedTokens)) || !w.cols.Has(string(serving.PromptTokens)) {
			return "", fmt.Errorf("no column of cached tokens and of prompt tokens, so there is no cache state to group by")
		}
		return fmt.Sprintf("CASE WHEN %s = 0 THEN 'cold' WHEN %s IS NULL OR %s IS NULL OR %s > %s THEN %s WHEN %s / %s >= %s THEN 'warm' ELSE 'partial' END",
			c, c, p, c, p, unknown, w.e.Double(c), w.e.Double(p), column.Number(w.Spec.WarmShare)), nil
	case name == serving.ColOutcome:
		var b strings.Builder
		fmt.Fprintf(&b, "CASE %s", w.outcome())
		for i, n := range serving.OutcomeNames() {
			fmt.Fprintf(&b, " WHEN %d THEN '%s'", i, n)
		}
		return b.String() + " ELSE 'error' END", nil
	case name == serving.ColStreaming && w.cols.Has("streamed"):
		return "coalesce(" + w.cols.V("streamed") + ", " + unknown + ")", nil
	case !w.cols.Has(name):
		return "", fmt.Errorf("the table has no column %q to group by", name)
	}
	if m, ok := serving.MetricOf(serving.MetricKey(name)); ok && m.Unit != serving.Tokens {
		return "", fmt.Errorf("durations (%s) cannot be grouped by", name)
	}
	if bounds, ok := w.Spec.Buckets[name]; ok {
		return w.bounded(w.cols.Own(name), bounds, unknown), nil
	}
	return fmt.Sprintf("coalesce(nullif(%s, ''), %s)", w.e.Text(v), unknown), nil
}

// bounded is the label of a count's bucket: 0-127, 128-511, 512+.
func (w *writing) bounded(x string, bounds []int64, unknown string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CASE WHEN %s IS NULL THEN %s", x, unknown)
	from := int64(0)
	for _, to := range bounds {
		label := fmt.Sprintf("%d-%d", from, to-1)
		if to-1 == from {
			label = strconv.FormatInt(from, 10)
		}
		fmt.Fprintf(&b, " WHEN %s < %d THEN '%s'", x, to, label)
		from = to
	}
	fmt.Fprintf(&b, " ELSE '%d+' END", from)
	return b.String()
}

// window is the start of a request's time window in µs, as text.
func (w *writing) window() string {
	if w.Spec.StepUS == 0 || !w.cols.Has(serving.ColArrival) {
		return "'unknown'"
	}
	return "coalesce(" + w.e.Text(w.e.Div(column.FloorTo(w.cols.V(serving.ColArrival), w.Spec.StepUS*1000), 1000)) + ", 'unknown')"
}

// micros is an instant in µs.
func (w *writing) micros(name string) string {
	if !w.cols.Has(name) {
		return w.e.Whole("NULL")
	}
	return w.e.Div(column.FloorTo(w.cols.V(name), 1000), 1000)
}

// ended is when a request ended: as stated, or arrival + E2E.
func (w *writing) ended() string {
	end := w.micros(serving.ColEnd)
	if !w.cols.Has(serving.ColArrival) || !w.cols.Has(string(serving.E2E)) {
		return end
	}
	return fmt.Sprintf("coalesce(%s, %s + %s)", end, w.micros(serving.ColArrival), w.micro(w.cols.V(string(serving.E2E))))
}

// micro is a duration in whole microseconds.
func (w *writing) micro(x string) string {
	return fmt.Sprintf("CASE WHEN %s >= %s THEN %s WHEN %s >= 0 THEN %s END", x, column.Number(maxMicros/1e6), w.e.Whole(strconv.Itoa(maxMicros)), x, w.e.Whole("floor("+x+" * 1e6 + 0.5e0)"))
}

func (w *writing) outcome() string { return w.cols.V("outcome_code") }

// whole is a condition: the answer came whole, not streamed.
func (w *writing) whole() string {
	if !w.cols.Has("streamed") {
		return ""
	}
	return w.cols.V("streamed") + " = 'no'"
}

// done is a value of completed requests, and where also is given, of those that
// meet it; null of others.
func (w *writing) done(x, also string) string {
	cond := w.outcome() + " = 0"
	if also != "" {
		cond += " AND " + also
	}
	return "CASE WHEN " + cond + " THEN " + x + " END"
}

// list fills the things to count.
func (w *writing) list() error {
	add := func(metric, expr string, sum, timed bool) { w.ids = append(w.ids, id{metric, expr, sum, timed}) }
	add(mOutcome, w.outcome(), false, true)
	if len(w.conds) > 0 {
		var all []string
		for _, c := range w.conds {
			all = append(all, "("+w.holds(c.Metric, c.Limit)+") = 1")
		}
		add(mGood, w.done("1", strings.Join(all, " AND ")), false, true)
	}
	for i, s := range w.slos {
		x, err := w.slo(s)
		if err != nil {
			return err
		}
		add(mSLO+strconv.Itoa(i+1), x, false, true)
	}
	out := string(serving.OutputTokens)
	if whole := w.whole(); whole != "" {
		add(mWhole, "CASE WHEN "+whole+" THEN 0 END", false, false)
	}
	if w.cols.Has(out) {
		brief := w.cols.V(out) + " <= 1"
		if whole := w.whole(); whole != "" {
			brief += " AND coalesce(" + w.cols.V("streamed") + ", '') <> 'no'"
		}
		add(mBrief, w.done("0", brief), false, false)
		add(mOutput, w.done(w.cols.V(out), ""), true, true)
	}
	prompt, cached := string(serving.PromptTokens), string(serving.CachedTokens)
	if w.cols.Has(prompt) {
		add(mInput, w.done(w.cols.V(prompt), ""), true, true)
		if w.cols.Has(cached) {
			c, p := w.cols.Own(cached), w.cols.V(prompt)
			both := c + " IS NOT NULL AND " + p + " IS NOT NULL"
			add(mCached, w.done(c, both), true, true)
			add(mCachedOf, w.done(p, both), true, true)
		}
	}
	for _, m := range serving.Metrics {
		k := string(m.Key)
		if !w.cols.Has(k) {
			continue
		}
		timed := slices.Contains(w.Timed, m.Key)
		switch {
		case m.Key == serving.ITL:
			add(k, "", false, timed)
		case m.Unit == serving.Tokens:
			add(k, w.done(w.cols.Own(k), ""), false, timed)
		default:
			add(k, w.done(w.micro(w.cols.Own(k)), ""), false, timed)
		}
	}
	return nil
}

// holds is 1 where a completed request is within a limit, else 0: the rules are
// those of package cube.
func (w *writing) holds(k serving.MetricKey, limit float64) string {
	var b strings.Builder
	b.WriteString("CASE")
	gaps := k == serving.TPOT || k == serving.ITL
	if whole := w.whole(); whole != "" {
		if gaps {
			fmt.Fprintf(&b, " WHEN %s THEN 1", whole)
		}
		if k == serving.TTFT {
			late := "0"
			if w.cols.Has(string(serving.E2E)) {
				late = fmt.Sprintf("CASE WHEN %s <= %s THEN 1 ELSE 0 END", w.cols.V(string(serving.E2E)), column.Number(limit))
			}
			fmt.Fprintf(&b, " WHEN %s THEN %s", whole, late)
		}
	}
	if gaps && w.cols.Has(string(serving.OutputTokens)) {
		fmt.Fprintf(&b, " WHEN %s <= 1 THEN 1", w.cols.V(string(serving.OutputTokens)))
	}
	if w.cols.Has(string(k)) {
		fmt.Fprintf(&b, " WHEN %s <= %s THEN 1", w.cols.Own(string(k)), column.Number(limit))
	}
	if b.Len() == len("CASE") {
		return "0"
	}
	return b.String() + " ELSE 0 END"
}

// slo is 1 for a request within an objective's limit, 0 for one that misses it,
// null for one that it is not for.
func (w *writing) slo(s serving.SLO) (string, error) {
	var not []string
	for _, t := range s.By {
		x, err := w.dim(t.Dim)
		if err != nil {
			return "", fmt.Errorf("objective %s: %w", s.Expr, err)
		}
		not = append(not, "("+x+") <> "+w.e.Literal(t.Value))
	}
	if whole := w.whole(); whole != "" && (s.Metric == serving.TTFT || s.Metric == serving.TPOT || s.Metric == serving.ITL) {
		not = append(not, whole)
	}
	x := "CASE WHEN " + w.outcome() + " = 0 THEN " + w.holds(s.Metric, s.Limit) + " ELSE 0 END"
	if len(not) == 0 {
		return x, nil
	}
	return "CASE WHEN " + strings.Join(not, " OR ") + " THEN NULL ELSE " + x + " END", nil
}

func (w *writing) dims() []string {
	var out []string
	for i := range w.Spec.Dims {
		out = append(out, w.name("d"+strconv.Itoa(i+1)))
	}
	return out
}

// events makes a row of each thing of each request that there is something to
// count of, in one pass over the table, and gives it its bucket.
func (w *writing) events() {
	keys := strings.Join(append(w.dims(), w.name(colWindow)), ", ")
	var numbers, cases []string
	gaps := 0
	sums := []string{}
	for i, x := range w.ids {
		n := strconv.Itoa(i + 1)
		if x.expr == "" {
			gaps = i + 1
			continue
		}
		if x.sum {
			sums = append(sums, n)
		}
		numbers = append(numbers, "SELECT "+n+" AS i")
		cases = append(cases, fmt.Sprintf("WHEN %s THEN %s", n, w.name("m"+n)))
	}
	w.cte("ids", "  %s", strings.Join(numbers, " UNION ALL "))
	ev := fmt.Sprintf("  SELECT %s, i, CASE i %s END AS u\n  FROM req CROSS JOIN ids", keys, strings.Join(cases, " "))
	if gaps > 0 {
		gap := w.e.Double("g") + " / " + column.Number(w.cols.GapUnits())
		ev += fmt.Sprintf("\n  UNION ALL\n  SELECT %s, %d AS i, %s AS u FROM (%s WHERE gaps_count = 1) AS gaps_of_requests",
			keys, gaps, w.micro(gap), w.e.EachGap(keys, w.name("gaps"), "g", "req"))
	}
	w.cte("ev", "%s", ev)
	bucket := w.bucket("u")
	if len(sums) > 0 {
		bucket = "CASE WHEN i IN (" + strings.Join(sums, ", ") + ") THEN 0 ELSE " + bucket + " END"
	}
	w.cte("bk", "  SELECT %s, i, u, %s AS b\n  FROM ev\n  WHERE u IS NOT NULL", keys, bucket)
}

// bucket is serving.RollupBucket, in whole-number arithmetic alone.
func (w *writing) bucket(u string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CASE WHEN %s < 256 THEN %s", u, u)
	for k := int64(1); k <= 45; k++ {
		fmt.Fprintf(&b, "\n    WHEN %s < %d THEN %d + %s", u, int64(256)<<k, k*128, w.e.Div(u, 1<<k))
	}
	fmt.Fprintf(&b, "\n    ELSE %d END", serving.MaxRollupBucket)
	return b.String()
}

// aggregates adds up: cells that cover all of the time, and cells of time
// windows, for which fewer things are counted.
func (w *writing) aggregates() {
	figures := fmt.Sprintf("count(*) AS rn, sum(u) AS rs, sum(%s * %s) AS rq, min(u) AS rl, max(u) AS rm", w.e.Double("u"), w.e.Double("u"))
	for _, timed := range []bool{false, true} {
		sets := w.sets(timed)
		if len(sets) == 0 {
			continue
		}
		var used []string
		for i, d := range w.dims() {
			if w.used(w.Spec.Dims[i], timed) {
				used = append(used, d)
			}
		}
		where := ""
		name := "all_time"
		if timed {
			used = append(used, w.name(colWindow))
			name = "by_time"
			var ids []string
			for i, x := range w.ids {
				if x.timed {
					ids = append(ids, strconv.Itoa(i+1))
				}
			}
			where = "\n  WHERE i IN (" + strings.Join(ids, ", ") + ")"
		}
		list := append(used, "i", "b", figures)
		w.cte(name, "  SELECT %s\n  FROM bk%s\n  GROUP BY GROUPING SETS (%s)", strings.Join(list, ", "), where, strings.Join(sets, ", "))
	}
}

func (w *writing) used(dim string, timed bool) bool {
	return slices.ContainsFunc(w.Spec.Groupings, func(g []string) bool {
		return slices.Contains(g, serving.RollupTime) == timed && slices.Contains(g, dim)
	})
}

// sets lists the grouping sets.
func (w *writing) sets(timed bool) []string {
	var out []string
	for _, g := range w.Spec.Groupings {
		if slices.Contains(g, serving.RollupTime) != timed {
			continue
		}
		var set []string
		for _, d := range g {
			if d == serving.RollupTime {
				set = append(set, w.name(colWindow))
			} else {
				set = append(set, w.name("d"+strconv.Itoa(slices.Index(w.Spec.Dims, d)+1)))
			}
		}
		out = append(out, "("+strings.Join(append(set, "i", "b"), ", ")+")")
	}
	return out
}

// result selects the rows of the rollup.
func (w *writing) result() error {
	spec, err := json.Marshal(w.Spec)
	if err != nil {
		return err
	}
	zero, zeroReal := w.e.Whole("0"), w.e.Double("0")
	row := func(kind string, dims []string, window, metric, bucket, n, total, squares, least, most, spec string) string {
		cols := []string{w.e.Literal(kind) + " AS " + w.name(colKind)}
		for i, d := range dims {
			cols = append(cols, d+" AS "+w.name("d"+strconv.Itoa(i+1)))
		}
		for _, c := range [][2]string{{window, colWindow}, {metric, colMetric}, {bucket, colBucket}, {n, colN}, {total, colTotal}, {squares, colSquares}, {least, colLeast}, {most, colMost}, {spec, colSpec}} {
			cols = append(cols, c[0]+" AS "+w.name(c[1]))
		}
		return "SELECT " + strings.Join(cols, ", ")
	}
	none := make([]string, len(w.Spec.Dims))
	for i := range none {
		none[i] = "''"
	}
	n := w.e.Whole("count(*)")
	parts := []string{
		row(kindSpec, none, "''", "''", zero, zero, zero, zeroReal, zero, zero, w.e.Literal(string(spec))),
		row(kindCell, none, "''", w.e.Literal(mRows), zero, n, zero, zeroReal, zero, zero, "''") + " FROM kept",
		row(kindCell, none, "''", "concat("+w.e.Literal(mSkipped)+", left_out)", zero, n, zero, zeroReal, zero, zero, "''") + " FROM kept WHERE left_out <> '' GROUP BY left_out",
	}
	for _, t := range [][2]string{{mArrival, "arrived_us"}, {mEnd, "ended_us"}} {
		x := w.name(t[1])
		parts = append(parts, row(kindCell, none, "''", w.e.Literal(t[0]), zero, w.e.Whole("count("+x+")"), zero, zeroReal,
			w.e.Whole("coalesce(min("+x+"), 0)"), w.e.Whole("coalesce(max("+x+"), 0)"), "''")+" FROM req")
	}
	var metric strings.Builder
	metric.WriteString("CASE i")
	for i, x := range w.ids {
		fmt.Fprintf(&metric, " WHEN %d THEN %s", i+1, w.e.Literal(x.metric))
	}
	metric.WriteString(" END")
	for _, timed := range []bool{false, true} {
		if len(w.sets(timed)) == 0 {
			continue
		}
		dims := slices.Clone(none)
		for i, d := range w.dims() {
			if w.used(w.Spec.Dims[i], timed) {
				dims[i] = "coalesce(" + d + ", '')"
			}
		}
		window, from := "''", " FROM all_time"
		if timed {
			window, from = w.name(colWindow), " FROM by_time"
		}
		parts = append(parts, row(kindCell, dims, window, metric.String(), w.e.Whole("b"), w.e.Whole("rn"), w.e.Whole("rs"), w.e.Double("rq"), w.e.Whole("rl"), w.e.Whole("rm"), "''")+from)
	}
	w.line("%s", strings.Join(parts, "\nUNION ALL\n"))
	return nil
}
