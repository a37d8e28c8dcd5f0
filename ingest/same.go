package ingest

import (
	"fmt"

	"github.com/vreport/vreport/ingest/inferenceperf"
	"github.com/vreport/vreport/ingest/inferencex"
	"github.com/vreport/vreport/ingest/llmd"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/trtllm"
)

// countOnce puts together what producers write in several files of one run, so
// that no run, request or server counts twice. Producers that know best come
// first; what is left equal to the last digit goes with dropTwins.
func countOnce(ds *serving.Dataset, files []found, all []loaded) {
	leaveReports(ds, files, all)
	joinVLLM(ds, files, all)
	joinAIPerf(ds, files, all)
	joinInferencePerf(ds, files, all)
	dropRepeats(ds, files, all)
	dropTwins(ds, files, all)
}

// joinInferencePerf drops the summary beside its stages, and gives the stages
// their requests.
func joinInferencePerf(ds *serving.Dataset, files []found, all []loaded) {
	byLabel := map[string][]*inferenceperf.Part{}
	at := map[*inferenceperf.Part]int{}
	for i, in := range ds.Inputs {
		if in.Format == inferenceperf.Format {
			p := &inferenceperf.Part{Path: files[i].path, Runs: all[i].runs, Servers: all[i].servers}
			byLabel[files[i].label] = append(byLabel[files[i].label], p)
			at[p] = i
		}
	}
	for _, parts := range byLabel {
		inferenceperf.Reconcile(parts)
	}
	for p, i := range at {
		all[i].runs, all[i].servers = p.Runs, p.Servers
		if p.Note != "" {
			addNote(ds.Inputs[i], p.Note)
		}
	}
}

// A repeatRule says which runs of one format tell again of a run that stands in
// another file.
type repeatRule struct {
	format  string // of the run that goes
	of      string // of the run that stays; "" for any other
	repeats func(goes, stays *serving.Run) bool
}

var repeatRules = []repeatRule{
	{llmd.Format, "", llmd.Repeats},
	{inferencex.Format, "", inferencex.Repeats},
	{trtllm.Format, trtllm.Format, trtllm.SameRun},
}

// dropRepeats applies the rules under each label. Of two runs of one format the
// one with requests stays, else the first in path order.
func dropRepeats(ds *serving.Dataset, files []found, all []loaded) {
	for _, rule := range repeatRules {
		for i := range all {
			if ds.Inputs[i].Format != rule.format {
				continue
			}
			before := len(all[i].runs)
			of := ""
			all[i].runs = without(all[i].runs, func(r *serving.Run) bool {
				path, ok := rule.find(ds, files, all, i, r)
				if ok {
					of = path
				}
				return ok
			})
			if n := before - len(all[i].runs); n > 0 {
				addNote(ds.Inputs[i], fmt.Sprintf("%d of its runs stand in %s too and are counted once", n, of))
			}
		}
	}
}

// find returns the file of the run that r repeats.
func (rule repeatRule) find(ds *serving.Dataset, files []found, all []loaded, i int, r *serving.Run) (string, bool) {
	for k := range all {
		same := ds.Inputs[k].Format == rule.format
		if files[k].label != files[i].label || rule.of == "" && same || rule.of != "" && ds.Inputs[k].Format != rule.of {
			continue
		}
		for _, o := range all[k].runs {
			if o == r || !rule.repeats(r, o) {
				continue
			}
			if !same || o.Requests != nil && r.Requests == nil || (o.Requests == nil) == (r.Requests == nil) && k < i {
				return files[k].path, true
			}
		}
	}
	return "", false
}
