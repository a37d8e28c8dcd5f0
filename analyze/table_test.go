package analyze

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// TestLabelsAreDimensions shows columns of labels alone, unasked: partitions
// first, a few of many, and none twice that were asked for.
func TestLabelsAreDimensions(t *testing.T) {
	src := newTable("t", serving.Client, steady(4, 10, 20))
	dict := serving.NewDict("a", "b")
	codes := []int32{0, 1, 0, 1}
	add := func(name, how string, label bool) {
		src.Text(serving.Column{Name: name, Kind: serving.KindText, How: how, Label: label}, codes, dict, nil)
	}
	add("id", "", false)
	for i := range 9 {
		add(fmt.Sprint("tier", i), "", true)
	}
	add("hour", serving.HowPartition, true)
	add("day", serving.HowPartition, false) // the same everywhere
	tb := &table{src: src}
	got := tb.aloneDims(Options{GroupBy: []string{"tier2", serving.ColWorkload}})
	want := []string{"tier2", "workload", "prompt_tokens", "output_tokens", "outcome", "hour", "tier0", "tier1", "tier3", "tier4", "tier5", "tier6"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
