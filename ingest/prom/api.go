package prom

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// FormatAPI is the contract's name of the answers of Prometheus' HTTP API.
const FormatAPI = "prometheus-api"

var (
	resultType = regexp.MustCompile(`"resultType"\s*:\s*"(matrix|vector|scalar)"`)
	resultList = regexp.MustCompile(`"result"\s*:\s*\[\s*\{\s*"metric"\s*:`)
	errorReply = regexp.MustCompile(`"status"\s*:\s*"error"`)
	errorType  = regexp.MustCompile(`"errorType"\s*:`)
)

// SniffAPI reports whether a JSON input holds answers of Prometheus' query or
// query_range, by its beginning.
func SniffAPI(head []byte) (ok bool, why string) {
	switch {
	case resultType.Match(head) && bytes.Contains(head, []byte(`"result"`)), resultList.Match(head),
		errorReply.Match(head) && errorType.Match(head):
		return true, ""
	}
	return false, `no "resultType" matrix, vector or scalar with a "result"`
}

// DecodeAPI reads saved answers of the HTTP API, one or several after each other,
// alone or below the names a script gave them, into scrapes for Assemble.
//
// A series that has its name is the exporter's own. One without is an expression
// that was evaluated: a level, shown under the name of the query where the file
// has it and else that of the file, which no rate is taken of. raw keeps every
// series that has its name: see ParseRaw.
func DecodeAPI(ctx context.Context, path string, r io.Reader, in *serving.Input, raw bool) ([]*Scrape, error) {
	a := &apiReader{ctx: ctx, r: jsonscan.NewReader(path, r), in: in, path: path,
		rec: newRecording(path, in, FormatAPI), rows: map[string]*row{}}
	a.rec.raw = raw
	_, _, err := a.r.Records(FormatAPI, &in.Problems, func(int) error { return a.value(fileStem(path), 0) })
	if err != nil {
		return nil, a.r.Describe(err, FormatAPI)
	}
	a.rec.dropOwn()
	if a.refused != "" && a.rec.records == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatAPI, Found: "the answer is an error: " + a.refused, Want: `"status":"success"`}
	}
	return a.rec.finish(`{"status":"success","data":{"resultType":"matrix","result":[…]}} with a series in it`)
}

func fileStem(path string) string {
	base := filepath.Base(path)
	for {
		ext := filepath.Ext(base)
		if ext == "" || ext == base || len(ext) > 5 {
			return base
		}
		base = strings.TrimSuffix(base, ext)
	}
}

type apiReader struct {
	ctx     context.Context
	path    string
	r       *jsonscan.Reader
	in      *serving.Input
	rec     *recording
	rows    map[string]*row // of figures under their own names
	refused string
}

const (
	maxAPIDepth = 6
	maxText     = 512 // bytes of a label value or an expression
)

// value reads an answer, or looks for answers within an object; name is what the
// expression is called so far.
func (a *apiReader) value(name string, depth int) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if depth > maxAPIDepth {
		return a.r.Skip()
	}
	if a.r.Peek() == '[' {
		_, err := a.r.Array(func(int) error { return a.value(name, depth+1) })
		return err
	}
	_, err := a.r.Object(func(key string) error {
		switch key {
		case "query", "expr", "promql", "expression":
			s, ok, err := a.r.Text(maxText)
			if ok && s != "" {
				name = s
			}
			return err
		case "result":
			return a.result(name)
		case "error":
			s, ok, err := a.r.Text(maxText)
			if ok && s != "" {
				a.refused = s
				a.in.Problems.Add(serving.Problem{At: serving.Pos{Path: a.path, Line: a.r.Line()}, Message: "the answer is an error: " + s})
			}
			return err
		case "warnings", "infos":
			_, err := a.r.Array(func(int) error {
				s, ok, err := a.r.Text(maxText)
				if ok {
					a.in.Problems.AddKind(key, serving.Problem{At: serving.Pos{Path: a.path, Line: a.r.Line()}, Message: "Prometheus remarked: " + s})
				}
				return err
			})
			return err
		case "data", "response":
			return a.value(name, depth+1)
		}
		if k := a.r.Peek(); k == '{' || k == '[' && depth == 0 {
			return a.value(key, depth+1)
		}
		return a.r.Skip()
	})
	return err
}

// result reads the series of an answer, or the one pair of a scalar.
func (a *apiReader) result(name string) error {
	var scalar [2]float64
	n := 0
	_, err := a.r.Array(func(i int) error {
		if a.r.Peek() == '{' {
			return a.series(name)
		}
		v, ok, err := a.r.Float()
		if ok && i < 2 {
			scalar[i], n = v, n+1
		}
		return err
	})
	if err == nil && n == 2 {
		if when, ok := apiTime(scalar[0]); ok {
			t := a.track(name, nil)
			a.rec.put(t, when, scalar[1])
		}
	}
	return err
}

