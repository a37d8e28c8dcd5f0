package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// decideGates answers the gates that were asked for.
func decideGates(in *Input, rep *Report) (Gate, error) {
	g := Gate{Result: GateNone}
	for _, name := range in.Opt.Gates {
		switch name {
		case "slo":
			if err := g.slo(in, rep); err != nil {
				return g, err
			}
		case "regression":
			if err := g.regression(in, rep); err != nil {
				return g, err
			}
		case "capacity":
			if err := g.capacity(in, rep); err != nil {
				return g, err
			}
		default:
			return g, fmt.Errorf("gate %q is not known, want slo, regression or capacity>=N", name)
		}
	}
	return g, nil
}

// slo demands every objective of every run, and of every trace where there is
// no run; of a comparison those of its second side.
func (g *Gate) slo(in *Input, rep *Report) error {
	objectives := in.objectives()
	if len(objectives) == 0 {
		return fmt.Errorf("--gate slo has no objective to decide, pass --slo 'ttft:p99<500ms' or set slo in the config file")
	}
	judged := 0
	judge := func(label string, rs []SLOResult) {
		for _, r := range rs {
			judged++
			g.add(r.Result, fmt.Sprintf("%s: %s: %s: %s", label, r.Expr, r.Result, r.Reason))
		}
	}
	if runs := Value[Runs](rep); runs != nil {
		for _, r := range runs.Runs {
			if in.sides != nil && in.sides.sideOf(r.Run) == before {
				continue
			}
			judge(r.Run.Label, r.SLO)
			if len(r.SLO) == 0 {
				g.add(GateUndecided, r.Run.Label+": no objective could be applied: no request completed, or none is for this run")
			}
		}
	}
	if sl := Value[Slices](rep); sl != nil {
		for _, d := range sl.Datasets {
			if d.Run == nil && !in.isBefore(d) {
				judge(d.Dataset, d.All.SLO)
			}
		}
	}
	if judged == 0 {
		g.add(GateUndecided, "no objective could be applied to the data")
	}
	for _, s := range objectives {
		if why := in.noSlice(s); why != "" {
			g.add(GateUndecided, s.Expr+": "+why)
		}
	}
	return nil
}

// regression demands that no headline figure of a comparison got worse.
func (g *Gate) regression(in *Input, rep *Report) error {
	c := Value[Comparison](rep)
	if c == nil {
		return fmt.Errorf("--gate regression compares two sides, which only vreport compare has")
	}
	rows := slices.Concat(c.Headline, in.gatedSlices(c))
	for _, r := range rows {
		s := fmt.Sprintf("%s: %s", change(r), r.Call)
		if r.Why != "" {
			s += ", " + r.Why
		}
		switch r.Call {
		case verdict.Slower:
			if r.Mix {
				g.add(GateUndecided, s+"; the change is one of the mix of requests")
				continue
			}
			g.add(GateFail, s)
		case verdict.Undecided:
			g.add(GateUndecided, s)
		default:
			g.add(GatePass, s)
		}
	}
	g.absentSlices(in, c)
	if len(c.Headline) == 0 {
		g.add(GateUndecided, "the sides have no headline figure in common")
	}
	if r := c.beside(rows); r != nil {
		g.Reasons = append(g.Reasons, fmt.Sprintf("%s is %s, which does not decide: %s has the gate decide on it, too", change(r), r.Call, thresholdFlag(r)))
	}
	return nil
}

// beside is the first slice that is slower and no matter of the gate, where no figure
// that is one got worse.
func (c *Comparison) beside(decides []*CompareRow) *CompareRow {
	if slices.ContainsFunc(decides, func(r *CompareRow) bool { return r.Call == verdict.Slower && !r.Mix }) {
		return nil
	}
	for _, r := range c.Slices {
		if r.Call == verdict.Slower && !r.Mix && !slices.Contains(decides, r) {
			return r
		}
	}
	return nil
}

// thresholdFlag is the flag that makes a slice one of the gate's.
func thresholdFlag(r *CompareRow) string {
	var terms []string
	for _, t := range r.By {
		terms = append(terms, t.Dim+"="+t.Value)
	}
	limit := strconv.FormatFloat(r.Threshold*100, 'g', 3, 64)
	return fmt.Sprintf("--threshold '%s:%s=%s%%'", strings.Join(terms, ":"), r.Figure, limit)
}

// isBefore reports whether a dataset is of a comparison's first side.
func (in *Input) isBefore(d *DatasetStats) bool {
	if in.sides == nil {
		return false
	}
	i := slices.IndexFunc(in.tables, func(t *table) bool { return t.run == d.Run && t.src.Name() == d.Dataset })
	return i >= 0 && in.sides.sideOfTable(in.tables[i]) == before
}

// add folds one answer in: fail beats undecided beats pass.
func (g *Gate) add(r GateResult, reason string) {
	rank := map[GateResult]int{GateNone: 0, GatePass: 1, GateUndecided: 2, GateFail: 3}
	if rank[r] > rank[g.Result] {
		g.Result = r
	}
	g.Reasons = append(g.Reasons, reason)
}

// noSlice says why an objective for a slice is for nothing in the data: a value
// that nobody has is most often a typing error.
func (in *Input) noSlice(s serving.SLO) string {
	for _, b := range s.By {
		var have []string
		for _, t := range in.tables {
			if g, ok := t.alone[b.Dim]; ok {
				for _, c := range t.cube.Groups[g].Cells {
					if !slices.Contains(have, c.Key[0]) {
						have = append(have, c.Key[0])
					}
				}
			}
		}
		for _, r := range in.Data.Runs {
			if w := r.Workload.Or(""); b.Dim == serving.ColWorkload && w != "" && !slices.Contains(have, w) {
				have = append(have, w)
			}
			if m := r.Model.Or(""); b.Dim == serving.ColModel && m != "" && !slices.Contains(have, m) {
				have = append(have, m)
			}
		}
		if !slices.Contains(have, b.Value) {
			return fmt.Sprintf("the data have no %s %q, only %s", b.Dim, b.Value, orNone(have))
		}
	}
	return ""
}

// objectives lists those asked for and those that rollups were made with.
func (in *Input) objectives() []serving.SLO {
	out := slices.Clone(in.Opt.SLOs)
	for _, t := range in.tables {
		for _, s := range t.objectives(in.Opt) {
			if !slices.ContainsFunc(out, func(o serving.SLO) bool { return o.Expr == s.Expr }) {
				out = append(out, s)
			}
		}
	}
	return out
}
