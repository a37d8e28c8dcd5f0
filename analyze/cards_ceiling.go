package analyze

import "github.com/vreport/vreport/ingest/serving"

// ceilingCard is how near a run comes to the memory bandwidth, with the ceiling that
// binds at the highest load; ok is false where neither is known of it.
func ceilingCard(rep *Report, r *RunStats) (Card, bool) {
	all := Value[Ceilings](rep)
	if all == nil {
		return Card{}, false
	}
	for _, c := range all.Ceilings {
		for _, l := range c.Levels {
			if l.Run == r && l.MBU.OK {
				return Card{Label: "Memory bandwidth", Metric: "mbu", Unit: serving.Share, Value: l.MBU, SLO: c.Binding.short(), Tone: "neutral"}, true
			}
		}
	}
	return Card{}, false
}

// ceilingChip names the ceiling that binds where no card does.
func ceilingChip(rep *Report) (Chip, bool) {
	all := Value[Ceilings](rep)
	if all == nil || len(all.Ceilings) != 1 || all.Ceilings[0].Binding.What == BindsUnknown {
		return Chip{}, false
	}
	return Chip{"Ceiling", all.Ceilings[0].Binding.short()}, true
}

// short is the answer in a few words.
func (b Binding) short() string {
	switch b.What {
	case BindsUnknown, "":
		return ""
	case BindsNeither:
		return "no ceiling is touched"
	case BindsCapacity:
		return "the KV pool binds"
	}
	return string(b.What) + " binds"
}
