package column

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// Verdicts that leave the outcome to other columns: of a text that is not known, and
// of one that is known to say nothing.
const (
	undecided = -1
	silent    = -3
)

// outcomeColumns are the columns that say how a request ended.
var outcomeColumns = []struct {
	name  string
	judge func(s string) int
}{
	{serving.ColOutcome, judgeStatus},
	{colStatus, judgeStatus},
	{colSuccess, judgeSuccess},
	{colCancelled, judgeCancelled},
	{serving.ColError, judgeError},
	{colHTTP, judgeHTTP},
	{serving.ColFinish, judgeFinish},
}

// What the columns say, in lower case: the judges here and the queries of SQL
// read the same lists.
var (
	okWords = []string{"ok", "success", "succeeded", "successful", "completed", "complete", "done", "finished", "default", "unset", "true", "1",
		"stop", "length", "eos", "tool_calls", "finished_stopped", "finished_length_capped"}
	unfinishedWords = []string{"incomplete", "running", "in_progress", "in progress", "pending", "waiting", "queued", "unfinished"}
	noErrorWords    = []string{"", "none", "null", "nil", "<nil>", "nan", "n/a", "na", "-", "false", "0", "0.0", "{}", "[]", `""`, "ok", "no", "no error", "no_error", "noerror", "success"}
	levelWords      = []string{"trace", "debug", "info", "notice", "warn", "warning"} // of a log's line: that it is no error says nothing of the request
	noReasonWords   = []string{"", "none", "null"}
	trueWords       = []string{"true", "t", "yes", "y", "1", "1.0", "stream", "streaming"}
	falseWords      = []string{"false", "f", "no", "n", "0", "0.0", "non-streaming", "nonstream"}

	// Looked for inside a text.
	timeoutWords = []string{"timeout", "timed out", "timed_out", "time out", "deadline"}
	cancelWords  = []string{"cancel", "abort", "disconnect"}
	failureWords = []string{"error", "fail", "exception", "crash", "refused", "rejected", "false"}
)

