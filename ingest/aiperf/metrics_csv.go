package aiperf

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/csvtext"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffMetricsCSV says whether a file that begins with head is a server metrics
// export as CSV, and why not.
func SniffMetricsCSV(head []byte) (ok bool, why string) {
	if bytes.HasPrefix(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), []byte("# AIPerf Server Metrics")) {
		return true, ""
	}
	for line := range bytes.Lines(head[:min(len(head), 4<<10)]) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if bytes.HasPrefix(line, []byte("Endpoint,Type,Metric,Unit,")) {
			return true, ""
		}
		break
	}
	return false, `the first line is no "Endpoint,Type,Metric,Unit,…"`
}

// DecodeMetricsCSV reads a server metrics export as CSV: blocks of gauges,
// counters, histograms and infos, each under its header, with the labels between
// the statistics and the description. It has no times: how long the run was comes
// from a total and its rate.
func DecodeMetricsCSV(ctx context.Context, path string, r io.Reader, in *serving.Input) (*Metrics, error) {
	d := &metricsCSV{path: path, in: in, m: newMetrics(), infos: map[string]*sample{}, lengths: lengths{}}
	rows := 0
	_, err := csvtext.NewReader(path, r, csvtext.Form{Comment: '#', Lazy: true}).Each(ctx, &in.Problems, func(row []string, at serving.Pos) error {
		if !d.row(row, at.Line) {
			in.Problems.Add(serving.Problem{At: at, Message: errTooManyPoints.Error() + ": what follows is left out"})
			return csvtext.ErrStop
		}
		if rows++; rows == maxCSVRows {
			return csvtext.ErrStop
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, key := range d.infoOrder {
		d.m.add(d.infos[key])
	}
	if d.m.empty() {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatServerMetrics, Found: "no series", Want: "rows below Endpoint,Type,Metric,Unit,…"}
	}
	d.m.date(d.lengths)
	return d.m, nil
}

type metricsCSV struct {
	path      string
	in        *serving.Input
	m         *Metrics
	lengths   lengths
	header    []string
	infos     map[string]*sample
	infoOrder []string
}

// statColumns are the columns that are no label.
var statColumns = func() map[string]bool {
	m := map[string]bool{"Endpoint": true, "Type": true, "Metric": true, "Unit": true, "Description": true, "buckets": true}
	for _, s := range strings.Fields("avg min max std total rate rate_avg rate_min rate_max rate_std count count_rate sum sum_rate") {
		m[s] = true
	}
	for _, p := range strings.Fields("1 5 10 25 50 75 90 95 99") {
		m["p"+p], m["p"+p+"_estimate"] = true, true
	}
	return m
}()

// row reads one line; false means that there is no room for it.
func (d *metricsCSV) row(row []string, line int) bool {
	if row[0] == "Endpoint" {
		d.header = slices.Clone(row)
		return true
	}
	if len(d.header) < 4 || len(row) < 4 {
		return true
	}
	if d.header[1] == "Metric" && d.header[2] == "Key" {
		d.info(row)
		return true
	}
	s := &sample{stats: map[string]float64{}}
	for i, cell := range row[:min(len(row), len(d.header))] {
		switch h := d.header[i]; {
		case h == "Endpoint":
			s.endpoint = shortURL(cell)
		case h == "Type":
			s.kind = cell
		case h == "Metric":
			s.name = cell
		case h == "buckets":
			s.buckets = splitBuckets(cell)
		case h == "Unit" || h == "Description" || cell == "":
		case statColumns[h]:
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil || v-v != 0 {
				d.in.Problems.AddKind("csv number", serving.Problem{At: serving.Pos{Path: d.path, Line: line, Field: h}, Message: fmt.Sprintf("%q is no number; taken as missing", cell)})
				continue
			}
			s.stats[h] = v
		case isName(h) && !strings.Contains(h, ":"):
			s.labels = append(s.labels, label{h, cell})
		}
	}
	if !isName(s.name) {
		d.in.Problems.AddKind("metric name", serving.Problem{At: serving.Pos{Path: d.path, Line: line}, Message: fmt.Sprintf("%q is no metric's name; left out", s.name)})
		return true
	}
	d.in.Records++
	d.lengths.see(s)
	return d.m.add(s)
}

// info reads one label of an info series: Endpoint, Metric, Key, Value.
func (d *metricsCSV) info(row []string) {
	if !isName(row[1]) || !isName(row[2]) || strings.Contains(row[2], ":") {
		return
	}
	key := row[0] + "\x00" + row[1]
	s := d.infos[key]
	if s == nil {
		if len(d.infos) >= maxSettings {
			return
		}
		s = &sample{endpoint: shortURL(row[0]), name: row[1], kind: "info"}
		d.infos[key] = s
		d.infoOrder = append(d.infoOrder, key)
	}
	have := slices.ContainsFunc(s.labels, func(l label) bool { return l.name == row[2] })
	if !have && len(s.labels) < maxSettings {
		s.labels = append(s.labels, label{row[2], row[3]})
	}
}

// splitBuckets reads bound=count;bound=count;….
func splitBuckets(s string) []bucket {
	var out []bucket
	for part := range strings.SplitSeq(s, ";") {
		bound, n, ok := strings.Cut(part, "=")
		v, err := strconv.ParseFloat(n, 64)
		if ok && err == nil && v >= 0 && v-v == 0 && isBound(bound) && len(out) < maxBuckets {
			out = append(out, bucket{bound, v})
		}
	}
	return out
}
