package trtllm

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffReport says whether a record with these names is a --report_json file,
// and why not.
func SniffReport(keys map[string]bool) (ok bool, why string) {
	for _, k := range []string{"engine", "request_info", "performance"} {
		if !keys[k] {
			return false, fmt.Sprintf("no %q", k)
		}
	}
	if !keys["world_info"] && !keys["streaming_metrics"] && !keys["dataset"] {
		return false, `no "world_info"`
	}
	return true, ""
}

// DecidedReport says whether these first names already make a record a report.
func DecidedReport(keys map[string]bool) bool {
	ok, _ := SniffReport(keys)
	return ok
}

// DecodeReport reads a --report_json file, or several reports in one.
func DecodeReport(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	jr := jsonscan.NewReader(path, r)
	fields := flat.Fields{In: in}
	var runs []*serving.Run
	why := ""
	_, layout, err := jr.Records(Format, &in.Problems, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := serving.Pos{Path: path, Line: jr.NextLine(), Field: fmt.Sprintf("[%d]", i)}
		rec, ok, err := flat.Reader{R: jr}.Read()
		if err != nil {
			return err
		}
		reason := "the value is no JSON object"
		if ok {
			ok, reason = SniffReport(rec.Keys)
		}
		if !ok {
			why = reason
			in.Problems.AddKind("no record", serving.Problem{At: at, Message: "no report of trtllm-bench: " + reason + "; left out"})
			return nil
		}
		for _, name := range rec.Names {
			fields.Add(reportField(name))
		}
		runs = append(runs, reportRun(rec, path, at))
		return nil
	})
	in.Records = int64(len(runs))
	if err != nil {
		return nil, jr.Describe(err, Format)
	}
	if len(runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: "no report: " + why, Want: "a record with engine, request_info and performance"}
	}
	place(runs, layout, path)
	return runs, nil
}

// place drops what a position does not need in its layout.
func place(runs []*serving.Run, layout jsonscan.Layout, path string) {
	for _, run := range runs {
		switch layout {
		case jsonscan.Single:
			run.Source = serving.Pos{Path: path}
		case jsonscan.Lines:
			run.Source.Field = ""
		}
	}
}

// splitBlock takes the name of a percentile apart.
func splitBlock(name string) (f figure, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return figure{}, false
	}
	if f, ok = reportBlocks[name[:i]]; !ok {
		return figure{}, false
	}
	f.stat, ok = statName(name[i+1:])
	return f, ok
}

func reportField(name string) serving.Field {
	f := serving.Field{Name: name, How: "dialect"}
	fig, ok := reportFigures[name]
	if !ok {
		fig, ok = splitBlock(name)
	}
	switch {
	case ok:
		f.As, f.Unit = string(fig.metric), fig.unit
	case settingNames[name] != "":
		f.As = "setting"
	default:
		f.As = map[string]string{"engine.model": "model", "engine.version": "version", "world_info.world_size": "gpus", "request_info.num_requests": "completed",
			"performance.total_latency_ms": "duration", "dataset.dataset_path": "workload", "world_info.issue_rate": "load"}[name]
		if f.As == "duration" {
			f.Unit = "ms"
		}
	}
	return f
}

// inProcess stands with every run.
const inProcess = "measured in the engine's process: no HTTP or network is in these times; percentiles are not interpolated"

func baseLabel(path string) string {
	base := filepath.Base(path)
	if stem := strings.TrimSuffix(base, filepath.Ext(base)); stem != "" {
		return stem
	}
	return base
}

// reportRun turns a report into a run.
func reportRun(rec *flat.Record, path string, at serving.Pos) *serving.Run {
	r := &serving.Run{Source: at, Format: Format, Label: baseLabel(path), Engine: serving.Some("tensorrt-llm"), Version: rec.Text("engine.version"),
		Model: rec.Text("engine.model"), Notes: []string{inProcess}}
	if p := rec.Text("dataset.dataset_path"); p.OK {
		r.Workload = serving.Some(baseLabel(p.V))
	}
	for _, name := range rec.Names {
		if v := rec.Text(name); v.OK && settingNames[name] != "" {
			r.Settings = append(r.Settings, serving.Setting{Key: settingNames[name], Value: v.V})
		}
	}
	r.GPUs = rec.Positive("world_info.world_size")
	if tp := rec.Positive("world_info.tp_size"); !r.GPUs.OK && tp.OK {
		r.GPUs = serving.Some(tp.V * rec.Positive("world_info.pp_size").Or(1))
	}
	completed(r, rec.Count("request_info.num_requests"))
	if v, ok := rec.Number("performance.total_latency_ms"); ok && v > 0 {
		r.Duration = serving.Some(v / 1000)
	}
	in, _ := rec.Number("request_info.avg_input_length")
	out, _ := rec.Number("request_info.avg_output_length")
	r.Input, r.Output = sum(in, r.Completed, 1e-9), sum(out, r.Completed, 1e-9)
	var all []serving.Reported
	for _, name := range rec.Names {
		v, is := rec.Number(name)
		f, ok := reportFigures[name]
		if !ok {
			f, ok = splitBlock(name)
		}
		if is && ok {
			all = append(all, serving.Reported{Field: name, Metric: f.metric, Stat: f.stat, File: v, PerBase: f.per})
		}
	}
	addReported(r, all)
	issue, _ := rec.Number("world_info.issue_rate")
	setLoad(r, issue, serving.None[float64]())
	if shortest, ok := rec.Number("dataset.osl_stats.minimum"); ok && shortest <= 1 {
		r.Notes = append(r.Notes, "the dataset asks for answers of one token, which this tool counts into TPOT as 0")
	}
	return r
}

// completed sets the counts. The tool counts requests as they answer; it knows
// no failed ones.
func completed(r *serving.Run, n serving.Opt[int64]) {
	r.Completed, r.Sent = n, n
}

// sum gives a mean's sum back, where the mean is known to rel of itself and the
// sum therefore to the token, or nearly.
func sum(mean float64, n serving.Opt[int64], rel float64) serving.Opt[int64] {
	total := mean * float64(n.V)
	if !n.OK || n.V == 0 || !(mean > 0) || total >= 1<<53 {
		return serving.None[int64]()
	}
	if off := math.Abs(total - math.Round(total)); off > max(rel*total, 1e-6) {
		return serving.None[int64]()
	}
	return serving.Some(int64(math.Round(total)))
}

// addReported keeps the figures that are measurements: a metric whose figures
// are all zero was not measured, and TTFT and TPOT are only where the answers
// were streamed. Of figures that are given twice the first counts.
func addReported(r *serving.Run, all []serving.Reported) {
	empty := map[serving.MetricKey]bool{}
	for _, a := range all {
		was, seen := empty[a.Metric]
		empty[a.Metric] = a.File == 0 && (was || !seen)
	}
	type key struct {
		m    serving.MetricKey
		stat string
	}
	seen := map[key]bool{}
	for _, a := range all {
		k := key{a.Metric, a.Stat}
		if empty[a.Metric] || a.File < 0 || math.IsNaN(a.File) || math.IsInf(a.File, 0) || seen[k] {
			continue
		}
		seen[k] = true
		r.Reported = append(r.Reported, a)
	}
}