// apiTime reads seconds since the epoch.
func apiTime(s float64) (int64, bool) {
	if !(s > 0 && s < 9e9) {
		return 0, false
	}
	return int64(math.Round(s*1e3)) * 1e6, true // Prometheus has milliseconds
}

type apiSample struct {
	when  int64
	value float64
}

func (a *apiReader) series(name string) error {
	var t *recorded
	var early []apiSample // of a file that has the labels behind the values
	put := func(s apiSample) {
		if t != nil {
			a.rec.put(t, s.when, s.value)
		} else if len(early) < maxRecorded {
			early = append(early, s)
		}
	}
	pair := func() error {
		var s apiSample
		n := 0
		at, value := math.NaN(), ""
		_, err := a.r.Array(func(i int) error {
			sc, ok, err := a.r.Scalar(64)
			if v, isNum := sc.Float(); ok && i == 0 && isNum {
				at, n = v, n+1
			}
			if ok && i == 1 {
				value, n = sc.Text, n+1
			}
			return err
		})
		if err != nil {
			return err
		}
		var okTime bool
		s.when, okTime = apiTime(at)
		v, perr := strconv.ParseFloat(value, 64)
		if n != 2 || !okTime || perr != nil {
			a.in.Problems.AddKind("sample", a.r.Problemf("a sample is not [seconds, \"value\"]; it is left out"))
			return nil
		}
		s.value = v
		put(s)
		return nil
	}
	_, err := a.r.Object(func(key string) error {
		switch key {
		case "metric":
			ls := map[string]string{}
			_, err := a.r.Object(func(l string) error {
				v, ok, err := a.r.Text(maxText)
				if ok {
					ls[l] = v
				}
				return err
			})
			if err != nil {
				return err
			}
			t = a.track(name, ls)
			for _, s := range early {
				a.rec.put(t, s.when, s.value)
			}
			early = nil
			return nil
		case "value":
			return pair()
		case "values":
			_, err := a.r.Array(func(int) error { return pair() })
			return err
		case "histogram", "histograms":
			a.in.Problems.AddKind("native", a.r.Problemf("a native histogram is not read"))
		}
		return a.r.Skip()
	})
	if err == nil && t == nil && len(early) > 0 {
		t = a.track(name, nil)
		for _, s := range early {
			a.rec.put(t, s.when, s.value)
		}
	}
	return err
}

// track finds the series of these labels.
func (a *apiReader) track(query string, m map[string]string) *recorded {
	ls := labels.FromMap(m)
	name := m[nameLabel]
	text := cmp.Or(name, query) + "\x00" + ls.String()
	if t := a.rec.series[text]; t != nil {
		return t
	}
	if name == "" {
		return a.rec.add(text, query, ownGauge(a.rows, query, query, ls, serving.NoUnit), ls)
	}
	s, err := newSeries(name, ls)
	if err != nil {
		a.in.Problems.AddKind("series", a.r.Problemf("%s: %s; the series is left out", name, shortened(err)))
	}
	if _, known := meaningOf(name); !known && err == nil && isLevel(name) {
		s = ownGauge(a.rows, name, name, ls, serving.NoUnit)
		s.row.spare = true
	}
	return a.rec.add(text, name, s, ls)
}

// isLevel reports whether a name is not one of a counter or a part of a
// histogram, of which the raw course says nothing.
func isLevel(name string) bool {
	if unusedWhy[canonical(name)] != "" {
		return false
	}
	for _, s := range [...]string{"_total", "_bucket", "_sum", "_count", "_created", "_info"} {
		if strings.HasSuffix(name, s) {
			return false
		}
	}
	return true
}

// maxOwn is how many series without a meaning are shown under their own names:
// whoever asked for a few wants to see them, but a whole database is no report.
const maxOwn = 24

// dropOwn leaves out series under their own names where there are many.
func (r *recording) dropOwn() {
	spare, own := 0, 0
	for _, t := range r.order {
		switch {
		case t.row.spare:
			spare++
		case t.row.own:
			own++
		}
	}
	if own > 10*maxOwn {
		r.in.Problems.Add(serving.Problem{At: serving.Pos{Path: r.path},
			Message: fmt.Sprintf("there are %d series of evaluated expressions; the first %d are shown", own, 10*maxOwn)})
	}
	kept, n := r.order[:0], 0
	for _, t := range r.order {
		if t.row.own && !t.row.spare {
			if n++; n > 10*maxOwn {
				continue
			}
		}
		if t.row.spare && spare > maxOwn {
			continue
		}
		kept = append(kept, t)
	}
	r.order = kept
}
