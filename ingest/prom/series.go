package prom

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/vreport/vreport/ingest/serving"
)

// nameLabel holds the name of a series, beside its labels.
const nameLabel = "__name__"

// parseSeries lets Prometheus' parser judge the series part of a line and says
// what it means to us: nil for a series that nothing is made of.
//
// Most series of a scrape are of no use, and a label with a value of its own in
// each (a request id) can make a million of them: what is plainly well-formed
// and of no use has no labels made.
func parseSeries(key []byte) (name string, s *series, err error) {
	if n := plainEnd(key); n > 0 {
		if _, ok := meaningOf(string(key[:n])); !ok {
			return string(key[:n]), nil, nil
		}
	}
	ls, err := seriesLabels(key)
	if err != nil {
		return "", nil, err
	}
	name = ls.Get(nameLabel)
	s, err = newSeries(name, ls)
	return name, s, err
}

// seriesLabels returns the labels of the series part of a line, the name among
// them.
func seriesLabels(key []byte) (labels.Labels, error) {
	var ls labels.Labels
	if n := plainEnd(key); n > 0 {
		return plainLabels(key, n), nil
	}
	line := append(append(make([]byte, 0, len(key)+3), key...), " 1\n"...)
	p := textparse.NewPromParser(line, labels.NewSymbolTable(), false)
	switch e, err := p.Next(); {
	case err == io.EOF:
		return ls, fmt.Errorf("no series")
	case err != nil:
		return ls, err
	case e != textparse.EntrySeries:
		return ls, fmt.Errorf("no series")
	}
	p.Labels(&ls)
	if ls.Get(nameLabel) == "" {
		return ls, fmt.Errorf("no series")
	}
	return ls, nil
}

func newSeries(name string, ls labels.Labels) (*series, error) {
	m, ok := meaningOf(name)
	if !ok {
		return nil, nil
	}
	r := m.row.matching(ls)
	if r == nil || isDuplicate(r, ls) {
		return nil, nil
	}
	s := &series{row: r, part: m.part, family: familyOf(name, m.part), bound: math.NaN()}
	s.id.engine = r.engine
	if !r.host {
		s.id.model = s.key(ls, modelLabels)
		s.id.rank = s.key(ls, rankLabels)
		s.id.replica = s.key(ls, replicaLabels)
	}
	if r.where[0] != "" {
		s.selector = append(s.selector, serving.Term{Dim: r.where[0], Value: r.where[1]})
	}
	if m.part == partBucket {
		// "1" and "1.0" are the same bound; which of them an exporter writes
		// depends on its language and version.
		le, err := strconv.ParseFloat(ls.Get("le"), 64)
		if err != nil || math.IsNaN(le) {
			return nil, fmt.Errorf("the bucket's le %q is no number", ls.Get("le"))
		}
		s.bound = le
		if r.scale != 0 {
			s.bound *= r.scale
		}
	}
	s.by = r.fixed
	for _, l := range r.by {
		if ls.Has(l) {
			s.by, s.byLabel = ls.Get(l), l
			break
		}
	}
	if r.kind == info {
		s.info = settings(ls)
	}
	return s, nil
}

// key returns the value of the first of the labels that the series has and
// remembers it for the selector.
func (s *series) key(ls labels.Labels, names []string) string {
	for _, n := range names {
		if v := ls.Get(n); v != "" {
			s.selector = append(s.selector, serving.Term{Dim: n, Value: v})
			return v
		}
	}
	return ""
}

// isDuplicate reports series that repeat what others say.
func isDuplicate(r *row, ls labels.Labels) bool {
	switch {
	case r.engine == "sglang":
		for _, l := range duplicateRanks {
			if v := ls.Get(l); v != "" && v != "0" {
				return true
			}
		}
	case r.engine == "triton":
		return slices.Contains(tritonStages, ls.Get("model"))
	case strings.HasPrefix(r.name, "container_"):
		return !isContainer(ls)
	}
	return false
}

// isContainer tells a container from the cgroups above it, which hold its
// figures once more: under Kubernetes those have a pod but no container.
func isContainer(ls labels.Labels) bool {
	switch c := ls.Get("container"); {
	case c == "POD":
		return false
	case c != "":
		return true
	case ls.Get("pod") != "" || ls.Has("container"):
		return false
	}
	return ls.Get("name") != ""
}

func familyOf(name string, p part) string {
	switch p {
	case partBucket:
		return strings.TrimSuffix(name, "_bucket")
	case partSum:
		return strings.TrimSuffix(name, "_sum")
	case partCount:
		return strings.TrimSuffix(name, "_count")
	}
	return name
}

// settings are the labels of an info series without those of its identity.
func settings(ls labels.Labels) []serving.Setting {
	var out []serving.Setting
	ls.Range(func(l labels.Label) {
		if l.Name == nameLabel || slices.Contains(modelLabels, l.Name) || slices.Contains(rankLabels, l.Name) || slices.Contains(replicaLabels, l.Name) {
			return
		}
		out = append(out, serving.Setting{Key: l.Name, Value: l.Value})
	})
	return out
}
