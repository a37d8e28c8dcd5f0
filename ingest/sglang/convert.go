package sglang

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/serving"
)

// unlimitedFrom is the request rate, in requests/s, from which a number means
// "no limit".
const unlimitedFrom = 1e6

// servingRun turns a record of bench_serving into a run.
func servingRun(d *decoder, rec *flat.Record, a *arrays, at serving.Pos) *serving.Run {
	r := &serving.Run{Source: at, Format: FormatServing, Label: rec.Text("tag").Or(baseLabel(d.path)), Backend: rec.Text("backend"), Workload: rec.Text("dataset_name")}
	workloadSettings(r, rec)
	applyServerInfo(r, rec)
	servingLoad(r, rec)
	r.Completed = rec.Count("completed")
	r.Output = rec.Count("total_output_tokens")
	// A run of several turns does not know its prompts and writes 0.
	if n := rec.Count("total_input_tokens"); n.V > 0 || r.Completed.Or(1) == 0 {
		r.Input = n
	}
	if v, ok := rec.Number("duration"); ok && v > 0 {
		r.Duration = serving.Some(v)
	}
	servingReported(r, rec)
	a.requests(r)
	if v, ok := rec.Number("accept_length"); ok && v > 1 && strings.Contains(r.Backend.V, "oai") {
		r.Notes = append(r.Notes, "with speculative decoding this client's own ITL figures divide each gap by the tokens of its chunk; itls holds the gaps as they came")
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

// workloadSettings keeps the lengths that were asked for. Those of the random
// data set stand in every record, whatever the data set was.
func workloadSettings(r *serving.Run, rec *flat.Record) {
	for _, key := range rec.Names {
		if topName(key) != key {
			continue
		}
		_, header := servingHeader[key]
		ours := strings.HasPrefix(key, "random_") && !strings.HasPrefix(r.Workload.Or("random"), "random") && r.Workload.V != "image" ||
			strings.HasPrefix(key, "sharegpt_") && r.Workload.Or("sharegpt") != "sharegpt"
		if v := rec.Text(key); v.OK && !ours && (servingHeader[key].As == "setting" || !header && isSetting(key)) {
			r.Settings = append(r.Settings, serving.Setting{Key: key, Value: v.V})
		}
	}
}

// isSetting reports whether a name that is not known is that of a setting by the
// way it is written, as forks and wrappers add them.
func isSetting(key string) bool {
	if _, ok := servingTotals[key]; ok || arrayFields[key].As != "" || skipped[key] {
		return false
	}
	for _, s := range []string{"_ms", "_throughput", "_per_s", "_tokens", "_s", "_duration", "_retokenized", "_rate", "_new_user", "_with_history"} {
		if strings.HasSuffix(key, s) {
			return false
		}
	}
	for _, p := range []string{"mean_", "median_", "std_", "max_", "total_", "steady_state_"} {
		if strings.HasPrefix(key, p) {
			return false
		}
	}
	switch key {
	case "num_clients", "turns_per_client", "fixed_output_len", "num_prompts", "model", "model_id", "seed":
		return true
	}
	return false
}

// servingLoad reads the load level. request_rate is a number, Infinity, or
// "trace": arrivals as a recorded trace has them.
func servingLoad(r *serving.Run, rec *flat.Record) {
	conc := serving.None[int64]()
	if c := rec.Count("max_concurrency"); c.V >= 1 {
		conc = c
	}
	s := rec.Scalar("request_rate")
	if strings.EqualFold(s.Text, "trace") {
		r.Load = serving.Load{Mode: serving.OpenLoop, MaxConcurrency: conc}
		if conc.OK {
			r.Load.Mode = serving.CappedOpen
		}
		r.Notes = append(r.Notes, "requests arrive as in a recorded trace: the run has no single load level")
		return
	}
	rate, ok := s.Float()
	unlimited := ok && rate >= unlimitedFrom
	finite := serving.None[float64]()
	if ok && rate > 0 && !unlimited {
		finite = serving.Some(rate)
		r.Load.Burstiness = serving.Some(1.0) // this client knows Poisson arrivals only
	}
	burst := r.Load.Burstiness
	r.Load = serving.LoadOf(conc, finite, unlimited)
	r.Load.Burstiness = burst
}

// servingReported lists the file's own aggregates in file order. A run without a
// completed request writes zeros and NaN, a metric that no request has zeros:
// those are no measurements. Where nothing was streamed, TTFT is the whole
// latency and the figures between tokens mean nothing.
func servingReported(r *serving.Run, rec *flat.Record) {
	empty := emptyMetrics(r, rec)
	if !empty[serving.TTFT] && notStreamed(r, rec) {
		empty[serving.TTFT], empty[serving.TPOT], empty[serving.ITL] = true, true, true
		r.Notes = append(r.Notes, "the mean TTFT is the mean E2E latency: the answers were not streamed, so that TTFT, TPOT and ITL are left out")
	}
	for _, key := range rec.Names {
		v, ok := rec.Number(key)
		if !ok {
			continue
		}
		if t, ok := servingTotals[key]; ok {
			if t.metric == serving.TotalInputTokens && !r.Input.OK || t.metric == serving.SpecAcceptanceLen && v <= 0 || t.metric == poolTokens && v <= 0 {
				continue
			}
			r.Reported = append(r.Reported, serving.Reported{Field: key, Metric: t.metric, Stat: t.stat, File: v, PerBase: t.per})
		} else if m, stat, ok := parseStat(key); ok && !empty[m] && v >= 0 {
			r.Reported = append(r.Reported, serving.Reported{Field: key, Metric: m, Stat: stat, File: v, PerBase: 1000})
		}
	}
}

// emptyMetrics finds the metrics that nothing was measured of: all figures zero
// or missing.
func emptyMetrics(r *serving.Run, rec *flat.Record) map[serving.MetricKey]bool {
	empty := map[serving.MetricKey]bool{}
	for _, key := range rec.Names {
		if m, _, ok := parseStat(key); ok {
			v, ok := rec.Number(key)
			was, seen := empty[m]
			empty[m] = (!ok || v == 0) && (was || !seen)
		}
	}
	if r.Completed.OK && r.Completed.V == 0 {
		for m := range empty {
			empty[m] = true
		}
	}
	return empty
}

// notStreamed reports whether the first token of longer answers came with the
// last one.
func notStreamed(r *serving.Run, rec *flat.Record) bool {
	ttft, ok := rec.Number("mean_ttft_ms")
	e2e, has := rec.Number("mean_e2e_latency_ms")
	longer := r.Output.OK && r.Completed.OK && r.Output.V >= 2*r.Completed.V
	return ok && has && longer && e2e > 0 && math.Abs(ttft-e2e) <= 1e-3*e2e
}

func note(r *serving.Run, format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}
