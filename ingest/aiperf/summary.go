package aiperf

import (
	"context"
	"io"
	"math"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A Tool is a program whose summary this package reads.
type Tool string

// The tools.
const (
	AIPerf    Tool = FormatSummary
	GenAIPerf Tool = FormatGenAI
)

// SniffSummary says which tool wrote a JSON summary with these top-level names,
// and if none, why. head is the beginning of its text.
func SniffSummary(keys map[string]bool, head []byte) (tool Tool, why string) {
	switch {
	case keys["experiments"] && keys["service_kind"]:
		return GenAIPerf, ""
	// Newer releases number the slices by their place, and say when each was.
	case keys["timeslices"] && hasAny(head, `"timeslice_index"`, `"start_ns"`, `"avg"`):
		return AIPerf, ""
	case !hasAny(head, `"unit"`) || !hasAny(head, `"avg"`):
		return "", `no metric with "unit" and "avg"`
	case keys["records"] && (keys["input_config"] || keys["was_cancelled"] || keys["error_summary"]):
		return AIPerf, ""
	}
	known := 0
	for k := range keys {
		if _, ok := meanings[tagOf(k)]; ok {
			known++
		}
	}
	ours := keys["aiperf_version"] || keys["was_cancelled"] || keys["error_summary"] || keys[tagDuration]
	switch {
	case known < 2:
		return "", "no metrics that AIPerf names"
	case ours:
		return AIPerf, ""
	case keys["input_config"]:
		return GenAIPerf, ""
	}
	return "", `no "input_config"`
}

// DecodeSummary reads a JSON summary of either tool, in any of its layouts:
// metrics at the top level, or below "records" under their tags, or under their
// titles. Time slices make a run that has a course and next to nothing else: they
// are the run of the summary beside them, cut in pieces.
//
// It fills in Records, Fields, Note and Problems of the input.
func DecodeSummary(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &summaryDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, s: newSummary(path, in)}
	d.slices = newSlicer(d.s)
	_, err := d.r.Object(d.member)
	if err != nil && len(d.s.blocks) == 0 && len(d.slices.c.Series) == 0 {
		return nil, d.r.Describe(err, FormatSummary)
	}
	if err != nil {
		d.slices.cut = true
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if fe, ok := d.r.Describe(err, FormatSummary).(*serving.FormatError); ok {
			in.Problems.Add(serving.Problem{At: fe.At, Message: fe.Found + ": what follows is left out"})
		}
	}
	if d.raw {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatGenAI, Found: "perf_analyzer's raw responses, which hold no token counts",
			Want: "the summary of genai-perf", Remedy: "give the file profile_export_genai_perf.json beside it"}
	}
	of := d.s.run
	if len(d.slices.c.Slices) > 0 {
		of = d.slices.run
	}
	run, err := of()
	if err != nil {
		return nil, err
	}
	in.Records = 1
	return []*serving.Run{run}, nil
}

type summaryDecoder struct {
	ctx    context.Context
	path   string
	r      *jsonscan.Reader
	in     *serving.Input
	s      *summary
	slices *slicer
	raw    bool
}

// Bounds on what a summary may make us remember.
const (
	maxBlocks   = 2000
	maxSettings = 500
	maxDepth    = 8
	maxValue    = 1 << 10
)

// member reads one top-level member.
func (d *summaryDecoder) member(name string) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	switch name {
	case "records":
		return d.nested()
	case "timeslices":
		_, err := d.r.Array(func(int) error { return d.slice() })
		return err
	case "experiments":
		d.raw = true
		return d.r.Skip()
	case "input_config":
		return d.setting("", 0)
	case "telemetry_data", "telemetry_stats":
		return d.gpus(0)
	case "error_summary":
		return d.errors()
	case "warmup_metrics", "branch_stats", "run_info", "metadata":
		d.s.field(name, "", "", "")
		return d.r.Skip()
	}
	if d.r.Peek() == '{' {
		return d.block(name)
	}
	s, ok, err := d.r.Scalar(maxValue)
	if ok && !s.IsNull() {
		d.s.fact(name, s.Text)
	}
	return err
}

