package render

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// incidentView is one incident after the other.
type incidentView struct{ Items []incidentItem }

type incidentItem struct {
	ID, Title, Summary, Verdict string
	Facts                       []Fact
	Parts                       []measureList
	Onsets                      *Table
	Figure                      *Figure
	Queries                     *Table
	Events                      *Table
	Figures                     *Table
	Counters                    *Table
	Replicas                    *Table
	Skews                       *Table
	Examples                    *Table
	Workload                    *Table
	Settings                    *Table
	Inputs                      *Table
}

// A measureList is a part of the review.
type measureList struct {
	ID, Title, About string
	Items            []measureView
}

type measureView struct{ Text, Because, Price, PromQL, For, Command string }

func viewIncident(c *pageContext, value any) (any, error) {
	v, err := valueAs[analyze.Incidents](value)
	if err != nil {
		return nil, err
	}
	var out incidentView
	for i, inc := range v.Incidents {
		it, err := newIncidentItem(c, fmt.Sprintf("incident-%d", i+1), inc)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, it)
	}
	return &out, nil
}

func newIncidentItem(c *pageContext, id string, inc *analyze.Incident) (incidentItem, error) {
	it := incidentItem{ID: id, Title: labelTitle(inc.Label), Summary: inc.Summary, Verdict: inc.Verdict, Facts: incidentFacts(inc)}
	it.Onsets = incidentOnsets(id, inc)
	if inc.Panels != nil {
		panels := panelsOf(inc.Panels)
		if len(panels) > 0 {
			ch, err := timelineChart(inc.Panels, panels)
			if err != nil {
				return it, err
			}
			fig := id + "-panels"
			f := Figure{ID: fig, Title: "Before, during and after on one time axis", Height: fmt.Sprintf("time%d", len(panels)),
				Caption: timelineNote(inc.Panels, panels), Legend: timelineLegend(fig, panels), Tables: []Panel{{Table: seriesTable(fig, panels)}, {Table: valuesTable(fig, inc.Panels, panels)}}}
			it.Figure, it.Queries = c.draw(f, ch), timelineQueries(fig, panels)
		}
	}
	it.Events = eventsTable(id, &analyze.Timeline{Events: inc.Events, Relative: inc.Relative})
	it.Figures, it.Counters, it.Replicas = incidentFigures(id, inc), incidentCounters(id, inc), incidentReplicas(id, inc)
	it.Skews = incidentSkews(id, inc)
	it.Examples, it.Workload, it.Settings, it.Inputs = incidentExamples(id, inc), incidentWorkload(id, inc), incidentSettings(id, inc), incidentInputs(id, inc)
	it.Parts = []measureList{
		newMeasureList(id+"-mitigation", "Immediate mitigation", "What goes back to what is known to work, or keeps work out, each with what it costs if it stays. No experiment belongs here.", inc.Mitigation),
		newMeasureList(id+"-analysis", "Cause analysis", "What the data support, what they cannot tell, and what is lost.", inc.Analysis),
		newMeasureList(id+"-prevention", "Prevention", "What would have shown it sooner, and what keeps it from coming back.", inc.Prevention),
	}
	return it, nil
}

func newMeasureList(id, title, about string, list []analyze.Measure) measureList {
	out := measureList{ID: id, Title: title, About: about}
	for _, m := range list {
		out.Items = append(out.Items, measureView{m.Text, m.Because, m.Price, m.PromQL, m.For, m.Command})
	}
	return out
}

func stretchText(s analyze.Span, relative bool) string {
	if s.Empty() {
		return Missing
	}
	from, to := FormatTime(s.From, relative), FormatTime(s.To, relative)
	if day := len("2026-01-31 "); !relative && from[:day] == to[:day] {
		from, to = strings.TrimSuffix(from, " UTC"), to[day:]
	}
	return fmt.Sprintf("%s to %s (%s)", from, to, FormatSpan(s.Seconds()))
}

func incidentFacts(inc *analyze.Incident) []Fact {
	out := []Fact{{"Incident", stretchText(inc.Window, inc.Relative)}, {"Baseline", stretchText(inc.Baseline, inc.Relative)}, {"After", stretchText(inc.After, inc.Relative)}}
	switch {
	case inc.Given:
		out = append(out, Fact{"Window", "given (--incident)"})
	default:
		out = append(out, Fact{"Window", foundBy(inc)})
	}
	if inc.Open {
		out[2].Value = "the data end with the incident"
	}
	return out
}

