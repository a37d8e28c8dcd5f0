package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// phases are the two stretches that facts compare. The baseline is missing where
// nothing changed, or everything was as it is from the beginning.
type phases struct {
	base, bad *phase  // base may be nil; bad is all of the data where nothing changed
	seconds   float64 // of all of the data
	known     bool    // there is an incident
}

// factsOf are what one source says of a subject's phases.
type factsOf struct {
	u    *diagSubject
	s    *source
	ph   phases
	out  rules.Facts
	base string
}

func (f *factsOf) put(k rules.Key, v float64, promql string) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if _, ok := f.out[k]; ok {
		return
	}
	f.out[k] = rules.Fact{Value: v, Unit: rules.UnitOf(k), Source: f.s.label, Window: f.base, PromQL: promql}
}

func (f *factsOf) ratio(k rules.Key, before, after float64) {
	if before > 0 {
		f.put(k, after/before, "")
	}
}

// percentiles is a ratio of percentiles, where both rest on enough requests.
func (f *factsOf) percentiles(k rules.Key, b, i spread, before, after, need float64) {
	switch n := min(b.N, i.N); {
	case n >= need:
		f.ratio(k, before, after)
	case n > 0:
		f.u.few[k] = fmt.Sprintf("%s requests before and as many in it: there are %s and %s", number(need), number(b.N), number(i.N))
	}
}

// needs says what would tell a fact that is not known: more requests, where only
// their number is too small, else the file or flag that has it.
func (u *diagSubject) needs(k rules.Key) string {
	if why, ok := u.few[k]; ok {
		return why
	}
	return rules.AboutOf(k).Needs
}

