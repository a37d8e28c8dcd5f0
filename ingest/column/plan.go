package column

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Decisions on units, as a Field and a Column state them.
const (
	HowMap     = "map"
	HowType    = "logical-type"
	HowSibling = "sibling"
	HowSuffix  = "suffix"
	HowDialect = "dialect"
	HowEpoch   = "magnitude" // of absolute instants only
	HowDerived = "derived"
)

// A Source is a column that a decoder decodes.
type Source struct {
	Name     string // canonical, or the raw name
	Raw      int    // index of the raw column
	Kind     serving.ColumnKind
	Unit     Unit // of times, durations and gaps
	How      string
	Relative bool // an instant counted from an arbitrary origin
	dated    bool // instants are known to be dates
	clock    clock
}

// A clock tells which instants may be subtracted from each other.
type clock uint8

const (
	wallClock clock = iota // dates
	zeroClock              // offsets from the start of the trace
	monoClock              // an engine's monotonic clock, of an arbitrary origin
)

// A Plan says what the columns of a file are.
type Plan struct {
	Raws     []Raw
	Sources  []Source         // canonical ones first, then raw ones
	Columns  []serving.Column // what can be asked for, in a fixed order
	Fields   []serving.Field  // what became of each raw column, in file order
	Dialect  string           // the producer, "" where it is not known
	Side     serving.Side
	refused  []Refusal
	disagree []serving.Doubt
	Notes    []string
	Textual  bool // of a text file, whose times an engine may take for texts

	byName map[string]int    // Sources
	chosen map[string]bool   // canonical names that a column has, with a unit or without
	under  map[string]string // raw name → the source it is kept under
	gaps   string            // token or chunk
	touched
}

// A ColumnError says that a column cannot be what it was mapped to.
type ColumnError struct{ Column, Message string }

// Error formats the error.
func (e *ColumnError) Error() string { return "column " + e.Column + ": " + e.Message }

