package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/aiperf"
	"github.com/vreport/vreport/ingest/prom"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/trace"
)

// What AIPerf and GenAI-Perf write. The Parquet export stands before every other
// Parquet file, the records before every other JSONL trace.
var (
	formatAIPerfParquet = &Format{Name: aiperf.FormatServerMetrics, Doc: "server metrics that AIPerf scraped, as Parquet", sniff: sniffParquetColumns(aiperf.SniffMetricsParquet), decode: decodeAIPerfParquet}
	formatAIPerfRecords = &Format{Name: aiperf.FormatRecords, Doc: "the requests of an AIPerf run (profile_export.jsonl)", sniff: sniffAIPerfRecords, decode: decodeAIPerfRecords}
	formatAIPerfSummary = &Format{Name: aiperf.FormatSummary, Doc: "the summary of an AIPerf run, JSON, CSV or as printed", sniff: sniffAIPerfTool(aiperf.AIPerf), decode: decodeAIPerfSummary}
	formatAIPerfMetrics = &Format{Name: aiperf.FormatServerMetrics, Doc: "server metrics that AIPerf scraped (JSON, JSONL, CSV)", sniff: sniffAIPerfMetrics, decode: decodeAIPerfMetrics}
	formatGPUTelemetry  = &Format{Name: aiperf.FormatTelemetry, Doc: "telemetry of GPUs that AIPerf collected", sniff: sniffTelemetry, decode: decodeTelemetry}
	formatGenAIPerf     = &Format{Name: aiperf.FormatGenAI, Doc: "the summary of a GenAI-Perf run, JSON, CSV or as printed", sniff: sniffAIPerfTool(aiperf.GenAIPerf), decode: decodeAIPerfSummary}
)

// decodeAIPerfParquet reads the export as the scrapes that it was made of.
func decodeAIPerfParquet(ctx context.Context, p *probe, l *loaded) error {
	file := trace.File{Path: p.path, R: p.raw, Size: p.size}
	t, err := trace.Open(ctx, []trace.File{file}, trace.Options{Fixed: aiperf.MetricsColumn})
	if err != nil {
		return err
	}
	var names []string
	var texts []*serving.Dict
	for _, c := range t.Columns() {
		names, texts = append(names, c.Name), append(texts, t.Dict(c.Name))
	}
	rows := aiperf.NewRowReader(names, texts)
	base := int64(0)
	for _, part := range t.Parts() {
		err := part.Scan(ctx, names, &p.in.Problems, func(b *serving.Batch) error { return rows.Add(b, p.path, base, &p.in.Problems) })
		if err != nil {
			return err
		}
		base += part.Rows()
	}
	m, scrapes := rows.Metrics()
	p.in.Records = scrapes
	addNote(p.in, "counters and histograms count from the last scrape before the profiling phase")
	return p.decodeScrapes(ctx, l, m, func(w io.Writer) error { _, err := m.WriteTo(w); return err })
}

func sniffAIPerfRecords(p *probe) (bool, string) {
	if ok, why := aiperf.MayBeRecords(p.head); !ok {
		return false, why
	}
	keys, damage := p.keys(aiperf.DecidedRecords)
	if keys == nil {
		return false, damage
	}
	ok, why := aiperf.SniffRecords(keys, p.head)
	return ok, why + damage
}

func decodeAIPerfRecords(ctx context.Context, p *probe, l *loaded) error {
	return p.decodeRuns(ctx, l, aiperf.DecodeRecords)
}

// sniffAIPerfTool recognizes the summaries of one of the two tools.
func sniffAIPerfTool(want aiperf.Tool) func(p *probe) (bool, string) {
	return func(p *probe) (bool, string) {
		tool, why := aiperf.SniffSummaryCSV(p.head)
		if tool == "" {
			if printed, no := aiperf.SniffConsole(p.head); printed != "" {
				tool, why = printed, ""
			} else {
				why += "; " + no
			}
		}
		if p.looksJSON() {
			if ok, why := aiperf.MayBeSummary(p.head); !ok {
				return false, why
			}
			keys, damage := p.keys(func(map[string]bool) bool { return false })
			if keys == nil {
				return false, damage
			}
			tool, why = aiperf.SniffSummary(keys, p.head)
			why += damage
		}
		if tool != "" && tool != want {
			why = "it is of " + string(tool)
		}
		return tool == want, why
	}
}

