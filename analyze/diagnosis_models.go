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
	parts := s.cutByModel()
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

// cutByModel returns the rows of each model, in their order. They share one array,
// of which each has a piece.
func (s *rowSource) cutByModel() []*rowSource {
	counts := make([]int, len(s.models))
	total := 0
	for i := range s.rows {
		if k := s.rows[i].model; k >= 0 {
			counts[k]++
			total++
		}
	}
	room := make([]diagRow, total)
	parts := make([]*rowSource, len(s.models))
	for k, name := range s.models {
		c := *s
		c.name, c.models = s.name+" · "+name, []string{name}
		c.rows, room = room[:0:counts[k]], room[counts[k]:]
		parts[k] = &c
	}
	for i := range s.rows {
		if k := s.rows[i].model; k >= 0 {
			parts[k].rows = append(parts[k].rows, s.rows[i])
		}
	}
	workloads, replicas := newRenaming(s.workloads), newRenaming(s.replicas)
	for _, p := range parts {
		for i := range p.rows {
			r := &p.rows[i]
			r.model, r.workload, r.replica = 0, workloads.of(r.workload), replicas.of(r.replica)
		}
		p.workloads, p.replicas = workloads.done(), replicas.done()
	}
	return parts
}

// A renaming numbers the names of one part after another in the order they come.
type renaming struct {
	all []string
	to  []int32 // the number of each name of all, -1 of one that has not come
	was []int32 // the names that have come
}

func newRenaming(all []string) *renaming {
	r := &renaming{all: all, to: make([]int32, len(all))}
	for i := range r.to {
		r.to[i] = -1
	}
	return r
}

func (r *renaming) of(k int32) int32 {
	if k < 0 {
		return k
	}
	if r.to[k] < 0 {
		r.to[k] = int32(len(r.was))
		r.was = append(r.was, k)
	}
	return r.to[k]
}

// done returns the names of a part and begins the next one.
func (r *renaming) done() (names []string) {
	for _, k := range r.was {
		names = append(names, r.all[k])
		r.to[k] = -1
	}
	r.was = r.was[:0]
	return names
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
