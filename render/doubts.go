package render

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// A Doubt is a mark beside a figure: a link to the finding about it.
type Doubt struct{ Link, Text string }

// doubts are the findings about one run or dataset, to be marked beside the
// figures they touch.
type doubts struct {
	all []analyze.Finding
	of  []int // positions in all
}

// doubtsOf returns the findings about a run id or dataset.
func (c *pageContext) doubtsOf(subject string) doubts {
	q := analyze.Value[analyze.QualityFindings](c.rep)
	if q == nil {
		return doubts{}
	}
	return doubts{q.Findings, q.Of(subject)}
}

// doubtsAbout returns the findings about a source of latencies.
func (c *pageContext) doubtsAbout(g analyze.LatencyGroup) doubts {
	if g.Run != nil {
		return c.doubtsOf(g.Run.Run.ID)
	}
	return c.doubtsOf(g.Label)
}

// findingID is a finding's anchor. It is made of the position, never of the
// data.
func findingID(i int) string { return fmt.Sprintf("finding-%d", i+1) }

// mark puts the findings that want holds for on a cell.
func (d doubts) mark(cell Cell, want func(*analyze.Finding) bool) Cell {
	if cell.Text == Missing {
		return cell
	}
	var titles []string
	link := ""
	for _, i := range d.of {
		if f := &d.all[i]; want(f) {
			if link == "" {
				link = findingID(i)
			}
			titles = append(titles, analyze.KindOf(f.ID).Title)
		}
	}
	if link != "" {
		cell.Doubt = &Doubt{link, strings.Join(titles, "; ")}
	}
	return cell
}

// whole marks doubts about a run as a whole, on the load it is said to be of.
func (d doubts) whole(cell Cell) Cell {
	return d.mark(cell, func(f *analyze.Finding) bool { return len(f.Metrics) == 0 })
}

// metric marks doubts about one metric, on its figure.
func (d doubts) metric(k serving.MetricKey, cell Cell) Cell {
	return d.mark(cell, func(f *analyze.Finding) bool { return f.Touches(k) })
}

// latency marks, on a row of one metric's figures, doubts about the metric and
// about the run: on the last percentile that is known, which suffers most.
func (d doubts) latency(k serving.MetricKey, cells []Cell) []Cell {
	for i := len(shownQuantiles); i > 0; i-- {
		if cells[i].Text != Missing {
			cells[i] = d.mark(cells[i], func(f *analyze.Finding) bool { return len(f.Metrics) == 0 || f.Touches(k) })
			break
		}
	}
	return cells
}
