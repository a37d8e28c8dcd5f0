package analyze

import "fmt"

// capacity demands that the load which surely meets every objective is at least
// a number, in the unit of the sweep's load axis, of every sweep. It decides by
// the intervals: pass where a level at or above the number surely passes, fail
// where one at or below it surely fails.
func (g *Gate) capacity(in *Input, rep *Report) error {
	if len(in.Opt.SLOs) == 0 {
		return fmt.Errorf("the gate capacity has no objective to decide on, pass --slo 'ttft:p99<500ms' or set slo in the config file")
	}
	judged := 0
	if sw := Value[Sweeps](rep); sw != nil {
		for _, s := range sw.Sweeps {
			c := s.Capacity
			if c == nil {
				continue
			}
			judged++
			result := GateUndecided
			switch {
			case c.SurePass.OK && c.SurePass.V >= in.Opt.Capacity:
				result = GatePass
			case c.SureFail.OK && c.SureFail.V <= in.Opt.Capacity:
				result = GateFail
			}
			g.add(result, fmt.Sprintf("%s: capacity >= %s: %s: %s", s.Label, number(in.Opt.Capacity), result, c.Text))
		}
	}
	if judged == 0 {
		g.add(GateUndecided, "capacity: there is no sweep that an objective could be applied to; it takes two or more runs that differ in load only")
	}
	return nil
}