func decodeAIPerfSummary(ctx context.Context, p *probe, l *loaded) error {
	if p.looksJSON() {
		return p.decodeRuns(ctx, l, aiperf.DecodeSummary)
	}
	if tool, _ := aiperf.SniffSummaryCSV(p.head); tool == "" {
		return p.decodeRuns(ctx, l, aiperf.DecodeConsole)
	}
	return p.decodeRuns(ctx, l, aiperf.DecodeSummaryCSV)
}

func sniffTelemetry(p *probe) (bool, string) {
	if ok, why := aiperf.MayBeTelemetry(p.head); !ok {
		return false, why
	}
	keys, damage := p.keys(aiperf.DecidedTelemetry)
	if keys == nil {
		return false, damage
	}
	ok, why := aiperf.SniffTelemetry(keys)
	return ok, why + damage
}

func decodeTelemetry(ctx context.Context, p *probe, l *loaded) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	l.servers, err = aiperf.DecodeTelemetry(ctx, p.path, r, p.in)
	return err
}

func sniffAIPerfMetrics(p *probe) (bool, string) {
	if !p.looksJSON() {
		return aiperf.SniffMetricsCSV(p.head)
	}
	if ok, why := aiperf.MayBeMetrics(p.head); !ok {
		return false, why
	}
	keys, damage := p.keys(aiperf.DecidedMetrics)
	if keys == nil {
		return false, damage
	}
	if ok, _ := aiperf.SniffMetricsLines(keys); ok {
		return true, ""
	}
	ok, why := aiperf.SniffMetricsJSON(keys, p.head)
	return ok, why + damage
}

// decodeAIPerfMetrics reads a server metrics export by way of the scrapes it was
// made of: the names in it are the exporter's, and package prom knows them.
func decodeAIPerfMetrics(ctx context.Context, p *probe, l *loaded) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	if keys, _ := p.keys(aiperf.DecidedMetrics); p.looksJSON() {
		if lines, _ := aiperf.SniffMetricsLines(keys); lines {
			return p.decodeScrapes(ctx, l, nil, func(w io.Writer) error { return aiperf.WriteScrapes(ctx, p.path, r, p.in, w) })
		}
	}
	var m *aiperf.Metrics
	if p.looksJSON() {
		m, err = aiperf.DecodeMetricsJSON(ctx, p.path, r, p.in)
	} else {
		m, err = aiperf.DecodeMetricsCSV(ctx, p.path, r, p.in)
	}
	if err != nil {
		return err
	}
	return p.decodeScrapes(ctx, l, m, func(w io.Writer) error { _, err := m.WriteTo(w); return err })
}

// decodeScrapes reads what write writes as scrapes, while it writes it, and makes
// servers of them.
func (p *probe) decodeScrapes(ctx context.Context, l *loaded, m *aiperf.Metrics, write func(io.Writer) error) error {
	pr, pw := io.Pipe()
	wrote := make(chan error, 1)
	go func() {
		err := write(pw)
		pw.CloseWithError(err)
		wrote <- err
	}()
	in := &serving.Input{Format: aiperf.FormatServerMetrics}
	scrapes, err := p.parseScrapes(ctx, pr, in)
	pr.CloseWithError(errors.New("the reader is done"))
	// The first error counts: the writer's own, or that it was stopped by the
	// reader's.
	if werr := <-wrote; err == nil || werr != nil && errors.Is(err, werr) {
		err = werr
	}
	if err != nil {
		return err
	}
	servers, problems := prom.Assemble(scrapes, prom.AssembleOptions{})
	for _, pr := range append(in.Problems.List(), problems...) {
		pr.At = serving.Pos{Path: p.path, Field: pr.At.Field} // lines are those of the scrapes in between
		p.in.Problems.Add(pr)
	}
	p.in.Fields = metricFields(in.Fields)
	if m != nil {
		finishMetrics(m, servers)
		describeMetrics(m, p.in)
	}
	l.servers = servers
	switch {
	case !p.opt.KeepRaw:
	case m != nil && m.Aggregated:
		addNote(p.in, "--promql does not see it: increases over the whole run are no series; give server_metrics_export.jsonl or .parquet, or export time slices")
	default:
		l.raw = scrapes
	}
	if len(servers) == 0 {
		addNote(p.in, "no series of an engine that is known")
	}
	return nil
}

