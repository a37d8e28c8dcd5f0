package ingest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// dropTwins removes runs that were read twice: a sweep's summary.json repeats
// its run=N.json, a merged file its parts. Two runs are the same when their
// model, load, duration and every aggregate are equal to the last digit, which chance does
// not do; the copy with requests stays, else the first in path order. Copies
// under different labels are left alone: a user who labels means it.
func dropTwins(ds *serving.Dataset, files []found, all []loaded) {
	type key struct{ label, figures string }
	kept := map[key]*serving.Run{}
	source := map[*serving.Run]string{}
	drop := map[*serving.Run]bool{}
	for i := range all {
		for _, r := range all[i].runs {
			source[r] = files[i].path
			f, ok := figures(r)
			if !ok {
				continue
			}
			k := key{files[i].label, f}
			old := kept[k]
			switch {
			case old == nil:
				kept[k] = r
			case old.Requests == nil && r.Requests != nil:
				drop[old], kept[k] = true, r
			default:
				drop[r] = true
			}
		}
	}
	if len(drop) == 0 {
		return
	}
	for i := range all {
		var twins []string
		for _, r := range all[i].runs {
			if f, ok := figures(r); ok && drop[r] {
				if of := source[kept[key{files[i].label, f}]]; !slices.Contains(twins, of) {
					twins = append(twins, of)
				}
			}
		}
		before := len(all[i].runs)
		all[i].runs = slices.DeleteFunc(all[i].runs, func(r *serving.Run) bool { return drop[r] })
		if n := before - len(all[i].runs); n > 0 {
			addNote(ds.Inputs[i], fmt.Sprintf("%d of its runs stand in %s too and are counted once", n, strings.Join(twins, ", ")))
		}
	}
}

// figures writes what identifies a run: its duration and all its aggregates.
// Too few of them identify nothing.
func figures(r *serving.Run) (string, bool) {
	if !r.Duration.OK || len(r.Reported) < 5 {
		return "", false
	}
	var parts []string
	for _, a := range r.Reported {
		parts = append(parts, fmt.Sprintf("%s %s %x", a.Metric, a.Stat, a.File))
	}
	slices.Sort(parts)
	load := fmt.Sprintf("%s %v %v %v", r.Model.V, r.Load.MaxConcurrency, r.Load.RequestRate, r.Load.Unlimited)
	return fmt.Sprintf("%x %d %d %s\n%s", r.Duration.V, r.Completed.V, r.Output.V, load, strings.Join(parts, "\n")), true
}

func addNote(in *serving.Input, s string) {
	if in.Note != "" {
		in.Note += "; "
	}
	in.Note += s
}
