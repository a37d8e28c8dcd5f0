package analyze

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A plantedLoad is a server that takes so many requests a second, first come, first
// served, and what is asked of it: from 600 s to 1,000 s of 1,600 s it is otherwise.
type plantedLoad struct {
	name             string
	asked, askedThen float64 // requests a second
	can, canThen     float64 // that the server completes at most
	front            float64 // seconds more ahead of the engine, then
	stays            bool    // to the end
	hideQueue        bool    // the table has no stages
	figure           bool    // a limit on admission can be told
	capacity         float64 // of about that
	says             string  // in the sustainable capacity
	least, most      float64 // of the rate that it names
}

func (p plantedLoad) requests(seed uint64) []staged {
	rng := rand.New(rand.NewPCG(seed, 5))
	var reqs []staged
	free := 0.0
	for t := 0.0; ; {
		then := t >= 600 && (p.stays || t < 1000)
		rate, can := p.asked, p.can
		if then {
			rate, can = p.askedThen, p.canThen
		}
		if t += rng.ExpFloat64() / rate; t > 1600 {
			return reqs
		}
		r := staged{at: t, prefill: 0.05, tpot: 0.02, prompt: 500, output: 50}
		if then {
			r.front = p.front
		}
		start := max(t, free)
		r.queue, free = start-t, start+1/can
		reqs = append(reqs, r)
	}
}

// gatewayTable is what a gateway has of requests: no stages.
func gatewayTable(reqs []staged) *column.Table {
	t := column.NewTable("gateway", "gateway.csv", serving.ServerSide, len(reqs))
	at, ttft, e2e := make([]int64, len(reqs)), make([]float64, len(reqs)), make([]float64, len(reqs))
	for i, r := range reqs {
		at[i], ttft[i] = int64(r.at*1e9), r.queue+r.prefill+r.front
		e2e[i] = ttft[i] + r.tpot*float64(r.output-1)
	}
	t.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime}, at, nil)
	t.Floats(serving.Column{Name: string(serving.TTFT), Kind: serving.KindDuration}, ttft, nil)
	t.Floats(serving.Column{Name: string(serving.E2E), Kind: serving.KindDuration}, e2e, nil)
	return t
}

var perSecond = regexp.MustCompile(`([\d.,]+) requests/s`)

// firstRate is the first rate that a text names.
func firstRate(t *testing.T, text string) float64 {
	t.Helper()
	m := perSecond.FindStringSubmatch(text)
	if m == nil {
		return nan
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestCapacityIsWhatWasSustained(t *testing.T) {
	for _, p := range []plantedLoad{
		{name: "more is asked than it can", asked: 2, askedThen: 5, can: 3, canThen: 3, figure: true, capacity: 3, says: "Requests waited then"},
		{name: "a backlog is worked off after it", asked: 2, askedThen: 2, can: 4, canThen: 0.5, figure: true, capacity: 4, says: "after it"},
		{name: "it can less than before", asked: 2, askedThen: 2, can: 8, canThen: 0.5, stays: true, says: "no measure of capacity", least: 1.8, most: 3},
		{name: "nobody tells who waited", asked: 2, askedThen: 5, can: 3, canThen: 3, hideQueue: true, says: "is not known", least: 1.9, most: 3.2},
		{name: "late ahead of the engine", asked: 2, askedThen: 2, can: 40, canThen: 40, front: 8, says: "requests/s", least: 1.9, most: 3},
	} {
		for seed := range uint64(5) {
			reqs := p.requests(seed)
			ds := &serving.Dataset{Traces: []serving.Requests{stagedTable(reqs)}}
			if p.hideQueue {
				ds.Traces[0] = gatewayTable(reqs)
			}
			checkCapacity(t, p, seed, Value[Incidents](reported(t, ds, DefaultOptions())).Incidents[0])
		}
	}
}

func checkCapacity(t *testing.T, p plantedLoad, seed uint64, inc *Incident) {
	t.Helper()
	i := slices.IndexFunc(inc.Analysis, func(m Measure) bool { return strings.HasPrefix(m.Text, "Sustainable capacity") })
	if i < 0 {
		t.Fatalf("%s, seed %d: no capacity in %+v", p.name, seed, inc.Analysis)
	}
	text := inc.Analysis[i].Text
	rate := firstRate(t, text)
	if !strings.Contains(text, p.says) || !strings.Contains(text, "n ") || (p.figure || p.hideQueue) && strings.Contains(text, "obody waited") {
		t.Errorf("%s, seed %d: %q", p.name, seed, text)
	}
	if p.figure && math.Abs(rate/p.capacity-1) > 0.05 || !p.figure && !(rate >= p.least && rate <= p.most) {
		t.Errorf("%s, seed %d: capacity %g in %q", p.name, seed, rate, text)
	}
	for _, m := range inc.Mitigation {
		admitted := strings.HasPrefix(m.Text, "Admit no more than")
		if admitted && (!p.figure || math.Abs(firstRate(t, m.Text)/p.capacity-1) > 0.05) {
			t.Errorf("%s, seed %d: %q because %q", p.name, seed, m.Text, m.Because)
		}
	}
	named := slices.ContainsFunc(inc.Mitigation, func(m Measure) bool { return strings.HasPrefix(m.Text, "Admit no more than") })
	if named != p.figure {
		t.Errorf("%s, seed %d: a figure to admit by: %v, want %v; %+v", p.name, seed, named, p.figure, inc.Mitigation)
	}
}
