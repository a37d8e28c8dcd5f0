package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// setBandwidth computes the bound of one request and where the bound ends.
func (c *Ceiling) setBandwidth() {
	if c.Model == nil || c.Machine == nil {
		return
	}
	m, hw := c.Model, *c.Machine
	b := &BandwidthCeiling{Weights: m.WeightBytes(), Read: m.ReadBytes(1), Peak: hw.Bandwidth(), OneRequest: ceiling.OneRequest(m, hw), Ridge: finite(ceiling.Ridge(m, hw))}
	if math.IsNaN(b.OneRequest) {
		return
	}
	if m.MoE != nil {
		b.Naive = finite(ceiling.NaiveOneRequest(m, hw))
	}
	if c.Context.OK {
		if kv := m.KVBytes(c.Context.V, hw.TP); kv > 0 {
			b.Asymptote = finite(ceiling.Asymptote(b.Peak, kv))
			if m.MoE == nil {
				b.HalfBatch = finite(ceiling.HalfBatch(b.Weights, kv))
			}
		}
	}
	if !b.Ridge.OK {
		c.Assumptions = append(c.Assumptions, "the compute ridge is not known: the catalogue has no compute rate of "+hw.GPU.Title+" for "+m.Weights.Name)
	}
	if hw.Stages > 1 {
		c.Assumptions = append(c.Assumptions, fmt.Sprintf("one request passes the %d pipeline stages in turn, so that the %d GPUs of one stage read for it at a time", hw.Stages, hw.TP))
	}
	c.Bandwidth = b
}

// setCurve takes points of the bound for a chart: from one user to the ridge,
// but no further than four times the most users measured.
func (c *Ceiling) setCurve() {
	b := c.Bandwidth
	if b == nil || !c.Context.OK {
		return
	}
	most := 64.0
	for _, l := range c.Levels {
		if l.Batch.OK {
			most = math.Max(most, 4*l.Batch.V)
		}
	}
	replicas := float64(c.Machine.Replicas)
	if b.Ridge.OK {
		most = math.Min(most, b.Ridge.V*replicas)
	}
	const points = 40
	for i := range points + 1 {
		u := math.Exp(math.Log(most) * float64(i) / points)
		if v := c.BoundPerUser(u); v.OK {
			b.Curve = append(b.Curve, BoundPoint{Users: u, PerUser: v.V, Output: v.V * u})
		}
	}
}

// setLevels measures each level against the bound.
func (c *Ceiling) setLevels(s *subject) {
	if s.sweep == nil {
		for _, r := range s.runs {
			c.Levels = append(c.Levels, c.level(r.Run.Label, []*RunStats{r}))
		}
		return
	}
	for i := range s.sweep.Points {
		p := &s.sweep.Points[i]
		label := number(p.X)
		if p.XUnlimited {
			label = "unlimited"
		}
		c.Levels = append(c.Levels, c.level(label, p.Runs))
	}
}

// level takes the medians over the repeats of a level.
func (c *Ceiling) level(label string, runs []*RunStats) CeilingLevel {
	l := CeilingLevel{Run: runs[0], Label: label, Context: contextOf(runs)}
	median := func(f func(*RunStats) serving.Opt[float64]) serving.Opt[float64] {
		var vs []float64
		for _, r := range runs {
			if v := f(r); v.OK {
				vs = append(vs, v.V)
			}
		}
		if len(vs) == 0 {
			return serving.None[float64]()
		}
		slices.Sort(vs)
		return serving.Some(stat.Quantile(vs, 0.5))
	}
	l.TPOT = median(stepSeconds)
	l.Batch = median(decoding)
	c.measure(&l, median)
	return l
}

// stepSeconds is a run's TPOT p50: the mean gap of its middle request. Its mean
// stands in where the file has no percentile.
func stepSeconds(r *RunStats) serving.Opt[float64] {
	d := r.Dists.Of(serving.TPOT)
	if d == nil {
		return serving.None[float64]()
	}
	if q, ok := d.Q(0.5); ok && q.Value.OK && q.Value.V > 0 {
		return q.Value
	}
	if d.Mean.OK && d.Mean.V > 0 {
		return d.Mean
	}
	return serving.None[float64]()
}

