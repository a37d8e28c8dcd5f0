package analyze

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// check refuses choices that the data show to be mistakes: a window beside the
// data, a load axis that no run has. An empty report would hide them.
func (in *Input) check() error {
	if by := in.Opt.SweepBy; by != "" && by != sweep.Concurrency && by != sweep.Rate && !slices.ContainsFunc(in.Data.Runs, func(r *serving.Run) bool { _, ok := r.Setting(by); return ok }) {
		return fmt.Errorf("--sweep-by %s: no run has a setting of that name, want one of %s", by, orNone(settingKeys(in.Data.Runs)))
	}
	return errors.Join(in.checkWindow(), in.checkIncident())
}

// checkIncident refuses a marked window beside the data.
func (in *Input) checkIncident() error {
	w := in.Opt.Incident
	if w == (cube.Window{}) || in.sides != nil {
		return nil
	}
	var spans []string
	yearless := false
	covered := func(name string, from, to int64, relative bool) bool {
		text := fmt.Sprintf("%s from %s to %s", name, instant(from), instant(to))
		if relative {
			text = fmt.Sprintf("%s from %s to %s", name, number(float64(from)/1e9), number(float64(to)/1e9))
		}
		spans = append(spans, text)
		return w.From <= to && w.To > from
	}
	for _, t := range in.tables {
		if c := t.cube; t.time >= 0 && c.Start.OK && c.Step > 0 && covered(t.src.Name(), c.Start.V, c.Start.V+int64(len(t.windows()))*c.Step, c.Relative) {
			return nil
		}
	}
	for _, s := range in.Data.Servers {
		if s.Relative && s.YearTime.OK {
			yearless = true // its year is that of the other data, where there are any
			continue
		}
		if len(s.Times) > 0 && covered(s.Label, s.Times[0], s.Times[len(s.Times)-1], s.Relative) {
			return nil
		}
	}
	switch {
	case len(spans) == 0 && yearless:
		return nil
	case len(spans) == 0:
		return fmt.Errorf("--incident: nothing in the data has a time, want request-level data with arrival times, scrapes or an engine's log")
	case len(spans) > 5:
		spans = append(spans[:5], "…")
	}
	return fmt.Errorf("--incident lies beside the data, which are: %s (times without a date are seconds)", strings.Join(spans, "; "))
}

func (in *Input) checkWindow() error {
	if in.Opt.Window == (cube.Window{}) || len(in.tables)+len(in.Data.Servers) == 0 {
		return nil
	}
	for _, t := range in.tables {
		if t.total().Sent > 0 {
			return nil
		}
	}
	var spans []string
	for _, s := range in.Data.Servers {
		if viewOf(s, in.windowOf(func() int { return in.sides.sideOf(s) })).n() > 0 {
			return nil
		}
		if !s.Relative && len(s.Times) > 0 {
			spans = append(spans, fmt.Sprintf("%s from %s to %s", s.Label, instant(s.Times[0]), instant(s.Times[len(s.Times)-1])))
		}
	}
	if len(in.Data.Runs) > len(in.tables) {
		return nil // results without request times are not cut by a window
	}
	if len(spans) == 0 {
		return fmt.Errorf("--window leaves no request; vreport inspect says from when to when the data are")
	}
	return fmt.Errorf("--window leaves nothing, the data are: %s", strings.Join(spans, "; "))
}

func instant(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
