package render

import (
	"math"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

type wireCeiling struct {
	ID          string         `json:"id"`
	Label       string         `json:"label"`
	Sweep       string         `json:"sweep,omitempty"`
	Model       string         `json:"model,omitempty"`
	Facts       *wireModel     `json:"model_facts,omitempty"`
	Hardware    string         `json:"hardware,omitempty"`
	Replicas    int            `json:"replicas,omitempty"`
	TP          int            `json:"tensor_parallel_size,omitempty"`
	Stages      int            `json:"pipeline_parallel_size,omitempty"`
	Context     *float64       `json:"context_tokens,omitempty"`
	Bandwidth   *wireBandwidth `json:"bandwidth,omitempty"`
	Capacity    *wireCapacity  `json:"capacity,omitempty"`
	Binding     string         `json:"binding"`
	BindingAt   string         `json:"binding_at,omitempty"`
	BindingText string         `json:"binding_text,omitempty"`
	Evidence    wireForAgainst `json:"evidence"`
	Findings    []string       `json:"findings,omitempty"`
	Missing     []string       `json:"missing,omitempty"`
	Assumptions []string       `json:"assumptions,omitempty"`
}

type wireModel struct {
	Type        string   `json:"model_type,omitempty"`
	Source      string   `json:"source"`
	Parameters  *float64 `json:"parameters,omitempty"`
	Active      *float64 `json:"active_parameters,omitempty"`
	Experts     int      `json:"experts,omitempty"`
	TopK        int      `json:"experts_per_token,omitempty"`
	Weights     string   `json:"weights"`
	WeightsFrom string   `json:"weights_source,omitempty"`
	WeightBytes *float64 `json:"weights_bytes,omitempty"`
	KV          string   `json:"kv"`
	KVFrom      string   `json:"kv_source,omitempty"`
}

type wireBandwidth struct {
	OneRequest *float64      `json:"tokens_per_s_one_request,omitempty"`
	AllWeights *float64      `json:"tokens_per_s_one_request_all_weights,omitempty"`
	Read       *float64      `json:"read_bytes_one_request,omitempty"`
	Peak       *float64      `json:"peak_bytes_per_s,omitempty"`
	Ridge      *float64      `json:"ridge_batch,omitempty"`
	HalfBatch  *float64      `json:"half_saturation_batch,omitempty"`
	Asymptote  *float64      `json:"asymptote_tokens_per_s,omitempty"`
	Line       *wireStepLine `json:"line,omitempty"`
	MBU        []wireMBU     `json:"mbu"`
	Curve      []wireBoundAt `json:"curve,omitempty"`
}

type wireStepLine struct {
	T0        *float64 `json:"t0,omitempty"`
	T1        *float64 `json:"t1,omitempty"`
	Residual  *float64 `json:"relative_residual,omitempty"`
	Levels    int      `json:"levels"`
	Refused   string   `json:"refused,omitempty"`
	Effective *float64 `json:"effective_bytes_per_s,omitempty"`
	Share     *float64 `json:"effective_share,omitempty"`
	HalfBatch *float64 `json:"half_saturation_batch,omitempty"`
	Asymptote *float64 `json:"asymptote_tokens_per_s,omitempty"`
}

type wireMBU struct {
	Run     string   `json:"run"`
	Value   *float64 `json:"value,omitempty"`
	Batch   *float64 `json:"batch,omitempty"`
	Context *float64 `json:"context_tokens,omitempty"`
	Bound   *float64 `json:"bound_tokens_per_s_per_user,omitempty"`
	MFU     *float64 `json:"mfu,omitempty"`
	Experts *float64 `json:"expected_experts,omitempty"`
	Beyond  bool     `json:"beyond_ridge,omitempty"`
}

type wireBoundAt struct {
	Users   *float64 `json:"users"`
	PerUser *float64 `json:"tokens_per_s_per_user"`
}

type wireCapacity struct {
	PerToken   *float64  `json:"kv_bytes_per_token,omitempty"`
	Beyond     *float64  `json:"kv_bytes_per_token_beyond_window,omitempty"`
	State      *float64  `json:"state_bytes_per_request,omitempty"`
	PerRequest *float64  `json:"bytes_per_request,omitempty"`
	PoolBytes  *float64  `json:"pool_bytes,omitempty"`
	PoolTokens *float64  `json:"pool_tokens,omitempty"`
	Requests   *float64  `json:"requests_at_context,omitempty"`
	Origin     string    `json:"origin,omitempty"`
	From       string    `json:"from,omitempty"`
	Computed   *wirePool `json:"computed,omitempty"`
	Fits       *bool     `json:"fits,omitempty"`
	LeastGPUs  int       `json:"least_tensor_parallel_size,omitempty"`
}

type wirePool struct {
	Bytes    *float64 `json:"pool_bytes,omitempty"`
	Tokens   *float64 `json:"pool_tokens,omitempty"`
	Requests *float64 `json:"requests_at_context,omitempty"`
	From     string   `json:"from,omitempty"`
}

type wireForAgainst struct {
	For     []string `json:"for"`
	Against []string `json:"against"`
	Missing []string `json:"missing"`
}

type wireAdvice struct {
	ID          string `json:"id"`
	Subject     string `json:"subject,omitempty"`
	Knob        string `json:"knob"`
	Direction   string `json:"direction"`
	From        string `json:"from,omitempty"`
	To          string `json:"to,omitempty"`
	Observation string `json:"observation"`
	Price       string `json:"price"`
	Caveat      string `json:"caveat,omitempty"`
	Command     string `json:"command,omitempty"`
	Phase       string `json:"phase"`
}

type wireCost struct {
	Currency   string             `json:"currency"`
	PerGPUHour *float64           `json:"per_gpu_hour"`
	Rows       []wireCostRow      `json:"rows"`
	AtCapacity *float64           `json:"at_slo_capacity,omitempty"`
	Capacities []wireCapacityCost `json:"slo_capacities,omitempty"`
}

type wireCostRow struct {
	Run      string   `json:"run"`
	GPUs     int      `json:"gpus"`
	GPUsFrom string   `json:"gpus_from,omitempty"`
	PerHour  *float64 `json:"per_hour"`
	PerOut   *float64 `json:"per_million_output_tokens,omitempty"`
	PerTotal *float64 `json:"per_million_total_tokens,omitempty"`
}

type wireCapacityCost struct {
	Sweep  string   `json:"sweep"`
	Run    string   `json:"run"`
	Level  string   `json:"level"`
	PerOut *float64 `json:"per_million_output_tokens"`
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func newWireCeiling(c *analyze.Ceiling) wireCeiling {
	w := wireCeiling{ID: c.ID, Label: c.Label, Model: c.Name, Hardware: hardwareText(c), Context: wireNumber(c.Context),
		Binding: string(c.Binding.What), BindingAt: c.Binding.At, BindingText: c.Binding.Text,
		Evidence: wireForAgainst{list(c.Binding.For), list(c.Binding.Against), list(c.Binding.Missing)},
		Findings: c.Findings, Missing: c.Missing, Assumptions: c.Assumptions}
	if c.Sweep != nil {
		w.Sweep = c.Sweep.ID
	}
	if m := c.Machine; m != nil {
		w.Replicas, w.TP, w.Stages = m.Replicas, m.TP, m.Stages
	}
	if m := c.Model; m != nil {
		if w.Model == "" {
			w.Model = m.Name
		}
		w.Facts = &wireModel{Type: m.Type, Source: m.Source, Weights: m.Weights.Name, WeightsFrom: m.Weights.Source, KV: m.KVType.Name, KVFrom: m.KVType.Source,
			Parameters: positive(m.Total), Active: positive(m.Active), WeightBytes: positive(m.WeightBytes())}
		if m.MoE != nil {
			w.Facts.Experts, w.Facts.TopK = m.MoE.Experts, m.MoE.TopK
		}
	}
	w.Bandwidth = newWireBandwidth(c)
	if k := c.Capacity; k != nil {
		w.Capacity = newWireCapacity(k)
	}
	return w
}

// positive is a number above 0, or nothing.
func positive(v float64) *float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func newWireBandwidth(c *analyze.Ceiling) *wireBandwidth {
	b := c.Bandwidth
	if b == nil && c.Line == nil {
		return nil
	}
	w := &wireBandwidth{MBU: []wireMBU{}}
	if b != nil {
		w.OneRequest, w.AllWeights, w.Read, w.Peak = wireFloat(b.OneRequest), wireNumber(b.Naive), wireFloat(b.Read), wireFloat(b.Peak)
		w.Ridge, w.HalfBatch, w.Asymptote = wireNumber(b.Ridge), wireNumber(b.HalfBatch), wireNumber(b.Asymptote)
		for _, p := range b.Curve {
			w.Curve = append(w.Curve, wireBoundAt{wireSeriesValue(serving.NoUnit, p.Users), wireSeriesValue(serving.NoUnit, p.PerUser)})
		}
		for _, l := range c.Levels {
			w.MBU = append(w.MBU, wireMBU{Run: l.Run.Run.ID, Value: wireNumber(l.MBU), Batch: wireNumber(l.Batch), Context: wireNumber(l.Context),
				Bound: wireNumber(l.Bound), MFU: wireNumber(l.MFU), Experts: wireNumber(l.Experts), Beyond: l.Beyond})
		}
	}
	if l := c.Line; l != nil {
		w.Line = &wireStepLine{Residual: wireFloat(l.Residual), Levels: l.N, Refused: l.Refused}
		if l.Refused == "" {
			w.Line.T0, w.Line.T1 = wireMillis(serving.Some(l.T0)), wireMillis(serving.Some(l.T1))
			w.Line.HalfBatch, w.Line.Asymptote = wireFloat(l.HalfBatch()), wireFloat(l.Asymptote())
			w.Line.Effective, w.Line.Share = wireNumber(l.Effective), wireNumber(l.EffectiveOf)
		}
	}
	return w
}

func newWireCapacity(k *analyze.CapacityCeiling) *wireCapacity {
	w := &wireCapacity{PerToken: wireNumber(k.PerToken), Beyond: wireNumber(k.Beyond), State: positive(k.State), PerRequest: wireNumber(k.PerReq), Fits: k.Fits.Ptr(), LeastGPUs: k.LeastGPUs}
	if p := k.Best(); p != nil {
		w.PoolBytes, w.PoolTokens, w.Requests, w.From = wireNumber(p.Bytes), wireNumber(p.Tokens), wireNumber(p.Requests), p.From
		w.Origin = "computed"
	}
	if k.Reported != nil {
		w.Origin = "reported"
		if p := k.Computed; p != nil {
			w.Computed = &wirePool{wireNumber(p.Bytes), wireNumber(p.Tokens), wireNumber(p.Requests), p.From}
		}
	}
	return w
}

func newWireAdvice(a analyze.Advice) wireAdvice {
	return wireAdvice{a.ID, a.Subject, a.Knob, a.Direction, a.From, a.To, a.Observation, a.Price, a.Caveat, a.Command, a.Phase}
}

func newWireCost(c *analyze.Cost) *wireCost {
	w := &wireCost{Currency: c.Price.Currency, PerGPUHour: wireFloat(c.Price.PerGPUHour), Rows: []wireCostRow{}}
	for _, r := range c.Rows {
		w.Rows = append(w.Rows, wireCostRow{r.Run.Run.ID, r.GPUs, r.GPUsFrom, wireFloat(r.PerHour), wireNumber(r.PerMillionOut), wireNumber(r.PerMillionTotal)})
	}
	for i, k := range c.Capacity {
		if i == 0 {
			w.AtCapacity = wireFloat(k.PerMillionOut)
		}
		w.Capacities = append(w.Capacities, wireCapacityCost{k.Sweep.ID, k.Run.Run.ID, k.Level, wireFloat(k.PerMillionOut)})
	}
	return w
}
