package analyze

import (
	"fmt"
	"math"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
)

// What counts as a ceiling that binds (judgement). Real engines reach 50 to 70 %
// of the bandwidth and about half of the compute.
const (
	bindsMBU     = 0.5
	slackMBU     = 0.35
	bindsMFU     = 0.4
	slackMFU     = 0.25
	bindsKV      = 0.95 // share of the pool in use
	slackKV      = 0.8
	bindsSeqs    = 0.95 // of the batch limit, by the engine's gauge
	bindsSeqsLaw = 0.85 // of the batch limit, by Little's law: a run's start and end are in the mean
	bindsTokens  = 0.9  // of the pool that the requests in flight need
)

// evidence is what is known of the server at the highest load.
type bindingEvidence struct {
	at       CeilingLevel
	limit    serving.Opt[float64] // requests that may run at once, all replicas
	running  serving.Opt[float64] // the most that ran
	waiting  serving.Opt[float64] // the most that waited
	kvUsage  serving.Opt[float64]
	preempts serving.Opt[float64]
}

// setBinding weighs which ceiling binds at the highest load. What the engine
// itself says comes before what is computed; without either it is unknown.
func (c *Ceiling) setBinding(s *subject) {
	ev := c.bindingEvidence(s)
	b := &c.Binding
	if ev.at.Run != nil {
		b.At = ev.at.Run.Run.Label
	}
	var found []Binds
	hit := func(w Binds, text string) { found = append(found, w); b.For = append(b.For, string(w)+": "+text) }
	miss := func(w Binds, text string) { b.Against = append(b.Against, string(w)+": "+text) }
	lack := func(w Binds, text string) { b.Missing = append(b.Missing, string(w)+": "+text) }

	c.weighCapacity(ev, hit, miss, lack)
	weighBatch(ev, hit, miss, lack)
	weighHardware(c, ev, hit, miss, lack)

	switch {
	case len(found) > 0:
		b.What = found[0]
	case len(b.Missing) > 0:
		b.What = BindsUnknown
	default:
		b.What = BindsNeither
	}
	b.Text = bindingTexts[b.What]
	if len(found) > 1 {
		b.Text += fmt.Sprintf(" %s is touched as well.", capitalized(string(found[1])))
	}
}

// bindingTexts say what a ceiling means for what to do (M11).
var bindingTexts = map[Binds]string{
	BindsCapacity:  "The KV pool is full: more requests wait or are preempted while compute idles. More pool helps (gpu_memory_utilization, FP8 KV cache, more tensor parallelism); a lower max_model_len only if long requests really come.",
	BindsBandwidth: "Each step takes the time to read weights and KV cache. Fewer bytes help (quantization), faster memory, or replicas.",
	BindsBatch:     "The batch limit is reached before the hardware is: further requests wait. A higher max_num_seqs trades speed of each user for throughput.",
	BindsCompute:   "The arithmetic is what takes the time, of prefill above all. Fewer prompt tokens (prefix reuse), a lower-precision type, or more GPUs help.",
	BindsNeither:   "None of the ceilings is touched at the highest load measured: there is room. Test with more load.",
	BindsUnknown:   "Which ceiling binds cannot be told from these files.",
}

func capitalized(s string) string {
	if s == string(BindsBatch) {
		return s
	}
	return sentence(s)[:len(s)]
}

// bindingEvidence collects the highest level and what engines say.
func (c *Ceiling) bindingEvidence(s *subject) bindingEvidence {
	var ev bindingEvidence
	for _, l := range c.Levels {
		if l.Batch.OK && (!ev.at.Batch.OK || l.Batch.V > ev.at.Batch.V) {
			ev.at = l
		}
	}
	replicas := 1.0
	if c.Machine != nil {
		replicas = float64(c.Machine.Replicas)
	}
	if n, err := strconv.ParseFloat(s.facts.maxSeqs, 64); err == nil && n > 0 {
		ev.limit = serving.Some(n * replicas)
	}
	highest := func(to *serving.Opt[float64], v float64) {
		if !math.IsNaN(v) && (!to.OK || v > to.V) {
			*to = serving.Some(v)
		}
	}
	for _, srv := range s.servers {
		for _, g := range srv.Gauges {
			if len(g.By) > 0 {
				continue
			}
			switch g.Name {
			case serving.Running:
				highest(&ev.running, g.Max)
			case serving.Waiting:
				highest(&ev.waiting, g.Max)
			case serving.KVUsage:
				highest(&ev.kvUsage, g.Max)
			}
		}
		for _, i := range srv.Increases {
			if i.Name == serving.Preemptions && len(i.By) == 0 && !math.IsNaN(i.Value) {
				ev.preempts = serving.Some(ev.preempts.Or(0) + i.Value)
			}
		}
	}
	return ev
}

type weigh func(w Binds, text string)