// contains reports whether a text holds one of some words.
func contains(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// severity orders verdicts where columns disagree: a timeout is what a client
// then cancels, and both are more telling than an error.
var severity = [serving.NumOutcomes]int{serving.OK: 0, serving.Incomplete: 1, serving.Failed: 2, serving.Cancelled: 3, serving.Timeout: 4}

// OutcomeOfError judges the text of an error column; an empty one says nothing.
func OutcomeOfError(s string) (o serving.Outcome, ok bool) {
	v := judgeError(s)
	return serving.Outcome(max(v, 0)), v != undecided
}

func judgeStatus(s string) int {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(s, "status_code_") // OpenTelemetry
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 100 {
		return judgeHTTP(s)
	}
	switch {
	case slices.Contains(okWords, s):
		return int(serving.OK)
	case slices.Contains(unfinishedWords, s):
		return int(serving.Incomplete)
	case slices.Contains(levelWords, s):
		return silent
	}
	if v := judgeWords(s); v != undecided {
		return v
	}
	if contains(s, failureWords) {
		return int(serving.Failed)
	}
	return undecided
}

// judgeWords looks for the two endings that have many spellings.
func judgeWords(s string) int {
	switch {
	case contains(s, timeoutWords):
		return int(serving.Timeout)
	case contains(s, cancelWords):
		return int(serving.Cancelled)
	}
	return undecided
}

func judgeSuccess(s string) int {
	if v, ok := truth(s); ok {
		if v {
			return int(serving.OK)
		}
		return int(serving.Failed)
	}
	return undecided
}

func judgeCancelled(s string) int {
	if v, ok := truth(s); ok && v {
		return int(serving.Cancelled)
	}
	return undecided
}

func judgeError(s string) int {
	s = strings.ToLower(strings.TrimSpace(s))
	if slices.Contains(noErrorWords, s) {
		return undecided
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 100 && n < 600 {
		return judgeHTTP(s)
	}
	if v := judgeWords(s); v != undecided {
		return v
	}
	return int(serving.Failed)
}

func judgeHTTP(s string) int {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	switch {
	case err != nil || n < 100 || n > 599:
		return undecided
	case n == 408 || n == 504:
		return int(serving.Timeout)
	case n == 499:
		return int(serving.Cancelled)
	case n >= 400:
		return int(serving.Failed)
	}
	return int(serving.OK)
}

func judgeFinish(s string) int {
	s = strings.ToLower(strings.TrimSpace(s))
	if slices.Contains(noReasonWords, s) {
		return undecided
	}
	if v := judgeWords(s); v != undecided {
		return v
	}
	if strings.Contains(s, "error") {
		return int(serving.Failed)
	}
	return int(serving.OK) // stop, length, tool_calls, content_filter, …
}

// truth reads a boolean as files write them.
func truth(s string) (v, ok bool) {
	switch s = strings.ToLower(strings.TrimSpace(s)); {
	case slices.Contains(trueWords, s):
		return true, true
	case slices.Contains(falseWords, s):
		return false, true
	}
	return false, false
}

// outcomeInputs names the file's columns that say how requests ended.
func (p *Plan) outcomeInputs() []string {
	var out []string
	for _, c := range outcomeColumns {
		if i, ok := p.byName[c.name]; ok {
			out = append(out, p.Raws[p.Sources[i].Raw].Name)
		}
	}
	return out
}

// canComplete reports whether completeness can be told from figures.
func (p *Plan) canComplete() bool {
	return p.makes(outputTokens) || p.makes(e2e) || p.makes(ttft)
}

// outcomeOf decides each row's outcome: by the columns that say it, the worst
// verdict of them; where none says anything, by completeness: a request with
// output and a latency went well, one without output failed (BurstGPT's
// notation), one without an end is incomplete.
type outcomeOf struct {
	judges []*judge // aligned with the inputs
	out    int      // positions among the inputs, -1 where missing
	e2e    int
	ttft   int
}

func (o *outcomeOf) run(f *frame, in []*serving.Vector, out *serving.Vector) {
	out.Codes = grow(out.Codes, f.N)
	out.Valid = nil
	decided := len(o.judges) > 0 && in[0].Valid == nil && o.judges[0].all(out.Codes, in[0].Codes[:f.N])
	if !decided {
		for i := range out.Codes {
			out.Codes[i] = undecided
		}
	}
	for k, j := range o.judges {
		if k == 0 && decided {
			continue
		}
		v := in[k]
		from := 0
		if k == 0 && v.Valid == nil {
			from = j.verdicts(out.Codes, v.Codes[:f.N])
		}
		for i := from; i < f.N; i++ {
			if !v.Has(i) {
				continue
			}
			verdict := j.of(v.Codes[i])
			if verdict < 0 {
				if verdict == undecided && j.strict {
					f.problem("outcome "+j.name, i, j.name, "%q is no known status: its figures decide", j.dict.Name(v.Codes[i]))
				}
				continue
			}
			if have := out.Codes[i]; have == undecided || severity[verdict] > severity[have] {
				out.Codes[i] = int32(verdict)
			}
		}
	}
	if decided {
		return
	}
	for i, code := range out.Codes {
		if code == undecided {
			out.Codes[i] = int32(o.complete(in, i))
		}
	}
}

func (o *outcomeOf) complete(in []*serving.Vector, i int) serving.Outcome {
	has := func(k int) bool { return k >= 0 && in[k].Has(i) }
	switch {
	case has(o.out) && in[o.out].Ints[i] == 0:
		return serving.Failed
	case o.e2e >= 0:
		if !has(o.e2e) {
			return serving.Incomplete
		}
	case o.ttft >= 0:
		if !has(o.ttft) && !has(o.out) {
			return serving.Incomplete
		}
	case o.out >= 0 && !has(o.out):
		return serving.Incomplete
	}
	return serving.OK
}

// A judge applies a verdict to each distinct text once.
type judge struct {
	name    string
	dict    *serving.Dict
	verdict func(string) int
	strict  bool    // an unknown text is a problem
	seen    []int32 // by code
}

const unseen = -2

// fewTexts is how many texts are asked whether all of them are judged.
const fewTexts = 64

// all gives all rows their verdicts, and reports whether each has one: the texts are
// few, and all of them were seen before.
func (j *judge) all(out, codes []int32) bool {
	n := len(j.seen)
	return n > 0 && n <= fewTexts && slices.Min(j.seen) >= 0 && wide.Translate(out, j.seen, codes)
}

// verdicts judges the rows of a column without missing values, the first that is
// judged, up to one that is a problem or says nothing. It returns how many those are.
func (j *judge) verdicts(out, codes []int32) int {
	out = out[:len(codes)]
	for i, code := range codes {
		if uint(code) >= uint(len(j.seen)) || j.seen[code] < 0 {
			if v := j.of(code); v == silent || v == undecided && j.strict {
				return i
			}
		}
		out[i] = j.seen[code]
	}
	return len(codes)
}

func (j *judge) of(code int32) int {
	for int(code) >= len(j.seen) {
		j.seen = append(j.seen, unseen)
	}
	if j.seen[code] == unseen {
		j.seen[code] = int32(j.verdict(j.dict.Name(code)))
	}
	return int(j.seen[code])
}
