package render

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
)

// What a report has thousands of, distributions, is appended here by hand: package
// json would copy and check each once more for every object it stands in. The
// bytes are those that package json writes.

// marshalReport escapes <, >, & and the line separators in every string.
func marshalReport(r *wireReport) ([]byte, error) {
	b, err := json.Marshal(r.wireReportHead)
	if err != nil {
		return nil, err
	}
	b = slices.Grow(b[:len(b)-1], r.sizeOfSlices())
	if r.Slices != nil {
		b = append(b, `,"slices":[`...)
		for i := range r.Slices {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = r.Slices[i].appendTo(b); err != nil {
				return nil, err
			}
		}
		b = append(b, ']')
	}
	tail, err := json.Marshal(r.wireReportTail)
	if err != nil {
		return nil, err
	}
	if len(tail) > len("{}") {
		b = append(b, ',')
	}
	return append(b, tail[1:]...), nil
}

// sizeOfSlices is about what they take: a buffer that grows as it fills is copied
// a dozen times.
func (r *wireReport) sizeOfSlices() int {
	const ofSlice, ofDist = 600, 900
	n := ofSlice * len(r.Slices)
	for _, s := range r.Slices {
		n += ofDist * len(s.Metrics)
	}
	return n
}

func (s *wireSlice) appendTo(b []byte) ([]byte, error) {
	head, err := json.Marshal(s.wireSliceHead)
	if err != nil {
		return nil, err
	}
	b = append(append(b, head[:len(head)-1]...), `,"metrics":{`...)
	for i, name := range slices.Sorted(maps.Keys(s.Metrics)) {
		b = appendKey(b, i, name)
		b = s.Metrics[name].appendTo(b)
	}
	return append(b, "}}"...), nil
}

// MarshalJSON implements json.Marshaler.
func (d *wireDist) MarshalJSON() ([]byte, error) { return d.appendTo(nil), nil }

// appendTo puts the quantiles between the moments and their intervals.
func (d *wireDist) appendTo(b []byte) []byte {
	b = appendString(append(b, `{"unit":`...), d.Unit)
	if d.Count != nil {
		b = strconv.AppendInt(append(b, `,"count":`...), *d.Count, 10)
	}
	b = appendField(b, `,"mean":`, d.Mean)
	b = appendField(b, `,"std":`, d.Std)
	b = appendField(b, `,"min":`, d.Min)
	b = appendField(b, `,"max":`, d.Max)
	for _, q := range d.Quantiles {
		b = appendNumber(appendKey(b, 1, q.Name), q.Value)
	}
	if len(d.Interval) > 0 {
		b = d.Interval.appendTo(append(b, `,"interval":`...), appendInterval)
	}
	if len(d.Quality) > 0 {
		b = d.Quality.appendTo(append(b, `,"quality":`...), appendString)
	}
	b = appendString(append(b, `,"origin":`...), d.Origin)
	b = appendString(append(b, `,"side":`...), d.Side)
	if d.Gaps != "" {
		b = appendString(append(b, `,"gaps":`...), d.Gaps)
	}
	return append(appendField(b, `,"relative_error":`, d.RelativeError), '}')
}

func (o wireByName[V]) appendTo(b []byte, value func([]byte, V) []byte) []byte {
	b = append(b, '{')
	for i, f := range o {
		b = value(appendKey(b, i, f.Name), f.Value)
	}
	return append(b, '}')
}

func appendInterval(b []byte, ends wireInterval) []byte {
	b = append(b, '[')
	for i, end := range ends {
		if i > 0 {
			b = append(b, ',')
		}
		if end == nil {
			b = append(b, "null"...)
		} else {
			b = appendNumber(b, *end)
		}
	}
	return append(b, ']')
}

// appendKey begins the i-th field of an object.
func appendKey(b []byte, i int, name string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(appendString(b, name), ':')
}

// appendField leaves out what is missing.
func appendField(b []byte, key string, v *float64) []byte {
	if v == nil {
		return b
	}
	return appendNumber(append(b, key...), *v)
}

// appendNumber appends a finite number.
func appendNumber(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return appendMarshalled(b, v) // with an exponent
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return appendMarshalled(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendMarshalled appends a string or a finite number, which cannot fail.
func appendMarshalled(b []byte, v any) []byte {
	raw, _ := json.Marshal(v)
	return append(b, raw...)
}