// foundBy says what a found window rests on, and how far each of its ends may be off.
func foundBy(inc *analyze.Incident) string {
	s := fmt.Sprintf("found by %s; begin ± %s", signalName(inc.Lead), FormatSpan(inc.Width))
	if inc.EndWidth > 0 {
		s += ", end ± " + FormatSpan(inc.EndWidth)
	}
	return s
}

func incidentOnsets(id string, inc *analyze.Incident) *Table {
	if len(inc.Onsets) == 0 {
		return nil
	}
	t := &Table{ID: id + "-onsets", Caption: "Order of changes: evidence of what came first, no proof of what caused what", Head: []Head{col("When"), col("±"), col("Signal"), numCol("Before", "", ""), numCol("After", "", ""), numCol("Step", "", ""), col("Source")}}
	for _, o := range inc.Onsets {
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: FormatTime(o.At, inc.Relative), Raw: fmt.Sprint(o.At)}, text(FormatSpan(o.Width)), text(signalName(o.Signal)),
			number(plainValue(o.Unit, known(o.Before)), RawValue(o.Unit, known(o.Before))), number(plainValue(o.Unit, known(o.After)), RawValue(o.Unit, known(o.After))),
			number("+"+plainValue(o.Unit, known(o.Shift())), RawValue(o.Unit, known(o.Shift()))), wrapped(o.Source)}})
	}
	return t
}

// figureCell is a value with what it rests on.
func figureCell(u serving.Unit, v serving.Opt[float64], n float64) Cell {
	c := number(plainValue(u, v), RawValue(u, v))
	if n > 0 {
		c.Sub = "n " + FormatNumber(n)
	}
	return c
}

func incidentFigures(id string, inc *analyze.Incident) *Table {
	if len(inc.Figures) == 0 {
		return nil
	}
	t := &Table{ID: id + "-figures", Caption: "Before, during and after; a percentile without enough requests is left out", Sortable: true,
		Head: []Head{col("Figure"), numCol("Before", "", ""), numCol("During", "", ""), numCol("After", "", ""), numCol("During / before", "", ""), col("Source")}}
	for _, f := range inc.Figures {
		name := text(figureTitle(f.Metric))
		name.Sub = f.Stat
		source := wrapped(f.Source)
		source.Sub = f.PromQL
		change := number(Missing, "")
		if r := f.Ratio(); r.OK {
			change = number("× "+FormatNumber(r.V), RawValue(serving.NoUnit, r))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, figureCell(f.Unit, f.Before, f.N[0]), figureCell(f.Unit, f.During, f.N[1]), figureCell(f.Unit, f.After, f.N[2]), change, source}})
	}
	return t.dropEmpty("Before", "During")
}

func incidentCounters(id string, inc *analyze.Incident) *Table {
	if len(inc.Counters) == 0 {
		return nil
	}
	t := &Table{ID: id + "-counters", Caption: "Counters as increases over each stretch, restarts added up", Sortable: true,
		Head: []Head{col("Counter"), col("Server"), numCol("Before", "", ""), numCol("During", "", ""), numCol("After", "", ""), numCol("Resets", "", ""), col("PromQL")}}
	cell := func(u serving.Unit, v, rate serving.Opt[float64]) Cell {
		c := number(plainValue(u, v), RawValue(u, v))
		if rate.OK && v.OK {
			c.Sub = plainValue(u, rate) + "/min"
		}
		return c
	}
	for _, c := range inc.Counters {
		resets := number(Missing, "0")
		if c.Resets > 0 {
			resets = number(fmt.Sprint(c.Resets), fmt.Sprint(c.Resets))
		}
		query := Cell{Text: Missing, Class: "faint"}
		if c.PromQL != "" {
			query = code(c.PromQL)
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{seriesCell(string(c.Name), c.By), text(c.Server), cell(c.Unit, c.Before, c.PerMinute[0]), cell(c.Unit, c.During, c.PerMinute[1]), cell(c.Unit, c.After, c.PerMinute[2]), resets, query}})
	}
	return t.dropEmpty()
}

