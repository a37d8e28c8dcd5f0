package vllm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// Names that only SGLang's bench_serving writes, which shares most others.
var sglangKeys = []string{"server_info", "total_output_tokens_retokenized", "mean_e2e_latency_ms"}

// SniffServe says whether a record with these names is a serve result, and why
// not. All names of the record must be there, or those up to where DecidedServe
// is true: SGLang's records differ by names that may stand last.
func SniffServe(keys map[string]bool) (ok bool, why string) {
	for _, k := range sglangKeys {
		if keys[k] {
			return false, fmt.Sprintf("%q is SGLang's", k)
		}
	}
	if keys["tput_per_gpu"] && keys["hw"] {
		return false, `"tput_per_gpu" and "hw" are InferenceX's`
	}
	if !keys["request_throughput"] && !keys["request_inthroughput"] {
		return false, `no "request_throughput"`
	}
	list := false
	stat := keys["ttfts"] || keys["itls"] || keys["input_sequence_throughput"]
	for k := range keys {
		if _, _, ok := parseStat(k); ok {
			stat = true
		}
		if _, ok := percentileList(k); ok {
			list = true
		}
	}
	switch {
	case !stat && !list:
		return false, `no "mean_ttft_ms" or the like, and no "ttfts"`
	case !keys[keyModel] && !keys[keyBackend] && !list:
		return false, `neither "model_id" nor "backend"`
	}
	return true, ""
}

// DecidedServe says whether these first names of a record already make it a
// serve result, whatever follows: SGLang's records have no model_id.
func DecidedServe(keys map[string]bool) bool {
	if !keys[keyModel] {
		return false
	}
	ok, _ := SniffServe(keys)
	return ok
}

// DecodeServe reads a result file of `vllm bench serve`: one record, records
// after each other as --append-result writes them, or an array of them as in
// the summary.json of a sweep. A run comes of each, in file order.
//
// It fills in Records, Fields and Problems of the input. Damaged records are
// problems; an error means that no run could be read.
func DecodeServe(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &serveDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, seen: map[string]bool{}}
	_, d.layout, d.err = d.r.Records(FormatServe, &in.Problems, d.record)
	in.Records = int64(len(d.runs))
	if d.warmups > 0 {
		in.Note = fmt.Sprintf("%d warm-up records (%s below 0) are left out", d.warmups, keyRunNumber)
	}
	if d.err != nil {
		return nil, d.r.Describe(d.err, FormatServe)
	}
	if len(d.runs) == 0 && d.warmups == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatServe, Found: "no serve result: " + d.why,
			Want: "a record with request_throughput and TTFT figures"}
	}
	d.place()
	return d.runs, nil
}

type serveDecoder struct {
	ctx     context.Context
	path    string
	r       *jsonscan.Reader
	in      *serving.Input
	layout  jsonscan.Layout
	seen    map[string]bool // names in in.Fields
	runs    []*serving.Run
	warmups int
	why     string // why the last record was none
	err     error
}

// place corrects where each run's record stands, once the layout is known: the
// only record of a file needs no more than the file, and only the elements of an
// array have an index.
func (d *serveDecoder) place() {
	for _, run := range d.runs {
		switch d.layout {
		case jsonscan.Single:
			run.Source = serving.Pos{Path: d.path}
		case jsonscan.Lines:
			run.Source.Field = ""
		}
	}
}

// record reads one record and turns it into a run.
func (d *serveDecoder) record(i int) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	at := serving.Pos{Path: d.path, Line: d.r.NextLine(), Field: fmt.Sprintf("[%d]", i)}
	rec := &record{decoder: d, keys: map[string]bool{}, scalars: map[string]jsonscan.Scalar{}, arrays: newArrays()}
	ok, err := d.r.Object(rec.member)
	if err != nil {
		return err
	}
	if !ok {
		d.why = "the value is no object"
		d.in.Problems.AddKind("no object", serving.Problem{At: at, Message: "the record is no JSON object: left out"})
		return nil
	}
	if ok, why := SniffServe(rec.keys); !ok {
		d.why = why
		d.in.Problems.AddKind("no serve record", serving.Problem{At: at, Message: "the record is no serve result: " + why + "; left out"})
		return nil
	}
	if n, ok := rec.number(keyRunNumber); ok && n < 0 {
		d.warmups++
		return nil
	}
	d.runs = append(d.runs, rec.run(at))
	return nil
}

