package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// maxTrail bounds the requests of a run that are looked at one by one. A
// benchmark is held in memory and has far fewer; whatever is larger is judged by
// its time windows.
const maxTrail = 1 << 20

// A trail is a benchmark's requests one by one, in the order they were sent:
// what tells whether a run was steady. NaN is missing.
type trail struct {
	timed bool // start is known; else the order is that of the file
	rows  []sentRequest
}

type sentRequest struct {
	start, ttft, tpot, e2e float64 // seconds; start from an arbitrary origin
	output                 float64 // tokens
	gaps                   float64 // number of gaps between chunks
	outcome                serving.Outcome
}

var trailColumns = []string{serving.ColArrival, string(serving.TTFT), string(serving.TPOT), string(serving.E2E), string(serving.OutputTokens), string(serving.ITL), serving.ColOutcome, serving.ColPhase}

// trail reads the requests of a run's table once more, which is in memory; nil
// of a trace and of a run that is too large.
func (t *table) trail(ctx context.Context, w cube.Window) (*trail, error) {
	if t.run == nil || t.cube.Rows > maxTrail {
		return nil, nil
	}
	return trailOf(ctx, t.src, w)
}

func trailOf(ctx context.Context, src serving.Requests, w cube.Window) (*trail, error) {
	tr := &trail{timed: hasColumn(src, serving.ColArrival)}
	var want []string
	for _, c := range trailColumns {
		if hasColumn(src, c) {
			want = append(want, c)
		}
	}
	for _, p := range src.Parts() {
		err := p.Scan(ctx, want, nil, func(b *serving.Batch) error {
			tr.add(b, want, src, w)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if tr.timed {
		slices.SortStableFunc(tr.rows, func(a, b sentRequest) int { return cmp.Compare(a.start, b.start) })
	}
	return tr, nil
}

// add takes the rows of a batch that the figures are of: no warm-up, nothing
// outside the window.
func (tr *trail) add(b *serving.Batch, want []string, src serving.Requests, w cube.Window) {
	col := map[string]*serving.Vector{}
	for i, name := range want {
		col[name] = &b.Cols[i]
	}
	number := func(name string, i int) float64 {
		v := col[name]
		switch {
		case v == nil || !v.Has(i):
			return math.NaN()
		case v.Kind == serving.KindDuration:
			return v.Floats[i]
		case v.Kind == serving.KindTime:
			return float64(v.Ints[i]) / 1e9
		case v.Kind == serving.KindCount:
			return float64(v.Ints[i])
		case v.Kind == serving.KindGaps:
			return float64(v.Offsets[i+1] - v.Offsets[i])
		}
		return math.NaN()
	}
	for i := range b.N {
		if v := col[serving.ColPhase]; v != nil && v.Has(i) && cube.IsWarmUp(src.Dict(serving.ColPhase).Name(v.Codes[i])) {
			continue
		}
		at := col[serving.ColArrival]
		if at != nil && !at.Has(i) {
			continue // it stands nowhere in the order
		}
		if w != (cube.Window{}) && (at == nil || at.Ints[i] < w.From || at.Ints[i] >= w.To) {
			continue
		}
		r := sentRequest{start: number(serving.ColArrival, i), ttft: number(string(serving.TTFT), i), tpot: number(string(serving.TPOT), i),
			e2e: number(string(serving.E2E), i), output: number(string(serving.OutputTokens), i), gaps: number(string(serving.ITL), i)}
		if v := col[serving.ColOutcome]; v != nil && v.Has(i) {
			r.outcome = serving.Outcome(v.Codes[i])
		}
		tr.rows = append(tr.rows, r)
	}
}

// values are those of the completed requests that have one, in order.
func (tr *trail) values(get func(*sentRequest) float64) []float64 {
	var out []float64
	for i := range tr.rows {
		if v := get(&tr.rows[i]); tr.rows[i].outcome == serving.OK && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// stays returns when each request started and how long it was in the system.
// Requests of unknown length, failed ones mostly, are left out and counted.
func (tr *trail) stays() (start, took []float64, unknown int) {
	for i := range tr.rows {
		if r := &tr.rows[i]; math.IsNaN(r.e2e) {
			unknown++
		} else {
			start, took = append(start, r.start), append(took, r.e2e)
		}
	}
	return start, took, unknown
}

// sending is the time from the first to the last request sent.
func (tr *trail) sending() (from, to float64) {
	return tr.rows[0].start, tr.rows[len(tr.rows)-1].start
}

func ttftOf(r *sentRequest) float64 { return r.ttft }
func e2eOf(r *sentRequest) float64  { return r.e2e }