func incidentReplicas(id string, inc *analyze.Incident) *Table {
	if len(inc.Replicas) == 0 {
		return nil
	}
	t := &Table{ID: id + "-replicas", Caption: "Replicas side by side: before → during (" + inc.Replicas[0].Source + ")", Sortable: true,
		Head: []Head{col("Replica"), numCol("Requests/s", "", ""), metricCol("TTFT mean", serving.Seconds), metricCol("TPOT mean", serving.Seconds), numCol("Waiting mean", "", ""), numCol("Running mean", "", ""), numCol("KV cache max", "", ""), numCol("Preemptions", "", ""), numCol("Restarts", "", "")}}
	pair := func(u serving.Unit, b, d serving.Opt[float64]) Cell {
		if !b.OK && !d.OK {
			return number(Missing, "")
		}
		return number(plainValue(u, b)+" → "+plainValue(u, d), RawValue(u, d))
	}
	for _, r := range inc.Replicas {
		b, d := r.Before, r.During
		restarts := number(Missing, "0")
		if d.Restarts > 0 {
			restarts = number(fmt.Sprint(d.Restarts), fmt.Sprint(d.Restarts))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(r.Name), pair(serving.NoUnit, b.RequestsPerSecond, d.RequestsPerSecond), pair(serving.Seconds, b.TTFT, d.TTFT), pair(serving.Seconds, b.TPOT, d.TPOT),
			pair(serving.NoUnit, b.Waiting, d.Waiting), pair(serving.NoUnit, b.Running, d.Running), pair(serving.Share, b.KV, d.KV), pair(serving.NoUnit, b.Preemptions, d.Preemptions), restarts}})
	}
	return t.dropEmpty()
}

func incidentSkews(id string, inc *analyze.Incident) *Table {
	if len(inc.Skews) == 0 {
		return nil
	}
	t := &Table{ID: id + "-clocks", Caption: "Clocks, as what both sources recorded has them", Head: []Head{col("Source"), col("Against"), numCol("Ahead by", "", ""), numCol("±", "", ""), col("From"), col("To put it right")}}
	for _, s := range inc.Skews {
		ahead := number(plainValue(serving.Seconds, serving.Some(s.Offset)), RawValue(serving.Seconds, serving.Some(s.Offset)))
		remedy := Cell{Text: "--clock-offset " + s.Remedy(), Code: true, Class: "prose"}
		switch {
		case s.Relative:
			ahead = Cell{Text: "starts " + FormatInstant(s.Start), Class: "num"}
		case !s.Off():
			remedy = faint("within what it is uncertain by")
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{wrapped(s.Source), wrapped(s.Against), ahead, number(plainValue(serving.Seconds, serving.Some(s.Uncertainty)), RawValue(serving.Seconds, serving.Some(s.Uncertainty))), wrapped(s.How), remedy}})
	}
	return t
}

