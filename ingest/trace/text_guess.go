package trace

import (
	"fmt"
	"hash/maphash"
	"math"
	"regexp"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A guess gathers what the values at the start of a file say of a column's type.
type guess struct {
	steps     []string // the keys of a nested field
	name      string
	n         int // values that are not null
	ints      int
	floats    int
	bools     int
	dates     int
	zoned     int
	spans     int
	lists     int
	textLists int
	objects   int
	comma     bool      // a decimal comma was seen
	commas    bool      // decimal commas are possible: fields end in something else
	some      []float64 // numbers, and instants in ns
	firstText string
	tally     tally
	ids       map[uint64]struct{} // hashes of request ids; nil for other columns
	again     int                 // ids that had come already
	record    int64               // JSON: the record that had it last
	twice     bool                // JSON: a record had it twice
}

func newGuess(name string, commas bool) *guess {
	g := &guess{name: name, commas: commas}
	if as, _ := column.Means(name); as == serving.ColRequestID {
		g.ids = map[uint64]struct{}{}
	}
	return g
}

// add takes one value, without its quotes.
func (g *guess) add(b []byte) {
	b = strip(b)
	if isNull(b) {
		return
	}
	g.n++
	if g.ids != nil {
		g.id(b)
	}
	switch c := b[0]; {
	case c == '[':
		g.list(b)
		return
	case c == '{':
		g.objects++
		return
	case c-'0' <= 9 || c == '-' || c == '+' || c == '.' || c == 'i' || c == 'I':
		if g.number(b) {
			return
		}
	}
	switch string(b) {
	case "true", "false", "True", "False", "TRUE", "FALSE":
		g.bools++
		g.tally.add(b)
		return
	}
	g.tally.add(b)
	if g.firstText == "" {
		g.firstText = string(b[:min(len(b), maxText)])
	}
}

var idSeed = maphash.MakeSeed()

// id counts request ids that come again.
func (g *guess) id(b []byte) {
	h := maphash.Bytes(idSeed, b)
	if _, ok := g.ids[h]; ok {
		g.again++
	}
	g.ids[h] = struct{}{}
}

// doubts says what is odd about the columns: it is no damage.
func doubts(columns []*guess) []string {
	var notes []string
	for _, g := range columns {
		if g.again > 0 {
			notes = append(notes, fmt.Sprintf("%d of the first %d values of %s stood there before: each row counts as a request", g.again, g.n, jsonscan.Cut(g.name, 40)))
		}
		if g.twice {
			notes = append(notes, fmt.Sprintf("a record has %s twice: the last is used", jsonscan.Cut(g.name, 40)))
		}
	}
	return notes
}

// grouped are numbers with separators of thousands. Whether "1,234" is one, or has a
// decimal comma, nobody can tell for the whole world.
var grouped = regexp.MustCompile(`^[-+]?[0-9]{1,3}([,.'\x{20}\x{a0}\x{202f}][0-9]{3})+([,.][0-9]+)?$`)

// misread lists the columns that are not used because of what they hold.
func misread(columns []*guess, plan *column.Plan) (out []serving.Problem) {
	for _, r := range plan.Refused() {
		g := columns[r.Raw]
		p := serving.Problem{At: serving.Pos{Field: g.name}, Message: r.Problem(plan, jsonscan.Cut(g.firstText, 48))}
		if p.Message == "" {
			continue
		}
		if grouped.MatchString(g.firstText) {
			p.Message += "; write its numbers without separators of thousands"
		}
		out = append(out, p)
	}
	return out
}

func (g *guess) number(b []byte) bool {
	if x, ok := parseFloat(b); ok {
		g.value(x)
		if _, whole := plainInt(b); whole {
			g.ints++
		} else {
			g.floats++
		}
		return true
	}
	if ns, zoned, ok := parseInstant(b); ok {
		g.dates++
		g.value(float64(ns))
		if zoned {
			g.zoned++
		}
		return true
	}
	if _, ok := parseSpan(b); ok {
		g.spans++
		return true
	}
	if g.commas {
		if x, ok := parseComma(b); ok {
			g.value(x)
			g.floats++
			g.comma = true
			return true
		}
	}
	return false
}

// plainInt reports whether a number has neither fraction nor exponent.
func plainInt(b []byte) (int, bool) {
	for _, c := range b {
		if c == '.' || c == 'e' || c == 'E' || c == 'n' || c == 'N' {
			return 0, false
		}
	}
	return len(b), true
}

func (g *guess) value(x float64) {
	if !math.IsInf(x, 0) && len(g.some) < sampleRows {
		g.some = append(g.some, x)
	}
}

func (g *guess) list(b []byte) {
	numbers, texts := 0, 0
	ok := eachElement(b, func(e []byte, text bool) bool {
		if _, num := parseFloat(e); num && !text {
			numbers++
			return numbers < 16 // enough is known
		}
		texts++
		return text && texts < 16
	})
	switch {
	case texts == 0 && (ok || numbers > 0):
		g.lists++
	case numbers == 0:
		g.textLists++
	}
}

// raw describes the column. A minority of values that are something else is
// damage, not the type.
func (g *guess) raw() column.Raw {
	r := column.Raw{Name: g.name, Path: g.steps, Label: g.tally.labels}
	most := func(n int) bool { return 2*n > g.n }
	switch {
	case g.n == 0:
		r.Kind = column.Opaque // see Text.resolve
	case 2*(g.ints+g.floats) >= g.n:
		r.Kind = column.Float
		if g.floats == 0 || 100*g.floats < g.n { // a stray 1.5 does not make counts numbers
			r.Kind = column.Int
		}
		r.Range = func() (float64, float64, bool) { return column.Middle(g.some) }
	case most(g.dates):
		r.Kind, r.Unit, r.Local = column.Instant, column.Nanosecond, g.zoned < g.dates
		r.Range = func() (float64, float64, bool) { return column.Middle(g.some) }
	case most(g.spans):
		r.Kind, r.Unit = column.Span, column.Second
	case most(g.bools):
		r.Kind = column.Bool
	case most(g.lists):
		r.Kind = column.List
	case most(g.textLists):
		r.Kind = column.TextList
	case most(g.objects):
		r.Kind = column.Opaque
	default:
		r.Kind = column.Text
	}
	return r
}