// Resolve decides what the columns of a file are. For each canonical column a
// user's mapping wins; else the raw column whose name comes first in the alias
// table, a whole name before a part of one, and then the one that stands first
// in the file. What loses stays available under its raw name, with a note.
func Resolve(raws []Raw, maps []Mapping) (*Plan, error) {
	p := &Plan{Raws: raws, Side: serving.UnknownSide, byName: map[string]int{}, chosen: map[string]bool{}, under: map[string]string{}, gaps: "token"}
	d := detect(raws)
	if d != nil {
		p.Dialect = d.name
	}
	chosen, err := p.choose(maps)
	if err != nil {
		return nil, err
	}
	var units UnitError
	mapped := false // the user wants one of these
	p.Fields = make([]serving.Field, len(raws))
	for i, r := range raws {
		p.Fields[i].Name = r.Name
	}
	for ci := range canons {
		c := &canons[ci]
		w, ok := chosen[c.name]
		if !ok {
			continue
		}
		p.chosen[c.name] = true
		s, err := p.source(c, w, d)
		if units.take(err) {
			mapped = mapped || w.user != nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		p.byName[s.Name] = len(p.Sources)
		p.Sources = append(p.Sources, *s)
		p.Fields[s.Raw].As, p.Fields[s.Raw].Unit, p.Fields[s.Raw].How = s.Name, s.Unit.String(), s.How
		if c.name == itl && strings.Contains(fold(raws[s.Raw].Name), "chunk") {
			p.gaps = "chunk"
		}
	}
	if len(units.columns) > 0 && (mapped || p.IsTrace()) {
		return nil, &units
	}
	p.hintTimes()
	p.setSide(d)
	p.addRaw()
	p.list()
	return p, nil
}

// A winner is the raw column chosen for a canonical one.
type winner struct {
	raw    int
	rank   int
	suffix Unit
	user   *Mapping
}

func (p *Plan) choose(maps []Mapping) (map[string]winner, error) {
	chosen := map[string]winner{}
	taken := map[int]bool{}
	for i, m := range maps {
		raw, err := p.findRaw(m)
		if err != nil {
			return nil, err
		}
		c := canonByName(m.Canonical)
		if c == nil {
			return nil, fmt.Errorf("mapping %s: no canonical column is called %q, %s", m, m.Canonical, whichCanon(m.Canonical))
		}
		if k := p.Raws[raw].Kind; !c.accepts(k) && !(k == Float && c.flag()) {
			return nil, &ColumnError{p.Raws[raw].Name, fmt.Sprintf("holds %s and cannot be %s", k, c.name)}
		}
		if w, ok := chosen[c.name]; ok {
			return nil, fmt.Errorf("%s is mapped twice: to %s and to %s", c.name, p.Raws[w.raw].Name, p.Raws[raw].Name)
		}
		_, u, _ := cutUnit(p.Raws[raw].Name)
		chosen[c.name] = winner{raw: raw, suffix: u, user: &maps[i]}
		taken[raw] = true
	}
	for i, r := range p.Raws {
		h, ok := match(r.Name)
		if !ok || taken[i] {
			continue
		}
		c := &canons[h.canon]
		if !c.accepts(r.Kind) && !c.acceptsFloats(&r) {
			if c2 := retype(c, r.Kind); c2 != nil {
				c = c2
			} else {
				p.refused = append(p.refused, Refusal{i, c.name, h.suffix != NoUnit || fold(r.Name) == fold(c.name) && (c.kind == serving.KindText || strings.Contains(c.name, "_"))})
				continue
			}
		}
		w, ok := chosen[c.name]
		switch {
		case !ok || w.user == nil && h.rank < w.rank:
			if ok {
				p.rival(c, r.Name, p.Raws[w.raw].Name)
			}
			chosen[c.name] = winner{raw: i, rank: h.rank, suffix: h.suffix}
		default:
			p.rival(c, p.Raws[w.raw].Name, r.Name)
		}
	}
	return chosen, nil
}

// retype resolves names that mean one thing or another by their type: a list
// called inter_token_latency is itl, a number called itl is its mean.
func retype(c *canon, k Kind) *canon {
	switch {
	case c.name == tpot && k == List:
		return canonByName(itl)
	case c.name == itl && (k == Int || k == Float || k == Span):
		return canonByName(tpot)
	case c.name == queue && k == Instant: // queued_time of a serving log with dates
		return canonByName(colQueued)
	}
	return nil
}

func (p *Plan) rival(c *canon, wins, stays string) {
	p.Notes = append(p.Notes, fmt.Sprintf("two columns for %s: %s is used, %s stays a column of its own", c.name, wins, stays))
}

// findRaw finds the column that a mapping names: exactly, or folded where that
// is unambiguous.
func (p *Plan) findRaw(m Mapping) (int, error) {
	at, n := -1, 0
	names := make([]string, len(p.Raws))
	for i, r := range p.Raws {
		if r.Name == m.Column {
			return i, nil
		}
		if fold(r.Name) == fold(m.Column) {
			at, n = i, n+1
		}
		names[i] = r.Name
	}
	if n == 1 {
		return at, nil
	}
	return 0, fmt.Errorf("mapping %s: there is no column %q, did you mean %q?", m, m.Column, nearest(m.Column, names))
}

// source settles a column's unit. It returns nil where the column cannot be
// used and need not be.
func (p *Plan) source(c *canon, w winner, d *dialect) (*Source, error) {
	r := p.Raws[w.raw]
	s := &Source{Name: c.name, Raw: w.raw, Kind: c.kind}
	if w.user != nil {
		s.How = HowMap
	}
	if !c.timed() {
		if s.How == "" && d != nil && slices.Contains(d.marks, fold(r.Name)) {
			s.How = HowDialect
		}
		return s, nil
	}
	sib, hasSib := ParseUnit(r.Sibling)
	switch {
	case w.user != nil && w.user.Unit != NoUnit:
		s.Unit = w.user.Unit
		if (r.Kind == Instant || r.Kind == Span) && r.Unit != s.Unit {
			return nil, &ColumnError{r.Name, fmt.Sprintf("its type says %s, the mapping %s says %s", r.Unit, w.user, s.Unit)}
		}
	case r.Kind == Instant || r.Kind == Span:
		s.Unit = r.Unit
		s.How = either(s.How, HowType)
	case r.Kind == Text && c.kind == serving.KindTime:
		s.Unit = Nanosecond // as ParseInstant gives them
		s.How = either(s.How, HowType)
	case hasSib:
		s.Unit, s.How = sib, either(s.How, HowSibling)
	case w.suffix != NoUnit:
		s.Unit, s.How = w.suffix, either(s.How, HowSuffix)
	case otel(r.Name):
		s.Unit, s.How = Second, either(s.How, HowDialect)
	default:
		return p.unitless(c, s, r, d)
	}
	p.setClock(c, s, r)
	return s, nil
}

// unitless resolves a time that nothing in the file gives a unit to: by its
// magnitude if it is a date, by its producer, or not at all.
func (p *Plan) unitless(c *canon, s *Source, r Raw, d *dialect) (*Source, error) {
	if c.kind == serving.KindTime && (d == nil || !d.offsets) {
		lo, _, ok := r.rangeOf()
		if !ok {
			return s, nil // no values, no matter
		}
		if u, isDate := epochUnit(lo); isDate {
			s.Unit, s.How = u, either(s.How, HowEpoch)
			p.setClock(c, s, r)
			return s, nil
		}
	}
	if d != nil {
		s.Unit, s.How = d.unit, either(s.How, HowDialect)
		p.setClock(c, s, r)
		return s, nil
	}
	if c.name == colQueued || c.name == colScheduled {
		p.Notes = append(p.Notes, fmt.Sprintf("column %s is not used: it has no unit", r.Name))
		return nil, nil
	}
	return nil, &UnitError{[]unitless{{r.Name, c.name}}}
}

// setClock tells dates from offsets by the values, and an engine's monotonic
// clock from the trace's own by its name: vLLM's *_ts beside its arrival_time.
func (p *Plan) setClock(c *canon, s *Source, r Raw) {
	if c.kind != serving.KindTime {
		return
	}
	lo, hi, ok := r.rangeOf()
	if !ok || r.Kind == Text {
		return
	}
	per := s.Unit.PerSecond()
	if lo >= float64(firstDate)*per && hi < float64(lastDate)*per {
		s.dated = true
		return
	}
	s.Relative, s.clock = true, zeroClock
	rest := fold(r.Name)
	if r, _, ok := cutUnit(r.Name); ok {
		rest = r
	}
	if strings.HasSuffix(rest, "ts") {
		s.clock = monoClock
	}
}

func (r Raw) rangeOf() (lo, hi float64, ok bool) {
	if r.Range == nil {
		return 0, 0, false
	}
	return r.Range()
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// setSide decides where times were measured. A scheduler's stages can only be
// seen from inside the server.
func (p *Plan) setSide(d *dialect) {
	if d != nil && d.side != "" {
		p.Side = d.side
		return
	}
	for _, n := range []string{queue, prefill, colQueued, colScheduled, colInference} {
		if _, ok := p.byName[n]; ok {
			p.Side = serving.ServerSide
		}
	}
	for _, s := range p.Sources {
		if otel(p.Raws[s.Raw].Name) && s.Kind == serving.KindDuration {
			p.Side = serving.ServerSide
		}
	}
	for _, r := range p.Raws {
		if strings.HasPrefix(strings.ToLower(r.Name), "gen_ai.client.") || strings.Contains(fold(r.Name), "timetofirstchunk") {
			p.Side = serving.Client // measured by the caller, by definition
		}
	}
}

// addRaw adds every column that can be a dimension under its raw name: those
// that are nothing canonical, and texts that are, since their users know them
// by the name in the file.
func (p *Plan) addRaw() {
	used := map[int]string{}
	for _, s := range p.Sources {
		used[s.Raw] = s.Name
	}
	for i, r := range p.Raws {
		kind, ok := rawKind(r.Kind)
		name, isUsed := used[i]
		if !ok || isUsed && kind != serving.KindText {
			continue
		}
		if isUsed && (p.Sources[p.byName[name]].Kind != serving.KindText || r.Kind == TextList) {
			continue
		}
		if _, dup := p.byName[r.Name]; dup || isCanon(r.Name) {
			continue // canonical names win, even of what the column is refused as
		}
		if isUsed {
			p.under[r.Name] = name
			continue
		}
		p.byName[r.Name] = len(p.Sources)
		s := Source{Name: r.Name, Raw: i, Kind: kind, Unit: r.Unit}
		switch {
		case r.Dir:
			s.How, p.Fields[i].How = serving.HowPartition, serving.HowPartition
		case r.Kind == Instant:
			s.How = HowType
		}
		p.Sources = append(p.Sources, s)
	}
}

// rawKind is the kind under which a column without a meaning is offered.
func rawKind(k Kind) (serving.ColumnKind, bool) {
	switch k {
	case Text, Int, Bool:
		return serving.KindText, true
	case Float:
		return serving.KindNumber, true
	case Instant:
		return serving.KindTime, true
	case Span:
		return serving.KindDuration, true
	}
	return 0, false
}

// list fills Columns: canonical columns, read or derived, in the order of the
// table, then the raw ones in file order.
func (p *Plan) list() {
	for _, c := range canons {
		if c.input {
			continue
		}
		if col, ok := p.offer(c); ok {
			p.Columns = append(p.Columns, col)
		}
	}
	for _, r := range p.Raws {
		if i, ok := p.byName[r.Name]; ok && !canonical(r.Name) {
			p.Columns = append(p.Columns, p.column(p.Sources[i]))
		} else if u, ok := p.under[r.Name]; ok {
			col := p.column(p.Sources[p.byName[u]])
			col.Name, col.Label = r.Name, false // its slices go by the canonical name
			p.Columns = append(p.Columns, col)
		}
	}
}

// isCanon reports whether a name is that of a canonical column, on offer or not.
func isCanon(name string) bool {
	return slices.ContainsFunc(canons, func(c canon) bool { return c.name == name })
}

// canonical reports whether a name is that of a canonical column on offer.
func canonical(name string) bool {
	for _, c := range canons {
		if c.name == name {
			return !c.input
		}
	}
	return false
}

func (p *Plan) offer(c canon) (serving.Column, bool) {
	if c.name == serving.ColOutcome {
		from := p.outcomeInputs()
		if len(from) == 0 && !p.canComplete() {
			return serving.Column{}, false
		}
		return serving.Column{Name: c.name, Kind: c.kind, From: strings.Join(from, ", "), How: HowDerived}, true
	}
	if i, ok := p.byName[c.name]; ok {
		return p.column(p.Sources[i]), true
	}
	if i, ok := p.byName[colWarmup]; ok && c.name == serving.ColPhase { // see Program.warmup
		return serving.Column{Name: c.name, Kind: c.kind, From: p.Raws[p.Sources[i].Raw].Name, How: HowDerived}, true
	}
	for _, r := range rules {
		if r.makes == c.name && p.applies(r) {
			return serving.Column{Name: c.name, Kind: c.kind, From: strings.Join(p.rawNames(r.from), ", "), How: HowDerived}, true
		}
	}
	return serving.Column{}, false
}

func (p *Plan) column(s Source) serving.Column {
	col := serving.Column{Name: s.Name, Kind: s.Kind, Relative: s.Relative, From: p.Raws[s.Raw].Name, Unit: s.Unit.String(), How: s.How}
	if s.Kind == serving.KindGaps {
		col.Gaps = p.gaps
	}
	if label := p.Raws[s.Raw].Label; label != nil && s.Kind == serving.KindText && (s.Name == serving.ColTenant || !canonical(s.Name)) {
		col.Label = label()
	}
	return col
}

// rawNames names the file's columns behind some canonical ones.
func (p *Plan) rawNames(names []string) []string {
	var out []string
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, n := range names {
		if i, ok := p.byName[n]; ok {
			add(p.Raws[p.Sources[i].Raw].Name)
			continue
		}
		for _, r := range rules {
			if r.makes == n && p.applies(r) {
				for _, x := range p.rawNames(r.from) {
					add(x)
				}
				break
			}
		}
	}
	return out
}

// SetGaps says what the gaps of itl are between: "token" or "chunk".
func (p *Plan) SetGaps(g string) {
	p.gaps = g
	for i := range p.Columns {
		if p.Columns[i].Kind == serving.KindGaps {
			p.Columns[i].Gaps = g
		}
	}
}

// Source returns the index of the source of a column, and whether there is one.
func (p *Plan) Source(name string) (int, bool) {
	if u, ok := p.under[name]; ok {
		name = u
	}
	i, ok := p.byName[name]
	return i, ok
}

// IsTrace reports whether the columns are those of requests: when each arrived
// and something of its size or end, or how long a part of it took.
func (p *Plan) IsTrace() bool {
	has := func(n string) bool { return p.chosen[n] }
	for _, n := range []string{ttft, tpot, e2e, itl} {
		if has(n) {
			return true
		}
	}
	tokens := has(promptTokens) || has(outputTokens)
	stage := has(queue) || has(prefill) || has(decode) || has(serving.ColEnd) || has(serving.ColFirstToken) || has(colLastToken)
	return has(serving.ColArrival) && (tokens || stage) || tokens && stage
}

// Wanted says in words what IsTrace looks for, and what there is.
func (p *Plan) Wanted() (want, found string) {
	var names []string
	for _, r := range p.Raws {
		names = append(names, r.Name)
	}
	const most = 12
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("… (%d in all)", n))
	}
	return "a latency column (ttft, e2e, tpot, itl) or an arrival time with token counts", strings.Join(names, ", ")
}
