package analyze

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// The two settings that auto_tune varies, and people with it.
const (
	gridRows    = "max_num_seqs"
	gridColumns = "max_num_batched_tokens"
)

// halfGrids finds the grids of each side by itself: two sides that hold one
// combination are two experiments.
func halfGrids(in *Input, runs []*RunStats) []*Grid {
	if in.sides == nil {
		return grids(runs)
	}
	var out []*Grid
	for _, h := range []Half{FirstHalf, SecondHalf} {
		var own []*RunStats
		for _, r := range runs {
			if in.halfOf(r.Run) == h {
				own = append(own, r)
			}
		}
		for _, g := range grids(own) {
			g.Label = strings.TrimSuffix(in.name(h)+" · "+g.Label, " · ")
			out = append(out, g)
		}
	}
	return out
}

// grids finds runs over combinations of the two batch settings: two or more
// values of each. Per combination the fastest run counts, as auto_tune has it.
func grids(runs []*RunStats) []*Grid {
	var keys []string
	groups := map[string][]*RunStats{}
	for _, r := range runs {
		_, okY := r.Run.Setting(gridRows)
		_, okX := r.Run.Setting(gridColumns)
		if !okX || !okY || !r.Throughput.Requests.OK {
			continue
		}
		k := strings.Join([]string{r.Run.Model.Or(""), r.Run.Engine.Or(""), r.Run.Format, dirOf(r.Run), string(r.Run.Load.Mode)}, "\x00")
		if r.Run.Format == "vllm-autotune" {
			// The tuner lowers the rate until the limit is kept: the load differs.
			k = strings.Join([]string{r.Run.Format, r.Run.Source.Path}, "\x00")
		}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], r)
	}
	var out []*Grid
	for _, k := range keys {
		if g := newGrid(groups[k]); g != nil {
			out = append(out, g)
		}
	}
	return out
}

// mayGrid reports whether runs have two or more values of both settings.
func mayGrid(runs []*serving.Run) bool {
	rows, _ := settingValues(runs, gridRows)
	columns, _ := settingValues(runs, gridColumns)
	return len(rows) > 1 && len(columns) > 1
}

func newGrid(runs []*RunStats) *Grid {
	g := &Grid{YName: gridRows, XName: gridColumns, Best: -1}
	value := func(r *RunStats, key string) string { v, _ := r.Run.Setting(key); return v }
	for _, r := range runs {
		y, x := value(r, gridRows), value(r, gridColumns)
		if !slices.Contains(g.Y, y) {
			g.Y = append(g.Y, y)
		}
		if !slices.Contains(g.X, x) {
			g.X = append(g.X, x)
		}
		if v, ok := r.Run.Setting("max_latency_allowed_ms"); ok {
			g.Limit = v
		}
	}
	if len(g.Y)*len(g.X) < 4 || len(g.Y) < 2 || len(g.X) < 2 {
		return nil
	}
	slices.SortFunc(g.Y, byNumber)
	slices.SortFunc(g.X, byNumber)
	for _, r := range runs {
		y, x := slices.Index(g.Y, value(r, gridRows)), slices.Index(g.X, value(r, gridColumns))
		i := slices.IndexFunc(g.Cells, func(c GridCell) bool { return c.Y == y && c.X == x })
		if i < 0 {
			g.Cells = append(g.Cells, GridCell{Y: y, X: x})
			i = len(g.Cells) - 1
		}
		c := &g.Cells[i]
		if c.Run == nil || r.Throughput.Requests.V > c.Rate.V {
			c.Run, c.Rate, c.E2E = r, r.Throughput.Requests, r.Dists.stat(serving.E2E, "p99")
		}
	}
	slices.SortFunc(g.Cells, func(a, b GridCell) int { return cmp.Or(cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X)) })
	for i, c := range g.Cells {
		if g.Best < 0 || c.Rate.V > g.Cells[g.Best].Rate.V {
			g.Best = i
		}
	}
	g.Missing = len(g.Y)*len(g.X) - len(g.Cells)
	g.Label = runs[0].Run.Model.Or(runs[0].Run.Source.Path)
	return g
}

// byNumber orders settings by their number, and as text where they are none.
func byNumber(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(x, y)
}
