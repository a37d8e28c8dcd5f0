package ingest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/vllm"
)

// The formats of vLLM's other tools. A sweep's files are serve results with more
// in them, so formatVLLMSweep stands before vllm-serve; a log that holds a
// printed result table is both, and either decoder reads both.
var (
	formatVLLMSweep = &Format{Name: vllm.FormatSweep, Doc: "a file of a vllm bench sweep directory: run=N.json, summary.json, summary.csv, warmup.json, a failure",
		sniff: sniffSweep, decode: decodeSweep}
	formatVLLMTwin = &Format{Name: vllm.FormatServe, Doc: "the .pytorch.json twin of a vLLM bench result",
		sniff: sniffTwin, decode: decodeTwin}
	formatVLLMThroughput = &Format{Name: vllm.FormatThroughput, Doc: "a result of vllm bench throughput",
		sniff: sniffKeys("tokens_per_second", vllm.SniffThroughput), decode: func(ctx context.Context, p *probe, l *loaded) error {
			return p.decodeRuns(ctx, l, vllm.DecodeThroughput)
		}}
	formatVLLMLatency = &Format{Name: vllm.FormatLatency, Doc: "a result of vllm bench latency",
		sniff: sniffKeys("avg_latency", vllm.SniffLatency), decode: func(ctx context.Context, p *probe, l *loaded) error { return p.decodeRuns(ctx, l, vllm.DecodeLatency) }}
	formatVLLMLog = &Format{Name: vllm.FormatLog, Doc: "an engine log of vLLM, V0 or V1",
		sniff: sniffLog, decode: decodeLog}
	formatVLLMAutotune = &Format{Name: vllm.FormatAutotune, Doc: "the result.txt of vLLM's auto_tune.sh",
		sniff: sniffAutotune, decode: func(ctx context.Context, p *probe, l *loaded) error { return p.decodeRuns(ctx, l, vllm.DecodeAutotune) }}
)

// headHas reports whether a JSON file's head holds a name. Asking for all names
// of a record reads a file of hundreds of megabytes to its end, so it is asked
// only where there is a chance.
func (p *probe) headHas(name string) (bool, string) {
	switch {
	case !p.looksJSON():
		return false, "no JSON object or array at the start"
	case !bytes.Contains(p.head, []byte(`"`+name+`"`)):
		return false, fmt.Sprintf("no %q in the first 256 KiB", name)
	}
	return true, ""
}

// sniffKeys recognizes a record by its names alone, one of which stands early.
func sniffKeys(early string, sniff func(map[string]bool) (bool, string)) func(*probe) (bool, string) {
	return func(p *probe) (bool, string) {
		if ok, why := p.headHas(early); !ok {
			return false, why
		}
		keys, damage := p.keys(func(keys map[string]bool) bool { ok, _ := sniff(keys); return ok })
		if keys == nil {
			return false, damage
		}
		ok, why := sniff(keys)
		return ok, why + damage
	}
}

// sniffSweep looks for the run number, which stands behind all results: in a
// large file near its end.
func sniffSweep(p *probe) (bool, string) {
	if !p.looksJSON() {
		return vllm.SniffSweepCSV(p.head)
	}
	if p.whole() {
		keys, damage := p.keys(vllm.DecidedSweep)
		if keys == nil {
			return false, damage
		}
		ok, why := vllm.SniffSweep(keys)
		return ok, why + damage
	}
	tail := make([]byte, 64<<10)
	if p.codec != "" || p.size < int64(len(tail)) {
		return false, "compressed: read as a serve result"
	}
	if _, err := p.raw.ReadAt(tail, p.size-int64(len(tail))); err != nil || !vllm.EndsLikeSweep(tail) {
		return false, "no run number near the end"
	}
	keys, damage := p.keys(vllm.DecidedServe)
	if keys == nil {
		return false, damage
	}
	ok, why := vllm.SniffServe(keys)
	return ok, why + damage
}

func decodeSweep(ctx context.Context, p *probe, l *loaded) error {
	if !p.looksJSON() {
		return p.decodeRuns(ctx, l, vllm.DecodeSweepCSV)
	}
	return p.decodeRuns(ctx, l, vllm.DecodeSweep)
}

func sniffTwin(p *probe) (bool, string) {
	if ok, why := p.headHas("benchmark"); !ok {
		return false, why
	}
	keys, damage := p.keys(func(keys map[string]bool) bool { return keys["benchmark"] && keys["metric"] && keys["model"] })
	if keys == nil {
		return false, damage
	}
	format, why := vllm.SniffTwin(keys, p.head)
	return format != "", why + damage
}