// nested reads the metrics of the first two layouts: by tag or title, or a list.
func (d *summaryDecoder) nested() error {
	if d.r.Peek() == '[' {
		_, err := d.r.Array(func(int) error { return d.block("") })
		return err
	}
	_, err := d.r.Object(d.block)
	return err
}

// block reads one metric of the run.
func (d *summaryDecoder) block(name string) error {
	b, ok, err := d.metric(name)
	if ok {
		d.s.add(b)
	}
	return err
}

// metric reads one metric; ok is false where it has no unit.
func (d *summaryDecoder) metric(name string) (b block, ok bool, err error) {
	b = block{name: name}
	hasUnit := false
	_, err = d.r.Object(func(key string) error {
		switch key {
		case "unit":
			s, ok, err := d.r.Text(32)
			b.unit, hasUnit = s, ok
			return err
		case "tag":
			s, ok, err := d.r.Text(64)
			if ok && s != "" {
				b.name = s
			}
			return err
		}
		stat, ok := statOf(key)
		if !ok {
			return d.r.Skip()
		}
		null := d.r.Peek() == 'n'
		v, num, err := d.r.Float()
		switch {
		case err != nil || null:
			return err
		case !num || math.IsNaN(v) || math.IsInf(v, 0):
			d.in.Problems.AddKind(name+" number", d.r.Problemf("no finite number, want one; taken as missing"))
			return nil
		}
		b.stats = append(b.stats, statistic{stat, key, v})
		return nil
	})
	if err != nil || !hasUnit {
		return b, false, err
	}
	b.at = d.r.Pos()
	return b, true, nil
}

// setting reads the settings of a run under dotted names.
func (d *summaryDecoder) setting(name string, depth int) error {
	join := func(key string) string {
		if name == "" {
			return key
		}
		return name + "." + key
	}
	switch {
	case depth > maxDepth:
		return d.r.Skip()
	case d.r.Peek() == '{':
		_, err := d.r.Object(func(key string) error { return d.setting(join(key), depth+1) })
		return err
	case d.r.Peek() == '[':
		var list []string
		_, err := d.r.Array(func(int) error {
			if d.r.Peek() == '{' {
				return d.setting(name, depth+1)
			}
			s, ok, err := d.r.Scalar(maxValue)
			if ok && !s.IsNull() && len(list) < 64 {
				list = append(list, s.Text)
			}
			return err
		})
		if len(list) > 0 {
			d.s.setting(name, strings.Join(list, ","))
		}
		return err
	}
	s, ok, err := d.r.Scalar(maxValue)
	if ok && !s.IsNull() {
		d.s.setting(name, s.Text)
	}
	return err
}

// gpus collects the uuids of the GPUs that were watched.
func (d *summaryDecoder) gpus(depth int) error {
	if depth > maxDepth {
		return d.r.Skip()
	}
	_, err := d.r.Object(func(name string) error {
		if name == "gpu_uuid" {
			s, ok, err := d.r.Text(maxID)
			if ok && s != "" && len(d.s.uuids) < 1<<16 {
				d.s.uuids[s] = true
			}
			return err
		}
		return d.gpus(depth + 1)
	})
	return err
}

// errors counts the requests that error_summary tells of. An empty list says
// that none failed.
func (d *summaryDecoder) errors() error {
	n, whole := 0.0, true
	list, err := d.r.Array(func(int) error {
		counted := false
		_, err := d.r.Object(func(name string) error {
			if name != "count" {
				return d.r.Skip()
			}
			v, ok, err := d.r.Float()
			counted = ok && v >= 0 && v < 1<<53
			if counted {
				n += v
			}
			return err
		})
		whole = whole && counted
		return err
	})
	if err == nil && list && whole {
		d.s.failures = serving.Some(int64(n))
		d.s.field("error_summary", "failed", "requests", "dialect")
	}
	return err
}
