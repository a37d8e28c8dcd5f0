package samples

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// The tests read what was generated with as little as possible: encoding/json,
// parquet-go and splitting of lines. They share no code with the writers.

// compact generates the committed samples once for all tests.
var compact = sync.OnceValues(func() ([]made, error) { return generate(sets, DefaultSeed, false) })

// sample is one set as its reader finds it.
type sample struct {
	t     *testing.T
	files []file
	truth truth
	dir   string
}

func open(t *testing.T, dir string) sample {
	t.Helper()
	all, err := compact()
	if err != nil {
		t.Fatal(err)
	}
	return find(t, all, dir)
}

func find(t *testing.T, all []made, dir string) sample {
	t.Helper()
	for _, m := range all {
		if m.set.dir == dir {
			return sample{t, m.files, m.truth, dir}
		}
	}
	t.Fatalf("no set %s", dir)
	return sample{}
}

// match returns the set's files that fit a pattern, in name order.
func (s sample) match(pattern string) []file {
	s.t.Helper()
	var out []file
	for _, f := range s.files {
		ok, err := path.Match(s.dir+"/"+pattern, f.path)
		if err != nil {
			s.t.Fatal(err)
		}
		if ok {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		s.t.Fatalf("%s: no file %s", s.dir, pattern)
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return out
}

// row is a line of the trace as a reader of the file finds it.
type row struct {
	ID       string   `parquet:"request_id"`
	Arrival  int64    `parquet:"arrival_time,timestamp(microsecond)"`
	Model    string   `parquet:"model"`
	Replica  string   `parquet:"replica"`
	Workload string   `parquet:"workload"`
	Attempt  int32    `parquet:"attempt"`
	Prompt   int64    `parquet:"prompt_tokens"`
	Cached   *int64   `parquet:"cached_prompt_tokens,optional"`
	Output   int64    `parquet:"output_tokens"`
	Queue    *float64 `parquet:"queue_time_s,optional"`
	Prefill  *float64 `parquet:"prefill_time_s,optional"`
	Decode   *float64 `parquet:"decode_time_s,optional"`
	TTFT     *float64 `parquet:"ttft_s,optional"`
	E2E      float64  `parquet:"e2e_s"`
	Status   string   `parquet:"status"`
	Finish   *string  `parquet:"finish_reason,optional"`
	HTTP     *int32   `parquet:"http_status,optional"`
	Preempt  int32    `parquet:"preemptions"`
}

func (r row) at() float64  { return float64(r.Arrival) / 1e6 }
func (r row) end() float64 { return r.at() + r.E2E }

func (s sample) rows(name string) []row {
	s.t.Helper()
	f := s.match(name)[0]
	rows, err := parquet.Read[row](bytes.NewReader(f.data), int64(len(f.data)))
	if err != nil {
		s.t.Fatalf("%s: %v", f.path, err)
	}
	return rows
}

// prom is a scrape: series text to value, and its time.
type prom struct {
	at     float64
	values map[string]map[string]float64 // name → labels → value
}

// get adds up all samples of a name whose labels hold the given text.
func (p prom) get(name, label string) float64 {
	sum := 0.0
	for labels, v := range p.values[name] {
		if strings.Contains(labels, label) {
			sum += v
		}
	}
	return sum
}

func parseProm(t *testing.T, f file) prom {
	t.Helper()
	p := prom{values: map[string]map[string]float64{}}
	for line := range strings.Lines(string(f.data)) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "# Timestamp: "); ok {
			at, err := time.Parse(time.RFC3339, v)
			if err != nil {
				t.Fatal(err)
			}
			p.at = float64(at.Unix())
		}
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("%s: %q: %v", f.path, line, err)
		}
		name, labels, _ := strings.Cut(line[:i], "{")
		if p.values[name] == nil {
			p.values[name] = map[string]float64{}
		}
		if _, twice := p.values[name][labels]; twice {
			t.Fatalf("%s: %s stands twice", f.path, line[:i])
		}
		p.values[name][labels] = v
	}
	return p
}

func (s sample) scrapes(pod string) []prom {
	s.t.Helper()
	var out []prom
	for _, f := range s.match("metrics/" + pod + "_*_metrics.log") {
		p := parseProm(s.t, f)
		if want := fmt.Sprintf("%s_%d_metrics.log", pod, int64(p.at)); path.Base(f.path) != want {
			s.t.Fatalf("%s: the header's time would be %s", f.path, want)
		}
		out = append(out, p)
	}
	return out
}

