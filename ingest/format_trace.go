package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/trace"
)

// formatTraceCSV and formatTraceJSONL read request traces as text. They belong
// behind every format that is known by more than the names of columns.
var (
	formatTraceCSV   = &Format{Name: trace.FormatCSV, Doc: "a request-level trace as CSV, with a line of column names", sniff: sniffTraceCSV, decode: decodeTraceCSV}
	formatTraceJSONL = &Format{Name: trace.FormatJSONL, Doc: "a request-level trace as JSON lines, a JSON array, or OpenTelemetry spans", sniff: sniffTraceJSONL, decode: decodeTraceJSONL}
)

// traceOptions are the options of a trace that is a file by itself.
func (p *probe) traceOptions() trace.Options {
	return trace.Options{Name: stem(p.found, ""), Map: p.opt.Map, Side: p.opt.Side, MaxMemory: p.opt.MaxMemory / 4}
}

func sniffTraceCSV(p *probe) (bool, string) {
	if p.looksJSON() {
		return false, "JSON at the start, no line of column names"
	}
	return trace.SniffCSV(p.head, p.whole(), p.open, p.traceOptions())
}

func decodeTraceCSV(ctx context.Context, p *probe, l *loaded) error {
	return p.decodeText(ctx, l, trace.OpenCSV)
}

func sniffTraceJSONL(p *probe) (bool, string) {
	if !p.looksJSON() {
		return false, "no JSON object or array at the start"
	}
	return trace.SniffJSONL(p.head, p.whole(), p.open, p.traceOptions())
}

func decodeTraceJSONL(ctx context.Context, p *probe, l *loaded) error {
	return p.decodeText(ctx, l, trace.OpenJSONL)
}

// decodeText opens a table that reads the file anew in each scan: the file stays
// open until the dataset is closed, which serves standard input and pipes, too.
func (p *probe) decodeText(ctx context.Context, l *loaded, open func(context.Context, trace.TextFile, trace.Options) (*trace.Text, error)) error {
	t, err := open(ctx, trace.TextFile{Path: p.path, Open: p.reopen, In: p.in}, p.traceOptions())
	if err != nil {
		return err
	}
	l.tables, l.keep = []serving.Requests{t}, true
	return nil
}