// take adds what the source says, unless an earlier one has said it.
func (f *factsOf) take() {
	b, i := f.ph.base, f.ph.bad
	f.base = f.u.span2text(i.From, i.To)
	f.put(rules.QueueMean, i.Queue.Mean, f.promQL(serving.Queue))
	f.put(rules.FailedShare, i.Failed/i.Requests, "")
	f.put(rules.AbortShare, i.Aborted/i.Requests, "")
	f.put(rules.RetryShare, i.Retries/i.Requests, "")
	f.put(rules.GPUUse, i.GPU.Mean, "avg(DCGM_FI_DEV_GPU_UTIL) / 100")
	f.put(rules.WaitingMean, i.Waiting.Mean, f.gaugeQL("avg_over_time", serving.Waiting))
	f.put(rules.WaitingPeak, i.Waiting.Max, f.gaugeQL("max_over_time", serving.Waiting))
	f.put(rules.Preemptions, i.Preemptions, f.counterQL(serving.Preemptions))
	f.put(rules.PreemptionsPer100, 100*i.Preemptions/i.Requests, "")
	f.put(rules.KVPeak, i.KV.Max, f.gaugeQL("max_over_time", serving.KVUsage))
	f.put(rules.Throttled, i.Throttled, "")
	f.put(rules.TokensPerChunk, i.TokensPerChunk, "")
	f.put(rules.WaitingLeft, i.WaitingEnd/i.Waiting.Max, "")
	f.put(rules.CPUCores, i.CPU, f.counterQL(serving.ProcessCPU))
	f.hot(i)
	f.shares(b, i)
	if b == nil {
		return
	}
	f.ratio(rules.TTFTRatio, b.TTFT.Mean, i.TTFT.Mean)
	f.percentiles(rules.TTFTMedianRatio, b.TTFT, i.TTFT, b.TTFT.P50, i.TTFT.P50, leastForP50)
	f.percentiles(rules.TTFTTailRatio, b.TTFT, i.TTFT, b.TTFT.P95, i.TTFT.P95, leastForP95)
	f.ratio(rules.TPOTRatio, b.TPOT.Mean, i.TPOT.Mean)
	f.percentiles(rules.TPOTMedianRatio, b.TPOT, i.TPOT, b.TPOT.P50, i.TPOT.P50, leastForP50)
	f.ratio(rules.ArrivalRatio, (b.Requests-zeroIfUnknown(b.Retries))/b.seconds(), (i.Requests-zeroIfUnknown(i.Retries))/i.seconds())
	f.ratio(rules.CompletedRatio, b.Ended/b.seconds(), i.Ended/i.seconds())
	f.put(rules.ArrivedOverCompleted, i.Requests/i.Ended, "")
	f.put(rules.AdmittedOverArrived, i.Admitted/i.Requests, "")
	f.ratio(rules.GoodputRatio, b.Good/b.seconds(), i.Good/i.seconds())
	f.ratio(rules.OutputRateRatio, b.OutputTokens/b.seconds(), i.OutputTokens/i.seconds())
	f.ratio(rules.ArrivalPeakRatio, b.Requests/b.seconds(), i.ArrivalPeak)
	f.put(rules.WaitingRise, i.Waiting.Mean-b.Waiting.Mean, "")
	f.ratio(rules.RunningRatio, b.Running.Mean, i.Running.Mean)
	f.ratio(rules.RunningPeakRatio, b.Running.P95, i.Running.P95)
	f.percentiles(rules.PromptMedianRatio, b.Prompt, i.Prompt, b.Prompt.P50, i.Prompt.P50, leastForP50)
	f.percentiles(rules.PromptTailRatio, b.Prompt, i.Prompt, b.Prompt.P95, i.Prompt.P95, leastForP95)
	f.percentiles(rules.PromptFarRatio, b.Prompt, i.Prompt, b.Prompt.P99, i.Prompt.P99, leastForP99)
	f.ratio(rules.PromptMeanRatio, b.Prompt.Mean, i.Prompt.Mean)
	f.ratio(rules.OutputRatio, b.Output.Mean, i.Output.Mean)
	if b.Queue.Mean > 0.05 { // a queue time of nothing can only rise
		f.put(rules.QueueFall, (b.Queue.Mean-i.Queue.Mean)/b.Queue.Mean, "")
	}
	f.put(rules.BaseWaiting, b.Waiting.Max, "")
	shift := 1.0
	for _, r := range []float64{i.Prompt.Mean / b.Prompt.Mean, i.Output.Mean / b.Output.Mean} {
		if r > 0 && min(b.Prompt.N, i.Prompt.N) >= leastForP50 {
			shift = max(shift, r, 1/r)
		}
	}
	if i.Prompt.N > 0 || i.Output.N > 0 {
		f.put(rules.MixShift, shift, "")
	}
	f.put(rules.DurationShare, i.seconds()/f.ph.seconds, "")
	f.put(rules.CachedDrop, b.CachedShare-i.CachedShare, "")
	f.put(rules.KVRise, i.KV.Mean-b.KV.Mean, "")
	f.ratio(rules.KVPerRunning, b.KV.Mean/b.Running.Mean, i.KV.Mean/i.Running.Mean)
	f.ratio(rules.CPURatio, b.CPU, i.CPU)
	f.ratio(rules.ChunkRatio, b.TokensPerChunk, i.TokensPerChunk)
	f.ratio(rules.SpeedDrop, i.OutputTokens/i.seconds()/i.Running.Mean, b.OutputTokens/b.seconds()/b.Running.Mean)
	f.mix(b, i)
}

// shares say what the rise of TTFT is made of; without a baseline, what TTFT is.
func (f *factsOf) shares(b, i *phase) {
	queue, prefill, front := i.Queue.Mean, i.Prefill.Mean, i.Frontend.Mean
	if b != nil {
		queue, prefill, front = queue-b.Queue.Mean, prefill-b.Prefill.Mean, front-b.Frontend.Mean
	}
	// The three are of one set of requests, where TTFT is of another in histograms
	// (it is observed at the first token, they are at the end): their own sum is
	// what they are shares of.
	sum := max(queue, 0) + max(prefill, 0)
	if !math.IsNaN(front) {
		sum += max(front, 0)
	}
	if !(sum > 0) {
		return
	}
	f.put(rules.QueueShare, max(queue, 0)/sum, "")
	f.put(rules.PrefillShare, max(prefill, 0)/sum, "")
	f.put(rules.FrontShare, max(front, 0)/sum, "")
	f.put(rules.FrontRise, front, "")
	f.put(rules.QueueRise, queue, "")
	f.put(rules.PrefillRise, prefill, "")
}

