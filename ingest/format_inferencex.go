package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/inferencex"
)

var formatInferenceX = &Format{
	Name: inferencex.Format, Doc: "an aggregate of InferenceX (InferenceMAX)",
	sniff: func(p *probe) (bool, string) {
		return p.sniffRecord(inferencex.Decided, inferencex.Sniff)
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeRuns(ctx, l, inferencex.Decode)
	},
}
