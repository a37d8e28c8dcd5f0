package render

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"strings"

	"github.com/vreport/vreport/analyze"
)

// A view lays out one section. Its name is the section's, and that of the
// template in templates/sections.
type view struct {
	name  string
	how   string // how to read it, one sentence
	build func(c *pageContext, value any) (any, error)
}

// views lists the view of every section, in the order of the report.
var views = []view{
	{"summary", "", viewSummary},
	{"compare", "Change is the second side against the first; the line below it is the 95 % interval. “Undecided” is an answer: the data cannot tell. ▲ is worse and ▼ better, whatever the figure.", viewCompare},
	{"diagnosis", "From what users notice to the experiment to run next. A hypothesis shows what speaks for it, what against, and what is missing to tell; a score orders, it is no probability.", viewDiagnosis},
	{"incident", "The shaded stretch of the panels is the incident: look at what changes first, and compare before, during and after. Each entry of the three lists names what it rests on.", viewIncident},
	{"runs", "One row a run. Sent, completed and failed stand beside every latency, because latencies cover completed requests only.", viewRuns},
	{"latency", "p99 is the time that 99 of 100 requests stay within. The second line is the 95 % interval of the figure above it.", viewLatency},
	{"sweeps", "Up is more throughput for the server, right is more speed for each user. Diamonds mark the levels next to the named points of the curve, hollow points miss an objective; the shaded regions say where more load still buys throughput, and where it only buys a queue.", viewSweeps},
	{"ceilings", "The bound is arithmetic, not a promise: real engines reach 50 to 70 % of it. What counts is which ceiling is near.", viewCeilings},
	{"advice", "Each is a test to run on a bench, with what was observed and what it costs elsewhere.", viewAdvice},
	{"cost", "", viewCost},
	{"slices", "Stronger colour is slower, or more of it. Compare rows: an average over all of them can hide the slice that hurts.", viewSlices},
	{"servers", "A quantile from a histogram lies somewhere in one bucket: the second line is that bucket. “≥ 10.00 s” means beyond the last one.", viewServers},
	{"timeline", "All panels share one time axis: look for what changes first. Drag the slider to zoom in.", viewTimeline},
	{"quality", "Each finding is a reason to read a figure with care; none of them changes a figure.", viewQuality},
	{"inputs", "What each file was recognized as, by content. A problem is a record that was left out, with its place.", viewInputs},
}

func viewOf(name string) (view, bool) {
	for _, v := range views {
		if v.name == name {
			return v, true
		}
	}
	return view{}, false
}

// A pageContext collects what the views of one page have in common.
type pageContext struct {
	rep    *analyze.Report
	drawn  bool              // there is a chart library
	charts map[string]*chart // by figure id
	wanted int               // figures that would have a chart

	drawings  map[string]json.RawMessage // of the whole page: the charts' options
	explorers map[string]*exploreSpec    // by id
}

func newPageContext(rep *analyze.Report, drawn bool) *pageContext {
	return &pageContext{rep: rep, drawn: drawn, charts: map[string]*chart{}, drawings: map[string]json.RawMessage{}, explorers: map[string]*exploreSpec{}}
}

// draw registers a chart and returns its figure.
func (c *pageContext) draw(f Figure, ch *chart) *Figure {
	c.wanted++
	if f.Drawn = c.drawn; f.Drawn {
		c.charts[f.ID] = ch
	}
	return &f
}

// sections lays out every result of the report, side by side: each has a context
// of its own, and what they collected is put together in their order.
func (c *pageContext) sections() ([]sectionView, error) {
	out := make([]sectionView, len(c.rep.Results))
	parts := make([]*pageContext, len(out))
	var calls []func() error
	for i, r := range c.rep.Results {
		parts[i] = newPageContext(c.rep, c.drawn)
		calls = append(calls, func() (err error) {
			if out[i], err = parts[i].section(r); err != nil {
				return fmt.Errorf("section %s: %w", r.Section.Name, err)
			}
			return parts[i].drawAll()
		})
	}
	if err := together(calls...); err != nil {
		return nil, err
	}
	for _, part := range parts {
		c.wanted += part.wanted
		maps.Copy(c.drawings, part.drawings)
		maps.Copy(c.explorers, part.explorers)
	}
	return out, nil
}

// drawAll makes the options of the charts, which takes as long as the rest of a
// section.
func (c *pageContext) drawAll() error {
	for id, ch := range c.charts {
		raw, err := json.Marshal(ch)
		if err != nil {
			return fmt.Errorf("chart %s: %w", id, err)
		}
		c.drawings[id] = raw
	}
	return nil
}

func (c *pageContext) section(r analyze.Result) (sectionView, error) {
	s := sectionView{Name: r.Section.Name, Title: r.Section.Title, Nav: r.Section.Nav, Notes: r.Notes}
	if r.Value == nil {
		if s.Skipped = r.Skipped; s.Skipped == "" {
			s.Skipped = "needs " + r.Section.Needs
		}
		return s, nil
	}
	v, ok := viewOf(r.Section.Name)
	if !ok {
		return s, fmt.Errorf("it has no view")
	}
	data, err := v.build(c, r.Value)
	if err != nil {
		return s, err
	}
	var b strings.Builder
	if err := pageTemplates().ExecuteTemplate(&b, v.name+".gohtml", data); err != nil {
		return s, err
	}
	s.Body = template.HTML(b.String())
	s.Lead = v.how
	s.Bare = v.name == "summary"
	return s, nil
}

// valueAs asserts the type of a section's value.
func valueAs[T any](value any) (*T, error) {
	v, ok := value.(*T)
	if !ok {
		return nil, fmt.Errorf("its value is a %T, want %T", value, v)
	}
	return v, nil
}
