package column

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// givenWorkload is the workload column of the table itself, where rules name
// workloads.
const givenWorkload = "given_workload"

// label adds the workload that rules give: the first that matches, else the
// table's own.
func (q *SQL) label(rules []WorkloadRule) {
	q.stage()
	var b strings.Builder
	b.WriteString("CASE")
	for _, r := range rules {
		name := r.Column
		if name == serving.ColWorkload {
			name = givenWorkload
		}
		fmt.Fprintf(&b, " WHEN %s THEN %s", q.matches(q.V(name), r), q.Engine.Literal(r.Name))
	}
	own := "NULL"
	if q.have[givenWorkload] {
		own = q.V(givenWorkload)
	}
	q.add(serving.ColWorkload, b.String()+" ELSE "+own+" END")
}

// matches is the condition of a rule. A rule for one value is a comparison.
func (q *SQL) matches(x string, r WorkloadRule) string {
	re, err := syntax.Parse(r.Match.String(), syntax.Perl)
	if err != nil { // it was compiled before
		return "1 = 0"
	}
	if value, ok := wholeLiteral(re); ok {
		return x + " = " + q.Engine.Literal(value)
	}
	return fmt.Sprintf(q.Engine.match, x, q.Engine.Literal(withoutNames(re).String()))
}

// wholeLiteral returns the one text that an expression matches.
func wholeLiteral(re *syntax.Regexp) (string, bool) {
	if re.Op != syntax.OpConcat || re.Sub[0].Op != syntax.OpBeginText || re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
		return "", false
	}
	switch mid := re.Sub[1 : len(re.Sub)-1]; {
	case len(mid) == 0:
		return "", true
	case len(mid) == 1 && mid[0].Op == syntax.OpLiteral && mid[0].Flags&syntax.FoldCase == 0:
		return string(mid[0].Rune), true
	}
	return "", false
}

// withoutNames drops groups that are captured: what is left, printed anew, is
// written alike for RE2 and for Java, which differ in how such groups are named
// and in short forms of classes.
func withoutNames(re *syntax.Regexp) *syntax.Regexp {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	for i, s := range re.Sub {
		re.Sub[i] = withoutNames(s)
	}
	return re
}

// Applicable returns the rules that name workloads of a table with such columns,
// and those that do not: on columns that it lacks, and on a run as a whole.
func Applicable(rules []WorkloadRule, columns []serving.Column) (applied, left []WorkloadRule) {
	for _, r := range rules {
		if r.Column != RunColumn && isText(columns, r.Column) {
			applied = append(applied, r)
		} else {
			left = append(left, r)
		}
	}
	return applied, left
}