// gauge is a metric over time, added up over the given pods, between two times.
func gauge(scrapes []prom, name string, from, to float64) []float64 {
	var out []float64
	for _, p := range scrapes {
		if p.at >= from && p.at < to {
			out = append(out, p.get(name, ""))
		}
	}
	return out
}

// increase is how much a counter grew between two times, over resets too.
func increase(scrapes []prom, name, label string, from, to float64) float64 {
	sum, last := 0.0, math.NaN()
	for _, p := range scrapes {
		if p.at < from || p.at > to {
			continue
		}
		v := p.get(name, label)
		switch {
		case math.IsNaN(last):
		case v < last:
			sum += v
		default:
			sum += v - last
		}
		last = v
	}
	return sum
}

// result is a benchmark file.
type result struct {
	MaxConcurrency int       `json:"max_concurrency"`
	NumPrompts     int       `json:"num_prompts"`
	Duration       float64   `json:"duration"`
	Completed      int       `json:"completed"`
	Failed         int       `json:"failed"`
	In             int       `json:"total_input_tokens"`
	Out            int       `json:"total_output_tokens"`
	Requests       float64   `json:"request_throughput"`
	OutputRate     float64   `json:"output_throughput"`
	InputLens      []int     `json:"input_lens"`
	OutputLens     []int     `json:"output_lens"`
	TTFTs          []float64 `json:"ttfts"`
	Starts         []float64 `json:"start_times"`
	ITLs           [][]float64
	Errors         []string
	MeanTTFT       float64 `json:"mean_ttft_ms"`
	P99TTFT        float64 `json:"p99_ttft_ms"`
	MeanTPOT       float64 `json:"mean_tpot_ms"`
	P95TPOT        float64 `json:"p95_tpot_ms"`
	StdTPOT        float64 `json:"std_tpot_ms"`
	MeanITL        float64 `json:"mean_itl_ms"`
	MeanE2EL       float64 `json:"mean_e2el_ms"`
}

func (s sample) bench(pattern string) []result {
	s.t.Helper()
	var out []result
	for _, f := range s.match(pattern) {
		var r result
		if err := json.Unmarshal(f.data, &r); err != nil {
			s.t.Fatalf("%s: %v", f.path, err)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b result) int { return cmp.Compare(a.MaxConcurrency, b.MaxConcurrency) })
	return out
}

// tpots are the requests' TPOT in ms.
func (r result) tpots() []float64 {
	var out []float64
	for i, gaps := range r.ITLs {
		if r.OutputLens[i] > 1 {
			out = append(out, 1000*sum(gaps)/float64(r.OutputLens[i]-1))
		}
	}
	return out
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

func mean(v []float64) float64 { return sum(v) / float64(len(v)) }

// q is the type 7 quantile, written again so that the writers' is not trusted.
func q(v []float64, p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	h := p * float64(len(v)-1)
	lo, hi := int(math.Floor(h)), int(math.Ceil(h))
	return v[lo] + (h-math.Floor(h))*(v[hi]-v[lo])
}

// each maps the rows in a window (and only those that have the value).
func each(rows []row, from, to float64, f func(row) (float64, bool)) []float64 {
	var out []float64
	for _, r := range rows {
		if r.at() >= from && r.at() < to {
			if v, ok := f(r); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

func value(p func(row) *float64) func(row) (float64, bool) {
	return func(r row) (float64, bool) {
		if v := p(r); v != nil {
			return *v, true
		}
		return 0, false
	}
}

var (
	ttft    = value(func(r row) *float64 { return r.TTFT })
	queue   = value(func(r row) *float64 { return r.Queue })
	prefill = value(func(r row) *float64 { return r.Prefill })
)

func tpot(r row) (float64, bool) {
	if r.Decode == nil || r.Output < 2 {
		return 0, false
	}
	return *r.Decode / float64(r.Output-1), true
}

func prompt(r row) (float64, bool) { return float64(r.Prompt), true }

// window is the truth's window in unix seconds; the baseline is what precedes.
func (s sample) window() (from, to float64) {
	s.t.Helper()
	a, err := time.Parse(time.RFC3339, s.truth.From)
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := time.Parse(time.RFC3339, s.truth.To)
	if err != nil {
		s.t.Fatal(err)
	}
	return float64(a.Unix()), float64(b.Unix())
}

func (s sample) fact(name string) any {
	s.t.Helper()
	for _, f := range s.truth.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	s.t.Fatalf("%s: no fact %s", s.dir, name)
	return nil
}
