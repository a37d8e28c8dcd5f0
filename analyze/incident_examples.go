package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// A Replay is a request of the incident that is worth sending again on a bench,
// or looking up in a log. It never holds its text.
type Replay struct {
	Why      string // what it stands for
	Source   string // of the table
	File     string
	Row      int64 // 0-based within its part of the file
	ID       string
	At       int64   // ns
	Offset   float64 // seconds after the begin of the window: when to send it
	Outcome  string
	Workload string
	Replica  string
	// Seconds and tokens; missing is missing.
	TTFT, TPOT, E2E, Queue, Prefill, Decode serving.Opt[float64]
	Prompt, Output, Cached, Preemptions     serving.Opt[float64]
}

// How many requests of each kind are named.
const (
	replaySlowest = 4
	replayTail    = 3
	replayTypical = 2
	replayFailed  = 3
)

// examples picks requests of each source that has them one by one.
func (v *incidentView) examples(ctx context.Context) error {
	for _, s := range v.u.sources {
		if s.rows == nil || s.relative != v.u.relative {
			continue
		}
		out, places := v.pick(s)
		for i, src := range s.rows.srcs {
			var at []cube.Place
			var of []int
			for k, p := range places {
				if int(p.src) == i {
					at, of = append(at, cube.Place{Part: int(p.part), Row: p.row}), append(of, k)
					out[k].File = src.Parts()[p.part].Source()
				}
			}
			ids, err := cube.IDs(ctx, src, at)
			if err != nil {
				return err
			}
			for k, id := range ids {
				out[of[k]].ID = id
			}
		}
		v.inc.Examples = append(v.inc.Examples, out...)
	}
	return nil
}

// pick chooses requests of the window: the slowest by what users felt most, some
// around its 95th percentile and its median, and some that failed.
func (v *incidentView) pick(s *source) ([]Replay, []diagRow) {
	rows := s.rows.among(v.from, v.to)
	name, get := "TTFT", (*diagRow).first
	if present := v.d.Present(); len(present) > 0 && !slices.ContainsFunc(present, func(y Symptom) bool { return y.ID == "ttft" || y.ID == "tail" }) &&
		slices.ContainsFunc(present, func(y Symptom) bool { return y.ID == "streaming" }) {
		name, get = "TPOT", func(r *diagRow) float64 { return r.tpot }
	}
	var done, failed []diagRow
	for _, r := range rows {
		switch {
		case r.outcome != serving.OK:
			failed = append(failed, r)
		case !math.IsNaN(get(&r)):
			done = append(done, r)
		}
	}
	slices.SortStableFunc(done, func(a, b diagRow) int { return cmp.Compare(get(&b), get(&a)) })
	var out []Replay
	var picked []diagRow
	taken := map[[3]int64]bool{}
	take := func(r diagRow, why string) {
		key := [3]int64{int64(r.src), int64(r.part), r.row}
		if !taken[key] {
			taken[key] = true
			out, picked = append(out, v.replay(s, &r, why)), append(picked, r)
		}
	}
	around := func(p float64, n int, why string) {
		mid := int((1 - p) * float64(len(done)))
		for i := max(0, mid-n/2); i < min(len(done), mid-n/2+n); i++ {
			take(done[i], why)
		}
	}
	for _, r := range done[:min(len(done), replaySlowest)] {
		take(r, "slowest "+name)
	}
	if len(done) >= 20 {
		around(0.95, replayTail, "around "+name+" p95")
	}
	if len(done) > replaySlowest+replayTail {
		around(0.5, replayTypical, "around "+name+" p50")
	}
	for i := range min(len(failed), replayFailed) {
		take(failed[i*len(failed)/min(len(failed), replayFailed)], "did not finish")
	}
	return out, picked
}

func (v *incidentView) replay(s *source, r *diagRow, why string) Replay {
	out := Replay{Why: why, Source: s.label, Row: r.row, At: v.u.origin + int64(math.Round(r.at*1e9)), Offset: r.at - v.from, Outcome: r.outcome.String(),
		TTFT: finite(r.ttft), TPOT: finite(r.tpot), E2E: finite(r.e2e), Queue: finite(r.queue), Prefill: finite(r.prefill), Decode: finite(r.decode),
		Prompt: finite(r.prompt), Output: finite(r.output), Cached: finite(r.cached), Preemptions: finite(r.preempt)}
	if r.workload >= 0 {
		out.Workload = s.rows.workloads[r.workload]
	}
	if r.replica >= 0 {
		out.Replica = s.rows.replicas[r.replica]
	}
	return out
}
