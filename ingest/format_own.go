package ingest

import (
	"context"
	"io"

	"github.com/vreport/vreport/ingest/own"
	"github.com/vreport/vreport/ingest/serving"
)

var formatOwnReport = &Format{
	Name: own.Format, Doc: "a report of vreport as JSON (--json)",
	sniff: func(p *probe) (bool, string) { return p.sniffRecord(own.Decided, own.Sniff) },
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeOwn(ctx, l, own.Decode)
	},
}

var formatOwnPage = &Format{
	Name: own.Format, Doc: "a page of vreport, which carries its report",
	sniff: func(p *probe) (bool, string) {
		if own.SniffPage(p.head) {
			return true, ""
		}
		return false, "no page of vreport"
	},
	decode: func(ctx context.Context, p *probe, l *loaded) error {
		return p.decodeOwn(ctx, l, own.DecodePage)
	},
}

// decodeOwn reads a report. Its runs keep the format they were measured in: a
// baseline is of the harness that made it, not of another one.
func (p *probe) decodeOwn(ctx context.Context, l *loaded, dec func(context.Context, string, io.Reader, *serving.Input) ([]*serving.Run, error)) error {
	var formats []string
	err := p.decodeRuns(ctx, l, func(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
		runs, err := dec(ctx, path, r, in)
		for _, run := range runs {
			formats = append(formats, run.Format)
		}
		return runs, err
	})
	for i, run := range l.runs {
		if formats[i] != "" {
			run.Format = formats[i]
		}
	}
	return err
}

// leaveReports leaves out earlier reports that lie in a directory beside other
// data: they were made from what is read anyway. One that is named is read.
func leaveReports(ds *serving.Dataset, files []found, all []loaded) {
	other := false
	for i, in := range ds.Inputs {
		l := &all[i]
		other = other || in.Format != own.Format && len(l.runs)+len(l.scrapes)+len(l.tables)+len(l.servers) > 0 || l.parquet != nil || l.rollup != nil
	}
	if !other {
		return
	}
	for i, in := range ds.Inputs {
		if in.Format == own.Format && files[i].walked && len(all[i].runs) > 0 {
			all[i].runs = nil
			addNote(in, "an earlier report beside other files: it is left out, name it to read it")
		}
	}
}