// hot says how unevenly replicas wait: 1 is evenly.
func (f *factsOf) hot(i *phase) {
	n, sum, most := 0.0, 0.0, 0.0
	sumR, mostR := 0.0, 0.0
	name := ""
	for _, r := range i.Replicas {
		if !r.Present || math.IsNaN(r.Waiting) {
			continue
		}
		n++
		sum += r.Waiting
		sumR += zeroIfUnknown(r.Running)
		mostR = max(mostR, zeroIfUnknown(r.Running))
		if r.Waiting > most {
			most, name = r.Waiting, r.Name
		}
	}
	if n < 2 {
		return
	}
	hot := 1 / n
	if sum > 0.5 {
		hot = most / sum
	}
	f.put(rules.HotShare, hot, f.gaugeQL("avg_over_time", serving.Waiting))
	f.put(rules.HotFactor, hot*n, "")
	if fact, ok := f.out[rules.HotFactor]; ok && fact.Where == "" && name != "" && fact.Source == f.s.label {
		fact.Where = "replica " + name
		f.out[rules.HotFactor] = fact
	}
}

// mix says whether a kind of work came that was not there before, and whether
// the others' load and latency changed.
func (f *factsOf) mix(b, i *phase) {
	if len(i.Workloads) == 0 || len(i.Workloads) > 64 {
		return
	}
	newShare, newName := 0.0, ""
	tokens, oldBefore, oldAfter := 0.0, 0.0, 0.0
	for _, w := range i.Workloads {
		tokens += w.Tokens
	}
	var ttft, tpot []float64
	for k, w := range i.Workloads {
		if k >= len(b.Workloads) {
			return
		}
		was := b.Workloads[k]
		if was.Requests/b.seconds() < 0.2*w.Requests/i.seconds() && w.Requests >= 3 {
			if s := w.Tokens / tokens; s > newShare {
				newShare, newName = s, w.Name
			}
			continue
		}
		oldBefore += was.Requests / b.seconds()
		oldAfter += w.Requests / i.seconds()
		if was.Requests >= 20 && w.Requests >= 20 {
			ttft, tpot = append(ttft, w.TTFT/was.TTFT), append(tpot, w.TPOT/was.TPOT)
		}
	}
	f.put(rules.NewWorkShare, newShare, "")
	if fact, ok := f.out[rules.NewWorkShare]; ok && newName != "" && fact.Source == f.s.label {
		fact.Where = "workload " + newName
		f.out[rules.NewWorkShare] = fact
	}
	f.ratio(rules.OldWorkRate, oldBefore, oldAfter)
	if len(ttft) > 0 {
		f.put(rules.OldWorkTTFT, slices.Max(ttft), "")
		f.put(rules.OldWorkTPOT, slices.Max(tpot), "")
	}
}

// window is the stretch as a PromQL range.
func (f *factsOf) window() string {
	return fmt.Sprintf("%ds", int64(math.Ceil(f.ph.bad.seconds()))+1)
}

func (f *factsOf) promQL(m serving.MetricKey) string {
	if f.s.servers == nil {
		return ""
	}
	h := f.s.servers.views[0].HistogramOf(m)
	if h == nil || h.PromQL == "" {
		return ""
	}
	family := strings.TrimSuffix(h.From, "_bucket")
	w := f.window()
	return fmt.Sprintf("sum(increase(%s_sum[%s])) / sum(increase(%s_count[%s]))", family, w, family, w)
}

