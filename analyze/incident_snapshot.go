package analyze

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A WorkloadShare is one kind of work before and during an incident.
type WorkloadShare struct {
	By             []serving.Term // empty: all of a source
	Source         string
	Before, During WorkloadState
}

// A WorkloadState is what was asked for in a stretch.
type WorkloadState struct {
	PerSecond              serving.Opt[float64] // requests that arrived
	Share                  serving.Opt[float64] // of the source's requests
	PromptP50, PromptP95   serving.Opt[float64] // tokens
	OutputP50, OutputP95   serving.Opt[float64]
	CachedShare, Requests  serving.Opt[float64]
	TTFTMean, TPOTMean     serving.Opt[float64]
	PromptMean, OutputMean serving.Opt[float64]
}

// snapshot keeps what it takes to make the incident again: the workload, the
// settings of servers and clients, and the files with their checksums.
func (v *incidentView) snapshot(in *Input) {
	for _, s := range v.u.sources {
		b, i, _ := v.stretches(s)
		if i == nil || i.Prompt.N+i.Requests == 0 && b == nil {
			continue
		}
		all := WorkloadShare{Source: s.label, Before: workloadOf(b, b), During: workloadOf(i, i)}
		if !all.During.Requests.OK && !all.During.PromptMean.OK {
			continue
		}
		v.inc.Workload = append(v.inc.Workload, all)
		if s.rows != nil {
			v.inc.Workload = append(v.inc.Workload, v.byWorkload(s, b, i)...)
		}
	}
	v.settings(in)
	for _, f := range in.Data.Inputs {
		if f.Format != "unknown" {
			v.inc.Inputs = append(v.inc.Inputs, f)
		}
	}
}

func workloadOf(p, of *phase) WorkloadState {
	if p == nil || of == nil {
		return WorkloadState{}
	}
	percentiles := func(s spread) (a, b, m serving.Opt[float64]) {
		if s.N >= leastForP50 {
			a = finite(s.P50)
		}
		if s.N >= leastForP95 {
			b = finite(s.P95)
		}
		return a, b, finite(s.Mean)
	}
	w := WorkloadState{PerSecond: finite(p.Requests / of.seconds()), Share: finite(p.Requests / of.Requests), CachedShare: finite(p.CachedShare), Requests: finite(p.Requests),
		TTFTMean: finite(p.TTFT.Mean), TPOTMean: finite(p.TPOT.Mean)}
	w.PromptP50, w.PromptP95, w.PromptMean = percentiles(p.Prompt)
	w.OutputP50, w.OutputP95, w.OutputMean = percentiles(p.Output)
	return w
}

// maxWorkloads bounds the kinds of work of a snapshot.
const maxWorkloads = 16

func (v *incidentView) byWorkload(s *source, b, i *phase) []WorkloadShare {
	if len(s.rows.workloads) < 2 || len(s.rows.workloads) > maxWorkloads {
		return nil
	}
	var out []WorkloadShare
	for k, name := range s.rows.workloads {
		rs := *s.rows.rowSource
		rs.workloads, rs.replicas = nil, nil
		rs.rows = slices.DeleteFunc(slices.Clone(s.rows.rows), func(r diagRow) bool { return r.workload != int32(k) })
		if len(rs.rows) == 0 {
			continue
		}
		one := newRowChannel(&rs)
		w := WorkloadShare{By: []serving.Term{{Dim: serving.ColWorkload, Value: name}}, Source: s.label, During: workloadOf(one.phase(i.From, i.To), i)}
		if b != nil {
			w.Before = workloadOf(one.phase(b.From, b.To), b)
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b WorkloadShare) int { return cmp.Compare(a.By[0].Value, b.By[0].Value) })
	return out
}

// settings joins what servers and clients say of how they were run. Where
// replicas differ, each value stands with its replica.
func (v *incidentView) settings(in *Input) {
	type said struct{ value, who string }
	byKey := map[string][]said{}
	var order []string
	add := func(who, key, value string) {
		if len(byKey[key]) == 0 {
			order = append(order, key)
		}
		byKey[key] = append(byKey[key], said{value, who})
	}
	for _, s := range v.u.sources {
		if s.servers != nil {
			for _, view := range s.servers.views {
				if view.Version.OK {
					add(view.Label, "version", view.Version.V)
				}
				for _, x := range view.Info {
					add(view.Label, x.Key, x.Value)
				}
			}
			continue
		}
		for _, r := range in.Data.Runs {
			if r.Requests != nil && slices.Contains(s.rows.srcs, r.Requests) {
				for _, x := range r.Settings {
					add(r.Label, x.Key, x.Value)
				}
			}
		}
	}
	slices.Sort(order)
	for _, key := range order {
		list := byKey[key]
		same := !slices.ContainsFunc(list, func(x said) bool { return x.value != list[0].value })
		value := list[0].value
		if !same {
			var parts []string
			for _, x := range list {
				parts = append(parts, x.value+" ("+x.who+")")
			}
			value = strings.Join(parts, ", ")
		}
		v.inc.Settings = append(v.inc.Settings, serving.Setting{Key: key, Value: value})
	}
}