func incidentExamples(id string, inc *analyze.Incident) *Table {
	if len(inc.Examples) == 0 {
		return nil
	}
	t := &Table{ID: id + "-replay", Caption: "Requests to replay, without their texts", Sortable: true,
		Head: []Head{col("Request"), col("Why"), col("Sent"), col("Outcome"), col("Workload"), col("Replica"), metricCol("TTFT", serving.Seconds), metricCol("TPOT", serving.Seconds), metricCol("E2E", serving.Seconds),
			metricCol("Queue", serving.Seconds), metricCol("Prefill", serving.Seconds), metricCol("Decode", serving.Seconds), numCol("Prompt", "tokens", ""), numCol("Output", "tokens", ""), numCol("Cached", "tokens", ""), numCol("Preempted", "", "")}}
	for _, r := range inc.Examples {
		name := Cell{Text: r.ID, Code: true, Sub: fmt.Sprintf("%s, row %d", r.File, r.Row)}
		if r.ID == "" {
			name = text(fmt.Sprintf("row %d", r.Row))
			name.Sub = r.File
		}
		sent := Cell{Text: FormatTime(r.At, inc.Relative), Raw: fmt.Sprint(r.At), Sub: FormatOffset(int64(r.Offset * 1e9))}
		cells := []Cell{name, text(r.Why), sent, text(r.Outcome), text(orMissing(r.Workload)), text(orMissing(r.Replica))}
		for _, v := range []serving.Opt[float64]{r.TTFT, r.TPOT, r.E2E, r.Queue, r.Prefill, r.Decode} {
			cells = append(cells, valueCell(serving.Seconds, v))
		}
		for _, v := range []serving.Opt[float64]{r.Prompt, r.Output, r.Cached, r.Preemptions} {
			cells = append(cells, rateCell(v))
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	return t.dropEmpty()
}

func incidentWorkload(id string, inc *analyze.Incident) *Table {
	if len(inc.Workload) == 0 {
		return nil
	}
	t := &Table{ID: id + "-workload", Caption: "Workload: before → during", Sortable: true,
		Head: []Head{col("Work"), numCol("Requests/s", "", ""), numCol("Share", "", ""), numCol("Prompt p50", "tokens", ""), numCol("Prompt p95", "tokens", ""), numCol("Prompt mean", "tokens", ""), numCol("Output p50", "tokens", ""), numCol("Output p95", "tokens", ""), numCol("Output mean", "tokens", ""), numCol("Cached", "", ""), metricCol("TTFT mean", serving.Seconds), metricCol("TPOT mean", serving.Seconds)}}
	pair := func(u serving.Unit, b, d serving.Opt[float64]) Cell {
		if !b.OK && !d.OK {
			return number(Missing, "")
		}
		return number(plainValue(u, b)+" → "+plainValue(u, d), RawValue(u, d))
	}
	for _, w := range inc.Workload {
		name := text("all")
		if len(w.By) > 0 {
			name = text(FormatTerms(w.By))
		}
		name.Sub = w.Source
		b, d := w.Before, w.During
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, pair(serving.NoUnit, b.PerSecond, d.PerSecond), pair(serving.Share, b.Share, d.Share), pair(serving.NoUnit, b.PromptP50, d.PromptP50), pair(serving.NoUnit, b.PromptP95, d.PromptP95), pair(serving.NoUnit, b.PromptMean, d.PromptMean),
			pair(serving.NoUnit, b.OutputP50, d.OutputP50), pair(serving.NoUnit, b.OutputP95, d.OutputP95), pair(serving.NoUnit, b.OutputMean, d.OutputMean), pair(serving.Share, b.CachedShare, d.CachedShare), pair(serving.Seconds, b.TTFTMean, d.TTFTMean), pair(serving.Seconds, b.TPOTMean, d.TPOTMean)}})
	}
	return t.dropEmpty()
}

func incidentSettings(id string, inc *analyze.Incident) *Table {
	if len(inc.Settings) == 0 {
		return nil
	}
	t := &Table{ID: id + "-settings", Caption: "Settings as the servers and clients state them", Sortable: true, Head: []Head{col("Setting"), col("Value")}}
	for _, s := range inc.Settings {
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(s.Key), wrapped(s.Value)}})
	}
	return t
}

// maxIncidentInputs bounds the files of a snapshot's table; the JSON has all.
const maxIncidentInputs = 100

func incidentInputs(id string, inc *analyze.Incident) *Table {
	if len(inc.Inputs) == 0 {
		return nil
	}
	t := &Table{ID: id + "-inputs", Caption: "Files this rests on", Sortable: true, Head: []Head{col("File"), col("Format"), numCol("Records", "", ""), numCol("Bytes", "", ""), col("Checksum")}}
	for _, f := range inc.Inputs[:min(len(inc.Inputs), maxIncidentInputs)] {
		sum := Cell{Text: "sha256 " + f.SHA256, Code: true, Class: "prose"}
		if f.SHA256 == "" {
			sum.Text = orMissing(strings.TrimSpace("fingerprint " + f.Fingerprint))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(f.Path), text(f.Format), countCell(serving.Some(f.Records)), countCell(serving.Some(f.Bytes)), sum}})
	}
	if n := len(inc.Inputs) - maxIncidentInputs; n > 0 {
		t.Caption += fmt.Sprintf("; %d more are in the section Inputs", n)
	}
	return t
}
