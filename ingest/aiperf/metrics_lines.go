package aiperf

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// WriteScrapes turns server_metrics_export.jsonl, a scrape a line, into
// concatenated scrapes in the Prometheus text format. Nothing is aggregated in
// this file; but AIPerf takes the _total off counters and does not say which
// metrics are counters, so each single value is written under both names: the
// reader's vocabulary has one of them.
//
// It fills in Records (lines) and Problems of the input.
func WriteScrapes(ctx context.Context, path string, r io.Reader, in *serving.Input, w io.Writer) error {
	d := &linesDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, w: &countingWriter{w: bufio.NewWriter(w)}}
	_, _, err := d.r.Records(FormatServerMetrics, &in.Problems, d.record)
	in.Records = d.lines
	if err != nil {
		return d.r.Describe(err, FormatServerMetrics)
	}
	if d.bare > 0 {
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: path}, Count: d.bare,
			Message: "histograms without the bounds of their buckets, as versions of 2025 wrote them: only sums and counts are read"})
	}
	if d.w.err != nil {
		return d.w.err
	}
	return d.w.w.Flush()
}

type linesDecoder struct {
	ctx   context.Context
	path  string
	r     *jsonscan.Reader
	in    *serving.Input
	w     *countingWriter
	lines int64
	bare  int

	text []string // of the record being read
}

// record reads one scrape. Its time may stand behind its metrics, so that its
// lines are kept until it ends.
func (d *linesDecoder) record(int) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	at := serving.Pos{Path: d.path, Line: d.r.NextLine()}
	d.text = d.text[:0]
	var when int64
	endpoint := ""
	_, err := d.r.Object(func(name string) error {
		switch name {
		case "timestamp_ns":
			s, ok, err := d.r.Scalar(32)
			if ok {
				when, _ = epochNanos(s.Text)
			}
			return err
		case "endpoint_url", "server_url":
			s, _, err := d.r.Text(256)
			endpoint = shortURL(s)
			return err
		case "metrics":
			_, err := d.r.Object(d.metric)
			return err
		}
		return d.r.Skip()
	})
	switch {
	case err != nil:
		return err
	case when < 1e18:
		d.in.Problems.AddKind("time", serving.Problem{At: at, Message: "no timestamp_ns, want nanoseconds since the epoch; the scrape is left out"})
		return nil
	case len(d.text) == 0:
		return nil
	}
	d.lines++
	writeHead(d.w, endpoint, when)
	d.w.print(d.text...)
	return d.w.err
}

func (d *linesDecoder) line(key string, v float64) {
	if len(d.text) < maxPoints {
		d.text = append(d.text, key, " ", strconv.FormatFloat(v, 'g', -1, 64), "\n")
	}
}

// metric reads the samples of one metric.
func (d *linesDecoder) metric(name string) error {
	if !isName(name) {
		return d.r.Skip()
	}
	_, err := d.r.Array(func(int) error { return d.sample(name) })
	return err
}

func (d *linesDecoder) sample(name string) error {
	var labels []label
	var buckets []bucket
	found := map[string]float64{}
	_, err := d.r.Object(func(key string) error {
		var err error
		switch key {
		case "labels":
			labels, err = readLabels(d.r)
		case "value", "sum", "count":
			v, ok, e := d.r.Float()
			if ok && v-v == 0 {
				found[key] = v
			}
			err = e
		case "histogram", "buckets":
			if d.r.Peek() == '[' {
				d.bare++
			}
			if d.r.Peek() != '{' {
				return d.r.Skip()
			}
			buckets, err = readBuckets(d.r)
		default:
			err = d.r.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if v, ok := found["value"]; ok {
		d.line(seriesKey(name, labels), v)
		if !strings.HasSuffix(name, total) {
			d.line(seriesKey(name+total, labels), v)
		}
	}
	for _, b := range buckets {
		d.line(seriesKey(name+"_bucket", append(slices.Clone(labels), label{"le", b.bound})), b.n)
	}
	for _, k := range []string{"sum", "count"} {
		if v, ok := found[k]; ok {
			d.line(seriesKey(name+"_"+k, labels), v)
		}
	}
	return nil
}
