package ingest

import (
	"context"

	"github.com/vreport/vreport/ingest/serverlog"
	"github.com/vreport/vreport/ingest/serving"
)

// formatServerLog comes last: another format may hold a line that looks like a
// log's.
var formatServerLog = &Format{
	Name: serverlog.Format, Doc: "a log of TensorRT-LLM, TGI, a web server, the kernel or Kubernetes, for the failures in it",
	sniff: func(p *probe) (bool, string) {
		if serverlog.Sniff(p.head) {
			return true, ""
		}
		return false, "no line in the first 256 KiB that tells of a failure, or that a known server writes"
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		r, err := p.open()
		if err != nil {
			return err
		}
		defer r.Close()
		l.events, err = serverlog.Decode(ctx, p.path, r, p.in)
		return err
	},
}

// noteTimes says what was assumed of the times of a log's events. Where the log
// has series, too, they say it.
func noteTimes(in *serving.Input, l *loaded) {
	if e := l.events; e != nil && len(l.servers) == 0 && len(e.Events)+len(e.Answers) > 0 && e.Assumed != "" {
		addNote(in, e.Assumed)
	}
}
