package column

import "github.com/vreport/vreport/ingest/serving"

// RawFor describes the column that a mapping names, where nothing but the mapping
// is known of it: a timestamp where it stands for an instant without a unit,
// numbers or text as what it stands for wants.
func RawFor(m Mapping) Raw {
	r := Raw{Name: m.Column, Kind: Text}
	c := canonByName(m.Canonical)
	if c == nil {
		return r
	}
	switch c.kind {
	case serving.KindTime:
		r.Kind, r.Unit = Instant, Nanosecond
		if m.Unit != NoUnit {
			r.Kind, r.Unit = Float, NoUnit
		}
	case serving.KindDuration, serving.KindRatio:
		r.Kind = Float
	case serving.KindCount:
		r.Kind = Int
	case serving.KindGaps:
		r.Kind = List
	}
	return r
}
