package inferenceperf

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
)

// A Part is what one file of inference-perf gave.
type Part struct {
	Path    string
	Runs    []*serving.Run    // Reconcile may take runs away
	Servers []*serving.Server // and servers
	Note    string            // what Reconcile found out about the file
}

// name takes a file's name apart: an adapter, a stage, what it holds.
var name = regexp.MustCompile(`^(.*?)(?:(adapter_.+?)_)?(?:(?:stage_(\d+)|summary|per_request)_)?(?:lifecycle|prometheus)_metrics\b`)

// Reconcile sees to it that no request counts twice. The files of one directory
// (of one prefix, where names have one) tell of the same requests:
//
//   - the summary is the sum of the stages, which are load levels: it is left
//     out beside them;
//   - the requests of all stages stand in one file, in order of time: they are
//     divided among the stages by the stages' counts, where the stages' own
//     latencies confirm it, and left out else;
//   - beside the requests alone, the summary's figures are their cross-check;
//   - reports of one adapter are shares of the others.
func Reconcile(parts []*Part) {
	groups := map[string][]*Part{}
	var order []string
	for _, p := range parts {
		k := filepath.Dir(p.Path)
		if m := name.FindStringSubmatch(filepath.Base(p.Path)); m != nil {
			k += "\x00" + m[1]
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	for _, k := range order {
		reconcile(groups[k])
	}
}

// A group is the files of one execution.
type group struct {
	stages                       []*Part // by stage number
	summaries, requests, adapter []*Part
}

func reconcile(parts []*Part) {
	var g group
	numbers := map[*Part]int{}
	reconcileServers(parts)
	for _, p := range parts {
		if len(p.Runs) != 1 {
			continue
		}
		m := name.FindStringSubmatch(filepath.Base(p.Path))
		switch r := p.Runs[0]; {
		case m != nil && m[2] != "":
			g.adapter = append(g.adapter, p)
		case r.Requests != nil:
			g.requests = append(g.requests, p)
		case r.Load.Mode != serving.UnknownLoad:
			g.stages = append(g.stages, p)
			if m != nil {
				numbers[p], _ = strconv.Atoi(m[3])
			}
		default:
			g.summaries = append(g.summaries, p)
		}
	}
	slices.SortStableFunc(g.stages, func(a, b *Part) int { return numbers[a] - numbers[b] })
	whole := len(g.stages)+len(g.summaries) > 0
	if whole {
		for _, p := range g.adapter {
			p.drop("one adapter's share of the requests beside it, which count once")
		}
	}
	g.divide()
	g.sums()
}

// reconcileServers leaves out the Prometheus report over all stages beside those
// of the stages.
func reconcileServers(parts []*Part) {
	stages := 0
	for _, p := range parts {
		if m := name.FindStringSubmatch(filepath.Base(p.Path)); m != nil && m[3] != "" && len(p.Servers) > 0 {
			stages++
		}
	}
	for _, p := range parts {
		m := name.FindStringSubmatch(filepath.Base(p.Path))
		if stages > 0 && m != nil && m[3] == "" && len(p.Servers) > 0 {
			p.Servers = nil
			p.tell(fmt.Sprintf("the same server over the %d stages beside it: left out", stages))
		}
	}
}

func (p *Part) drop(why string) {
	p.Runs = nil
	p.tell(why)
}

func (p *Part) tell(s string) {
	if p.Note != "" {
		p.Note += "; "
	}
	p.Note += s
}

// sums leaves out the summaries that repeat stages or requests.
func (g *group) sums() {
	total, known := int64(0), len(g.stages) > 0
	for _, s := range g.stages {
		total += s.Runs[0].Sent.V
		known = known && s.Runs[0].Sent.OK
	}
	for _, p := range g.summaries {
		r := p.Runs[0]
		switch {
		case known && r.Sent.OK && r.Sent.V == total:
			p.drop(fmt.Sprintf("the sum of the %d stages beside it, which are load levels: its requests count once, there", len(g.stages)))
		case len(g.stages) == 0 && len(g.requests) == 1 && g.requests[0].Runs != nil && same(r, g.requests[0].Runs[0]):
			to := g.requests[0].Runs[0]
			to.Reported, to.Notes = append(to.Reported, r.Reported...), append(to.Notes, r.Notes...)
			p.drop("the figures of the requests beside it: they count once, and these are their cross-check")
		case len(g.stages) == 1 && r.Sent == g.stages[0].Runs[0].Sent:
			p.drop("the same as the stage beside it")
		}
	}
}

// same reports whether a report is one of these requests.
func same(report, requests *serving.Run) bool {
	return report.Sent == requests.Sent && report.Completed == requests.Completed
}

// divide gives each stage its requests.
func (g *group) divide() {
	if len(g.stages) == 0 || len(g.requests) != 1 {
		return
	}
	p := g.requests[0]
	t, ok := p.Runs[0].Requests.(*table)
	if !ok {
		return
	}
	left := make([]int, len(t.rows.start)) // in the order of sending, as a table's rows are
	for i := range left {
		left[i] = i
	}
	var of []*serving.Run
	for _, s := range g.stages {
		r := s.Runs[0]
		if !r.Sent.OK || r.Sent.V <= 0 || r.Sent.V > int64(len(left)) {
			break
		}
		run := t.rows.subset(left[:r.Sent.V]).run(p.Path, r.Label)
		left = left[r.Sent.V:]
		if !confirms(r, run) {
			break
		}
		of = append(of, run)
	}
	if len(of) != len(g.stages) || len(left) != 0 {
		p.drop("the stages beside it hold the figures of these requests, which count once; which request belongs to which stage cannot be told, since the counts or latencies do not agree")
		return
	}
	for i, s := range g.stages {
		r := s.Runs[0]
		r.Requests, r.Duration = of[i].Requests, of[i].Duration
		r.Notes = append(r.Notes, of[i].Notes...)
		s.tell("its requests are those of " + filepath.Base(p.Path))
	}
	p.drop(fmt.Sprintf("its requests are divided among the %d stages beside it", len(g.stages)))
}

// confirms reports whether a stage's own mean latency is that of the requests.
func confirms(stage, run *serving.Run) bool {
	if stage.Completed != run.Completed {
		return false
	}
	want, ok := stage.ReportedValue(serving.E2E, "mean")
	if !ok {
		return stage.Completed.Or(0) == 0
	}
	t := run.Requests.(*table).rows
	sum, n := 0.0, 0
	for i := range t.start {
		if t.outcome[i] == int32(serving.OK) && !math.IsNaN(t.end[i]) {
			sum += t.end[i] - t.start[i]
			n++
		}
	}
	return n > 0 && math.Abs(sum/float64(n)-want) <= 1e-6*want
}
