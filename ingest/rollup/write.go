package rollup

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// rows calls yield with every row of a rollup, in an order that depends on the
// rollup alone. The row is valid during the call. The first says what the counts
// of all the others come to, so that a table is not taken for whole that was cut.
func rows(r *serving.Rollup, yield func(*Row) error) error {
	stated := r.Spec
	stated.Values = 0
	_ = rowsOf(r, nil, func(row *Row) error {
		stated.Values = serving.AddCounts(stated.Values, row.N)
		return nil
	})
	spec, err := json.Marshal(stated)
	if err != nil {
		return err
	}
	return rowsOf(r, spec, yield)
}

// rowsOf is rows with a spec.
func rowsOf(r *serving.Rollup, spec []byte, yield func(*Row) error) error {
	none := make([]string, len(r.Spec.Dims))
	out := []Row{
		{Kind: kindSpec, Dims: none, Spec: string(spec)},
		{Kind: kindCell, Dims: none, Metric: mRows, N: r.Rows},
		{Kind: kindCell, Dims: none, Metric: mArrival, N: r.Arrival.N, Least: r.Arrival.Least, Most: r.Arrival.Most},
		{Kind: kindCell, Dims: none, Metric: mEnd, N: r.End.N, Least: r.End.Least, Most: r.End.Most},
	}
	for _, k := range slices.Sorted(maps.Keys(r.Skipped)) {
		out = append(out, Row{Kind: kindCell, Dims: none, Metric: mSkipped + k, N: r.Skipped[k]})
	}
	for i := range out {
		if out[i].N == 0 && out[i].Kind == kindCell {
			continue
		}
		if err := yield(&out[i]); err != nil {
			return err
		}
	}
	for _, c := range r.Cells {
		if err := cellRows(c, yield); err != nil {
			return err
		}
	}
	return nil
}

func cellRows(c *serving.RollupCell, yield func(*Row) error) error {
	var out []Row
	add := func(metric string, bucket, n, total int64) {
		if n > 0 {
			out = append(out, Row{Metric: metric, Bucket: bucket, N: n, Total: total})
		}
	}
	for o, n := range c.Outcomes {
		add(mOutcome, int64(o), n, 0)
	}
	add(mGood, 1, c.Good, 0)
	for i := range c.Of {
		name := mSLO + strconv.Itoa(i+1)
		add(name, 0, c.Of[i]-c.Within[i], 0)
		add(name, 1, c.Within[i], 0)
	}
	add(mWhole, 0, c.Whole, 0)
	add(mBrief, 0, c.Brief, 0)
	done := c.Outcomes[serving.OK]
	add(mInput, 0, done, c.Input)
	add(mOutput, 0, done, c.Output)
	add(mCached, 0, done, c.Cached)
	add(mCachedOf, 0, done, c.CachedOf)
	for _, m := range serving.Metrics {
		for _, x := range c.Metrics[m.Key] {
			out = append(out, Row{Metric: string(m.Key), Bucket: int64(x.Bucket), N: x.N, Total: x.Total, Squares: x.Squares, Least: x.Least, Most: x.Most})
		}
	}
	for i := range out {
		r := &out[i]
		r.Kind, r.Dims, r.Window = kindCell, c.By, c.Window
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// columnNames lists the columns of a rollup with so many dimensions.
func columnNames(dims int) []string {
	out := []string{colKind}
	for d := range dims {
		out = append(out, "d"+strconv.Itoa(d+1))
	}
	return append(out, colWindow, colMetric, colBucket, colN, colTotal, colSquares, colLeast, colMost, colSpec)
}

// WriteCSV writes a rollup as CSV.
func WriteCSV(w io.Writer, r *serving.Rollup) error {
	cw := csv.NewWriter(w)
	if err := cw.Write(columnNames(len(r.Spec.Dims))); err != nil {
		return err
	}
	var rec []string
	err := rows(r, func(r *Row) error {
		rec = append(append(rec[:0], r.Kind), r.Dims...)
		rec = append(rec, r.Window, r.Metric)
		for _, v := range []int64{r.Bucket, r.N, r.Total} {
			rec = append(rec, strconv.FormatInt(v, 10))
		}
		rec = append(rec, strconv.FormatFloat(r.Squares, 'g', -1, 64), strconv.FormatInt(r.Least, 10), strconv.FormatInt(r.Most, 10), r.Spec)
		return cw.Write(rec)
	})
	if err != nil {
		return err
	}
	cw.Flush()
	return cw.Error()
}

// parquetBatch is how many rows are written at a time.
const parquetBatch = 4096

// WriteParquet writes a rollup as Parquet. Nothing of it stands in the file's
// key-value metadata: what an engine copies is whole.
func WriteParquet(w io.Writer, r *serving.Rollup) error {
	names := columnNames(len(r.Spec.Dims))
	group := parquet.Group{}
	for _, n := range names {
		kind, ok := KindOf(n)
		if !ok {
			return fmt.Errorf("column %s of a rollup has no type", n)
		}
		switch kind {
		case serving.KindText:
			group[n] = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		case serving.KindTime:
			group[n] = parquet.Int(64)
		default:
			group[n] = parquet.Leaf(parquet.DoubleType)
		}
	}
	schema := parquet.NewSchema("rollup", group)
	at := func(name string) int {
		return slices.IndexFunc(schema.Columns(), func(c []string) bool { return c[0] == name })
	}
	texts := []int{at(colKind), at(colWindow), at(colMetric), at(colSpec)}
	whole := []int{at(colBucket), at(colN), at(colTotal), at(colLeast), at(colMost)}
	squares := at(colSquares)
	var dims []int
	for i := range r.Spec.Dims {
		dims = append(dims, at("d"+strconv.Itoa(i+1)))
	}
	pw := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd))
	batch := make([]parquet.Row, 0, parquetBatch)
	flush := func() error {
		_, err := pw.WriteRows(batch)
		batch = batch[:0]
		return err
	}
	err := rows(r, func(r *Row) error {
		batch = batch[:len(batch)+1]
		row := &batch[len(batch)-1]
		*row = slices.Grow((*row)[:0], len(names))[:len(names)]
		put := func(at int, v parquet.Value) { (*row)[at] = v.Level(0, 0, at) }
		for i, text := range [...]string{r.Kind, r.Window, r.Metric, r.Spec} {
			put(texts[i], parquet.ByteArrayValue([]byte(text)))
		}
		for i, v := range r.Dims {
			put(dims[i], parquet.ByteArrayValue([]byte(v)))
		}
		for i, v := range [...]int64{r.Bucket, r.N, r.Total, r.Least, r.Most} {
			put(whole[i], parquet.Int64Value(v))
		}
		put(squares, parquet.DoubleValue(r.Squares))
		if len(batch) == parquetBatch {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	return pw.Close()
}
