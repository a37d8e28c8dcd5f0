package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Ratios of mean lengths beyond which two sweeps are of different workloads.
const (
	sameInput  = 1.3
	sameOutput = 2.0
)

// overlays finds sweeps that may stand on one chart: of one load mode, load axis
// and lengths, so that what differs is what was tried.
func overlays(sweeps []*Sweep) []Overlay {
	var out []Overlay
	for i, s := range sweeps {
		k := slices.IndexFunc(out, func(o Overlay) bool { return sweeps[o.Sweeps[0]].comparable(s) })
		if k < 0 {
			out = append(out, Overlay{Sweeps: []int{i}})
			continue
		}
		out[k].Sweeps = append(out[k].Sweeps, i)
	}
	out = slices.DeleteFunc(out, func(o Overlay) bool { return len(o.Sweeps) < 2 })
	for i := range out {
		out[i].describe(sweeps)
	}
	return out
}

func (s *Sweep) comparable(o *Sweep) bool {
	if s.Mode != o.Mode || s.XName != o.XName || s.PerGPU != o.PerGPU {
		return false
	}
	in, outLen := s.meanLengths()
	in2, out2 := o.meanLengths()
	return near(in, in2, sameInput) && near(outLen, out2, sameOutput)
}

// near compares two lengths; one that is not known is no difference.
func near(a, b serving.Opt[float64], ratio float64) bool {
	return !a.OK || !b.OK || math.Abs(math.Log(a.V/b.V)) <= math.Log(ratio)
}

// meanLengths are the mean prompt and output of a sweep's first run that says.
func (s *Sweep) meanLengths() (in, out serving.Opt[float64]) {
	for _, p := range s.Points {
		r := p.Runs[0]
		n := float64(r.Counts.Completed.Or(0))
		if n > 0 && r.Input.Or(0) > 0 && r.Output.Or(0) > 0 {
			return serving.Some(float64(r.Input.V) / n), serving.Some(float64(r.Output.V) / n)
		}
	}
	return in, out
}

// describe lists what differs between the sweeps of an overlay.
func (o *Overlay) describe(sweeps []*Sweep) {
	facts := func(s *Sweep) []serving.Setting {
		r := s.Points[0].Runs[0].Run
		out := slices.Clone(s.HeldEqual)
		if r.Version.OK {
			out = append(out, serving.Setting{Key: "version", Value: r.Version.V})
		}
		return out
	}
	var keys []string
	values := map[string][]string{}
	for k, i := range o.Sweeps {
		for _, f := range facts(sweeps[i]) {
			if values[f.Key] == nil {
				keys = append(keys, f.Key)
				values[f.Key] = make([]string, len(o.Sweeps))
			}
			values[f.Key][k] = f.Value
		}
	}
	for _, k := range keys {
		distinct := []string{}
		for _, v := range values[k] {
			if v != "" && !slices.Contains(distinct, v) {
				distinct = append(distinct, v)
			}
		}
		if len(distinct) > 1 {
			o.Differ = append(o.Differ, fmt.Sprintf("%s (%s)", k, strings.Join(distinct, " · ")))
		}
	}
}