func (f *factsOf) gaugeQL(over string, n serving.SeriesName) string {
	if f.s.servers == nil || f.s.servers.log {
		return ""
	}
	g := f.s.servers.views[0].GaugeOf(n)
	if g == nil || g.From == "" {
		return ""
	}
	return fmt.Sprintf("%s(%s[%s])", over, g.From, f.window())
}

func (f *factsOf) counterQL(n serving.SeriesName) string {
	if f.s.servers == nil || f.s.servers.log {
		return ""
	}
	for i := range f.s.servers.views[0].Counters {
		if c := &f.s.servers.views[0].Counters[i]; c.Name == n && c.From != "" {
			return fmt.Sprintf("sum(increase(%s[%s]))", c.From, f.window())
		}
	}
	return ""
}

// span2text writes a stretch of the subject's axis.
func (u *diagSubject) span2text(from, to float64) string {
	if u.relative {
		return fmt.Sprintf("%s to %s after the start", seconds(math.Round(from)), seconds(math.Round(to)))
	}
	a, b := u.instant(from), u.instant(to)
	end := b.Format("15:04:05Z")
	if a.Format(time.DateOnly) != b.Format(time.DateOnly) {
		end = b.Format(time.RFC3339)
	}
	return a.Format(time.RFC3339) + " to " + end
}

// instant is a second of the subject's axis.
func (u *diagSubject) instant(t float64) time.Time {
	return time.Unix(0, u.origin+int64(t*1e9)).UTC().Truncate(time.Second)
}

// across adds what only two sides together tell: client against server, and
// settings that differ between replicas.
func (u *diagSubject) across(out rules.Facts, ph map[*source]phases) {
	client := u.of("client")
	server := u.of("trace")
	if server == nil {
		server = u.of("scrapes")
	}
	if client != nil && server != nil {
		c, s := ph[client].bad, ph[server].bad
		gap, of := c.TTFT.P50-s.TTFT.P50, s.TTFT.P50
		if !math.IsNaN(gap) && of > 0 {
			f := rules.Fact{Value: gap, Unit: serving.Seconds, Source: client.label + " against " + server.label, Window: u.span2text(s.From, s.To)}
			out[rules.ClientGap] = f
			f.Value, f.Unit = c.TTFT.P50/of, serving.NoUnit
			out[rules.ClientOverServer] = f
			if b := ph[server].base; b != nil && b.TTFT.Mean > 0 {
				f.Value = s.TTFT.Mean / b.TTFT.Mean
				out[rules.ServerTTFTRatio] = f
			}
		}
	}
	lo, hi := math.Inf(1), 0.0
	where := ""
	for _, s := range u.sources {
		if s.servers == nil {
			continue
		}
		for _, v := range s.servers.views {
			for _, n := range settingNumbers(v.Info, "max_num_seqs", "max_running_requests") {
				lo, hi, where = min(lo, n), max(hi, n), s.label
			}
		}
	}
	if hi > 0 {
		out[rules.BatchLimitRatio] = rules.Fact{Value: hi / lo, Unit: serving.NoUnit, Source: where, Window: "start-up settings", Where: "max_num_seqs " + number(lo)}
		if hi > lo {
			f := out[rules.BatchLimitRatio]
			f.Where = fmt.Sprintf("max_num_seqs between %s and %s", number(lo), number(hi))
			out[rules.BatchLimitRatio] = f
		}
	}
}

// settingNumbers are the values a setting has had: a restarted process' log says
// "32, then 256".
func settingNumbers(info []serving.Setting, keys ...string) []float64 {
	var out []float64
	for _, s := range info {
		if !slices.Contains(keys, s.Key) {
			continue
		}
		for part := range strings.SplitSeq(s.Value, ", then ") {
			var v float64
			if _, err := fmt.Sscanf(part, "%g", &v); err == nil && v > 0 {
				out = append(out, v)
			}
		}
	}
	return out
}
