package analyze

import (
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// Two sides' runs of one sweep are two sweeps, of which none has repeats.
func TestSweepsOfTwoSides(t *testing.T) {
	side := func() *serving.Dataset {
		ds := &serving.Dataset{}
		for i, c := range []int64{1, 4, 16} {
			r := aggregate([]string{"c1", "c4", "c16"}[i], serving.LoadOf(serving.Some(c), serving.None[float64](), true), 100, 100, map[string]float64{"ttft mean": 50, "tpot mean": 10, "ttft p95": 90})
			r.Source = serving.Pos{Path: "results/" + r.ID + ".json"}
			ds.Runs = append(ds.Runs, r)
		}
		return ds
	}
	rep, err := Compare(t.Context(), Sides{Names: [2]string{"main", "pr"}, Data: [2]*serving.Dataset{side(), side()}}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	sw := Value[Sweeps](rep)
	if sw == nil || len(sw.Sweeps) != 2 {
		t.Fatalf("sweeps %+v, want one a side", sw)
	}
	for i, s := range sw.Sweeps {
		if s.Half != FirstHalf+Half(i) || len(s.Points) != 3 {
			t.Errorf("sweep %d: half %d, %d levels", i, s.Half, len(s.Points))
		}
		for _, p := range s.Points {
			if len(p.Runs) != 1 {
				t.Errorf("%s: %d runs at level %g, want one: the other side's is no repeat", s.Label, len(p.Runs), p.X)
			}
		}
	}
	if len(sw.Overlays) != 1 || len(sw.Overlays[0].Sweeps) != 2 {
		t.Errorf("overlays %+v, want both sides on one chart", sw.Overlays)
	}
}
