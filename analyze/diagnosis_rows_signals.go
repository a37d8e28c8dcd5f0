package analyze

import (
	"math"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// windows cuts the rows into equal windows of time.
func (c *rowChannel) windows() (rows [][]diagRow, step float64) {
	n := min(60, max(12, len(c.rows)/8))
	step = max(c.span()/float64(n), 1e-3)
	rows = make([][]diagRow, n)
	for from, to := 0, 0; from < len(c.rows); from = to { // rows are in order of time
		k := min(n-1, int(c.rows[from].at/step))
		for to < len(c.rows) && min(n-1, int(c.rows[to].at/step)) == k {
			to++
		}
		rows[k] = c.rows[from:to]
	}
	return rows, step
}

// signals are what change points are looked for in. They are not the caller's
// alone.
func (c *rowChannel) signals() []*signal {
	if c.own != nil {
		return c.own
	}
	windows, step := c.windows()
	failed := &signal{name: "failed", step: step}
	for _, rows := range windows {
		k := 0.0
		for i := range rows {
			if rows[i].outcome != serving.OK {
				k++
			}
		}
		failed.values, failed.n = append(failed.values, k/float64(len(rows))), append(failed.n, float64(len(rows)))
	}
	make1 := func(get func(*diagRow) float64, wanted ...quantileSignal) []*signal {
		return quantileSignals(windows, step, get, wanted)
	}
	c.own = append(c.own, make1((*diagRow).first, quantileSignal{"ttft", 0.5}, quantileSignal{"ttft_tail", 0.9})...)
	c.own = append(c.own, make1(func(r *diagRow) float64 { return r.tpot }, quantileSignal{"tpot", 0.5}, quantileSignal{"tpot_tail", 0.9})...)
	c.own = append(c.own, make1(func(r *diagRow) float64 { return r.queue }, quantileSignal{"queue", 0.5})...)
	c.own = append(c.own, failed)
	return c.own
}

// A quantileSignal is a signal of a quantile.
type quantileSignal struct {
	name string
	p    float64
}

// quantileSignals are quantiles over windows, not known in those with fewer than
// three values.
func quantileSignals(windows [][]diagRow, step float64, get func(*diagRow) float64, wanted []quantileSignal) []*signal {
	out, ps := make([]*signal, len(wanted)), make([]float64, len(wanted))
	for i, w := range wanted {
		out[i], ps[i] = &signal{name: w.name, step: step}, w.p
	}
	var x []float64
	for _, rows := range windows {
		x = appendKnown(x[:0], rows, get)
		n := float64(len(x))
		if len(x) < 3 {
			x, n = x[:0], 0
		}
		for i, v := range stat.Quantiles(x, ps...) {
			out[i].values, out[i].n = append(out[i].values, v), append(out[i].n, n)
		}
	}
	return out
}

// coarse are windows of equally many requests: where requests come in bursts,
// equally long windows alternate between two states.
func (c *rowChannel) coarse() []*signal {
	const windows = 14
	size := len(c.rows) / windows
	if size < 10 {
		return nil
	}
	ttft, tpot, tail := &signal{name: "ttft"}, &signal{name: "tpot"}, &signal{name: "ttft_tail"}
	out := []*signal{ttft, tpot, tail}
	var x []float64
	for k := range windows {
		rows := c.rows[k*size : (k+1)*size]
		add := func(s *signal, v float64) {
			s.starts, s.values, s.n = append(s.starts, rows[0].at), append(s.values, v), append(s.n, float64(len(x)))
		}
		x = appendKnown(x[:0], rows, func(r *diagRow) float64 { return r.tpot })
		add(tpot, spreadMean(x))
		x = appendKnown(x[:0], rows, (*diagRow).first)
		add(ttft, spreadMean(x))
		add(tail, stat.Quantiles(x, 0.95)[0])
	}
	for _, s := range out {
		s.step = c.span() - s.starts[windows-1]
	}
	return out
}

// context are signals that say no more than what came before what: windows like
// those of signals.
func (c *rowChannel) context() []*signal {
	windows, step := c.windows()
	arrivals, prompt := &signal{name: "arrivals", step: step}, &signal{name: "prompt_tokens", step: step}
	output, missed := &signal{name: "output_tokens", step: step}, &signal{name: "cache_missed", step: step}
	out := []*signal{arrivals, prompt, output, missed}
	var prompts []float64
	for _, rows := range windows {
		sent, gone, asked := 0.0, 0.0, 0.0
		var outputs mean
		prompts = prompts[:0]
		for i := range rows {
			r := &rows[i]
			if !r.retry {
				sent += c.every / step
			}
			if !math.IsNaN(r.prompt) {
				prompts = append(prompts, r.prompt)
			}
			if r.outcome == serving.OK {
				outputs.add(r.output)
			}
			if !math.IsNaN(r.cached) && r.prompt > 0 {
				gone += r.prompt - r.cached
				asked += r.prompt
			}
		}
		if len(prompts) < 3 {
			prompts = prompts[:0]
		}
		arrivals.values = append(arrivals.values, sent)
		prompt.values = append(prompt.values, stat.Quantiles(prompts, 0.9)[0])
		output.values = append(output.values, outputs.value())
		missed.values = append(missed.values, gone/asked)
	}
	levels := func(of *signal) *signal {
		s := &signal{name: of.name, step: step}
		for k := range windows {
			s.values = append(s.values, meanKnown(of.between(float64(k)*step, float64(k+1)*step)))
		}
		return s
	}
	if step >= 2*c.waiting.step { // a level's own windows are finer
		out = append(out, levels(c.waiting), levels(c.running))
	}
	return out
}
