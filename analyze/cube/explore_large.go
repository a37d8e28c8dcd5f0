package cube

// exploreView resolves the cross of a streamed source: the last of its views.
func (s *scanner) exploreView(plan *Plan, found *survey, win *windows) view {
	e := plan.Explore
	v := view{explore: true}
	v.dims, v.left = e.choose(func(name string) int {
		d := s.lay.dim[name]
		return s.lay.dims[d].breadth(func() *ranking { return found.rank(s.lay, d, win) }, e.MaxNames)
	})
	for _, name := range v.dims {
		d := s.lay.dim[name]
		lv := found.rank(s.lay, d, win).levels(e.MaxNames)
		v.axes = append(v.axes, axis{d, &lv})
	}
	return v
}

// explored returns the cross, nil where there is none. Its histograms come from
// those of the leaves, which may be finer.
func (f *finisher) explored() *Explored {
	last := len(f.views) - 1
	if last < 0 || !f.views[last].explore {
		return nil
	}
	v, e := &f.views[last], f.plan.Explore
	labels := make([][]string, len(v.axes))
	for i, a := range v.axes {
		labels[i] = a.lv.labels()
	}
	x := newExplored(e, f.cube.Groups[last], v.left, labels)
	s := f.stocks[v.family]
	r := newCoarsening(&s.f.scale, e.Bits)
	for _, k := range e.Metrics {
		m, ok := f.lay.index[k]
		if !ok || !s.f.shown[m] {
			continue
		}
		x.Metrics = append(x.Metrics, k)
		for c, leaves := range f.members[last] {
			x.Cells[c].Histograms = append(x.Cells[c].Histograms, r.histogram(s, m, leaves))
		}
	}
	x.finish(e)
	return x
}

// A coarsening numbers the buckets of a scale by another one with fewer mantissa
// bits.
type coarsening struct {
	of     []uint16
	counts []int64 // scratch, by coarse bucket
}

func newCoarsening(l *scale, bits uint) *coarsening {
	r := &coarsening{of: make([]uint16, l.buckets())}
	for b := range r.of {
		r.of[b] = coarser(uint16(b), l.s, bits)
	}
	r.counts = make([]int64, int(r.of[len(r.of)-1])+1)
	return r
}

// histogram sums the values of leaves, by coarse buckets.
func (r *coarsening) histogram(s *stock, m int, leaves []uint32) Histogram {
	of, counts := r.of, r.counts
	clear(counts)
	var room page
	for _, leaf := range leaves {
		a := &s.accs[m][leaf]
		for _, x := range a.raw {
			counts[of[s.f.scale.index(x)]]++
		}
		for i := range a.pages {
			pg := a.page(i, &room)
			if pg == nil {
				continue
			}
			for k, n := range pg {
				if n > 0 {
					counts[of[i*pageSize+k]] += int64(n)
				}
			}
		}
	}
	var out Histogram
	for b, n := range counts {
		if n > 0 {
			out = append(out, Bin{uint16(b), n})
		}
	}
	return out
}
