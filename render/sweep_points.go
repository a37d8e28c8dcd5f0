package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// A namedPoint is one of the different points that people call "the knee" or
// "the capacity", with its place on the load axis.
type namedPoint struct {
	name, short string // short: on the charts; "" where it stands in the table only
	x           float64
	slo         bool // it comes from an objective
}

var kneeNames = map[string][2]string{
	"saturation": {"Saturation knee N*", "N*"}, "power": {"Power knee", "power"}, "usl": {"Peak by the scalability law", "USL peak"}, "kneedle": {"Kneedle (cross-check)", ""},
}

// kneeName names a knee: an open loop's saturation is no N*.
func kneeName(s *analyze.Sweep, method string) (name, short string) {
	if method == "saturation" && s.Mode == serving.OpenLoop {
		return "Saturation", "saturated"
	}
	n := kneeNames[method]
	return n[0], n[1]
}

// namedPoints lists the points of a curve that lie on it.
func namedPoints(s *analyze.Sweep) []namedPoint {
	var out []namedPoint
	for _, k := range s.Knees {
		if k.Level.OK && k.Level.V > 0 {
			name, short := kneeName(s, k.Method)
			out = append(out, namedPoint{name: name, short: short, x: k.Level.V})
		}
	}
	if c := s.Capacity; c != nil && c.Pass.OK {
		out = append(out, namedPoint{name: "SLO capacity", short: "SLO capacity", x: c.Pass.V, slo: true})
	}
	if t := s.TurnDown; t != nil && t.Reached {
		out = append(out, namedPoint{name: "Goodput turns down", short: "goodput peak", x: t.X, slo: true})
	}
	return out
}

// nearestLevel is the level next to a load, -1 without any.
func nearestLevel(levels []level, x float64) int {
	best, dist := -1, math.Inf(1)
	for i, l := range levels {
		if l.X <= 0 || l.XUnlimited || !(x > 0) {
			continue
		}
		if d := math.Abs(math.Log(l.X / x)); d < dist {
			best, dist = i, d
		}
	}
	return best
}

