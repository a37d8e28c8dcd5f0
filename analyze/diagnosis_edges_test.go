package analyze

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A plantedIncident is traffic that is worse between two moments.
type plantedIncident struct {
	name    string
	rate    float64 // requests a second
	seconds float64 // of all of the data
	bursts  bool    // requests come in clumps
	worse   func(rng *rand.Rand, r *staged)
}

// requests of a seed, with the moments that were planted.
func (p plantedIncident) requests(seed uint64) (reqs []staged, from, to float64) {
	rng := rand.New(rand.NewPCG(seed, 41))
	from = p.seconds * (0.25 + 0.35*rng.Float64())
	to = from + p.seconds*(0.12+0.2*rng.Float64())
	for t := 0.0; ; {
		gap := rng.ExpFloat64() / p.rate
		if p.bursts && rng.Float64() < 0.8 {
			gap /= 8
		} else if p.bursts {
			gap *= 4.5
		}
		if t += gap; t > p.seconds {
			return reqs, from, to
		}
		r := staged{at: t, queue: 0.05 * rng.ExpFloat64(), prompt: int64(400 * math.Exp(0.6*rng.NormFloat64())), output: 1 + int64(150*math.Exp(0.7*rng.NormFloat64()))}
		r.prefill, r.tpot = 0.03+8e-5*float64(r.prompt), 0.02*math.Exp(0.1*rng.NormFloat64())
		if t >= from && t < to {
			p.worse(rng, &r)
		}
		reqs = append(reqs, r)
	}
}

func laterFirst(rng *rand.Rand, r *staged) {
	r.queue += 1.2 * (rng.ExpFloat64() + rng.ExpFloat64() + rng.ExpFloat64())
}

var plantedIncidents = []plantedIncident{
	{"TTFT, minutes of an hour", 1.6, 2500, false, laterFirst},
	{"TTFT in bursts", 1.6, 2500, true, laterFirst},
	{"TTFT, few requests", 0.3, 2000, false, laterFirst},
	{"TTFT twice as long", 1.6, 2500, false, func(_ *rand.Rand, r *staged) { r.queue += 0.12 }},
	{"TPOT", 2, 1500, false, func(_ *rand.Rand, r *staged) { r.tpot *= 1.6 }},
	{"the tail of TTFT", 3, 2000, false, func(rng *rand.Rand, r *staged) {
		if rng.Float64() < 0.2 {
			r.queue += 3
		}
	}},
}

// Begin and end of a planted incident lie within what is stated of each in nine of
// ten seeds, and what is stated is of use: less than a window.
func TestEdgesOfPlantedIncidents(t *testing.T) {
	const seeds = 30
	for _, p := range plantedIncidents {
		found, begins, ends, narrow := 0, 0, 0, 0
		for seed := range uint64(seeds) {
			reqs, from, to := p.requests(seed)
			u := edgesOf(t, reqs)
			if u == nil {
				continue
			}
			found++
			o := u.lead
			if math.Abs(o.from-from) <= o.width {
				begins++
			}
			if !o.open && math.Abs(o.to-to) <= o.endWidth {
				ends++
			}
			if max(o.width, o.endWidth) <= p.seconds/60 {
				narrow++
			}
			if !(o.guard < o.from && o.from-o.guard >= o.width-1e-6) {
				t.Errorf("%s, seed %d: the baseline ends at %g, the incident begins at %g ± %g", p.name, seed, o.guard, o.from, o.width)
			}
		}
		t.Logf("%s: found %d of %d, begin %d, end %d, within a window %d", p.name, found, seeds, begins, ends, narrow)
		if found < seeds*9/10 || begins < (found*9+9)/10 || ends < (found*9+9)/10 || narrow < found/2 {
			t.Errorf("%s: found in %d of %d seeds, the begin is within its ± in %d, the end in %d; both are closer than a window in %d", p.name, found, seeds, begins, ends, narrow)
		}
	}
}

// edgesOf looks for an incident in requests, nil where there is none.
func edgesOf(t *testing.T, reqs []staged) *diagSubject {
	t.Helper()
	ds := &serving.Dataset{Traces: []serving.Requests{stagedTable(reqs)}}
	sources, _, err := sourcesOf(t.Context(), &Input{Data: ds, Opt: DefaultOptions()})
	if err != nil {
		t.Fatal(err)
	}
	u := subjectsOf(sources)[0]
	if u.findIncident(); !u.found {
		return nil
	}
	return u
}

// An incident is over when nothing is worse: answers that stream slowly before and
// after the first token was late are of it.
func TestIncidentLastsWhileAnythingIsWorse(t *testing.T) {
	var reqs []staged
	for i := range 2400 {
		r := staged{at: 0.5 * float64(i), queue: 0.02 + 0.01*alternate(i), prefill: 0.05, tpot: 0.03 + 0.002*alternate(i), prompt: 500, output: 100}
		if r.at >= 400 && r.at < 900 {
			r.tpot *= 1.4
		}
		if r.at >= 600 && r.at < 800 {
			r.queue += 5
		}
		reqs = append(reqs, r)
	}
	o := edgesOf(t, reqs).lead
	if o.signal != "ttft" || math.Abs(o.from-400) > o.width || math.Abs(o.to-900) > o.endWidth || o.width > 5 || o.endWidth > 5 || o.guard > 400 {
		t.Errorf("by %s: %g ± %g to %g ± %g, the baseline to %g; want ttft, 400 to 900", o.signal, o.from, o.width, o.to, o.endWidth, o.guard)
	}
}

// A few seconds that are far worse are a symptom: edges that requests tell to the
// moment do not make a phase too short to be compared.
func TestBriefIncidentIsASymptom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 41))
	var reqs []staged
	for at := 0.0; at < 1200; at += 0.125 {
		r := staged{at: at, queue: 0.05 * rng.ExpFloat64(), prefill: 0.15, tpot: 0.02, prompt: 400, output: 100}
		if at >= 600 && at < 605 {
			r.queue += 3
		}
		reqs = append(reqs, r)
	}
	u := edgesOf(t, reqs)
	if u == nil {
		t.Fatal("nothing found")
	}
	if o := u.lead; math.Abs(o.from-600) > 2 || o.to < 605 {
		t.Errorf("from %v to %v", o.from, o.to)
	}
	u.gather()
	ph := u.phases[u.sources[0]]
	if !u.enough(ph.base, ph.bad, ttftSpread, 20) {
		t.Errorf("%v s and %v s are too short to be compared", ph.base.seconds(), ph.bad.seconds())
	}
}