// decodeTwin names the file by the bench whose twin it is.
func decodeTwin(ctx context.Context, p *probe, l *loaded) error {
	if format, _ := vllm.SniffTwin(map[string]bool{"benchmark": true, "metric": true, "model": true}, p.head); format != "" {
		p.in.Format = format
	}
	return p.decodeRuns(ctx, l, vllm.DecodeTwin)
}

// logScan is how far behind the head a periodic line is looked for in a text
// that looks like a log of vLLM's server.
const logScan = 64 << 20

func sniffLog(p *probe) (bool, string) {
	ok, why := vllm.SniffLog(p.head)
	if ok || p.whole() || !bytes.Contains(p.head, []byte("INFO")) || !bytes.Contains(bytes.ToLower(p.head), []byte("vllm")) {
		return ok, why
	}
	r, err := p.open()
	if err != nil {
		return false, err.Error()
	}
	defer r.Close()
	return vllm.ScanLog(r, logScan), why
}

// decodeLog reads the series of a log, and the result tables that a client
// printed into it.
func decodeLog(ctx context.Context, p *probe, l *loaded) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	if l.servers, l.events, err = vllm.DecodeLog(ctx, p.path, r, p.in); err != nil {
		return err
	}
	if vllm.SniffConsole(p.head) {
		lines, fields := p.in.Records, p.in.Fields
		err := p.decodeRuns(ctx, l, vllm.DecodeConsole)
		p.in.Fields = append(fields, p.in.Fields...)
		p.in.Records = lines + int64(len(l.runs))
		return err
	}
	return nil
}

func sniffAutotune(p *probe) (bool, string) { return vllm.SniffAutotune(p.head) }

// joinVLLM counts once what vLLM's tools write twice, and puts together what
// they write apart: a twin beside its result, whose arguments the result lacks;
// the log of a tuner's run beside the line about it, whose name alone says how
// the server was started. It belongs before dropTwins.
func joinVLLM(ds *serving.Dataset, files []found, all []loaded) {
	byPath := map[found]int{}
	for i, f := range files {
		byPath[found{path: f.path, label: f.label}] = i
	}
	for i, f := range files {
		of, ok := vllm.TwinPath(f.path)
		if !ok || len(all[i].runs) == 0 {
			continue
		}
		k, ok := byPath[found{path: of, label: f.label}]
		if !ok || len(all[k].runs) != len(all[i].runs) || !sameBench(ds.Inputs[k].Format, ds.Inputs[i].Format) {
			continue
		}
		for j, r := range all[k].runs {
			vllm.Adopt(r, all[i].runs[j])
		}
		addNote(ds.Inputs[i], fmt.Sprintf("it is the twin of %s, is counted once and lends it its arguments", of))
		all[i].runs = nil
	}
	joinTuned(ds, files, all)
}

// sameBench reports whether a file and its twin are of one bench.
func sameBench(of, twin string) bool {
	return of == twin || of == vllm.FormatSweep && twin == vllm.FormatServe
}

// joinTuned gives the printed runs of auto_tune.sh their settings and drops the
// lines of result.txt that repeat them.
func joinTuned(ds *serving.Dataset, files []found, all []loaded) {
	var printed []*serving.Run
	for i := range all {
		for _, r := range all[i].runs {
			if s, ok := vllm.TuneSettings(files[i].path); ok && r.Format == vllm.FormatConsole {
				r.Settings = append(r.Settings, s...)
				printed = append(printed, r)
			}
		}
	}
	if len(printed) == 0 {
		return
	}
	for i := range all {
		before := len(all[i].runs)
		all[i].runs = without(all[i].runs, func(r *serving.Run) bool {
			for _, p := range printed {
				if vllm.SameTuned(r, p) {
					return true
				}
			}
			return false
		})
		if n := before - len(all[i].runs); n > 0 {
			addNote(ds.Inputs[i], fmt.Sprintf("%d of its combinations stand in their bm_log files with more figures and are counted once", n))
		}
	}
}

func without(runs []*serving.Run, drop func(*serving.Run) bool) []*serving.Run {
	var out []*serving.Run
	for _, r := range runs {
		if !drop(r) {
			out = append(out, r)
		}
	}
	return out
}
