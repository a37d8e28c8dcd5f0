package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/inferenceperf"
)

var formatInferencePerf = &Format{Name: inferenceperf.Format, Doc: "a report of inference-perf, or its requests", sniff: sniffInferencePerf, decode: decodeInferencePerf}

func sniffInferencePerf(p *probe) (bool, string) {
	if !p.looksJSON() {
		return inferenceperf.SniffYAML(p.head)
	}
	keys, why := p.keys(inferenceperf.Decided)
	if keys == nil {
		return false, why
	}
	ok, no := inferenceperf.Sniff(keys)
	return ok, no + why
}

func decodeInferencePerf(ctx context.Context, p *probe, l *loaded) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	l.runs, l.servers, err = inferenceperf.Decode(ctx, p.path, r, p.in)
	return err
}
