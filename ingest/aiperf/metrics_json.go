package aiperf

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffMetricsJSON says whether a JSON file with these top-level names, whose
// text begins with head, is an aggregated server metrics export, and why not.
func SniffMetricsJSON(keys map[string]bool, head []byte) (ok bool, why string) {
	switch {
	case !keys["metrics"] || !keys["summary"]:
		return false, `no "summary" and "metrics"`
	case !keys["aiperf_version"] && !keys["benchmark_id"] && !hasAny(head, `"endpoints_configured"`):
		return false, `neither "aiperf_version" nor "endpoints_configured"`
	}
	return true, ""
}

// SniffMetricsLines says whether the first record of a JSONL file is a scrape as
// AIPerf keeps it, and why not.
func SniffMetricsLines(keys map[string]bool) (ok bool, why string) {
	if keys["timestamp_ns"] && keys["metrics"] && !keys["metadata"] {
		return true, ""
	}
	return false, `no "timestamp_ns" and "metrics" in a record`
}

// DecidedMetrics says whether these first names already make either decision.
func DecidedMetrics(keys map[string]bool) bool {
	return keys["metrics"] && (keys["timestamp_ns"] || keys["summary"] && keys["aiperf_version"])
}

// DecodeMetricsJSON reads an aggregated server metrics export. It fills in Records
// (series) and Problems of the input.
func DecodeMetricsJSON(ctx context.Context, path string, r io.Reader, in *serving.Input) (*Metrics, error) {
	d := &metricsDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, m: newMetrics(), lengths: lengths{}}
	_, err := d.r.Object(func(name string) error {
		switch name {
		case "summary":
			return d.summary()
		case "metrics":
			_, err := d.r.Object(d.metric)
			return err
		}
		return d.r.Skip()
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == errTooManyPoints {
		in.Problems.Add(serving.Problem{At: d.r.Pos(), Message: err.Error() + ": what follows is left out"})
		err = nil
	}
	if err != nil {
		fe, ok := d.r.Describe(err, FormatServerMetrics).(*serving.FormatError)
		if !ok || len(d.m.series) == 0 {
			return nil, d.r.Describe(err, FormatServerMetrics)
		}
		in.Problems.Add(serving.Problem{At: fe.At, Message: fe.Found + ": what follows is left out"})
	}
	if d.m.empty() {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatServerMetrics, Found: "no series", Want: `"metrics" with "series"`}
	}
	d.m.date(d.lengths)
	return d.m, nil
}

func (m *Metrics) empty() bool { return len(m.series) == 0 && len(m.Levels) == 0 }

type metricsDecoder struct {
	ctx     context.Context
	path    string
	r       *jsonscan.Reader
	in      *serving.Input
	m       *Metrics
	lengths lengths
}

// summary reads when each endpoint was scraped.
func (d *metricsDecoder) summary() error {
	_, err := d.r.Object(func(name string) error {
		if name != "endpoint_info" {
			return d.r.Skip()
		}
		_, err := d.r.Object(func(endpoint string) error {
			var sp span
			_, err := d.r.Object(func(name string) error {
				s, ok, err := d.r.Scalar(32)
				if !ok || err != nil {
					return err
				}
				switch name {
				case "first_update_ns":
					sp.first, _ = epochNanos(s.Text)
				case "last_update_ns":
					sp.last, _ = epochNanos(s.Text)
				}
				return nil
			})
			if len(d.m.spans) < maxSettings {
				d.m.spans[shortURL(endpoint)] = sp
			}
			return err
		})
		return err
	})
	return err
}

