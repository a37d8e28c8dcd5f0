package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/sglang"
)

var formatSGLangServing = &Format{
	Name: sglang.FormatServing, Doc: "a result of SGLang's bench_serving",
	sniff: func(p *probe) (bool, string) {
		return p.sniffRecord(sglang.DecidedServing, sglang.SniffServing)
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeRuns(ctx, l, sglang.DecodeServing)
	},
}

var formatSGLangOneBatch = &Format{
	Name: sglang.FormatOneBatch, Doc: "a result of SGLang's one-batch or offline benchmarks",
	sniff: func(p *probe) (bool, string) {
		return p.sniffRecord(sglang.DecidedOneBatch, sglang.SniffOneBatch)
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeRuns(ctx, l, sglang.DecodeOneBatch)
	},
}

var formatSGLangLog = &Format{
	Name: sglang.FormatLog, Doc: "a log of an SGLang engine with its batch lines",
	sniff: func(p *probe) (bool, string) {
		if sglang.SniffLog(p.head) {
			return true, ""
		}
		return false, "no \"Decode batch\" or \"Prefill batch\" line in the first 256 KiB"
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		r, err := p.open()
		if err != nil {
			return err
		}
		defer r.Close()
		l.servers, l.events, err = sglang.DecodeLog(ctx, p.path, r, p.in)
		return err
	},
}

// sniffRecord asks a decoder about the names of the first JSON record.
func (p *probe) sniffRecord(decided func(map[string]bool) bool, sniff func(map[string]bool) (bool, string)) (bool, string) {
	keys, damage := p.keys(decided)
	if keys == nil {
		return false, damage
	}
	ok, why := sniff(keys)
	return ok, why + damage
}