// decoding is how many requests decode at once by Little's law: output tokens/s
// × mean TPOT. Requests that wait or prefill are not in it. A level of one
// request at a time has a little less than one, which is one.
func decoding(r *RunStats) serving.Opt[float64] {
	d := r.Dists.Of(serving.TPOT)
	if d == nil || !r.Throughput.Output.OK {
		return r.users()
	}
	t := d.Mean
	if !t.OK {
		t = stepSeconds(r)
	}
	if !t.OK || t.V <= 0 || r.Throughput.Output.V <= 0 {
		return r.users()
	}
	return serving.Some(math.Max(1, r.Throughput.Output.V*t.V))
}

func (c *Ceiling) measure(l *CeilingLevel, median func(func(*RunStats) serving.Opt[float64]) serving.Opt[float64]) {
	if c.Bandwidth == nil || !l.Batch.OK {
		return
	}
	m, hw := c.Model, *c.Machine
	batch := math.Max(1, l.Batch.V/float64(hw.Replicas))
	if m.MoE != nil && m.MoE.Experts > 0 {
		l.Experts = serving.Some(ceiling.ExpectedExperts(m.MoE.Experts, m.MoE.TopK, batch))
	}
	if rate, ok := hw.GPU.Compute(m); ok && m.Active > 0 {
		if total := median(func(r *RunStats) serving.Opt[float64] { return r.Throughput.Total }); total.OK {
			l.MFU = finite(total.V * 2 * m.Active / (rate * float64(hw.GPUs()*hw.Replicas)))
		}
	}
	l.Beyond = c.Bandwidth.Ridge.OK && batch > c.Bandwidth.Ridge.V
	if !l.Context.OK {
		return
	}
	kv := batch * m.KVBytes(l.Context.V, hw.TP)
	read := m.ReadBytes(batch)
	if math.IsNaN(kv) || math.IsNaN(read) {
		return
	}
	if !l.Beyond {
		l.Bound = finite(1 / ceiling.StepSeconds(read, kv, hw.Bandwidth()))
	}
	if l.TPOT.OK {
		l.MBU = finite(ceiling.MBU(read, kv, l.TPOT.V, hw.Bandwidth()))
	}
}

// setLine fits the step time of a sweep's levels over their batch.
func (c *Ceiling) setLine() {
	if c.Sweep == nil {
		return
	}
	replicas := 1.0
	if c.Machine != nil {
		replicas = float64(c.Machine.Replicas)
	}
	var batch, seconds []float64
	for _, l := range c.Levels {
		if !l.Batch.OK || !l.TPOT.OK || l.Beyond {
			continue
		}
		b := l.Batch.V / replicas
		// Levels that run the same batch are one: beyond the batch limit more
		// load changes the queue only.
		if i := slices.IndexFunc(batch, func(o float64) bool { return math.Abs(o-b) <= 0.05*o }); i >= 0 {
			continue
		}
		batch, seconds = append(batch, b), append(seconds, l.TPOT.V)
	}
	if len(batch) == 0 {
		return
	}
	line := &StepLine{BatchMeasure: "requests decoding at once, by Little's law"}
	line.Line, line.Refused = ceiling.FitLine(batch, seconds)
	if line.Refused == "" && c.Model != nil {
		// One request's worth of weights: of a mixture of experts the line's
		// foot is what the shared part and few experts take.
		line.Effective = finite(line.WeightBandwidth(c.Model.ReadBytes(1)))
		if c.Bandwidth != nil && line.Effective.OK {
			line.EffectiveOf = finite(line.Effective.V / c.Bandwidth.Peak)
		}
	}
	if line.N >= 3 || line.Refused == "" {
		c.Line = line
	}
}

// exceeds is the share by which a measurement may pass a bound before it is
// said: clocks and medians are not exact.
const exceeds = 1.02