// namedTable lists every named point with its definition, those that the sweep
// does not reach too.
func namedTable(id string, s *analyze.Sweep) *Table {
	t := &Table{ID: id + "-named", Caption: "Named points of the curve: they are different things, and none is the one true knee",
		Head: []Head{col("Point"), numCol("at", "", ""), col("Confidence"), col("What it is")}}
	add := func(name string, at Cell, confidence Cell, text, basis string) {
		what := wrapped(text)
		what.Sub = basis
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: name}, at, confidence, what}})
	}
	for i := 0; i < len(s.Knees); {
		k := s.Knees[i]
		name, _ := kneeName(s, k.Method)
		// Knees of which the same is to be said stand together.
		names := []string{lowerFirst(name)}
		for i++; i < len(s.Knees) && !k.X.OK && !s.Knees[i].X.OK && s.Knees[i].Text == k.Text; i++ {
			next, _ := kneeName(s, s.Knees[i].Method)
			names = append(names, lowerFirst(next))
		}
		if n := len(names); n > 1 {
			name = fmt.Sprintf("%d knees", n)
			k.Text = upperFirst(strings.Join(names[:n-1], ", ")) + " and " + names[n-1] + ": " + lowerFirst(k.Text)
		}
		at := number(Missing, "")
		if k.X.OK {
			at = number(FormatNumber(k.X.V), RawValue(serving.NoUnit, k.X))
			at.Sub = k.Unit
		}
		add(name, at, confidenceCell(k.Confidence), k.Text, k.Basis)
	}
	if c := s.Capacity; c != nil {
		at := number(bracket(c), RawValue(serving.NoUnit, c.Pass))
		if c.Estimate.OK {
			at.Sub = "near " + FormatNumber(c.Estimate.V)
		}
		pill := Cell{Text: "undecided", Pill: "warn"}
		if c.Decided {
			pill = Cell{Text: "decided", Pill: "good"}
		} else if len(c.Objectives) == 0 {
			pill = Cell{Text: "not reached", Pill: "neutral"}
		}
		add("SLO capacity", at, pill, c.Text, "")
	}
	for _, a := range s.Attained {
		at := number(FormatValue(serving.NoUnit, a.Pass)+" … "+FormatValue(serving.NoUnit, a.Fail), RawValue(serving.NoUnit, a.Pass))
		pill := Cell{Text: "undecided", Pill: "warn"}
		if a.Decided {
			pill = Cell{Text: "decided", Pill: "good"}
		}
		add("Capacity at "+FormatShare(a.Share)+" good", at, pill, "The last level at which that share of the sent requests keeps every condition of goodput, and the first that does not.", "")
	}
	if d := s.TurnDown; d != nil {
		at := number(Missing, "")
		if d.Reached {
			at = number(FormatNumber(d.X), RawValue(serving.NoUnit, serving.Some(d.X)))
		}
		add("Goodput turns down", at, faint(Missing), d.Text, "")
	}
	if x := s.Target; x != nil {
		at := number(Missing, "")
		if x.Instances.OK {
			at = number(FormatCount(x.Instances.V), fmt.Sprint(x.Instances.V))
			at.Sub = "instances"
			if x.Instances.V == 1 {
				at.Sub = "instance"
			}
		}
		add("Target of "+FormatNumber(x.Rate)+" req/s", at, faint(Missing), x.Text, "")
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// bracket writes a capacity as the two levels it lies between.
func bracket(c *analyze.Capacity) string {
	switch {
	case !c.Pass.OK && c.Fail.OK:
		return "< " + FormatNumber(c.Fail.V)
	case !c.Pass.OK:
		return Missing
	case !c.Fail.OK:
		return "≥ " + FormatNumber(c.Pass.V)
	}
	return FormatNumber(c.Pass.V) + " … " + FormatNumber(c.Fail.V)
}

func confidenceCell(c string) Cell {
	switch c {
	case "high":
		return Cell{Text: c, Pill: "good"}
	case "medium":
		return Cell{Text: c, Pill: "neutral"}
	case "low":
		return Cell{Text: c, Pill: "warn"}
	case "not_reached":
		return faint("not reached")
	}
	return faint(orMissing(c))
}

var regionNames = map[string]string{analyze.Room: "Room", analyze.Saturating: "Saturating", analyze.Queueing: "Queueing"}

// regionTable says where each region lies, and what stopped the last.
func regionTable(id string, s *analyze.Sweep) *Table {
	if len(s.Regions) == 0 {
		return nil
	}
	t := &Table{ID: id + "-regions", Caption: "Regions of the curve", Head: []Head{col("Region"), numCol("from", loadUnit(s.XName), ""), numCol("to", loadUnit(s.XName), ""), col("What it is"), col("Stopped by")}}
	for _, r := range s.Regions {
		stop := faint("")
		if r.StoppedBy != "" {
			stop = wrapped(stopName(r.StoppedBy))
			for _, e := range r.Evidence {
				stop.Sub += upperFirst(e) + ". "
			}
			if r.StoppedBy == analyze.StoppedByUnknown && len(r.Missing) > 0 {
				stop.Sub += "To tell, it takes: "
				for i, m := range r.Missing {
					if i > 0 {
						stop.Sub += "; "
					}
					stop.Sub += m
				}
				stop.Sub += "."
			}
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: regionNames[r.Name]}, number(FormatNumber(r.From), RawValue(serving.NoUnit, serving.Some(r.From))),
			number(FormatNumber(r.To), RawValue(serving.NoUnit, serving.Some(r.To))), wrapped(r.Text), stop}})
	}
	return t.dropEmpty()
}

func stopName(by string) string {
	switch by {
	case analyze.StoppedBySeqs:
		return "the batch limit (max_num_seqs)"
	case analyze.StoppedByKV:
		return "the KV pool"
	case analyze.StoppedByBandwidth:
		return "memory bandwidth"
	case analyze.StoppedByCompute:
		return "compute"
	}
	return "unknown"
}
