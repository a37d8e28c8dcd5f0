package ingest

import (
	"context"
	"os"
	"path/filepath"

	"github.com/vreport/vreport/ingest/prom"
	"github.com/vreport/vreport/ingest/serving"
)

// formatTSDB reads blocks of Prometheus' database. A block is a directory, and
// files are read one by one: meta.json is the one that is decoded, and looks for
// the others beside it; those are recognized so that nobody wonders.
var formatTSDB = &Format{Name: prom.FormatBlock, Doc: "a block of Prometheus' database, as a TSDB snapshot holds them: meta.json with index and chunks/",
	sniff: sniffTSDB, decode: decodeTSDB}

func sniffTSDB(p *probe) (bool, string) {
	if prom.BlockPart(p.path, p.head) != "" {
		return true, ""
	}
	if ok, why := p.headHas("ulid"); !ok {
		return false, why
	}
	keys, damage := p.keys(prom.DecidedBlock)
	if keys == nil {
		return false, damage
	}
	ok, why := prom.SniffBlock(keys)
	return ok, why + damage
}

func decodeTSDB(ctx context.Context, p *probe, l *loaded) error {
	if part := prom.BlockPart(p.path, p.head); part != "" {
		return p.notePart(part)
	}
	if p.stdin || p.codec != "" {
		return &serving.FormatError{At: serving.Pos{Path: p.path}, Format: prom.FormatBlock, Found: "the meta.json of a block by itself",
			Want: "the file in its directory, beside index and chunks/", Remedy: "name the directory"}
	}
	var err error
	l.scrapes, err = prom.DecodeBlock(ctx, os.DirFS(filepath.Dir(p.path)), p.path, p.in, p.opt.KeepRaw)
	return err
}

// notePart says what a file is that is read through another one. Samples that
// the server had not written to a block are lost to us: that is a problem.
func (p *probe) notePart(part string) error {
	if part == prom.PartHead {
		p.in.Note = "samples that the server had not put into a block yet: not read"
		p.in.Problems.Add(serving.Problem{At: serving.Pos{Path: p.path}, Message: "this is the working directory of a Prometheus server, whose latest hours are in its log and not read, want a snapshot; " + prom.TakeSnapshot})
		return nil
	}
	dir := filepath.Dir(p.path)
	if part == prom.PartChunks {
		dir = filepath.Dir(dir)
	}
	meta := filepath.Join(dir, "meta.json")
	p.in.Note = part + " of a block of Prometheus' database, read with its meta.json"
	if st, err := os.Stat(meta); err != nil || !st.Mode().IsRegular() {
		return &serving.FormatError{At: serving.Pos{Path: p.path}, Format: prom.FormatBlock, Found: part + " of a block, but there is no " + meta,
			Want: "the whole block", Remedy: "copy the directory with meta.json, index and chunks/ in it"}
	}
	return nil
}
