package render

import (
	"encoding/json"
	"io"

	"github.com/vreport/vreport/ingest/serving"
)

func newWireInput(in *serving.Input) wireInput {
	return wireInput{
		Path: in.Path, Label: in.Label, Format: wireFormat(in), Bytes: in.Bytes, SHA256: in.SHA256, Fingerprint: in.Fingerprint,
		Records: in.Records, Problems: mapTo(in.Problems.List(), newWireProblem), Tried: in.Tried, Note: in.Note,
	}
}

// InspectJSON writes what every input was recognized as: the array of
// `vreport inspect --json`, one object a file.
func InspectJSON(w io.Writer, inputs []*serving.Input) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(mapTo(inputs, newWireInspected))
}

func newWireInspected(in *serving.Input) wireInspected {
	return wireInspected{
		Path: in.Path, Label: in.Label, Format: wireFormat(in), Records: in.Records, Bytes: in.Bytes,
		Version: in.Version.Ptr(), Guess: in.Guess, From: wireInstant(in.First), To: wireInstant(in.Last),
		SHA256: in.SHA256, Fingerprint: in.Fingerprint,
		Fields:   mapTo(in.Fields, func(f serving.Field) wireField { return wireField(f) }),
		Problems: mapTo(in.Problems.List(), newWireProblem), Tried: in.Tried, Note: in.Note,
	}
}

func wireInstant(ns serving.Opt[int64]) *string {
	if !ns.OK {
		return nil
	}
	s := wireTime(ns.V, false)
	return &s
}

func newWireProblem(p serving.Problem) wireProblem {
	w := wireProblem{At: p.At.String(), Message: p.Message}
	if p.Count > 1 {
		w.Count = p.Count
	}
	return w
}

// formatUnknown is the format name of a file that nothing fitted.
const formatUnknown = "unknown"

func wireFormat(in *serving.Input) string {
	if in.Format == "" {
		return formatUnknown
	}
	return in.Format
}
