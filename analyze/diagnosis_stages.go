package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A Stage says where the time of a set of requests went, in seconds. NaN is not
// known. Queue, prefill, decode, front end and residual add up to the whole.
type Stage struct {
	Of      serving.MetricKey // ttft or e2e
	By      []serving.Term
	Window  string // baseline, incident, all
	Band    string // mean, or p95: the requests around it
	Source  string
	N       int
	Whole   float64
	Queue   float64
	Prefill float64
	Decode  float64 // NaN of ttft
	Front   float64
	Rest    float64
	Tail    bool // the band does not stand for p95: these are all requests from it on
	Means   bool // from histograms: differences of sums, no single requests
}

// stages decomposes TTFT and E2E over each phase.
func (u *diagSubject) stages() []Stage {
	var out []Stage
	for _, s := range u.sources {
		p := u.phases[s]
		type named struct {
			name string
			ph   *phase
		}
		list := []named{{"all", p.bad}}
		if p.known {
			list = []named{{"baseline", p.base}, {"incident", p.bad}}
		}
		for _, n := range list {
			if n.ph == nil {
				continue
			}
			if s.rows == nil {
				out = append(out, histogramStages(n.name, n.ph, s.label)...)
				continue
			}
			rows := s.rows.among(n.ph.From, n.ph.To)
			out = append(out, rowStages(nil, n.name, s.label, rows, -1, true)...)
			if len(s.rows.workloads) > 1 && len(s.rows.workloads) <= 8 {
				for _, w := range n.ph.Workloads {
					k := slices.Index(s.rows.workloads, w.Name)
					out = append(out, rowStages([]serving.Term{{Dim: serving.ColWorkload, Value: w.Name}}, n.name, s.label, rows, k, false)...)
				}
			}
		}
	}
	return out
}

// rowStages decomposes requests one by one, those that have all stages: of one
// workload, or of all (-1).
func rowStages(by []serving.Term, window, source string, rows []diagRow, workload int, band bool) []Stage {
	ttft, e2e := make([]*diagRow, 0, len(rows)), make([]*diagRow, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if workload >= 0 && r.workload != int32(workload) || r.outcome != serving.OK || math.IsNaN(r.queue+r.prefill+r.front()) {
			continue
		}
		ttft = append(ttft, r)
		if !math.IsNaN(r.rest()) {
			e2e = append(e2e, r)
		}
	}
	var out []Stage
	add := func(of serving.MetricKey, rows []*diagRow, whole func(*diagRow) float64, parts []func(*diagRow) float64) {
		if len(rows) == 0 {
			return
		}
		x, split := valuesAt(rows, whole), make([][]float64, len(parts))
		m := make([]float64, len(parts))
		for k, get := range parts {
			split[k] = valuesAt(rows, get)
			m[k] = spreadMean(split[k])
		}
		st := Stage{Of: of, By: by, Window: window, Band: "mean", Source: source, N: len(rows), Whole: spreadMean(x)}
		st.fill(m)
		out = append(out, st)
		if !band || len(rows) < leastForP95 {
			return
		}
		if b, ok := stat.TailBand(x, split, 0.95); ok {
			st := Stage{Of: of, By: by, Window: window, Band: "p95", Source: source, N: b.N, Whole: b.Mean, Tail: b.Tail}
			st.fill(b.Parts)
			out = append(out, st)
		}
	}
	add(serving.TTFT, ttft, (*diagRow).first, stageParts[:3])
	add(serving.E2E, e2e, func(r *diagRow) float64 { return r.e2e }, stageParts)
	return out
}

// stageParts are the parts of E2E; the first three are those of TTFT.
var stageParts = []func(*diagRow) float64{
	func(r *diagRow) float64 { return r.queue }, func(r *diagRow) float64 { return r.prefill }, (*diagRow).front,
	func(r *diagRow) float64 { return r.decode }, (*diagRow).rest,
}

func valuesAt(rows []*diagRow, get func(*diagRow) float64) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = get(r)
	}
	return out
}

func spreadMean(x []float64) float64 { return stat.Sum(x) / float64(len(x)) }

func (s *Stage) fill(parts []float64) {
	s.Queue, s.Prefill, s.Front, s.Decode = parts[0], parts[1], parts[2], nan
	s.Rest = s.Whole - s.Queue - s.Prefill - s.Front
	if len(parts) > 3 {
		s.Decode = parts[3]
		s.Rest -= s.Decode
	}
	for _, x := range []*float64{&s.Rest, &s.Front} {
		if math.Abs(*x) < 1e-6 { // rounding: no clock here is finer
			*x = 0
		}
	}
}

// histogramStages are differences of sums over counts. TTFT is of the requests
// that had their first token in the window, the stages of those that ended in
// it: the residual is what that leaves.
func histogramStages(window string, p *phase, source string) []Stage {
	var out []Stage
	if p.Queue.N == 0 || p.Prefill.N == 0 {
		return nil
	}
	if p.E2E.N > 0 && p.Decode.N > 0 && !math.IsNaN(p.Frontend.Mean) {
		s := Stage{Of: serving.E2E, Window: window, Band: "mean", Source: source, N: int(p.E2E.N), Whole: p.E2E.Mean, Means: true}
		s.fill([]float64{p.Queue.Mean, p.Prefill.Mean, p.Frontend.Mean, p.Decode.Mean})
		out = append(out, s)
	}
	if p.TTFT.N > 0 {
		front := nan
		if !math.IsNaN(p.Frontend.Mean) {
			front = p.Frontend.Mean
		}
		s := Stage{Of: serving.TTFT, Window: window, Band: "mean", Source: source, N: int(p.TTFT.N), Whole: p.TTFT.Mean, Means: true}
		s.fill([]float64{p.Queue.Mean, p.Prefill.Mean, front})
		if math.IsNaN(front) {
			s.Rest = s.Whole - s.Queue - s.Prefill
		}
		out = append(out, s)
	}
	return out
}
