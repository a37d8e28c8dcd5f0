package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A bucketed is a column that --buckets named, and where.
type bucketed struct{ name, at string }

// counts are the columns of the vocabulary that can be cut into buckets.
var counts = []string{string(serving.PromptTokens), string(serving.OutputTokens), string(serving.CachedTokens), serving.ColPreempt}

// bucketable refuses names that are something else in any data: a time, a text.
func bucketable(name string) error {
	_, metric := serving.MetricOf(serving.MetricKey(name))
	if slices.Contains(counts, name) || !metric && !slices.Contains(dimensions, name) {
		return nil
	}
	return fmt.Errorf("%s is no count and has no buckets, want %s or a count column of the input", name, strings.Join(counts, ", "))
}

// cuttable says whether --buckets named counts: those of the vocabulary, which a shared
// config file may name whether or not the data of the day have them, or a column of
// numbers that some input has and that requests are grouped by.
func cuttable(o *options, ds *serving.Dataset) error {
	all := tables(ds)
	if len(all) == 0 {
		return nil
	}
	kinds := map[string]serving.ColumnKind{}
	found := slices.Clone(counts)
	for _, t := range all {
		for _, c := range t.Columns() {
			if kinds[c.Name] = c.Kind; c.Kind == serving.KindCount && !slices.Contains(found, c.Name) {
				found = append(found, c.Name)
			}
		}
	}
	for _, b := range o.bucketed {
		kind, ok := kinds[b.name]
		switch {
		case slices.Contains(counts, b.name):
		case !ok:
			return fmt.Errorf("%s: no input has a column %q (buckets are of %s)", b.at, b.name, strings.Join(found, ", "))
		case kind != serving.KindCount && kind != serving.KindNumber:
			return fmt.Errorf("%s: column %q is taken for names and has no buckets (they are of %s)", b.at, b.name, strings.Join(found, ", "))
		case !o.sliced(b.name):
			return fmt.Errorf("%s: nothing is grouped by %q, add it to --group-by", b.at, b.name)
		}
	}
	return nil
}

// sliced reports whether requests are split by a column of the user's own.
func (o *options) sliced(name string) bool {
	of := func(t serving.Term) bool { return t.Dim == name }
	return slices.Contains(o.analyze.GroupBy, name) ||
		slices.ContainsFunc(o.analyze.SLOs, func(s serving.SLO) bool { return slices.ContainsFunc(s.By, of) })
}
