package promql

import (
	"fmt"
	"strings"
	"time"
)

// Expand fills in the window variables that Grafana's dashboards use, as Grafana
// does: $__interval is the step; $__rate_interval is the step and a scrape
// interval, but at least four scrape intervals; $__range is the whole span. Both
// spellings, $name and ${name}, are known. What is returned is what is evaluated
// and what a report has to show.
func (db *DB) Expand(expr string, step time.Duration) string {
	if !strings.Contains(expr, "$") {
		return expr
	}
	scrape := db.Interval()
	if step <= 0 {
		step = scrape
	}
	var pairs []string
	for _, v := range []struct {
		name string
		d    time.Duration
	}{
		{"__rate_interval", max(step+scrape, 4*scrape)},
		{"__interval", step},
		{"__range", ms(db.to - db.from)},
	} {
		if v.d > 0 {
			pairs = append(pairs, "${"+v.name+"}", window(v.d), "$"+v.name, window(v.d))
		}
	}
	return replaceNames(expr, pairs)
}

// replaceNames replaces variables, but not the beginning of a longer name:
// $__interval_ms is another one.
func replaceNames(expr string, pairs []string) string {
	var b strings.Builder
scan:
	for expr != "" {
		for i := 0; i < len(pairs); i += 2 {
			rest, ok := strings.CutPrefix(expr, pairs[i])
			if ok && (strings.HasSuffix(pairs[i], "}") || rest == "" || !isWord(rest[0])) {
				b.WriteString(pairs[i+1])
				expr = rest
				continue scan
			}
		}
		b.WriteByte(expr[0])
		expr = expr[1:]
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// window writes a duration as PromQL does, in the largest unit that is exact.
func window(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.unit && d%u.unit == 0 {
			return fmt.Sprintf("%d%s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}
