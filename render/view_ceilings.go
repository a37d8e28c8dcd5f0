package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// ceilingsView is what the hardware allows, sweep by sweep.
type ceilingsView struct{ Ceilings []ceilingView }

type ceilingView struct {
	ID, Title, Sub string
	Binding        *Fact
	Findings       []string
	Missing        []string
	Bounds         *Table
	Levels         *Table
	Figure         *Figure
	Evidence       []evidenceView
	Assumptions    []string
}

type evidenceView struct {
	Title string
	Items []string
}

func viewCeilings(c *pageContext, value any) (any, error) {
	v, err := valueAs[analyze.Ceilings](value)
	if err != nil {
		return nil, err
	}
	var out ceilingsView
	for i, one := range v.Ceilings {
		id := fmt.Sprintf("ceiling-%d", i+1)
		w := newCeilingView(id, one)
		if w.Figure, err = c.boundFigure(id, one); err != nil {
			return nil, err
		}
		out.Ceilings = append(out.Ceilings, w)
	}
	return &out, nil
}

func newCeilingView(id string, c *analyze.Ceiling) ceilingView {
	v := ceilingView{ID: id, Title: c.Label, Sub: ceilingSub(c), Findings: c.Findings, Missing: c.Missing, Assumptions: c.Assumptions,
		Bounds: boundsTable(id, c), Levels: ceilingLevels(id, c)}
	if len(c.Levels) > 0 || len(c.Binding.For) > 0 {
		key := bindingName(c.Binding.What)
		if c.Binding.At != "" && c.Binding.What != analyze.BindsUnknown {
			key += " at " + c.Binding.At
		}
		v.Binding = &Fact{key + ".", c.Binding.Text}
	}
	for _, e := range []evidenceView{{"Speaks for it", c.Binding.For}, {"Speaks against the others", c.Binding.Against}, {"Missing to tell", c.Binding.Missing}} {
		if len(e.Items) > 0 {
			v.Evidence = append(v.Evidence, e)
		}
	}
	if len(c.Binding.For) == 0 && len(v.Evidence) > 0 && len(c.Binding.Against) > 0 {
		v.Evidence[0].Title = "Speaks against"
	}
	return v
}

func bindingName(b analyze.Binds) string {
	switch b {
	case analyze.BindsBandwidth:
		return "Memory bandwidth binds"
	case analyze.BindsCapacity:
		return "KV capacity binds"
	case analyze.BindsBatch:
		return "The batch limit binds (max_num_seqs)"
	case analyze.BindsCompute:
		return "Compute binds"
	case analyze.BindsNeither:
		return "No ceiling binds"
	}
	return "Which ceiling binds is unknown"
}

// hardwareText writes the hardware as --hardware takes it; "" where unknown.
func hardwareText(c *analyze.Ceiling) string {
	if c.GPU == nil {
		return ""
	}
	if !c.GPUs.OK {
		return c.GPU.Name
	}
	return c.GPU.Name + ":" + strconv.Itoa(c.GPUs.V)
}

func ceilingSub(c *analyze.Ceiling) string {
	var parts []string
	if m := c.Model; m != nil {
		s := m.Name
		if m.Total > 0 {
			s += ", " + billions(m.Total) + " parameters"
			if m.Active < m.Total {
				s += " (" + billions(m.Active) + " active)"
			}
		}
		if m.Weights.Bytes > 0 {
			s += " in " + m.Weights.Name
		}
		parts = append(parts, s)
	}
	if c.GPU != nil {
		s := c.GPU.Title
		if c.GPUs.OK {
			s = FormatCount(int64(c.GPUs.V)) + " × " + s
		}
		s += fmt.Sprintf(" (%s, %s/s each; %s", FormatBytes(c.GPU.Memory), FormatBytes(c.GPU.Bandwidth), c.GPU.Source)
		if c.GPUsFrom != "" {
			s += "; their number from " + c.GPUsFrom
		}
		s += ")"
		parts = append(parts, s)
	}
	if m := c.Machine; m != nil && (m.Replicas > 1 || m.Stages > 1) {
		parts = append(parts, fmt.Sprintf("%d replicas of TP %d × PP %d", m.Replicas, m.TP, m.Stages))
	}
	if c.Context.OK {
		parts = append(parts, "context "+FormatTokens(math.Round(c.Context.V))+" tokens (mean prompt + half the mean output)")
	}
	return strings.Join(parts, "; ") + "."
}

func billions(n float64) string {
	if n < 1e9 {
		return FormatNumber(n/1e6) + " M"
	}
	return FormatNumber(n/1e9) + " B"
}

