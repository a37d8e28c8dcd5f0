package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/guidellm"
)

var formatGuidellm = &Format{Name: guidellm.Format, Doc: "a report of GuideLLM (benchmarks.json)", sniff: sniffGuidellm, decode: decodeGuidellm}

func sniffGuidellm(p *probe) (bool, string) {
	keys, why := p.keys(func(keys map[string]bool) bool { ok, _ := guidellm.SniffKeys(keys); return ok })
	if ok, no := guidellm.SniffKeys(keys); keys == nil || !ok {
		if keys == nil {
			return false, why
		}
		return false, no + why
	}
	r, err := p.open()
	if err != nil {
		return false, err.Error()
	}
	defer r.Close()
	return guidellm.Sniff(p.path, r)
}

func decodeGuidellm(ctx context.Context, p *probe, l *loaded) error {
	return p.decodeRuns(ctx, l, guidellm.Decode)
}