// metricFields drops the second name under which a single value was written.
func metricFields(fields []serving.Field) []serving.Field {
	read := map[string]bool{}
	for _, f := range fields {
		read[strings.TrimSuffix(f.Name, "_total")] = read[strings.TrimSuffix(f.Name, "_total")] || f.As != ""
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(fields, func(f serving.Field) bool {
		name := strings.TrimSuffix(f.Name, "_total")
		if f.As != "" {
			return false
		}
		again := read[name] || seen[name]
		seen[name] = true
		return again
	})
}

// finishMetrics sets right what scrapes cannot say: that their times count from
// nothing, and the statistics of gauges over the whole run.
func finishMetrics(m *aiperf.Metrics, servers []*serving.Server) {
	for _, s := range servers {
		for endpoint, levels := range m.Levels {
			if s.Replica.V == endpoint || strings.HasPrefix(s.Replica.V, endpoint+",") {
				s.Info = append(s.Info, levels...)
			}
		}
		if m.Aggregated {
			s.TimeRule = "totals and rates of the run"
		} else {
			s.TimeRule = "timestamps"
		}
		if m.Relative {
			s.Relative = true
			for i := range s.Times {
				s.Times[i] -= aiperf.Base
			}
			for i := range s.Restarts {
				s.Restarts[i] -= aiperf.Base
			}
		}
	}
}

func describeMetrics(m *aiperf.Metrics, in *serving.Input) {
	if m.Aggregated {
		addNote(in, "increases of counters and histograms over the whole run: taken as two scrapes, before and after; gauges have no course and stand as facts of the server")
	}
	if m.Relative {
		addNote(in, "no times in the file: the length of the run comes from a total and its rate")
	}
}

// joinAIPerf counts each run of AIPerf and GenAI-Perf once: the records of a run
// take over its summary, a JSON summary its CSV. It works on files of one
// directory and label; see aiperf.SameRun. Of the server metrics of a directory,
// which are exported in up to four formats, the one with the most times counts.
func joinAIPerf(ds *serving.Dataset, files []found, all []loaded) {
	groups := map[string][]int{}
	var order []string
	for i := range all {
		switch ds.Inputs[i].Format {
		case aiperf.FormatRecords, aiperf.FormatSummary, aiperf.FormatGenAI, aiperf.FormatServerMetrics:
			k := files[i].label + "\x00" + filepath.Dir(files[i].path)
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], i)
		}
	}
	for _, k := range order {
		joinAIPerfRuns(ds, files, all, groups[k])
		joinCourses(ds, files, all, groups[k])
		joinAIPerfMetrics(ds, files, all, groups[k])
	}
}

// joinAIPerfRuns joins the runs of one directory.
func joinAIPerfRuns(ds *serving.Dataset, files []found, all []loaded, group []int) {
	var with []int // the best files first: JSON summaries, CSV, records
	for _, i := range group {
		if len(all[i].runs) == 1 {
			with = append(with, i)
		}
	}
	rank := func(i int) int {
		switch r := all[i].runs[0]; {
		case r.Requests != nil:
			return 2
		case len(r.Settings) == 0 && !r.Model.OK:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(with, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	merged := map[int]bool{} // summaries that took records over
	for k, i := range with {
		for _, j := range with[k+1:] {
			if len(all[i].runs) == 0 || len(all[j].runs) == 0 || !aiperf.SameRun(all[i].runs[0], all[j].runs[0]) {
				continue
			}
			if records := all[j].runs[0]; records.Requests != nil {
				if merged[i] || all[i].runs[0].Requests != nil {
					continue
				}
				merged[i] = true
				aiperf.Merge(all[i].runs[0], records)
				addNote(ds.Inputs[i], "the requests of this run are in "+files[j].path)
				addNote(ds.Inputs[j], "the requests of the run that "+files[i].path+" sums up")
			} else {
				addNote(ds.Inputs[j], "its run stands in "+files[i].path+" too and is counted once")
			}
			all[j].runs = nil
		}
	}
}

// joinAIPerfMetrics keeps one export of the server metrics of one directory.
func joinAIPerfMetrics(ds *serving.Dataset, files []found, all []loaded, group []int) {
	best := -1
	times := func(i int) (n int) {
		for _, s := range all[i].servers {
			n += len(s.Times)
			if !s.Relative {
				n++ // of two that are aggregated, the one that knows its times
			}
		}
		return n
	}
	for _, i := range group {
		if ds.Inputs[i].Format == aiperf.FormatServerMetrics && len(all[i].servers) > 0 && (best < 0 || times(i) > times(best)) {
			best = i
		}
	}
	for _, i := range group {
		if i != best && ds.Inputs[i].Format == aiperf.FormatServerMetrics && len(all[i].servers) > 0 {
			addNote(ds.Inputs[i], fmt.Sprintf("the same server metrics stand in %s and are counted once", files[best].path))
			all[i].servers, all[i].raw = nil, nil
		}
	}
}