// boundsTable lists what is computed of a deployment, each with how.
func boundsTable(id string, c *analyze.Ceiling) *Table {
	t := &Table{ID: id + "-bounds", Caption: "What the hardware allows", Head: []Head{col("Figure"), numCol("Value", "", ""), col("From")}}
	add := func(name, value, raw, how string) {
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(name), number(value, raw), wrapped(how)}})
	}
	plain := func(v float64) string { return RawValue(serving.NoUnit, serving.Some(v)) }
	if m := c.Model; m != nil {
		if w := m.WeightBytes(); w > 0 {
			add("Weights", FormatBytes(w)+" = "+FormatBinaryBytes(w), plain(w), "parameters × bytes; format from "+m.Weights.Source)
		}
	}
	if b := c.Bandwidth; b != nil {
		add("One request, at most", FormatNumber(b.OneRequest)+" tok/s", plain(b.OneRequest), fmt.Sprintf("%s/s ÷ %s read a step", FormatBytes(b.Peak), FormatBytes(b.Read)))
		if b.Naive.OK {
			add("One request, if every weight were read", FormatNumber(b.Naive.V)+" tok/s", plain(b.Naive.V), "no bound of a mixture of experts, of which a step reads the experts that were chosen")
		}
		if b.HalfBatch.OK {
			add("Half-saturation batch", FormatNumber(b.HalfBatch.V), plain(b.HalfBatch.V), "weights ÷ KV cache of a request: here a step takes twice its least time")
		}
		if b.Asymptote.OK {
			add("Output, at most, however large the batch", FormatNumber(b.Asymptote.V)+" tok/s", plain(b.Asymptote.V), "bandwidth ÷ KV cache of a request; of one replica")
		}
		if b.Ridge.OK {
			add("Compute ridge", FormatNumber(b.Ridge.V), plain(b.Ridge.V), "batch beyond which computing takes longer than reading the weights; the bound is not extrapolated beyond it")
		}
	}
	if l := c.Line; l != nil && l.Refused == "" {
		add("Measured step time", fmt.Sprintf("%s + %s × batch", FormatValue(serving.Seconds, serving.Some(l.T0)), FormatValue(serving.Seconds, serving.Some(l.T1))), "",
			fmt.Sprintf("least squares over %d levels, relative residual %s; batch: %s", l.N, FormatShare(l.Residual), l.BatchMeasure))
		if l.Effective.OK {
			s := FormatBytes(l.Effective.V) + "/s"
			if l.EffectiveOf.OK {
				s += " = " + FormatShare(l.EffectiveOf.V)
			}
			add("Bandwidth it implies", s, plain(l.Effective.V), "weights ÷ step time at batch 0, of the peak")
		}
		add("Half-saturation batch it implies", FormatNumber(l.HalfBatch()), plain(l.HalfBatch()), "step time at batch 0 ÷ what each request adds")
		add("Output it never passes", FormatNumber(l.Asymptote())+" tok/s", plain(l.Asymptote()), "1 ÷ what each request adds; of one replica")
	} else if l != nil {
		add("Measured step time", Missing, "", "no line over the batch: "+l.Refused)
	}
	capacityRows(c, add, plain)
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func capacityRows(c *analyze.Ceiling, add func(name, value, raw, how string), plain func(float64) string) {
	k := c.Capacity
	if k == nil {
		return
	}
	if k.PerToken.OK {
		how := "2 × layers × KV heads × head dim × bytes, summed over the layers; " + c.Model.KVType.Name + " from " + c.Model.KVType.Source
		if k.Beyond.OK {
			how += "; " + FormatCount(int64(k.Beyond.V)) + " B once every sliding window is full"
		}
		add("KV cache of a token", FormatCount(int64(math.Round(k.PerToken.V)))+" B", plain(k.PerToken.V), how)
	}
	if k.State > 0 {
		add("State of a request", FormatBytes(k.State), plain(k.State), "recurrent layers, whatever its length")
	}
	if k.PerReq.OK {
		add("KV cache of a request", FormatBytes(k.PerReq.V)+" = "+FormatBinaryBytes(k.PerReq.V), plain(k.PerReq.V), "at the context above")
	}
	pool := func(name string, p *analyze.Pool) {
		if p == nil {
			return
		}
		if p.Bytes.OK {
			add(name, FormatBytes(p.Bytes.V)+" = "+FormatBinaryBytes(p.Bytes.V), plain(p.Bytes.V), p.From)
		}
		if p.Tokens.OK {
			add(name+", tokens", FormatCount(int64(p.Tokens.V)), plain(p.Tokens.V), map[bool]string{true: "bytes ÷ KV cache of a token", false: p.From}[p.Bytes.OK])
		}
		if p.Requests.OK {
			add(name+", requests", FormatNumber(math.Floor(p.Requests.V*10)/10), plain(p.Requests.V), "of the context above")
		}
	}
	pool("KV pool, reported", k.Reported)
	pool("KV pool, computed", k.Computed)
	if k.LeastGPUs > 0 {
		add("Least tensor-parallel size", FormatCount(int64(k.LeastGPUs)), strconv.Itoa(k.LeastGPUs), "whose memory × utilization holds weights, reserve and one request")
	}
}

// ceilingLevels measures each level against the bound.
func ceilingLevels(id string, c *analyze.Ceiling) *Table {
	if c.Bandwidth == nil || len(c.Levels) == 0 {
		return nil
	}
	t := &Table{ID: id + "-levels", Caption: "Each level against the bandwidth bound", Sortable: true,
		Head: []Head{col("Level"), col("Run"), numCol("batch", "decoding", ""), numCol("context", "tokens", "tokens"), metricCol("TPOT p50", serving.Seconds), numCol("per user", "tok/s", "tok/s"),
			numCol("bound", "tok/s", "tok/s"), numCol("MBU", "", ""), numCol("MFU", "", ""), numCol("experts", "expected", "")}}
	for _, l := range c.Levels {
		speed := serving.None[float64]()
		if l.TPOT.OK && l.TPOT.V > 0 {
			speed = serving.Some(1 / l.TPOT.V)
		}
		context := l.Context
		if context.OK {
			context.V = math.Round(context.V)
		}
		mbu := valueCell(serving.Share, l.MBU)
		if l.MBU.OK && l.MBU.V > 1 {
			mbu.Class = "num bad"
		}
		if l.Beyond {
			mbu.Sub = "beyond the ridge"
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(l.Label), text(l.Run.Run.Label), rateCell(l.Batch), rateCell(context), valueCell(serving.Seconds, l.TPOT), rateCell(speed),
			rateCell(l.Bound), mbu, valueCell(serving.Share, l.MFU), rateCell(l.Experts)}})
	}
	return t.dropEmpty()
}