// examine says of measurements that exceed a bound why that can be.
func (c *Ceiling) examine(s *subject) {
	if c.Bandwidth == nil {
		return
	}
	var over []CeilingLevel
	for _, l := range c.Levels {
		if l.MBU.OK && l.MBU.V > exceeds {
			over = append(over, l)
		}
	}
	if len(over) > 0 {
		worst := slices.MaxFunc(over, func(a, b CeilingLevel) int {
			switch {
			case a.MBU.V < b.MBU.V:
				return -1
			case a.MBU.V > b.MBU.V:
				return 1
			}
			return 0
		})
		c.Findings = append(c.Findings, fmt.Sprintf("%s of %s measured faster than memory can be read: %s of the bandwidth at %s. %s",
			number(float64(len(over))), plural(len(c.Levels), "level", "levels"), percent(math.Round(worst.MBU.V*1000)/1000), worst.Label, c.whyExceeded(s, worst)))
	}
	if l := c.Line; l != nil && l.EffectiveOf.OK && l.EffectiveOf.V > exceeds && len(over) == 0 {
		c.Findings = append(c.Findings, fmt.Sprintf("The step time at batch 0 (%s) would read the weights at %s of the bandwidth: %s", seconds(l.T0), percent(math.Round(l.EffectiveOf.V*1000)/1000), c.whyExceeded(s, CeilingLevel{MBU: l.EffectiveOf})))
	}
	c.naive()
	c.pastRidge()
}

// whyExceeded names the reason for which a bound can be passed, if the files
// have one; else the inputs are wrong.
func (c *Ceiling) whyExceeded(s *subject, l CeilingLevel) string {
	m := c.Model
	if s.facts.speculative != "" {
		return "Speculative decoding is on (" + s.facts.speculative + "): a step gives several tokens, so that the bound is of steps and not of tokens."
	}
	if e := m.EmbeddingBytes(); e > 0 && l.MBU.OK && l.MBU.V*(1-e/m.ReadBytes(1)) <= exceeds {
		return fmt.Sprintf("The input table (%s of the weights) is not read whole in a step, which explains it.", percent(math.Round(1000*e/m.WeightBytes())/1000))
	}
	wrong := fmt.Sprintf("the inputs are wrong: weights in %s (%s), %s parameters, or %s × %s. Check --model …,weights= and --hardware.",
		m.Weights.Name, m.Weights.Source, number(m.Total), number(float64(c.GPUs.V)), c.GPU.Title)
	if m.MoE != nil {
		return "Either routing is skewed, so that fewer experts were read than independent choices would use, or a step gives several tokens (speculative decoding), or " + wrong
	}
	return "Unless a step gives several tokens (speculative decoding, which no file mentions), " + wrong
}

// naive says of a mixture of experts that its weights were not all read.
func (c *Ceiling) naive() {
	b := c.Bandwidth
	if !b.Naive.OK {
		return
	}
	for _, l := range c.Levels {
		if !l.TPOT.OK || !l.Batch.OK {
			continue
		}
		if v := 1 / l.TPOT.V; v > b.Naive.V*exceeds {
			c.Findings = append(c.Findings, fmt.Sprintf("At %s a user got %s tokens/s, %.2f × what reading every weight each step would allow (%s): not all experts were read. What one request gets does not carry over to a batch, which reads more of them: measure at the concurrency that is planned.",
				l.Label, number(v), v/b.Naive.V, number(b.Naive.V)))
			return
		}
	}
}

func (c *Ceiling) pastRidge() {
	var past []string
	for _, l := range c.Levels {
		if l.Beyond {
			past = append(past, l.Label)
		}
	}
	if len(past) > 0 {
		c.Findings = append(c.Findings, fmt.Sprintf("Beyond a batch of %s a step takes longer to compute than to read the weights: the bandwidth bound is not extrapolated to %s.",
			number(math.Round(c.Bandwidth.Ridge.V)), strings.Join(past, ", ")))
	}
}
