package column

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// judge adds how each request ended, whether it was streamed and whether it is
// one of a warm-up: the verdicts of outcome.go, word by word.
func (q *SQL) judge() {
	q.stage()
	for _, c := range outcomeColumns {
		if q.have[c.name] {
			q.add("word_"+c.name, q.word(c.name))
		}
	}
	q.stage()
	for _, name := range []string{serving.ColOutcome, colStatus} {
		if x := q.V("word_" + name); q.have[name] {
			// OpenTelemetry's prefix.
			q.add("said_"+name, "CASE WHEN substr("+x+", 1, 12) = 'status_code_' THEN substr("+x+", 13) ELSE "+x+" END")
		}
	}
	q.stage()
	var worst []string
	for _, c := range outcomeColumns {
		if q.have[c.name] {
			name, said := "verdict_"+c.name, q.V("word_"+c.name)
			if q.have["said_"+c.name] {
				said = q.V("said_" + c.name)
			}
			q.add(name, q.verdict(c.name, said))
			worst = append(worst, q.V(name))
		}
	}
	if q.have[serving.ColStreaming] {
		q.add("streamed", q.truth(q.word(serving.ColStreaming), "'yes'", "'no'"))
	}
	if q.have[serving.ColPhase] {
		x := q.V(serving.ColPhase)
		for _, c := range []string{"-", "_", " "} {
			x = "replace(" + x + ", " + q.Engine.Literal(c) + ", '')"
		}
		q.add("warm", "CASE WHEN "+q.Engine.in("lower("+x+")", "warmup", "warming", "warmupphase")+" THEN 1 ELSE 0 END")
	} else if q.have[colWarmup] {
		q.add("warm", "coalesce("+q.truth(q.word(colWarmup), "1", "0")+", 0)")
	}
	q.stage()
	q.add("outcome_code", q.outcome(worst))
}

// word is a text without what makes no difference: blanks around it, and case.
func (q *SQL) word(name string) string {
	return "lower(trim(BOTH " + q.Engine.Literal(" \t\r\n") + " FROM " + q.V(name) + "))"
}

func (q *SQL) truth(x, yes, no string) string {
	e := q.Engine
	return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s END",
		e.in(x, trueWords...), yes,
		e.in(x, falseWords...), no)
}

// codes of outcomes in SQL.
var (
	sqlOK         = fmt.Sprint(uint8(serving.OK))
	sqlFailed     = fmt.Sprint(uint8(serving.Failed))
	sqlTimeout    = fmt.Sprint(uint8(serving.Timeout))
	sqlCancelled  = fmt.Sprint(uint8(serving.Cancelled))
	sqlIncomplete = fmt.Sprint(uint8(serving.Incomplete))
)

// verdict judges a text by the column it is of; null leaves it to others.
func (q *SQL) verdict(column, x string) string {
	e := q.Engine
	words := fmt.Sprintf("WHEN %s THEN %s WHEN %s THEN %s",
		e.holds(x, timeoutWords...), sqlTimeout,
		e.holds(x, cancelWords...), sqlCancelled)
	switch column {
	case serving.ColOutcome, colStatus:
		return "CASE " + q.http(x) +
			" WHEN " + e.in(x, okWords...) + " THEN " + sqlOK +
			" WHEN " + e.in(x, unfinishedWords...) + " THEN " + sqlIncomplete +
			" " + words +
			" WHEN " + e.holds(x, failureWords...) + " THEN " + sqlFailed + " END"
	case colSuccess:
		return q.truth(x, sqlOK, sqlFailed)
	case colCancelled:
		return q.truth(x, sqlCancelled, "NULL")
	case colHTTP:
		return "CASE " + q.http(x) + " END"
	case serving.ColError:
		return "CASE WHEN " + e.in(x, noErrorWords...) + " THEN NULL " + q.http(x) +
			" " + words + " WHEN " + x + " IS NOT NULL THEN " + sqlFailed + " END"
	}
	// Why it finished.
	return "CASE WHEN " + e.in(x, noReasonWords...) + " THEN NULL " + words +
		" WHEN " + e.holds(x, "error") + " THEN " + sqlFailed + " WHEN " + x + " IS NOT NULL THEN " + sqlOK + " END"
}

// http judges a text that is the number of an HTTP status, 100 to 599; a
// fraction of zeros is let pass.
func (q *SQL) http(x string) string {
	x = "CASE WHEN " + x + " LIKE '___.0' THEN substr(" + x + ", 1, 3) ELSE " + x + " END"
	e := q.Engine
	number := "length(" + x + ") = 3 AND " + x + " >= '100' AND " + x + " <= '599' AND substr(" + x + ", 2, 1) >= '0' AND substr(" + x + ", 2, 1) <= '9' AND substr(" + x + ", 3, 1) >= '0' AND substr(" + x + ", 3, 1) <= '9'"
	return fmt.Sprintf("WHEN %s THEN CASE WHEN %s THEN %s WHEN %s THEN %s WHEN %s >= '400' THEN %s ELSE %s END",
		number, e.in(x, "408", "504"), sqlTimeout, e.in(x, "499"), sqlCancelled, x, sqlFailed, sqlOK)
}

// outcome is the worst of the verdicts; where none says anything, completeness
// decides, as in outcomeOf.
func (q *SQL) outcome(verdicts []string) string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, o := range []string{sqlTimeout, sqlCancelled, sqlFailed, sqlIncomplete, sqlOK} { // by severity
		for _, v := range verdicts {
			fmt.Fprintf(&b, " WHEN %s = %s THEN %s", v, o, o)
		}
	}
	if q.have[outputTokens] {
		fmt.Fprintf(&b, " WHEN %s = 0 THEN %s", q.V(outputTokens), sqlFailed)
	}
	switch {
	case q.have[e2e]:
		fmt.Fprintf(&b, " WHEN %s IS NULL THEN %s", q.V(e2e), sqlIncomplete)
	case q.have[ttft] && q.have[outputTokens]:
		fmt.Fprintf(&b, " WHEN %s IS NULL AND %s IS NULL THEN %s", q.V(ttft), q.V(outputTokens), sqlIncomplete)
	case q.have[ttft]:
		fmt.Fprintf(&b, " WHEN %s IS NULL THEN %s", q.V(ttft), sqlIncomplete)
	case q.have[outputTokens]:
		fmt.Fprintf(&b, " WHEN %s IS NULL THEN %s", q.V(outputTokens), sqlIncomplete)
	}
	if b.Len() == len("CASE") {
		return sqlOK
	}
	fmt.Fprintf(&b, " ELSE %s END", sqlOK)
	return b.String()
}