// metric reads one metric with its series. The type may stand behind them, so
// they are kept until the metric ends.
func (d *metricsDecoder) metric(name string) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	kind := ""
	var list []*sample
	_, err := d.r.Object(func(key string) error {
		switch key {
		case "type":
			s, _, err := d.r.Text(32)
			kind = s
			return err
		case "series":
			_, err := d.r.Array(func(int) error {
				s, err := d.series(name)
				if s != nil {
					list = append(list, s)
				}
				return err
			})
			return err
		}
		return d.r.Skip()
	})
	if err != nil {
		return err
	}
	if !isName(name) {
		d.in.Problems.AddKind("metric name", d.r.Problemf("%q is no metric's name; left out", jsonscan.Cut(name, maxText)))
		return nil
	}
	for _, s := range list {
		s.kind = kind
		d.in.Records++
		d.lengths.see(s)
		if !d.m.add(s) {
			return errTooManyPoints
		}
	}
	return nil
}

func (d *metricsDecoder) series(name string) (*sample, error) {
	s := &sample{name: name, stats: map[string]float64{}}
	ok, err := d.r.Object(func(key string) error {
		var err error
		switch key {
		case "endpoint_url":
			var v string
			v, _, err = d.r.Text(256)
			s.endpoint = shortURL(v)
		case "labels":
			s.labels, err = readLabels(d.r)
		case "stats":
			s.stats, err = d.stats()
		case "buckets":
			s.buckets, err = readBuckets(d.r)
		case "timeslices":
			_, err = d.r.Array(func(int) error {
				sl, err := d.slice()
				if err == nil && sl.end > 0 && sl.start > 0 && sl.end > sl.start && len(s.slices) < maxPoints {
					s.slices = append(s.slices, sl)
				}
				return err
			})
		default:
			err = d.r.Skip()
		}
		return err
	})
	if !ok {
		return nil, err
	}
	slices.SortStableFunc(s.slices, func(a, b slice) int { return int(min(max(a.start-b.start, -1), 1)) })
	return s, err
}

// stats reads an object of numbers.
func (d *metricsDecoder) stats() (map[string]float64, error) {
	out := map[string]float64{}
	_, err := d.r.Object(func(key string) error {
		v, ok, err := d.r.Float()
		if ok && v-v == 0 && len(out) < 64 {
			out[key] = v
		}
		return err
	})
	return out, err
}

func (d *metricsDecoder) slice() (sl slice, err error) {
	sl.stats = map[string]float64{}
	_, err = d.r.Object(func(key string) error {
		switch key {
		case "start_ns", "end_ns":
			s, ok, err := d.r.Scalar(32)
			if t, good := epochNanos(s.Text); ok && good && key == "start_ns" {
				sl.start = t
			} else if ok && good {
				sl.end = t
			}
			return err
		case "buckets":
			var err error
			sl.buckets, err = readBuckets(d.r)
			return err
		}
		v, ok, err := d.r.Float()
		if ok && v-v == 0 && len(sl.stats) < 16 {
			sl.stats[key] = v
		}
		return err
	})
	return sl, err
}

// readLabels reads an object of texts; labels that could not stand in a series
// are left out.
func readLabels(r *jsonscan.Reader) ([]label, error) {
	var out []label
	_, err := r.Object(func(name string) error {
		v, ok, err := r.Text(512)
		if ok && isName(name) && !strings.Contains(name, ":") && len(out) < 64 {
			out = append(out, label{name, v})
		}
		return err
	})
	return out, err
}

// maxBuckets bounds a histogram.
const maxBuckets = 1000

// readBuckets reads {"bound": count, …}.
func readBuckets(r *jsonscan.Reader) ([]bucket, error) {
	var out []bucket
	_, err := r.Object(func(bound string) error {
		v, ok, err := r.Float()
		if ok && v >= 0 && v-v == 0 && isBound(bound) && len(out) < maxBuckets {
			out = append(out, bucket{bound, v})
		}
		return err
	})
	return out, err
}

// isBound reports whether s can be a bucket's upper bound.
func isBound(s string) bool {
	v, ok := jsonscan.Scalar{Kind: '"', Text: s}.Float()
	return ok && v == v
}
