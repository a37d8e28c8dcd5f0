package vllm

import (
	"math"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// arrays are the request arrays of one record as they stand in the file: in
// seconds, NaN for an element that is missing or bad. An array that is not
// there is nil.
type arrays struct {
	has     [skippedText + 1]bool
	numbers [skippedText + 1][]float64 // of all but itls and errors

	// itls: the gaps of all requests in one slice, so that millions of them
	// cost eight bytes each and no slice a request.
	gaps    []float64
	offsets []int32      // one more than requests
	badGaps map[int]bool // requests of which a gap could not be read

	failures []failure     // errors, one a request
	reasons  *serving.Dict // their texts, shortened
}

// A failure is an element of errors.
type failure struct {
	outcome serving.Outcome // OK where there is no error
	reason  int32           // into reasons; of a failure only
}

func newArrays() arrays { return arrays{badGaps: map[int]bool{}} }

// len returns the number of elements of an array.
func (a *arrays) len(k array) int {
	switch k {
	case itls:
		return max(len(a.offsets)-1, 0)
	case errorTexts:
		return len(a.failures)
	}
	return len(a.numbers[k])
}

// array reads one request array. Of a repeated name the last counts.
func (rec *record) array(key string, k array) error {
	a := &rec.arrays
	a.has[k] = true
	switch k {
	case itls:
		return rec.readGaps(key)
	case errorTexts:
		return rec.readErrors()
	}
	var err error
	a.numbers[k], err = rec.decoder.floats(a.numbers[k][:0], key, math.MaxInt)
	return err
}

// floats reads an array of numbers that cannot be negative, at most max of
// them. null and NaN are missing; what is no such number is a problem.
func (d *serveDecoder) floats(dst []float64, key string, max int) ([]float64, error) {
	ok, err := d.r.Numbers(func(vs []float64) error {
		dst = append(dst, vs[:min(len(vs), max-min(len(dst), max))]...)
		return d.ctx.Err()
	}, func(i int) error {
		if i&checkEvery == checkEvery && d.ctx.Err() != nil {
			return d.ctx.Err()
		}
		v, err := d.float(key)
		if err == nil && len(dst) < max {
			dst = append(dst, v)
		}
		return err
	})
	if err == nil && !ok {
		d.in.Problems.AddKind(key+" no list", d.r.Problemf("no list, want a list of numbers"))
	}
	return dst, err
}

// float reads one element; NaN where there is none.
func (d *serveDecoder) float(key string) (float64, error) {
	null := d.r.Peek() == 'n'
	v, ok, err := d.r.Float()
	switch {
	case err != nil || null:
		return math.NaN(), err
	case !ok:
		d.in.Problems.AddKind(key+" no number", d.r.Problemf("no number, want one; taken as missing"))
		return math.NaN(), nil
	case v < 0 || math.IsInf(v, 0):
		d.in.Problems.AddKind(key+" range", d.r.Problemf("%g, want a number that is not negative and not infinite; taken as missing", v))
		return math.NaN(), nil
	}
	return v, nil
}

// readGaps reads itls, a list of gaps a request.
func (rec *record) readGaps(key string) error {
	d, a := rec.decoder, &rec.arrays
	a.gaps = make([]float64, 0, rec.expectedGaps())
	a.offsets = append(a.offsets[:0], 0)
	clear(a.badGaps)
	_, err := d.r.Array(func(i int) error {
		if d.r.Peek() != '[' && d.r.Peek() != 'n' {
			a.badGaps[i] = true
			if err := d.r.Skip(); err != nil {
				return err
			}
			d.in.Problems.AddKind("itls no list", d.r.Problemf("no list, want the list of a request's gaps; taken as missing"))
		} else if err := rec.readRow(key, i); err != nil {
			return err
		}
		a.offsets = append(a.offsets, int32(len(a.gaps)))
		return nil
	})
	a.clipGaps()
	return err
}

// readRow reads the gaps of one request.
func (rec *record) readRow(key string, row int) error {
	d, a := rec.decoder, &rec.arrays
	if d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	_, err := d.r.Numbers(func(vs []float64) error {
		return a.addGaps(vs...)
	}, func(int) error {
		v, err := d.float(key)
		switch {
		case err != nil:
			return err
		case math.IsNaN(v):
			a.badGaps[row] = true
			return nil
		}
		return a.addGaps(v)
	})
	return err
}

// expectedGaps is how many gaps to make room for: what output_lens says, where
// it stood first, as far as a file of this size can hold them, compressed ones
// included; else a few.
func (rec *record) expectedGaps() int {
	sum := 0.0
	for _, n := range rec.arrays.numbers[outputLens] {
		if n > 1 {
			sum += n - 1
		}
	}
	room := max(4*rec.decoder.in.Bytes, firstGaps)
	return int(min(max(sum, firstGaps), float64(room), maxPrealloc))
}

// firstGaps is the room for gaps whose number is not known.
const firstGaps = 1 << 15

// addGaps appends gaps, and makes room where there is none. Growing by halves
// would leave the slice behind several times in garbage; by eight, an eighth of
// the last is left. Room that stays unused is never touched and costs no memory.
func (a *arrays) addGaps(vs ...float64) error {
	n := len(a.gaps) + len(vs)
	if n > maxGaps {
		return errTooManyGaps
	}
	if n > cap(a.gaps) {
		// Not slices.Grow, which clears all of the room and so uses its memory.
		grown := make([]float64, len(a.gaps), n+min(7*n, maxPrealloc))
		copy(grown, a.gaps)
		a.gaps = grown
	}
	a.gaps = append(a.gaps, vs...)
	return nil
}

// clipGaps gives spare room back where that costs little, so that a file of
// thousands of records does not hold a multiple of its gaps.
func (a *arrays) clipGaps() {
	if n := len(a.gaps); n < cap(a.gaps)/2 && cap(a.gaps) <= maxClip {
		a.gaps = append(make([]float64, 0, n), a.gaps...)
	}
}

// maxClip bounds the room that is looked at, elements: 8 MiB.
const maxClip = 1 << 20

// readErrors reads errors: "" for a request that went well, else a reason or a
// whole traceback.
func (rec *record) readErrors() error {
	d, a := rec.decoder, &rec.arrays
	a.failures, a.reasons = a.failures[:0], serving.NewDict()
	_, err := d.r.Array(func(int) error {
		s, ok, err := d.r.Scalar(maxErrorText)
		if err != nil {
			return err
		}
		f := failure{}
		switch {
		case !ok:
			f = a.failure("an error that is no text")
		case s.Text != "" && s.Kind != 'n' && s.Kind != 'f':
			f = a.failure(s.Text)
		}
		a.failures = append(a.failures, f)
		return nil
	})
	return err
}

// maxReasons bounds the distinct reasons of a record: texts may hold an id or a
// time each.
const maxReasons = 1000

func (a *arrays) failure(text string) failure {
	outcome, reason := classify(text)
	if a.reasons.Len() >= maxReasons {
		reason = "(other)"
	}
	return failure{outcome, a.reasons.Code(reason)}
}

// cutReason shortens an error text for the page.
func cutReason(s string) string { return jsonscan.Cut(s, 160) }
