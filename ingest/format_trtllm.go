package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/trtllm"
)

// trtllm-bench writes three kinds of files.

var formatTRTLLMReport = &Format{
	Name: trtllm.Format, Doc: "a --report_json file of trtllm-bench",
	sniff: func(p *probe) (bool, string) {
		return p.sniffRecord(trtllm.DecidedReport, trtllm.SniffReport)
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeRuns(ctx, l, trtllm.DecodeReport)
	},
}

var formatTRTLLMRequests = &Format{
	Name: trtllm.Format, Doc: "a --request_json file of trtllm-bench",
	sniff: func(p *probe) (bool, string) {
		return p.sniffRecord(trtllm.DecidedRequests, trtllm.SniffRequests)
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeRuns(ctx, l, trtllm.DecodeRequests)
	},
}

var formatTRTLLMText = &Format{
	Name: trtllm.Format, Doc: "the printed report of trtllm-bench, with the log around it",
	sniff: func(p *probe) (bool, string) {
		if trtllm.SniffText(p.head) {
			return true, ""
		}
		return false, "no \"= PERFORMANCE OVERVIEW\" block in the first 256 KiB"
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeRuns(ctx, l, trtllm.DecodeText)
	},
}