func (c *Ceiling) weighCapacity(ev bindingEvidence, hit, miss, lack weigh) {
	switch {
	case ev.preempts.Or(0) > 0:
		hit(BindsCapacity, fmt.Sprintf("%s in the scrapes", plural(int(ev.preempts.V), "preemption", "preemptions")))
		return
	case ev.kvUsage.OK && ev.kvUsage.V >= bindsKV && ev.waiting.Or(0) > 0:
		hit(BindsCapacity, fmt.Sprintf("KV cache in use up to %s while up to %s waited", percent(math.Round(1000*ev.kvUsage.V)/1000), plural(int(ev.waiting.V), "request", "requests")))
		return
	case ev.kvUsage.OK && ev.kvUsage.V < slackKV:
		miss(BindsCapacity, fmt.Sprintf("KV cache in use up to %s, no preemption", percent(math.Round(1000*ev.kvUsage.V)/1000)))
		return
	case ev.kvUsage.OK:
		miss(BindsCapacity, fmt.Sprintf("KV cache in use up to %s, without preemption or a queue: full use is no fault", percent(math.Round(1000*ev.kvUsage.V)/1000)))
		return
	}
	var pool *Pool
	if c.Capacity != nil {
		pool = c.Capacity.Best()
	}
	if pool == nil || !pool.Requests.OK || !ev.at.Batch.OK {
		lack(BindsCapacity, "KV cache usage and preemptions (scrapes of /metrics during the runs), or the pool (--model and --hardware, or the engine's log)")
		return
	}
	text := fmt.Sprintf("the pool holds %s requests of %s tokens (%s), %s decode at once", number(math.Floor(pool.Requests.V)), number(math.Round(c.Context.V)), poolOrigin(c.Capacity), number(math.Round(ev.at.Batch.V)))
	if ev.at.Batch.V >= bindsTokens*pool.Requests.V {
		hit(BindsCapacity, text)
	} else {
		miss(BindsCapacity, text)
	}
}

func poolOrigin(c *CapacityCeiling) string {
	if c.Reported != nil {
		return "reported by the engine"
	}
	return "computed"
}

func weighBatch(ev bindingEvidence, hit, miss, lack weigh) {
	if !ev.limit.OK {
		lack(BindsBatch, "max_num_seqs (pass it with vllm bench serve --metadata, or keep the engine's log beside the results)")
		return
	}
	limit := "max_num_seqs is " + number(ev.limit.V)
	switch {
	case ev.running.OK && ev.running.V >= bindsSeqs*ev.limit.V:
		hit(BindsBatch, limit+", and the engine ran "+number(ev.running.V))
	case ev.running.OK:
		miss(BindsBatch, limit+", and the engine never ran more than "+number(ev.running.V))
	case !ev.at.Batch.OK:
		lack(BindsBatch, limit+", but not how many ran at once")
	case ev.at.Batch.V >= bindsSeqsLaw*ev.limit.V:
		hit(BindsBatch, limit+", and by Little's law "+number(math.Round(ev.at.Batch.V))+" decode at once")
	default:
		miss(BindsBatch, limit+", and by Little's law no more than "+number(math.Round(ev.at.Batch.V))+" decode at once")
	}
}

func weighHardware(c *Ceiling, ev bindingEvidence, hit, miss, lack weigh) {
	l := ev.at
	switch {
	case l.MFU.OK && l.MFU.V >= bindsMFU:
		hit(BindsCompute, percent(math.Round(1000*l.MFU.V)/1000)+" of the dense compute by prompt and output tokens")
	case l.Beyond:
		hit(BindsCompute, fmt.Sprintf("a batch of %s is beyond the ridge of %s", number(math.Round(l.Batch.V)), number(math.Round(c.Bandwidth.Ridge.V))))
	case l.MFU.OK:
		miss(BindsCompute, percent(math.Round(1000*l.MFU.V)/1000)+" of the dense compute by prompt and output tokens"+between(l.MFU.V, slackMFU, bindsMFU))
	default:
		lack(BindsCompute, "the model, the hardware and its compute rate (--model, --hardware)")
	}
	switch {
	case l.Beyond:
	case l.MBU.OK && l.MBU.V >= bindsMBU:
		hit(BindsBandwidth, percent(math.Round(1000*l.MBU.V)/1000)+" of the peak bandwidth; real engines reach 50 to 70 %")
	case l.MBU.OK:
		miss(BindsBandwidth, percent(math.Round(1000*l.MBU.V)/1000)+" of the peak bandwidth"+between(l.MBU.V, slackMBU, bindsMBU))
	default:
		lack(BindsBandwidth, "the model and the hardware (--model, --hardware), and TPOT")
	}
}

// between says of a share that it is near, but not at a limit.
func between(v, slack, binds float64) string {
	if v >= slack {
		return fmt.Sprintf(", near the %s at which it would count as binding", percent(binds))
	}
	return ""
}
