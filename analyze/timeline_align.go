package analyze

import "slices"

// align lays the sides of a comparison onto one axis. They were usually measured
// on different days: each counts from its own start. One trace cut in two keeps
// its own time, and the cut is marked.
func align(s *Sides, tracks []*track, annotations []Event) {
	if cut := s.Windows[before].To; s.Windows[before] != s.Windows[after] {
		for _, t := range tracks {
			if t.half == FirstHalf {
				t.events = append(t.events, Event{At: cut, Kind: "cut", Text: s.Names[before] + " ends and " + s.Names[after] + " starts", Source: t.label})
				// The second part starts where the first one ends.
				t.to = max(t.to, cut+t.step)
			}
		}
		return
	}
	for _, h := range []Half{FirstHalf, SecondHalf} {
		start, known := int64(0), false
		for _, t := range tracks {
			if t.half == h && !t.relative && (!known || t.from < start) {
				start, known = t.from, true
			}
		}
		marks := within(annotations, tracks, h)
		for _, t := range tracks {
			switch {
			case t.half != h:
			case t.relative:
				t.shift(t.from) // a made-up origin is as good as any
			default:
				t.events, marks = append(t.events, marks...), nil
				t.shift(start)
			}
		}
	}
}

// within are the annotations that lie in the time of a side.
func within(annotations []Event, tracks []*track, h Half) []Event {
	var out []Event
	for _, a := range annotations {
		if slices.ContainsFunc(tracks, func(t *track) bool { return t.half == h && !t.relative && a.At >= t.from && a.At <= t.to }) {
			out = append(out, a)
		}
	}
	return out
}

// shift makes times count from a start.
func (t *track) shift(start int64) {
	t.from, t.to = t.from-start, t.to-start
	if t.phase != 0 {
		t.phase -= start
	}
	for i := range t.series {
		s := &t.series[i]
		s.at, s.until = minus(s.at, start), minus(s.until, start)
	}
	for i := range t.events {
		e := &t.events[i]
		if e.At -= start; e.To != 0 {
			e.To -= start
		}
	}
	t.relative, t.aligned = true, true
}

// minus returns shifted times; series of one track share theirs.
func minus(times []int64, start int64) []int64 {
	out := make([]int64, len(times))
	for i, v := range times {
		out[i] = v - start
	}
	return out
}
