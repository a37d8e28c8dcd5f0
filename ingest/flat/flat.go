// Package flat reads a JSON record as scalars under dotted names, in file
// order: the form in which the summary files of benchmark tools are easiest to
// map, since their nesting differs from version to version and their names
// hardly do.
package flat

import (
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// Bounds on what a record may make us remember. Summaries have a hundred names;
// a server's dump of its arguments has a thousand.
const (
	maxNames = 8192
	maxDepth = 8
	maxItems = 64 // objects of an array
	maxText  = 1 << 10
	maxField = 1000 // fields of an input
)

// A Record is one JSON object. Nested scalars have dotted names, those of
// objects in an array a bracketed index: server_info.decode[0].tp_size.
type Record struct {
	Names   []string        // of all scalars, in file order
	Keys    map[string]bool // the top-level names
	scalars map[string]jsonscan.Scalar
}

// A Reader says what to do with a record's values beside keeping scalars.
type Reader struct {
	R *jsonscan.Reader
	// Skip names what is passed over unread: texts, secrets, what is known to
	// be of no use. nil for nothing.
	Skip func(name string) bool
	// Take reads a value by itself, as an array of numbers, and reports whether
	// it did. It must read the whole value or nothing. nil for none.
	Take func(name string) (taken bool, err error)
}

// Read reads the next value. ok is false where it is no object.
func (d Reader) Read() (rec *Record, ok bool, err error) {
	rec = &Record{Keys: map[string]bool{}, scalars: map[string]jsonscan.Scalar{}}
	ok, err = d.object(rec, "", 0)
	return rec, ok, err
}

func (d Reader) object(rec *Record, prefix string, depth int) (bool, error) {
	return d.R.Object(func(name string) error {
		if depth == 0 && len(rec.Keys) < maxNames {
			rec.Keys[name] = true
		}
		return d.value(rec, prefix+name, depth)
	})
}

func (d Reader) value(rec *Record, name string, depth int) error {
	if d.Skip != nil && d.Skip(name) {
		return d.R.Skip()
	}
	if d.Take != nil {
		if taken, err := d.Take(name); taken || err != nil {
			return err
		}
	}
	switch d.R.Peek() {
	case '{':
		if depth+1 >= maxDepth {
			return d.R.Skip()
		}
		_, err := d.object(rec, name+".", depth+1)
		return err
	case '[':
		_, err := d.R.Array(func(i int) error {
			if i >= maxItems || depth+1 >= maxDepth || d.R.Peek() != '{' {
				return d.R.Skip()
			}
			_, err := d.object(rec, name+"["+strconv.Itoa(i)+"].", depth+1)
			return err
		})
		return err
	}
	s, ok, err := d.R.Scalar(maxText)
	if err == nil && ok {
		rec.Set(name, s)
	}
	return err
}

// Set keeps a scalar. Of a repeated name the last value counts.
func (r *Record) Set(name string, s jsonscan.Scalar) {
	if r.scalars == nil {
		r.scalars, r.Keys = map[string]jsonscan.Scalar{}, map[string]bool{}
	}
	if _, again := r.scalars[name]; !again {
		if len(r.Names) >= maxNames {
			return
		}
		r.Names = append(r.Names, name)
	}
	r.scalars[name] = s
}

// Has reports whether there is a scalar of this name.
func (r *Record) Has(name string) bool {
	_, ok := r.scalars[name]
	return ok
}

// Scalar returns a value as it stands; a missing one is of kind 0.
func (r *Record) Scalar(name string) jsonscan.Scalar { return r.scalars[name] }

// Number returns a value that is a finite number. Numbers in strings count.
func (r *Record) Number(name string) (float64, bool) {
	v, ok := r.scalars[name].Float()
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Count returns the first of the names that holds a whole number that is not
// negative.
func (r *Record) Count(names ...string) serving.Opt[int64] {
	for _, n := range names {
		if v, ok := r.Number(n); ok && v >= 0 && v < 1<<53 && v == math.Trunc(v) {
			return serving.Some(int64(v))
		}
	}
	return serving.None[int64]()
}

// Positive returns the first of the names that holds a whole number above 0
// that fits a number of devices.
func (r *Record) Positive(names ...string) serving.Opt[int] {
	for _, n := range names {
		if c := r.Count(n); c.OK && c.V >= 1 && c.V <= 1<<16 {
			return serving.Some(int(c.V))
		}
	}
	return serving.None[int]()
}

// Text returns the first of the names that has a text; null, "" and Python's
// "None" are none.
func (r *Record) Text(names ...string) serving.Opt[string] {
	for _, n := range names {
		s, ok := r.scalars[n]
		if t := strings.TrimSpace(s.Text); ok && !s.IsNull() && t != "" && t != "None" {
			return serving.Some(t)
		}
	}
	return serving.None[string]()
}

// Fields collects what became of an input's fields, each name once.
type Fields struct {
	In   *serving.Input
	seen map[string]bool
}

// Add records a field unless it is known.
func (f *Fields) Add(field serving.Field) {
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	if f.seen[field.Name] || len(f.seen) >= maxField {
		return
	}
	f.seen[field.Name] = true
	f.In.Fields = append(f.In.Fields, field)
}
