package samples

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// firstZero is 2026-01-05 00:00 UTC: no sample depends on a clock.
const firstZero = 1_767_571_200

// A set is a part of the samples: one directory with one story.
type set struct {
	dir   string // below the samples' root
	title string // one line, for the README's table
	look  string // what to look for
	run   string // the command to try on it; DIR is the samples' root
	make  func(*casting) error
}

// A file is one output file, with its path below the samples' root.
type file struct {
	path string
	data []byte
}

// A casting draws a set's parameters from its seed and collects its files and
// truths.
type casting struct {
	dir   string
	src   source
	rng   *rand.Rand
	zero  int64 // unix seconds of the simulation's zero
	full  bool
	files []file
	// client says that a benchmark's record of all requests is wanted, too.
	client bool
	truth  truth
}

func newCasting(s *set, n int, seed uint64) *casting {
	src := source{seed, s.dir}
	return &casting{
		dir: s.dir, src: src, rng: src.of("ranges").rng(), zero: firstZero + int64(n)*2*3600,
		truth: truth{Scenario: s.dir, Cause: "none"},
	}
}

// between draws a parameter uniformly and records its range.
func (c *casting) between(name, unit string, lo, hi float64) float64 {
	// Four significant digits are what the truth table shows, so no more are used.
	v, _ := strconv.ParseFloat(strconv.FormatFloat(lo+(hi-lo)*c.rng.Float64(), 'g', 4, 64), 64)
	c.truth.Ranges = append(c.truth.Ranges, drawn{Name: name, Unit: unit, From: &lo, To: &hi, Value: v})
	return v
}

// choose draws one of several and records the choice.
func (c *casting) choose(name string, of ...string) int {
	i := c.rng.IntN(len(of))
	c.truth.Ranges = append(c.truth.Ranges, drawn{Name: name, OneOf: of, Value: of[i]})
	return i
}

// add keeps a file of this set.
func (c *casting) add(name string, data []byte) {
	c.files = append(c.files, file{c.dir + "/" + name, data})
}

// stamp is an instant of the simulation as the truth table writes it.
func (c *casting) stamp(t int64) string {
	return time.Unix(c.zero, t).UTC().Format("2006-01-02T15:04:05Z")
}

// addTrace writes the attempts as a Parquet trace.
func (c *casting) addTrace(name string, attempts []*attempt) error {
	data, err := writeTrace(attempts, c.zero)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", c.dir, name, err)
	}
	c.add(name, data)
	return nil
}

// addServer writes a server's scrapes and log.
func (c *casting) addServer(st *stage, s *server, d dialect) {
	for _, sc := range st.scrapes[s] {
		at := c.zero + sc.at/second
		c.add(fmt.Sprintf("metrics/%s_%d_metrics.log", s.cfg.pod, at), writeScrape(s, sc, d, c.zero))
	}
	c.add(s.cfg.pod+".log", writeLog(s, st.logs[s], c.zero))
}

// addGPUs writes what the GPU exporter showed beside a server's scrapes.
func (c *casting) addGPUs(st *stage, s *server) {
	all := st.scrapes[s]
	for i := 1; i < len(all); i++ {
		at := c.zero + all[i].at/second
		c.add(fmt.Sprintf("gpu/dcgm-%s_%d_metrics.log", s.cfg.pod, at), writeGPU(s, all[i-1], all[i], c.zero))
	}
}

// A truth is what a set was made to show.
type truth struct {
	Scenario string   `json:"scenario"`
	Cause    string   `json:"cause"`           // a cause of the hypothesis map, or none
	Case     string   `json:"case,omitempty"`  // A … E
	Where    string   `json:"where,omitempty"` // replica, slice or setting
	From     string   `json:"from,omitempty"`  // the window in which it holds
	To       string   `json:"to,omitempty"`
	Paths    []string `json:"paths"`
	Says     string   `json:"says"` // in words
	Facts    []fact   `json:"facts,omitempty"`
	Ranges   []drawn  `json:"ranges,omitempty"`
}

// A fact is a planted figure.
type fact struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// A drawn parameter: from which range or choice, and what came.
type drawn struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit,omitempty"`
	From  *float64 `json:"from,omitempty"`
	To    *float64 `json:"to,omitempty"`
	OneOf []string `json:"one_of,omitempty"`
	Value any      `json:"value"`
}

func (t *truth) fact(name string, v any) { t.Facts = append(t.Facts, fact{name, v}) }
