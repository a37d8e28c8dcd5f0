package inferenceperf

import (
	"bufio"
	"context"
	"io"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// Decode reads one file: a report of a stage or of all, requests, or what
// Prometheus knew of the same time. A report and a file of requests give a run,
// a Prometheus report a server.
//
// It fills in Records, Fields, Note and Problems of the input. An error means
// that nothing could be read.
func Decode(ctx context.Context, path string, rd io.Reader, in *serving.Input) ([]*serving.Run, []*serving.Server, error) {
	br := bufio.NewReaderSize(rd, 64<<10)
	switch firstByte(br) {
	case '[':
		run, err := decodeRequests(ctx, path, br, in)
		if run == nil {
			return nil, nil, err
		}
		return []*serving.Run{run}, nil, err
	case '{':
		docs, err := tree.JSON(ctx, path, Format, br, &in.Problems)
		if err != nil {
			return nil, nil, err
		}
		return reports(path, docs, in)
	}
	docs, err := tree.YAML(ctx, path, Format, br)
	if err != nil {
		return nil, nil, err
	}
	return reports(path, docs, in)
}

// firstByte looks at the first character that is no white space or byte order
// mark; 0 where there is none near the start.
func firstByte(br *bufio.Reader) byte {
	head, _ := br.Peek(4096)
	for _, c := range head {
		switch c {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
		default:
			return c
		}
	}
	return 0
}

func reports(path string, docs []*tree.Node, in *serving.Input) (runs []*serving.Run, servers []*serving.Server, err error) {
	for _, d := range docs {
		if d.Kind != tree.Object || !d.Has(keySuccesses) {
			in.Problems.AddKind("no report", serving.Problem{At: d.At(path), Message: `the record is no report: no "successes"; left out`})
			continue
		}
		in.Records++
		if isPrometheus(d) {
			if s := server(path, d, in); s != nil {
				servers = append(servers, s)
			}
			continue
		}
		runs = append(runs, newReport(path, d, in).run())
	}
	if in.Records == 0 {
		return nil, nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: "no report", Want: "load_summary, successes and failures"}
	}
	return runs, servers, nil
}
