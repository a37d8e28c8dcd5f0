package ingest

import (
	"bytes"
	"context"
	"io"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/prom"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/trace"
	"github.com/vreport/vreport/ingest/vllm"
)

// A Format is one kind of file: how it is recognized and how it is read. Formats
// stand in one ordered list; the first that recognizes a file reads it.
type Format struct {
	Name string // of the contract
	Doc  string // one line, for people

	// sniff reports whether the file is of this format, and if not, why not,
	// for the explanation of a file that nobody recognizes.
	sniff func(p *probe) (ok bool, why string)
	// decode reads the file into the load. An error is one of the file as a
	// whole.
	decode func(ctx context.Context, p *probe, l *loaded) error
}

// Formats lists every format, the most specific first.
var Formats = []*Format{
	formatOwnPage,
	formatOwnReport,
	formatAIPerfParquet,
	formatRollupParquet,
	{Name: "trace-parquet", Doc: "a request-level trace as Parquet", sniff: sniffParquet, decode: decodeParquet},
	formatSGLangServing,
	formatInferenceX,
	formatTRTLLMReport,
	formatTRTLLMRequests,
	formatSGLangOneBatch,
	formatGuidellm,
	formatInferencePerf,
	formatLLMD,
	formatAIPerfRecords,
	formatGPUTelemetry,
	formatAIPerfMetrics,
	formatAIPerfSummary,
	formatGenAIPerf,
	formatVLLMSweep,
	{Name: "vllm-serve", Doc: "a result of vllm bench serve (or benchmark_serving.py)", sniff: sniffServe, decode: decodeServe},
	formatVLLMTwin,
	formatVLLMThroughput,
	formatVLLMLatency,
	formatVLLMAutotune,
	formatTRTLLMText,
	formatSGLangLog,
	formatVLLMLog,
	{Name: "vllm-console", Doc: "the printed \"Serving Benchmark Result\" table", sniff: sniffConsole, decode: decodeConsole},
	formatRollupCSV,
	formatTSDB,
	formatPromAPI,
	formatPromDump,
	formatOpenMetrics,
	{Name: "prometheus-text", Doc: "one or more scrapes of a /metrics page", sniff: sniffProm, decode: decodeProm},
	formatMetricsCSV,
	formatTraceJSONL,
	formatTraceCSV,
	formatServerLog,
}

// A probe is a file being recognized, with what was found out about it so far.
type probe struct {
	*file
	in    *serving.Input
	opt   Options
	shape *jsonscan.Shape // of a JSON input, once asked for
}

// loaded is what one file gave.
type loaded struct {
	runs    []*serving.Run
	scrapes []*prom.Scrape
	raw     []*prom.Scrape     // of servers above, for the user's own PromQL
	parquet *trace.File        // tables of several files are opened together
	tables  []serving.Requests // tables that a file holds by itself
	keep    bool               // tables read from the file later on: it stays open, p.open works until the dataset is closed
	rollup  *serving.Rollup
	events  *serving.EventLog // what a log tells beside its series
	servers []*serving.Server // series that a file holds by itself: a log's, an exporter's
	sum     *checksum         // of a file that stays open; nil: it is in the input
}

func sniffParquet(p *probe) (bool, string) {
	if trace.SniffParquet(p.head) {
		return true, ""
	}
	return false, "no Parquet magic at the start"
}

// sniffParquetColumns recognizes a Parquet file by the names of its columns.
func sniffParquetColumns(of func(names []string) (bool, string)) func(*probe) (bool, string) {
	return func(p *probe) (bool, string) {
		if ok, why := sniffParquet(p); !ok {
			return false, why
		}
		if p.codec != "" {
			return false, "inside " + p.codec
		}
		names, err := trace.Names(trace.File{Path: p.path, R: p.raw, Size: p.size})
		if err != nil {
			return false, err.Error()
		}
		return of(names)
	}
}

func decodeParquet(_ context.Context, p *probe, l *loaded) error {
	if p.codec != "" {
		return &serving.FormatError{At: serving.Pos{Path: p.path}, Found: "a Parquet file inside " + p.codec,
			Want: "a plain Parquet file, which is read at random", Remedy: "decompress it first; Parquet compresses inside"}
	}
	l.parquet = &trace.File{Path: p.path, R: p.raw, Size: p.size, Partition: trace.Hive(p.path), In: p.in}
	return nil
}

// looksJSON reports whether the first character opens a JSON object or array.
func (p *probe) looksJSON() bool {
	h := bytes.TrimLeft(bytes.TrimPrefix(p.head, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(h) > 0 && (h[0] == '{' || h[0] == '[')
}

// keys returns the names of the first JSON record's members. It stops reading
// as soon as enough says so; what was read once is not read again. why says what
// is wrong with the JSON, if anything.
func (p *probe) keys(enough func(keys map[string]bool) bool) (keys map[string]bool, why string) {
	if !p.looksJSON() {
		return nil, "no JSON object or array at the start"
	}
	if p.shape == nil || !p.shape.Whole && p.shape.Damage == nil && !enough(p.shape.Keys) {
		r, err := p.open()
		if err != nil {
			return nil, err.Error()
		}
		defer r.Close()
		shape, err := jsonscan.Probe(p.path, r, enough)
		if err != nil {
			return nil, err.Error()
		}
		p.shape = &shape
	}
	if p.shape.Damage != nil {
		why = "; the JSON is damaged: " + p.shape.Damage.Error()
	}
	return p.shape.Keys, why
}

func sniffServe(p *probe) (bool, string) {
	keys, damage := p.keys(vllm.DecidedServe)
	if keys == nil {
		return false, damage
	}
	ok, why := vllm.SniffServe(keys)
	return ok, why + damage
}

func decodeServe(ctx context.Context, p *probe, l *loaded) error {
	return p.decodeRuns(ctx, l, vllm.DecodeServe)
}

func sniffConsole(p *probe) (bool, string) {
	if vllm.SniffConsole(p.head) {
		return true, ""
	}
	return false, "no \"Serving Benchmark Result\" table in the first 256 KiB"
}

func decodeConsole(ctx context.Context, p *probe, l *loaded) error {
	return p.decodeRuns(ctx, l, vllm.DecodeConsole)
}

func sniffProm(p *probe) (bool, string) {
	if prom.Sniff(p.head) {
		return true, ""
	}
	return false, "no Prometheus samples at the start"
}

func decodeProm(ctx context.Context, p *probe, l *loaded) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	l.scrapes, err = p.parseScrapes(ctx, r, p.in)
	return err
}

// parseScrapes reads scrapes, with every series where the user's own PromQL is to
// see them.
func (p *probe) parseScrapes(ctx context.Context, r io.Reader, in *serving.Input) ([]*prom.Scrape, error) {
	if p.opt.KeepRaw {
		return prom.ParseRaw(ctx, p.path, r, in)
	}
	return prom.Parse(ctx, p.path, r, in)
}
