package column

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A Refusal is a raw column whose name is that of a canonical one, and whose values
// cannot be it.
type Refusal struct {
	Raw  int
	As   string
	sure bool // the name says so: ttft_ms, prompt_tokens. Of a queue, or an input, there may be anything
}

// Refused lists the columns whose figures a report lacks because of what they hold:
// those that nothing else in the file stands for.
func (p *Plan) Refused() []Refusal {
	return slices.DeleteFunc(slices.Clone(p.refused), func(r Refusal) bool {
		c, kind := canonByName(r.As), p.Raws[r.Raw].Kind
		return c.kind == serving.KindText && !(c.flag() && r.sure) || kind == Opaque || kind != Text && !r.sure || p.Fields[r.Raw].As != "" || p.chosen[r.As]
	})
}

// numberish are texts that somebody may have meant as numbers or times: 6,863, PT0.1S.
var numberish = regexp.MustCompile(`^[-+P]?T?[0-9][^ ]{0,22}$`)

// Problem says what is wrong with the column, "" where it may well be nothing. example
// is one of its values, where one is known.
func (r Refusal) Problem(p *Plan, example string) string {
	switch kind := p.Raws[r.Raw].Kind; {
	case kind == Text && !r.sure && !numberish.MatchString(example):
		return ""
	case kind == Text && example != "":
		return fmt.Sprintf("%q is nothing that %s could be: the column is not used", example, r.As)
	default:
		return fmt.Sprintf("holds %s and cannot be %s: the column is not used", kind, r.As)
	}
}