// Bounds on what a record may make us remember.
const (
	maxKeys      = 4096
	maxDepth     = 4         // of nested settings
	maxText      = 1 << 10   // of a setting
	maxErrorText = 64 << 10  // of an error that is looked at
	maxGaps      = 1 << 30   // of a record, so that offsets fit 32 bits
	maxPrealloc  = 32 << 20  // gaps that are made room for before they are seen
	maxFields    = 1000      // of an input
	checkEvery   = 1<<14 - 1 // elements between looks at the context
)

// A record is one result as it stands in the file.
type record struct {
	decoder *serveDecoder
	keys    map[string]bool // all top-level names
	order   []string        // names of scalars in file order; nested ones dotted
	scalars map[string]jsonscan.Scalar
	lists   []percentile
	perPos  []float64 // acceptance rates by draft position, shares
	arrays  arrays
	unused  []string // arrays that are known and left out
}

// A percentile is one element of a percentiles_…_ms list.
type percentile struct {
	field string
	m     serving.MetricKey
	stat  string
	ms    float64
}

// member reads one top-level member.
func (rec *record) member(key string) error {
	d := rec.decoder
	if rec.keys[key] {
		d.in.Problems.AddKind("twice "+jsonscan.Cut(key, 40), d.r.Problemf("%s stands twice in one record; the last counts", jsonscan.Cut(key, 40)))
	}
	if len(rec.keys) < maxKeys {
		rec.keys[key] = true
	}
	if !d.seen[key] && len(d.in.Fields) < maxFields {
		d.seen[key] = true
		d.in.Fields = append(d.in.Fields, fieldOf(key))
	}
	switch a := arrayNames[key]; {
	case a == skippedText:
		return d.r.Skip()
	case a == unusedArray:
		rec.unused = append(rec.unused, key)
		return d.r.Skip()
	case a != noArray && d.r.Peek() == '[':
		return rec.array(key, a)
	case key == keyPerPosition:
		var err error
		rec.perPos, err = d.floats(nil, key, 1024)
		return err
	}
	if m, ok := percentileList(key); ok {
		return rec.percentiles(key, m)
	}
	return rec.setting(key, 0)
}

// setting reads a scalar, or the scalars inside an object under dotted names.
func (rec *record) setting(key string, depth int) error {
	r := rec.decoder.r
	if r.Peek() == '{' && depth < maxDepth && !isResult(key) {
		_, err := r.Object(func(name string) error {
			if isResult(name) {
				return r.Skip()
			}
			return rec.setting(key+"."+name, depth+1)
		})
		return err
	}
	s, ok, err := r.Scalar(maxText)
	if err != nil || !ok {
		return err
	}
	if _, again := rec.scalars[key]; !again {
		if len(rec.order) >= maxKeys {
			return nil
		}
		rec.order = append(rec.order, key)
	}
	rec.scalars[key] = s // of a repeated name the last counts, as in Python
	return nil
}

// percentiles reads [[p, ms], …] or {"p": ms, …}.
func (rec *record) percentiles(key string, m serving.MetricKey) error {
	r := rec.decoder.r
	add := func(p, ms float64, ok bool) {
		stat, named := percentileName(p)
		if ok && named && len(rec.lists) < maxKeys {
			rec.lists = append(rec.lists, percentile{key, m, stat, ms})
		}
	}
	if r.Peek() == '{' {
		_, err := r.Object(func(name string) error {
			ms, ok, err := r.Float()
			p, isNum := jsonscan.Scalar{Kind: '"', Text: trimP(name)}.Float()
			add(p, ms, ok && isNum)
			return err
		})
		return err
	}
	_, err := r.Array(func(int) error {
		pair, err := rec.decoder.floats(nil, key, 2)
		if len(pair) == 2 {
			add(pair[0], pair[1], !math.IsNaN(pair[1]))
		}
		return err
	})
	return err
}

func trimP(s string) string {
	if len(s) > 1 && (s[0] == 'p' || s[0] == 'P') {
		return s[1:]
	}
	return s
}

// number returns a top-level scalar as a number; NaN and infinities are not.
func (rec *record) number(key string) (float64, bool) {
	v, ok := rec.scalars[key].Float()
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// text returns a top-level scalar's text; null and "" are none.
func (rec *record) text(key string) serving.Opt[string] {
	s, ok := rec.scalars[key]
	if !ok || s.IsNull() || s.Text == "" {
		return serving.None[string]()
	}
	return serving.Some(s.Text)
}

var errTooManyGaps = errors.New("more than 2^30 gaps in one record")
