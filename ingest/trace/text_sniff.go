package trace

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// judge decides from the start of a table whether its rows are requests.
func judge(l learned, opt Options) (ok bool, why string) {
	var names []string
	for _, g := range l.columns {
		names = append(names, g.name)
	}
	p, _, err := resolveText(l.columns, opt.Map)
	var unit *column.UnitError
	if err != nil && !errors.As(err, &unit) {
		return len(opt.Map) > 0, err.Error() // the user says it is one: opening it says what is wrong
	}
	if p != nil && !p.IsTrace() {
		want, found := p.Wanted()
		return false, fmt.Sprintf("no request trace: its columns are %s; want %s", found, want)
	}
	if w := summary(names, l.rows); w != "" {
		return false, "its rows are no requests: " + w
	}
	return true, ""
}

// Words of columns that describe many requests together, or a server at a point
// in time, and not one request.
var (
	percentiles = []string{"percentile", "percentiles", "quantile", "p50", "p75", "p90", "p95", "p99", "p999"}
	loadWords   = []string{"concurrency", "qps", "rps", "throughput", "goodput", "completed", "requests", "prompts", "mean", "avg", "average", "median", "std", "stddev", "stdev"}
	gaugeWords  = []string{"running", "waiting", "kv", "gpu", "utilization", "usage", "throughput"}
)

// summary says why rows are summaries or samples of a server, "" where nothing
// points to it. A request has a name or a time of arrival; a load level or a
// sample of a gauge has no name.
func summary(names []string, rows int64) string {
	identity, tokens := false, false
	load, gauges := 0, 0
	for _, n := range names {
		m, _ := column.Means(n)
		switch m {
		case serving.ColRequestID, serving.ColSession, serving.ColFirstToken, serving.ColEnd:
			identity = true
			continue
		case serving.ColArrival:
			identity = identity || strings.Contains(strings.ToLower(n), "arriv")
			continue
		case string(serving.PromptTokens), string(serving.OutputTokens):
			tokens = true
			continue
		}
		w := nameWords(n)
		if hasAny(w, percentiles) {
			return "column " + n + " is a percentile"
		}
		if m != "" {
			continue // avg_itl_ms of one request
		}
		if hasAny(w, loadWords) {
			load++
		}
		if hasAny(w, gaugeWords) {
			gauges++
		}
	}
	const many = 200 // nobody measures that many load levels
	switch {
	case identity:
	case load >= 2 && rows < many:
		return "several columns describe a load level"
	case gauges >= 2 && !tokens:
		return "several columns are a server's gauges"
	}
	return ""
}

func hasAny(words, of []string) bool {
	for _, w := range words {
		for _, o := range of {
			if w == o {
				return true
			}
		}
	}
	return false
}

// nameWords splits a name at everything that is no letter or digit.
func nameWords(n string) []string {
	return strings.FieldsFunc(strings.ToLower(n), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
