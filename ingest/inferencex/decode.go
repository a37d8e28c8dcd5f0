package inferencex

import (
	"context"
	"fmt"
	"io"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// Sniff says whether a record with these names is an aggregate, and why not.
func Sniff(keys map[string]bool) (ok bool, why string) {
	switch {
	case !keys["hw"]:
		return false, `no "hw"`
	case !keys["tput_per_gpu"] && !keys["request_metrics"]:
		return false, `neither "tput_per_gpu" nor "request_metrics"`
	}
	return true, ""
}

// Decided says whether these first names of a record already make it an
// aggregate.
func Decided(keys map[string]bool) bool {
	ok, _ := Sniff(keys)
	return ok
}

// Decode reads an aggregate, or an array or sequence of them: a run each.
//
// It fills in Records, Fields and Problems of the input. Damaged records are
// problems; an error means that no run could be read.
func Decode(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	jr := jsonscan.NewReader(path, r)
	fields := flat.Fields{In: in}
	var runs []*serving.Run
	why := ""
	reject := func(at serving.Pos, reason string) {
		why = reason
		in.Problems.AddKind("no record", serving.Problem{At: at, Message: "no InferenceX aggregate: " + reason + "; left out"})
	}
	_, layout, err := jr.Records(Format, &in.Problems, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := serving.Pos{Path: path, Line: jr.NextLine(), Field: fmt.Sprintf("[%d]", i)}
		rec, ok, err := flat.Reader{R: jr}.Read()
		if err != nil {
			return err
		}
		if !ok {
			reject(at, "the value is no JSON object")
			return nil
		}
		if ok, why := Sniff(rec.Keys); !ok {
			reject(at, why)
			return nil
		}
		for _, name := range rec.Names {
			fields.Add(fieldOf(name))
		}
		runs = append(runs, runOf(rec, path, at))
		return nil
	})
	in.Records = int64(len(runs))
	if err != nil {
		return nil, jr.Describe(err, Format)
	}
	if len(runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: "no aggregate: " + why, Want: `a record with "hw" and "tput_per_gpu" or "request_metrics"`}
	}
	for _, run := range runs {
		switch layout {
		case jsonscan.Single:
			run.Source = serving.Pos{Path: path}
		case jsonscan.Lines:
			run.Source.Field = ""
		}
	}
	return runs, nil
}
