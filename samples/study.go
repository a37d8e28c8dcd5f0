package samples

import "strings"

// A Scenario is one story with its files and its truth, for studies of how well
// a diagnosis finds what was planted.
type Scenario struct {
	Name        string            // without its directory
	Cause, Case string            // "none" and "" of a server without a fault
	Files       map[string][]byte // by path below the scenario's directory
}

// Scenarios simulates every scenario of a seed: the compact files, and what a
// benchmark client would have recorded of the same requests.
func Scenarios(seed uint64) ([]Scenario, error) {
	var which []*set
	for _, s := range sets {
		if strings.HasPrefix(s.dir, "scenarios/") {
			which = append(which, s)
		}
	}
	all, err := generateWith(which, seed, func(c *casting) { c.client = true })
	if err != nil {
		return nil, err
	}
	var out []Scenario
	for _, m := range all {
		s := Scenario{Name: strings.TrimPrefix(m.set.dir, "scenarios/"), Cause: m.truth.Cause, Case: m.truth.Case, Files: map[string][]byte{}}
		for _, f := range m.files {
			s.Files[strings.TrimPrefix(f.path, m.set.dir+"/")] = f.data
		}
		// What a scenario writes of its clients itself is the better record.
		if s.Files["client/before.json"] != nil || s.Files["client/run.json"] != nil {
			delete(s.Files, "client/all.json")
		}
		out = append(out, s)
	}
	return out, nil
}
