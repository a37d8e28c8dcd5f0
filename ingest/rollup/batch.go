package rollup

import "github.com/vreport/vreport/ingest/serving"

// A BatchReader turns batches of columns into rows.
type BatchReader struct {
	names []string
	texts []*serving.Dict // of text columns
	dims  []int           // by column; -1 where it is no dimension
	row   Row
}

// NewBatchReader returns a reader of batches with these columns, of which texts
// have a table.
func NewBatchReader(names []string, texts []*serving.Dict) *BatchReader {
	r := &BatchReader{names: names, texts: texts, dims: make([]int, len(names))}
	for i, n := range names {
		r.dims[i] = -1
		if d, ok := dimOf(n); ok {
			r.dims[i] = d
			for len(r.row.Dims) <= d {
				r.row.Dims = append(r.row.Dims, "")
			}
		}
	}
	return r
}

// Add gives the rows of a batch to a builder. base is the number of rows of the
// file before the batch's part.
func (r *BatchReader) Add(b *Builder, batch *serving.Batch, path string, base int64) error {
	for i := range batch.N {
		dims := r.row.Dims
		clear(dims)
		r.row = Row{Dims: dims}
		for c := range r.names {
			if v := &batch.Cols[c]; v.Has(i) {
				r.set(c, v, i)
			}
		}
		if err := b.Add(&r.row, serving.Pos{Path: path, Row: base + batch.Row + int64(i) + 1}); err != nil {
			return err
		}
	}
	return nil
}

func (r *BatchReader) set(c int, v *serving.Vector, i int) {
	switch {
	case v.Kind == serving.KindText && v.Codes[i] < 0: // more texts than are kept
	case v.Kind == serving.KindText:
		s := r.texts[c].Name(v.Codes[i])
		switch r.names[c] {
		case colKind:
			r.row.Kind = s
		case colWindow:
			r.row.Window = s
		case colMetric:
			r.row.Metric = s
		case colSpec:
			r.row.Spec = s
		default:
			r.row.Dims[r.dims[c]] = s
		}
	case r.names[c] == colSquares:
		r.row.Squares = v.Floats[i]
	default:
		switch r.names[c] {
		case colBucket:
			r.row.Bucket = v.Ints[i]
		case colN:
			r.row.N = v.Ints[i]
		case colTotal:
			r.row.Total = v.Ints[i]
		case colLeast:
			r.row.Least = v.Ints[i]
		case colMost:
			r.row.Most = v.Ints[i]
		}
	}
}
