package vllm

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// unlimitedFrom is the request rate, in requests/s, from which a number means
// "no limit": 1e9 is written where others write "inf", and no harness sends a
// million requests a second.
const unlimitedFrom = 1e6

// run turns a record into a run.
func (rec *record) run(at serving.Pos) *serving.Run {
	d := rec.decoder
	r := &serving.Run{
		Source: at, Format: FormatServe,
		Label:     rec.text(keyLabel).Or(baseLabel(d.path)),
		Backend:   rec.text(keyBackend),
		Model:     rec.text(keyModel),
		Tokenizer: rec.text(keyTokenizer),
		Started:   rec.text(keyDate),
	}
	if !r.Backend.OK {
		r.Backend = rec.text(keyEndpointType)
	}
	rec.settings(r)
	facts(r)
	rec.load(r)
	rec.counts(r)
	rec.reported(r)
	rec.requests(r)
	rec.sent(r)
	for _, name := range rec.unused {
		r.Notes = append(r.Notes, unusedNote(name))
	}
	return r
}

// baseLabel is the label of a run whose record has none: its file's name.
func baseLabel(path string) string {
	base := filepath.Base(path)
	if stem := strings.TrimSuffix(base, filepath.Ext(base)); stem != "" {
		return stem
	}
	return base
}

func unusedNote(name string) string {
	if name == "queue_times" {
		return "queue_times is left out: it is the time in the harness before a request was sent, not the server's queue"
	}
	return name + " is left out: it was measured by the server, and the other times of this file by the client"
}

// settings copies every scalar that is no result and has no place of its own.
func (rec *record) settings(r *serving.Run) {
	for _, key := range rec.order {
		s := rec.scalars[key]
		if s.IsNull() || rec.placed(key) {
			continue
		}
		r.Settings = append(r.Settings, serving.Setting{Key: key, Value: s.Text})
	}
}

// placed reports whether a scalar stands elsewhere in the run, or is a result.
func (rec *record) placed(key string) bool {
	if _, ok := totals[key]; ok {
		return true
	}
	if key == keyEndpointType {
		return !rec.keys[keyBackend] || rec.scalars[key].Text == rec.scalars[keyBackend].Text
	}
	if key == keyBurstiness {
		_, ok := rec.number(key)
		return ok // an infinite one has no place in a Load
	}
	_, header := headerFields[key]
	return header || isResult(key) || arrayNames[key] != noArray
}

// load reads the load level.
func (rec *record) load(r *serving.Run) {
	var conc serving.Opt[int64]
	if n, ok := rec.number(keyConcurrency); ok && n >= 1 && n < 1<<53 {
		conc = serving.Some(int64(n))
	}
	rate, ok := rec.scalars[keyRate].Float()
	unlimited := ok && rate >= unlimitedFrom
	finite := serving.None[float64]()
	if ok && rate > 0 && !unlimited {
		finite = serving.Some(rate)
	}
	r.Load = serving.LoadOf(conc, finite, unlimited)
	if b, ok := rec.number(keyBurstiness); ok && b > 0 {
		r.Load.Burstiness = serving.Some(b)
	}
	if s := rec.text(keyRampUp); s.OK {
		rampUp(r)
	}
}

// rampUp corrects the load of a run whose rate grew while it ran. The file's
// request_rate is "inf" then, but arrivals were paced: an open loop without one
// level.
func rampUp(r *serving.Run) {
	l := &r.Load
	l.Unlimited, l.RequestRate, l.Mode = false, serving.None[float64](), serving.OpenLoop
	if l.MaxConcurrency.OK {
		l.Mode = serving.CappedOpen
	}
	from, _ := r.Setting("ramp_up_start_rps")
	to, _ := r.Setting("ramp_up_end_rps")
	r.Notes = append(r.Notes, fmt.Sprintf("the request rate ramps up (from %s to %s requests/s): the run has no single load level", from, to))
}

