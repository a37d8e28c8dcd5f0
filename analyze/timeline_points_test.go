package analyze

import (
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// What is said of a figure's points is true for what is drawn in it.
func TestPointsNote(t *testing.T) {
	const s = int64(1e9)
	series := func(r reach, at, until []int64, values ...float64) *track {
		k := &track{from: at[0], to: until[len(until)-1], step: until[0] - at[0]}
		k.add(r, TimelineSeries{Metric: "m", Panel: PanelThroughput}, at, until, values)
		return k
	}
	every := func(n int, step int64) (at, until []int64) {
		for i := range n {
			at, until = append(at, int64(i)*step), append(until, int64(i+1)*step)
		}
		return at, until
	}
	of := func(r reach, n int, step int64) *track {
		at, until := every(n, step)
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i)
		}
		return series(r, at, until, values...)
	}
	const covers, longer, largest = ", which its figure covers", "; a figure of a longer time", "; of several figures in one step the largest is drawn"
	const moment, before, asked = "Levels of a server are of the moment", "is of a time before its point", "An expression looks back"
	for _, tc := range []struct {
		name   string
		tracks []*track
		want   []string
	}{
		{"windows of requests", []*track{of(ofStretch, 3, s)}, []string{covers}},
		{"two lengths", []*track{of(ofStretch, 4, s), of(ofStretch, 2, 2*s)}, []string{covers, longer}},
		{"irregular", []*track{series(ofStretch, []int64{0, s, 3 * s / 2, 3 * s}, []int64{s, 3 * s / 2, 3 * s, 4 * s}, 1, 2, 3, 4)}, []string{covers, longer, largest}},
		{"levels that go on", []*track{series(ofMoment, []int64{0, s, 4 * s}, []int64{s, 4 * s, 5 * s}, 1, 2, 3)}, []string{moment}},
		{"the same level twice in a step", []*track{series(ofMoment, []int64{0, s, 3 * s / 2}, []int64{s, 3 * s / 2, 2 * s}, 1, 2, 2)}, []string{moment}},
		{"a log's rates", []*track{of(ofBefore, 3, s), of(ofMoment, 3, s)}, []string{moment, before}},
		{"expressions", []*track{of(ofExpression, 3, s)}, []string{asked}},
	} {
		got := layOut(tc.tracks, nil).Points
		for _, part := range []string{covers, longer, largest, moment, before, asked} {
			want := false
			for _, w := range tc.want {
				want = want || w == part
			}
			if strings.Contains(got, part) != want {
				t.Errorf("%s: %q, want %q in it: %v", tc.name, got, part, want)
			}
		}
		if !strings.HasPrefix(got, "A point stands at the start of its step") {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

func TestStepsOf(t *testing.T) {
	for _, tc := range []struct{ at, until, first, last int64 }{
		{0, 10, 0, 0}, {10, 20, 1, 1}, {0, 20, 0, 1}, {-1, 9, 0, 0}, {1, 11, 0, 0}, {9, 19, 1, 1}, {5, 15, 0, 1}, {4, 14, 0, 0}, {6, 16, 1, 1},
		{1, 3, 0, 0}, {9, 11, 1, 1}, {8, 11, 0, 0}, {2, 9, 0, 0}, {7, 34, 1, 2}, {-3, -1, -1, -1},
	} {
		if first, last := stepsOf(tc.at, tc.until, 10); int64(first) != tc.first || int64(last) != tc.last {
			t.Errorf("%d to %d: steps %d to %d, want %d to %d", tc.at, tc.until, first, last, tc.first, tc.last)
		}
	}
}

// Of scrapes, rates stand at the start of their interval and levels at their scrape.
func TestPointsOfServer(t *testing.T) {
	sv := &serving.Server{ID: "s", Label: "s", Times: []int64{103e9, 113e9 + 4e6, 123e9 - 2e6},
		Gauges:   []serving.Gauge{{Name: serving.Running, Unit: serving.RequestsUnit, Values: []float64{1, 2, 3}}, {Name: serving.GenerationRate, Unit: serving.PerSecond, Values: []float64{5, 6, 7}}},
		Counters: []serving.Counter{{Name: serving.GenerationTotal, Values: []float64{0, 100.04, 299.92}}}}
	tl := timelinesOf(t, &serving.Dataset{Servers: []*serving.Server{sv}})[0]
	const want = "A point stands at the start of its step, which its figure covers. Levels of a server are of the moment they were read, and stand until the next. Throughput that an engine states itself is of a time before its point."
	if tl.Points != want {
		t.Errorf("%q, want %q", tl.Points, want)
	}
	if got := seriesText(tl, "output_tokens_per_s", "rate"); got != "10 20 ?" {
		t.Errorf("the rate between the first two scrapes stands elsewhere: %s", got)
	}
	if got := seriesText(tl, "running", ""); got != "1 2 3" {
		t.Errorf("levels: %s", got)
	}
}
