package column

import "github.com/vreport/vreport/ingest/serving"

// Means says which canonical column a raw name stands for, "" for none, and the
// kind a decoder may take the column for as long as no value of it was seen:
// Opaque where that would need a unit that the name does not state, or a date.
func Means(name string) (canonical string, k Kind) {
	h, ok := match(name)
	if !ok {
		return "", Text
	}
	c := &canons[h.canon]
	unit := h.suffix != NoUnit || otel(name)
	switch {
	case c.kind == serving.KindText:
		return c.name, Text
	case c.kind == serving.KindCount:
		return c.name, Int
	case c.kind == serving.KindRatio, c.kind == serving.KindDuration && unit:
		return c.name, Float
	case c.kind == serving.KindGaps && unit:
		return c.name, List
	}
	return c.name, Opaque
}
