package aiperf

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/csvtext"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffSummaryCSV says which tool wrote a CSV summary that begins with head, and
// if none, why. Both write blocks under a header of their own; GenAI-Perf's
// percentiles descend, and it spells "Time To First Token" with a capital To.
func SniffSummaryCSV(head []byte) (tool Tool, why string) {
	line, rest, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), "\r\n"), []byte("\n"))
	header := strings.TrimSpace(string(line))
	switch {
	case strings.HasPrefix(header, "Timeslice,") && strings.HasSuffix(header, ",Metric,Unit,Stat,Value"):
		return AIPerf, "" // newer releases say Start_NS and End_NS of each slice
	case !strings.HasPrefix(header, "Metric,avg,min,max") && header != "Metric,Value":
		return "", `the first line is no "Metric,avg,min,max,…"`
	case !hasAny(rest, "Request Latency", "Request Throughput", "First Token"):
		return "", "no metric that AIPerf or GenAI-Perf names"
	case hasAny(rest, "Time To First Token", "(per sec)", "Num Output Token") || strings.HasPrefix(header, "Metric,avg,min,max,p99,p95"):
		return GenAIPerf, ""
	}
	return AIPerf, ""
}

// DecodeSummaryCSV reads a CSV summary of either tool. It has two decimals and no
// settings: the JSON beside it says more.
func DecodeSummaryCSV(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &csvDecoder{path: path, in: in, s: newSummary(path, in)}
	d.slices = &sliceRows{slicer: newSlicer(d.s), at: map[string]int{}}
	rows := 0
	whole, err := csvtext.NewReader(path, r, csvtext.Form{Lazy: true}).Each(ctx, &in.Problems, func(row []string, at serving.Pos) error {
		d.row(row, at.Line)
		if rows++; rows >= maxCSVRows && d.slices.columns == nil {
			return csvtext.ErrStop
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.slices.cut = d.slices.cut || !whole
	if d.slices.columns != nil {
		run, err := d.slices.run()
		if err != nil {
			return nil, err
		}
		return []*serving.Run{run}, nil
	}
	run, err := d.s.run()
	if err != nil {
		return nil, err
	}
	run.Notes = append(run.Notes, "a CSV summary has two decimals and says nothing of how the run was made: its load level is unknown")
	in.Records = 1
	return []*serving.Run{run}, nil
}

// maxCSVRows bounds a summary; a longer table is something else. Of time slices,
// which have hundreds of rows each, the slices are bounded.
const maxCSVRows = 1 << 20

type csvDecoder struct {
	path   string
	in     *serving.Input
	s      *summary
	header []string
	slices *sliceRows
}

// row reads one line, which is a header where its first cell is a header's.
func (d *csvDecoder) row(row []string, line int) {
	switch first := row[0]; {
	case first == "Metric" || first == "Endpoint" || first == "Timeslice":
		d.header = append([]string{first}, row[1:]...)
		if first == "Timeslice" {
			d.slices.head(d.header)
		}
		return
	case len(d.header) < 2 || len(row) < 2:
		return
	}
	switch {
	case d.header[0] == "Timeslice":
		d.slices.row(row, line)
	case d.header[0] == "Endpoint" || d.header[1] == "GPU":
		d.telemetry(row)
	default:
		d.metric(row, line)
	}
}

// telemetry counts the GPUs of a telemetry block.
func (d *csvDecoder) telemetry(row []string) {
	for i, h := range d.header {
		if h == "GPU_UUID" && i < len(row) && row[i] != "" {
			d.s.uuids[strings.Clone(row[i])] = true
		}
	}
}

// metric reads the figures of one metric: a distribution's, or a single value.
func (d *csvDecoder) metric(row []string, line int) {
	name, unit := splitUnit(row[0])
	if strings.HasPrefix(name, "Num ") && strings.HasSuffix(name, " Token") {
		// The first versions of GenAI-Perf, of which the meaning of the inter
		// token latency is not the later one.
		d.s.pooled = true
		name = map[string]string{"Num Output Token": "output_sequence_length", "Num Input Token": "input_sequence_length"}[name]
	}
	b := block{name: strings.Clone(name), unit: strings.Clone(unit), at: serving.Pos{Path: d.path, Line: line}}
	for i := 1; i < len(row) && i < len(d.header); i++ {
		key := d.header[i]
		stat, ok := statOf(key)
		if key == "Value" {
			stat, ok = "mean", true
		}
		if !ok {
			continue
		}
		if v, ok := d.s.cell(row[i], serving.Pos{Path: d.path, Line: line, Field: key}); ok {
			b.stats = append(b.stats, statistic{stat, strings.Clone(key), v})
		}
	}
	d.s.add(b)
}

// cell reads a number of a CSV, which may have thousands separators. An empty one
// is missing.
func (s *summary) cell(text string, at serving.Pos) (float64, bool) {
	bare := strings.TrimSpace(strings.ReplaceAll(text, ",", ""))
	if bare == "" || bare == "N/A" {
		return 0, false
	}
	v, err := strconv.ParseFloat(bare, 64)
	if err != nil || v-v != 0 {
		s.in.Problems.AddKind("csv number", serving.Problem{At: at, Message: fmt.Sprintf("%q is no number; taken as missing", text)})
		return 0, false
	}
	return v, true
}

// splitUnit takes the unit in the last brackets off a header.
func splitUnit(s string) (name, unit string) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, '(')
	if i <= 0 || !strings.HasSuffix(s, ")") {
		return s, ""
	}
	return strings.TrimSpace(s[:i]), s[i+1 : len(s)-1]
}
