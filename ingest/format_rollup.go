package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/rollup"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/trace"
)

// A rollup is recognized by its columns, so it comes before tables of requests.
var (
	formatRollupParquet = &Format{Name: rollup.Format, Doc: "requests after aggregation (vreport rollup, vreport sql) as Parquet", sniff: sniffParquetColumns(rollup.Sniff), decode: decodeRollupParquet}
	formatRollupCSV     = &Format{Name: rollup.Format, Doc: "requests after aggregation (vreport rollup, vreport sql) as CSV", sniff: sniffRollupCSV, decode: decodeRollupCSV}
)

func decodeRollupParquet(ctx context.Context, p *probe, l *loaded) error {
	file := trace.File{Path: p.path, R: p.raw, Size: p.size, In: p.in}
	t, err := trace.Open(ctx, []trace.File{file}, trace.Options{Fixed: rollup.KindOf})
	if err != nil {
		return err
	}
	p.in.Format = rollup.Format
	var names []string
	for _, c := range t.Columns() {
		names = append(names, c.Name)
	}
	texts := make([]*serving.Dict, len(names))
	for i, n := range names {
		texts[i] = t.Dict(n)
	}
	b := rollup.NewBuilder(p.path, &p.in.Problems)
	rows := rollup.NewBatchReader(names, texts)
	base := int64(0)
	for _, part := range t.Parts() {
		err := part.Scan(ctx, names, &p.in.Problems, func(batch *serving.Batch) error {
			return rows.Add(b, batch, p.path, base)
		})
		if err != nil {
			return err
		}
		base += part.Rows()
	}
	l.rollup, err = b.Rollup()
	return err
}

func sniffRollupCSV(p *probe) (bool, string) {
	if p.looksJSON() {
		return false, "JSON at the start, no line of column names"
	}
	return rollup.SniffCSV(p.head)
}

func decodeRollupCSV(ctx context.Context, p *probe, l *loaded) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	l.rollup, err = rollup.DecodeCSV(ctx, p.path, r, p.in)
	return err
}

// joinRollups adds up rollups of one dataset: those of one label, and those of
// one directory whose names differ in numbers only, as with the files of a
// trace. Rollups that belong together and do not add up are an error: a report
// of some of them would be of something else than was asked for.
func joinRollups(ctx context.Context, ds *serving.Dataset, files []found, all []loaded) error {
	groups := map[string][]int{}
	var order []string
	for i := range all {
		if all[i].rollup == nil {
			continue
		}
		k := strings.TrimSuffix(tableKey(files[i]), numbered)
		if len(groups[k]) == 0 {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	prefix := commonTableDir(order)
	for _, k := range order {
		is := groups[k]
		slices.SortFunc(is, func(a, b int) int { return strings.Compare(files[a].path, files[b].path) })
		first := all[is[0]].rollup
		first.Label = tableName(files[is[0]], k, prefix)
		together := make([]*serving.Rollup, len(is))
		for j, i := range is {
			together[j] = all[i].rollup
		}
		rollup.Fit(together, func(j int, c *serving.RollupCell, why string) {
			ds.Inputs[is[j]].Problems.AddKind("fit", serving.Problem{At: serving.Pos{Path: files[is[j]].path}, Message: why, Count: 1})
		})
		for _, i := range is[1:] {
			if err := first.Add(ctx, all[i].rollup); err != nil {
				if errors.Is(err, ctx.Err()) && ctx.Err() != nil {
					return err
				}
				return fmt.Errorf("%s: cannot be added to %s, %w; make both with the same options, or report them apart (a=%s b=%s)",
					files[i].path, files[is[0]].path, err, files[is[0]].path, files[i].path)
			}
			all[i].rollup = nil
		}
		if len(is) > 1 {
			for _, i := range is {
				addNote(ds.Inputs[i], fmt.Sprintf("one of the %d files of rollup %s", len(is), first.Label))
			}
		}
		ds.Rollups = append(ds.Rollups, first)
	}
	return nil
}
