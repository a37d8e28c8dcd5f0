package ingest

import (
	"context"
	"io"

	"github.com/vreport/vreport/ingest/prom"
	"github.com/vreport/vreport/ingest/serving"
)

// What is kept of Prometheus in other ways than the text of a scrape. The dump and
// OpenMetrics stand before the text format, which has less to tell it by; the
// tables before traces, whose columns are named less surely.
var (
	formatPromDump    = &Format{Name: prom.FormatDump, Doc: "what promtool tsdb dump or dump-openmetrics prints", sniff: sniffPromDump, decode: decodeRecordingWith(prom.DecodeDump)}
	formatOpenMetrics = &Format{Name: prom.FormatOpenMetrics, Doc: "one or more scrapes in the OpenMetrics format", sniff: sniffOpenMetrics, decode: decodeProm}
	formatPromAPI     = &Format{Name: prom.FormatAPI, Doc: "answers of Prometheus' query and query_range, as JSON", sniff: sniffPromAPI, decode: decodeRecordingWith(prom.DecodeAPI)}
	formatMetricsCSV  = &Format{Name: prom.FormatCSV, Doc: "gauges over time as CSV or JSON lines: Grafana's panels, home-made pollers", sniff: sniffMetricsCSV, decode: decodeMetricsCSV}
)

func sniffPromDump(p *probe) (bool, string) { return prom.SniffDump(p.head) }

func sniffOpenMetrics(p *probe) (bool, string) { return prom.SniffOpenMetrics(p.head) }

func sniffPromAPI(p *probe) (bool, string) {
	if !p.looksJSON() {
		return false, "no JSON object or array at the start"
	}
	return prom.SniffAPI(p.head)
}

func sniffMetricsCSV(p *probe) (bool, string) {
	if p.looksJSON() {
		return prom.SniffJSONPoll(p.head)
	}
	return prom.SniffCSV(p.head)
}

func decodeMetricsCSV(ctx context.Context, p *probe, l *loaded) error {
	if p.looksJSON() {
		return decodeScrapesWith(prom.DecodeJSONPoll)(ctx, p, l)
	}
	return decodeScrapesWith(prom.DecodeCSV)(ctx, p, l)
}

// decodeRecordingWith is decodeScrapesWith for decoders that keep every series
// where the user's own PromQL is to see them.
func decodeRecordingWith(dec func(ctx context.Context, path string, r io.Reader, in *serving.Input, raw bool) ([]*prom.Scrape, error)) func(context.Context, *probe, *loaded) error {
	return func(ctx context.Context, p *probe, l *loaded) error {
		return decodeScrapesWith(func(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*prom.Scrape, error) {
			return dec(ctx, path, r, in, p.opt.KeepRaw)
		})(ctx, p, l)
	}
}

// decodeScrapesWith reads a file into scrapes; the servers are made of all files
// together.
func decodeScrapesWith(dec func(context.Context, string, io.Reader, *serving.Input) ([]*prom.Scrape, error)) func(context.Context, *probe, *loaded) error {
	return func(ctx context.Context, p *probe, l *loaded) error {
		r, err := p.open()
		if err != nil {
			return err
		}
		defer r.Close()
		l.scrapes, err = dec(ctx, p.path, r, p.in)
		return err
	}
}
