package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits of looking at each model of a table apart (judgement).
const (
	leastOfModel  = 100 // requests
	modelsOfTable = 4
)

// byModel cuts a table with several models into one for each of the largest.
// Models do not share servers: when one of them has less to do, the mean over
// all moves, and nothing got slower. A table of one model is left whole.
func (s *rowSource) byModel() (out []*rowSource, left string) {
	if len(s.models) < 2 {
		return []*rowSource{s}, ""
	}
	parts := make([]*rowSource, len(s.models))
	for k, name := range s.models {
		c := *s
		c.name, c.rows, c.models = s.name+" · "+name, nil, []string{name}
		c.workloads, c.replicas = nil, nil
		parts[k] = &c
	}
	for _, r := range s.rows {
		if r.model < 0 {
			continue
		}
		p := parts[r.model]
		r.workload = intern(&p.workloads, s.workloads, r.workload)
		r.replica = intern(&p.replicas, s.replicas, r.replica)
		r.model = 0
		p.rows = append(p.rows, r)
	}
	slices.SortStableFunc(parts, func(a, b *rowSource) int {
		return cmp.Or(cmp.Compare(len(b.rows), len(a.rows)), strings.Compare(a.name, b.name))
	})
	for _, p := range parts {
		if len(out) < modelsOfTable && len(p.rows) >= leastOfModel {
			out = append(out, p)
		}
	}
	if n := len(parts) - len(out); n > 0 {
		left = fmt.Sprintf("%s: %s of %d looked at, each alone; the others have fewer than %d requests or come after the largest %d.", s.name, plural(len(out), "model", "models"), len(parts), leastOfModel, modelsOfTable)
	}
	return out, left
}

// intern is a name's place among the names of a part.
func intern(names *[]string, all []string, k int32) int32 {
	if k < 0 {
		return k
	}
	i := slices.Index(*names, all[k])
	if i < 0 {
		i = len(*names)
		*names = append(*names, all[k])
	}
	return int32(i)
}

// otherModel reports that a table was cut by model and the other source is known
// to be of another one. Names are compared loosely: a gateway's "llama-8b" may be
// a server's "meta-llama/Llama-8B".
func (s *source) otherModel(o *source) bool {
	if s.rows == nil && o.rows == nil {
		return false // scrapes and log of a time: one may have the served name, one the path
	}
	a, b := strings.ToLower(s.model), strings.ToLower(o.model)
	return a != "" && b != "" && !strings.Contains(a, b) && !strings.Contains(b, a)
}
