package analyze

import (
	"context"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// Comparison is the value of section "compare".
type Comparison struct {
	Verdict  Verdict
	Title    string   // the verdict in a sentence
	Points   []string // why, and for whom: sentences
	Cautions []string // what speaks against believing it: stands above everything
	Cause    string   // setting, mix, several, workload or "": what the change may be put down to

	Sides    [2]SideFacts
	Pairs    []*Pair
	Unpaired []Unpaired
	Changed  []Changed
	// Same is what both sides state alike, or as nearly as chance has it, and NotStated
	// what a side does not state: nothing is known of the rest.
	Same, NotStated []Changed

	Headline []*CompareRow // the figures a gate decides on, over all levels
	Others   []*CompareRow // further figures over all levels
	Levels   []*CompareRow // a level at a time
	Slices   []*CompareRow // a slice at a time, the most that matters first
	Mix      []MixShift
	New      []SliceRef // slices of the second side only
	Gone     []SliceRef // slices of the first side only
	TooSmall []SliceRef // on both sides, with too few requests to say anything

	Tradeoffs []string
	Pressure  []PressureRow // queue, KV cache and preemptions of both sides, where scrapes exist
	SameFiles bool

	Experiment *Experiment // nil without a hypothesis
}

// Verdict is the answer of a comparison.
type Verdict string

// The verdicts.
const (
	VerdictBetter     Verdict = "better"
	VerdictWorse      Verdict = "worse"
	VerdictMixed      Verdict = "mixed"
	VerdictEquivalent Verdict = "equivalent"
	VerdictUndecided  Verdict = "undecided"
)

// SideFacts says what a side is made of.
type SideFacts struct {
	Name                  string
	Runs, Traces, Servers int
	Requests              int64
	Repeats               int // fewest runs at a level that both sides have; 0 where there is none
	Files                 []string
}

// A Pair is a level of load, with the settings that vary on a side, that both
// sides have.
type Pair struct {
	Label string
	Mode  serving.LoadMode // "" of traces
	X     serving.Opt[float64]
	XName string
	units [2][]*unit
}

// Runs are the runs of a side, nil where it has traces.
func (p *Pair) Runs(side int) []*RunStats {
	var out []*RunStats
	for _, u := range p.units[side] {
		if u.run != nil {
			out = append(out, u.run)
		}
	}
	return out
}

// Labels names what a side has at this level.
func (p *Pair) Labels(side int) []string {
	var out []string
	for _, u := range p.units[side] {
		out = append(out, u.label)
	}
	return out
}

// Unpaired is a run or trace that the other side has no match for.
type Unpaired struct {
	Side       string
	Label, Why string
}

// A Changed is something that differs between the sides.
type Changed struct {
	Kind          ChangeKind
	Key           string
	Before, After string
}

// ChangeKind says what a change means for the verdict.
type ChangeKind string

// The kinds of changes.
const (
	ChangedSetting  ChangeKind = "setting"  // of the engine: what an experiment varies
	ChangedVersion  ChangeKind = "version"  // of the engine
	ChangedHardware ChangeKind = "hardware" // or the number of GPUs
	ChangedModel    ChangeKind = "model"
	ChangedWorkload ChangeKind = "workload" // dataset, lengths, arrivals, output policy: other requests
	ChangedMethod   ChangeKind = "method"   // harness, number of requests, duration
)

// A CompareRow is one figure compared, over all levels, at one level, or of one
// slice.
type CompareRow struct {
	By    []serving.Term
	Also  [][]serving.Term // other slices that hold the very same requests
	Pair  *Pair            // nil: over all levels
	Share float64          // of the requests, of both sides' mean; 1 for all
	Mix   bool             // the change is one of the workload's mix, within slices there is none
	// Lengths are the mean lengths of the sides' requests where they are others, and
	// alone may be the difference: the row is undecided then. "" otherwise.
	Lengths string
	// Rest is the effect of a slice's siblings, the other values of its dimensions:
	// the logarithm of a ratio, of a share the difference.
	Rest serving.Opt[float64]
	*verdict.Row

	apart  bool // the siblings of the slice did not move as it did
	split  bool // the mix within the slice could be held fixed
	common bool // they did, and so did all requests: the change is not the slice's
}

// A SliceRef names a slice with its share of the requests of the side that has
// it.
type SliceRef struct {
	By    []serving.Term
	Sent  int64
	Share float64
}

// A PressureRow is what the engines say of both sides.
type PressureRow struct {
	What          string
	Unit          serving.Unit
	Before, After serving.Opt[float64]
	PromQL        string
}

func runCompare(ctx context.Context, in *Input, rep *Report) (any, []string, error) {
	c := &comparing{in: in, rep: rep, out: &Comparison{SameFiles: in.sides.sameFiles()},
		cellLengths: map[verdict.Figure]lengthShift{}, sliceLengths: map[sliceKey]lengthShift{}, cells: map[mixKey][]*mixCell{}}
	if err := c.collect(ctx); err != nil {
		return nil, nil, err
	}
	c.facts()
	c.pair()
	if err := c.halves(ctx); err != nil {
		return nil, nil, err
	}
	c.changed()
	c.rows()
	c.buckets()
	c.missing()
	c.slices()
	c.mix()
	c.unsplit()
	c.unlike()
	c.siblings()
	c.pressure()
	c.conclude()
	c.experiment()
	if len(c.out.Headline)+len(c.out.Others)+len(c.out.Pressure) == 0 && len(c.out.Pairs) == 0 {
		return c.out, []string{"The sides have no level of load in common, and no traces or scrapes on both: there is nothing to compare."}, nil
	}
	return c.out, []string{
		"The unit of comparison is the run: requests of one run share a server, and testing them one by one would call any two runs different.",
		"Headline p values are adjusted by Holm (those tested by the same levels together), those of levels and slices by Benjamini and Hochberg. A call takes an adjusted p below 0.05, an effect above its threshold, and an interval that keeps away from no change.",
		"Levels of load count the same: effects are averaged over them on a logarithmic scale.",
	}, nil
}

// comparing is one comparison under way.
type comparing struct {
	in    *Input
	rep   *Report
	units [2][]*unit
	out   *Comparison

	cellLengths  map[verdict.Figure]lengthShift // of the figures that a mix was split for: within its cells
	sliceLengths map[sliceKey]lengthShift
	cells        map[mixKey][]*mixCell // see mixCells
	wholes       []*CompareRow         // see whole
}
