package analyze

import (
	"context"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A lying table says that its last request came before it did.
type lying struct{ *column.Table }

func (t lying) Parts() []serving.Part { return []serving.Part{lyingPart{t.Table.Parts()[0]}} }

type lyingPart struct{ serving.Part }

func (p lyingPart) Span(string) (from, to int64, ok bool) { return 0, 100e9, true }
func (p lyingPart) Texts(context.Context, string) ([]int32, bool, bool) {
	return []int32{0}, false, true
}

// A file that is wrong about itself costs a second look and changes no figure.
func TestLyingTable(t *testing.T) {
	table := newTable("t", serving.Client, steady(40_000, 10, 900))
	slicesOf := func(src serving.Requests) any {
		rep := analyzed(t, &serving.Dataset{Traces: []serving.Requests{src}}, Options{})
		var out []any
		for _, r := range rep.Results {
			if r.Section.Name == "slices" || r.Section.Name == "timeline" || r.Section.Name == "diagnosis" {
				out = append(out, r.Value)
			}
		}
		return out
	}
	if diff := cmp.Diff(slicesOf(table), slicesOf(lying{table}), cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// The scan of a cube picks out the same requests as a scan of their own.
func TestWatchedRows(t *testing.T) {
	table := newTable("t", serving.Client, steady(200_000, 10, 900))
	in := &Input{Data: &serving.Dataset{Traces: []serving.Requests{table}}}
	if err := in.fill(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := in.tables[0].rows.source()
	want, err := readRows(context.Background(), table, cube.Window{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.rows) != 50_000 || got.every != 4 {
		t.Errorf("%d rows, every %g-th, want every 4th of 200,000", len(got.rows), got.every)
	}
	if diff := cmp.Diff(want.rows, got.rows, cmp.AllowUnexported(diagRow{}), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// A table that does not say how many rows it has fills no memory.
func TestUnknownRows(t *testing.T) {
	table := newTable("t", serving.Client, steady(300_000, 10, 900))
	rs, err := readRows(context.Background(), silent{table}, cube.Window{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rs.rows) > 2*keptRows || len(rs.rows) < keptRows/2 || float64(len(rs.rows))*rs.every < 299_990 {
		t.Errorf("%d rows that stand for %g each, want at most %d that stand for 300,000", len(rs.rows), rs.every, 2*keptRows)
	}
}

// A silent table does not know its length.
type silent struct{ *column.Table }

func (t silent) Parts() []serving.Part { return []serving.Part{silentPart{t.Table.Parts()[0]}} }

type silentPart struct{ serving.Part }

func (silentPart) Rows() int64 { return -1 }
