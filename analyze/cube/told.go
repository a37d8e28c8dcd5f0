package cube

import (
	"context"
	"errors"

	"github.com/vreport/vreport/ingest/serving"
)

// ErrTold says that rows are not what the source told of them: its times lie
// beyond its own bounds, or it has names that it did not list. Plan.Distrust has
// the next Fill find out by itself.
var ErrTold = errors.New("the data are not what the file says of them")

// told is the survey by what the parts say of themselves; nil where they do not
// say enough: rows are left out, or names are so many that it matters which are
// the most frequent.
func (s *scanner) told(ctx context.Context, src serving.Requests, plan *Plan, lay *layout) *survey {
	if plan.Distrust || lay.phase >= 0 || plan.Window != (Window{}) {
		return nil
	}
	out := &survey{last: noTime, counts: make([][]int64, len(lay.dims)), told: true}
	for _, p := range src.Parts() {
		q, ok := p.(serving.Surveyed)
		if !ok || q.Rows() < 0 {
			return nil
		}
		out.rows += q.Rows()
		if q.Rows() > 0 && !out.ask(ctx, q, lay) {
			return nil
		}
	}
	most := keepOf(plan)
	if plan.Explore != nil {
		most = min(most, plan.Explore.MaxNames)
	}
	for d, dim := range lay.dims {
		if dim.kind == dimNone {
			out.counts[d] = []int64{out.rows}
		}
		names := 0
		for _, n := range out.counts[d] {
			names += int(min(n, 1))
		}
		if dim.kind == dimText && names > most {
			return nil
		}
	}
	return out
}

// ask takes what a part says. It is false where that is not enough.
func (s *survey) ask(ctx context.Context, p serving.Surveyed, lay *layout) bool {
	if lay.arrival >= 0 {
		from, to, ok := p.Span(serving.ColArrival)
		if !ok {
			return false
		}
		if s.last == noTime || from < s.first {
			s.first = from
		}
		s.last = max(s.last, to)
	}
	for d, dim := range lay.dims {
		switch dim.kind {
		case dimNone, dimTime:
		case dimText:
			codes, missing, ok := p.Texts(ctx, dim.name)
			if !ok {
				return false
			}
			if missing {
				codes = append(codes, none)
			}
			s.mark(d, codes)
		default:
			return false
		}
	}
	return true
}

// mark notes that codes of a dimension occur.
func (s *survey) mark(d int, codes []int32) {
	for _, c := range codes {
		for len(s.counts[d]) <= int(c)+1 {
			s.counts[d] = append(s.counts[d], 0)
		}
		s.counts[d][c+1] = 1
	}
}
