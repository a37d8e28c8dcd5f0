package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/llmd"
)

var formatLLMD = &Format{Name: llmd.Format, Doc: "a benchmark report of llm-d, version 0.1 or 0.2", sniff: sniffLLMD, decode: decodeLLMD}

func sniffLLMD(p *probe) (bool, string) {
	if !p.looksJSON() {
		return llmd.SniffYAML(p.head, p.whole())
	}
	keys, why := p.keys(func(keys map[string]bool) bool { ok, _ := llmd.SniffKeys(keys); return ok })
	if keys == nil {
		return false, why
	}
	ok, no := llmd.SniffKeys(keys)
	if ok && !llmd.SniffJSON(p.head) {
		return false, `no "version" of 0.1 or 0.2`
	}
	return ok, no + why
}

func decodeLLMD(ctx context.Context, p *probe, l *loaded) error {
	return p.decodeRuns(ctx, l, llmd.Decode)
}
