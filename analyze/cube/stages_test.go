package cube

import (
	"context"
	"math/rand"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// A stageTaker groups rows as a filler does, or does nothing with them.
type stageTaker struct {
	*filler
	group bool
}

func (t stageTaker) take(c *chunk) error {
	if !t.group {
		return nil
	}
	c.blank()
	for i, s := range t.stocks {
		r := &t.rows[i]
		if err := r.find(&t.sorter, s, c, false); err != nil {
			return err
		}
		s.grow(0)
		r.slots = s.settle(r.slots, r.ids, c)
		t.sorter.sort(&r.order, r.slots, max(len(s.owners), 1))
	}
	return nil
}

// BenchmarkStages is one core's rows/s of each stage of a large source that lies
// in memory: to read its columns, to group rows by leaf, to fill histograms, to
// find ranks, and to pick values in the second scan (which reads and groups once
// more). A file has its decoding on top: BenchmarkScan of ingest/trace is that
// limit.
func BenchmarkStages(b *testing.B) {
	const rows = 1_000_000
	src := randomTable(rand.New(rand.NewSource(1)), rows, true)
	src.parts = 8
	src.intern()
	plan := benchmarkPlan()
	plan.Workers = 1
	ctx := context.Background()
	lay, err := newLayout(src, &plan)
	if err != nil {
		b.Fatal(err)
	}
	s := &scanner{lay: lay, workers: 1}
	var took [6]time.Duration
	for b.Loop() {
		at, stage := time.Now(), 0
		lap := func() {
			took[stage] += time.Since(at)
			at, stage = time.Now(), stage+1
		}
		views, found, win, err := s.views(ctx, src, &plan)
		if err != nil {
			b.Fatal(err)
		}
		fams := lay.families(views)
		for i := range fams {
			fams[i].choose(lay, &plan, found.rows)
		}
		asked := s.matches(&plan, found, win)
		lap()
		scan := func(t func(*filler) taker) *filler {
			w := s.newFiller(&plan, fams, asked)
			if _, err := s.stream(ctx, lay, src.Parts(), win, true, func() taker { return t(w) }); err != nil {
				b.Fatal(err)
			}
			return w
		}
		scan(func(w *filler) taker { return stageTaker{w, false} })
		lap()
		scan(func(w *filler) taker { return stageTaker{w, true} })
		lap()
		w := scan(func(w *filler) taker { return w })
		lap()
		w.finish()
		w.link()
		f := &finisher{scanner: s, plan: &plan, views: views, stocks: w.stocks, cube: &Cube{}, win: win}
		f.cells()
		if err := f.ranks(ctx); err != nil {
			b.Fatal(err)
		}
		lap()
		if err := f.gather(ctx, src); err != nil {
			b.Fatal(err)
		}
		lap()
		if n := f.cube.Groups[0].Cells[0].Summaries[serving.E2E].N; n == 0 {
			b.Fatal("nothing was counted")
		}
	}
	names := []string{"survey", "read", "read+group", "read+group+histogram", "ranks", "second"}
	for i, name := range names {
		b.ReportMetric(rows*float64(b.N)/took[i].Seconds()/1e6, name+"-Mrows/s")
	}
}