// counts reads what was sent and what came of it.
func (rec *record) counts(r *serving.Run) {
	r.Completed = rec.count(keyCompleted)
	r.Failed = rec.count(keyFailed)
	r.Input = rec.count("total_input_tokens", "total_input")
	r.Output = rec.count("total_output_tokens", "total_output")
	if v, ok := rec.number(keyDuration); ok && v > 0 {
		r.Duration = serving.Some(v)
	}
}

// sent fills in how many requests were sent and failed: from the file, else from
// its arrays, else with a doubt from the number of prompts asked for.
func (rec *record) sent(r *serving.Run) {
	if !r.Completed.OK {
		return
	}
	prompts := rec.count(keyPrompts)
	switch {
	case r.Failed.OK:
		r.Sent = serving.Some(r.Completed.V + r.Failed.V)
	case r.Requests != nil:
		r.Sent = serving.Some(r.Requests.Parts()[0].Rows())
		r.Failed = serving.Some(max(r.Sent.V-r.Completed.V, 0))
	case prompts.OK && prompts.V >= r.Completed.V:
		r.Sent, r.Failed = prompts, serving.Some(prompts.V-r.Completed.V)
		if r.Failed.V > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("the file does not say how many requests failed: %d is num_prompts (%d) less completed (%d), and may also be prompts that were never sent",
				r.Failed.V, prompts.V, r.Completed.V))
		}
	}
}

// count reads the first of the names that is a count.
func (rec *record) count(keys ...string) serving.Opt[int64] {
	for _, k := range keys {
		if v, ok := rec.number(k); ok && v >= 0 && v < 1<<53 && v == math.Trunc(v) {
			return serving.Some(int64(v))
		}
	}
	return serving.None[int64]()
}

// reported lists the file's own aggregates in file order. A run without a
// completed request, and a metric that no request has, are written as zeros:
// those are no measurements.
func (rec *record) reported(r *serving.Run) {
	empty := rec.emptyMetrics(r)
	for _, key := range rec.order {
		v, ok := rec.number(key)
		if !ok {
			continue
		}
		if t, ok := totals[key]; ok {
			r.Reported = append(r.Reported, serving.Reported{Field: key, Metric: t.metric, File: v, PerBase: t.per})
			continue
		}
		if m, stat, ok := parseStat(key); ok && !empty[m] {
			r.Reported = append(r.Reported, serving.Reported{Field: key, Metric: m, Stat: stat, File: v, PerBase: 1000})
		}
	}
	for _, p := range rec.lists {
		if !empty[p.m] {
			r.Reported = append(r.Reported, serving.Reported{Field: p.field, Metric: p.m, Stat: p.stat, File: p.ms, PerBase: 1000})
		}
	}
	for i, v := range rec.perPos {
		if !math.IsNaN(v) {
			r.Reported = append(r.Reported, serving.Reported{Field: fmt.Sprintf("%s[%d]", keyPerPosition, i), Metric: serving.SpecAcceptanceRate,
				Stat: fmt.Sprintf("position %d", i), File: v, PerBase: 1})
		}
	}
}

// emptyMetrics finds the metrics whose figures are all 0.0: numpy's mean of
// nothing, as vLLM writes it.
func (rec *record) emptyMetrics(r *serving.Run) map[serving.MetricKey]bool {
	empty := map[serving.MetricKey]bool{}
	see := func(m serving.MetricKey, v float64) {
		zero, seen := empty[m]
		empty[m] = v == 0 && (zero || !seen)
	}
	for _, key := range rec.order {
		if m, _, ok := parseStat(key); ok {
			if v, ok := rec.number(key); ok {
				see(m, v)
			}
		}
	}
	for _, p := range rec.lists {
		see(p.m, p.ms)
	}
	if r.Completed.OK && r.Completed.V == 0 {
		for m := range empty {
			empty[m] = true
		}
	}
	return empty
}
