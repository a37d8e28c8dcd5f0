package aiperf

// slice reads one time slice of a JSON summary.
func (d *summaryDecoder) slice() error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	at := d.r.Pos()
	if d.r.Peek() != '{' {
		d.in.Problems.AddKind("slice", d.r.Problemf("no time slice, want an object of metrics; left out"))
		return d.r.Skip()
	}
	slice := d.slices.begin(at)
	if slice == nil {
		return d.r.Skip()
	}
	i, start, end := len(d.slices.c.Slices)-1, "", ""
	_, err := d.r.Object(func(name string) error {
		if d.r.Peek() == '{' {
			return d.sliceMetric(i, name)
		}
		s, ok, err := d.r.Scalar(64)
		if err != nil || !ok || s.IsNull() {
			return err
		}
		as, unit := "", ""
		switch name {
		case "timeslice_index":
			as, slice.Index = "order", int(whole(s.Text).Or(int64(i)))
		case "start_ns":
			as, unit, start = "start", "ns", s.Text
		case "end_ns":
			as, unit, end = "end", "ns", s.Text
		case "is_complete":
			as, slice.Incomplete = "incomplete", s.Kind == 'f'
		}
		d.s.field(name, as, unit, "dialect")
		return nil
	})
	d.slices.times(slice, start, end, at)
	return err
}

// sliceMetric reads a metric of slice i.
func (d *summaryDecoder) sliceMetric(i int, name string) error {
	m, ok := d.slices.known(name)
	if !ok {
		return d.r.Skip()
	}
	b, ok, err := d.metric(name)
	if ok {
		d.slices.add(i, b, m)
	}
	return err
}
