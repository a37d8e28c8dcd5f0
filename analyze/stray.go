package analyze

import (
	"fmt"
	"time"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// Requests stray where almost all came within a small part of the time that they
// span: an hour of traffic and one clock that is a year ahead make a year, over which
// no rate means anything (judgement).
const (
	strayCore  = 0.99 // of the requests
	strayPart  = 0.02 // of the time windows
	leastStray = 100  // requests, and windows
)

// strays finds requests that came far from all others.
func (t *table) strays(subject string) []Finding {
	c := t.cube
	if t.time < 0 || c.Step <= 0 || !c.First.OK || !c.Last.OK {
		return nil
	}
	sent := make([]int64, (c.Last.V-c.First.V)/c.Step+2)
	if len(sent) < leastStray {
		return nil
	}
	all := int64(0)
	for _, cell := range c.Groups[t.time].Cells {
		if cell.Window >= 0 && cell.Window < len(sent) {
			sent[cell.Window] += cell.Sent
			all += cell.Sent
		}
	}
	if all < leastStray {
		return nil
	}
	from, to, core := densest(sent, max(1, int(strayPart*float64(len(sent)))))
	if float64(core) < strayCore*float64(all) || core == all {
		return nil
	}
	at := func(window int) string { return strayTime(c, window) }
	return []Finding{{ID: "stray_times", Subject: subject, Value: serving.Some(float64(core) / float64(all)), Threshold: serving.Some(strayCore), N: serving.Some(all), Metrics: rates,
		Message: fmt.Sprintf("%s: %d of %d requests arrived from %s to %s, the others far from them: over the whole of %s a rate says little; if a clock was off, pass --window %s/%s",
			subject, core, all, at(from), at(to), seconds(signif(float64(c.Last.V-c.First.V)/1e9)), at(from), at(to))}}
}

// strayTime is the start of a time window, as --window takes it.
func strayTime(c *cube.Cube, window int) string {
	ns := c.Start.V + int64(window)*c.Step
	if c.Relative {
		return fmt.Sprintf("%g", float64(ns)/1e9)
	}
	return time.Unix(0, ns).UTC().Format(time.RFC3339)
}

// densest returns which windows, n in a row at most, hold most, and how much that is:
// those from one up to another, which is not of them.
func densest(sent []int64, n int) (from, to int, most int64) {
	sum := int64(0)
	for i, x := range sent {
		if sum += x; i >= n {
			sum -= sent[i-n]
		}
		if sum > most {
			from, to, most = max(0, i-n+1), i+1, sum
		}
	}
	for from < to && sent[from] == 0 {
		from++
	}
	return from, to, most
}
