package llmd

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// Decode reads a file of one report or several, YAML documents or JSON records.
// A run comes of each.
//
// It fills in Records, Fields and Problems of the input. An error means that no
// report could be read.
func Decode(ctx context.Context, path string, rd io.Reader, in *serving.Input) ([]*serving.Run, error) {
	br := bufio.NewReaderSize(rd, 64<<10)
	docs, err := read(ctx, path, br, in)
	if err != nil {
		return nil, err
	}
	var runs []*serving.Run
	found := "no report"
	for _, d := range docs {
		v := strings.TrimSpace(d.Get("version").Text())
		b := &report{path: path, doc: d, in: in, fields: map[string]bool{}}
		switch {
		case v == "0.1" && d.Get("metrics") != nil:
			runs = append(runs, b.v01())
		case (v == "0.2" || strings.HasPrefix(v, "0.2.")) && d.Get("results") != nil:
			runs = append(runs, b.v02())
		default:
			found = "version " + v + ", or no metrics or results"
			in.Problems.AddKind("no report", serving.Problem{At: d.At(path), Message: "the document is no report of version 0.1 (with metrics) or 0.2 (with results): left out"})
		}
	}
	in.Records = int64(len(runs))
	if len(runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: found, Want: "a benchmark report of version 0.1 or 0.2"}
	}
	return runs, nil
}

func read(ctx context.Context, path string, br *bufio.Reader, in *serving.Input) ([]*tree.Node, error) {
	head, _ := br.Peek(4096)
	if s := strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), " \t\r\n"); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		return tree.JSON(ctx, path, Format, br, &in.Problems)
	}
	return tree.YAML(ctx, path, Format, br)
}
