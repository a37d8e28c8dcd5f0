package analyze

import (
	"math"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/ingest/serving"
)

// Ceilings is the value of section "ceilings".
type Ceilings struct{ Ceilings []*Ceiling }

// A Ceiling is what the hardware allows the runs of one sweep, or those of one
// model on one kind of hardware: bandwidth, compute and capacity.
type Ceiling struct {
	ID       string
	Label    string
	Sweep    *Sweep           // nil where the runs form none
	Model    *ceiling.Model   // nil where it is not known
	GPU      *ceiling.GPU     // nil where it is not known
	GPUs     serving.Opt[int] // of all replicas; never assumed
	GPUsFrom string           // what says their number: fromFile or "--hardware"
	Machine  *ceiling.Machine // nil where GPU or number is not known
	Name     string           // of the model as the files have it

	Context     serving.Opt[float64] // tokens of a request in mid-output: mean prompt + half the mean output
	Bandwidth   *BandwidthCeiling    // nil where it cannot be told
	Capacity    *CapacityCeiling     // nil where it cannot be told
	Line        *StepLine            // nil without three levels of one sweep
	Levels      []CeilingLevel
	Binding     Binding
	Missing     []string // what would be needed, with the flag to give
	Assumptions []string
	Findings    []string // measurements that exceed a bound, and the like
	Interlink   string   // "", pcie, nvlink, …: what a rule about tensor parallelism needs
}

// A BandwidthCeiling is what memory bandwidth allows.
type BandwidthCeiling struct {
	Weights    float64              // bytes of all weights
	Read       float64              // bytes that a step of one token reads
	Peak       float64              // bytes/s of the GPUs that serve one request
	OneRequest float64              // tokens/s
	Naive      serving.Opt[float64] // tokens/s if every weight were read; of a mixture of experts only
	Ridge      serving.Opt[float64] // batch beyond which compute takes longer
	HalfBatch  serving.Opt[float64] // batch at which KV cache weighs as much as the weights, at the context
	Asymptote  serving.Opt[float64] // output tokens/s of a replica however large the batch, at the context
	Curve      []BoundPoint         // at the context; ends at the ridge
}

// A BoundPoint is the bound at a number of users.
type BoundPoint struct {
	Users   float64
	PerUser float64 // tokens/s
	Output  float64 // tokens/s of all replicas
}

// A CapacityCeiling is how much KV cache fits.
type CapacityCeiling struct {
	PerToken  serving.Opt[float64] // bytes a token, no window being full
	Beyond    serving.Opt[float64] // bytes a token once every window is full; missing without windows
	State     float64              // bytes a request, whatever its length
	PerReq    serving.Opt[float64] // bytes of a request at the context
	Computed  *Pool                // nil where it cannot be computed
	Reported  *Pool                // as the engine states it; it beats the computed one
	Fits      serving.Opt[bool]    // the weights, reserve and one request fit
	LeastGPUs int                  // smallest tensor-parallel size that holds it; 0 unknown
	Util      float64              // gpu_memory_utilization
	UtilFrom  string
}

// A Pool is the KV cache of all replicas.
type Pool struct {
	Bytes    serving.Opt[float64]
	Tokens   serving.Opt[float64]
	Requests serving.Opt[float64] // of the context
	From     string
}

// Best is the pool that counts: the engine's own figure before the computed one.
func (c *CapacityCeiling) Best() *Pool {
	if c.Reported != nil {
		return c.Reported
	}
	return c.Computed
}

// A StepLine is the step time over the batch and what it implies.
type StepLine struct {
	ceiling.Line
	Refused      string               // why it is not taken for a line; "" where it is
	Effective    serving.Opt[float64] // bytes/s at which the weights are read
	EffectiveOf  serving.Opt[float64] // share of the peak
	BatchMeasure string               // what the batch is, and how it is told
}

// A CeilingLevel is one load level measured against the bound.
type CeilingLevel struct {
	Run     *RunStats
	Label   string
	Batch   serving.Opt[float64] // requests decoding at once, all replicas
	Context serving.Opt[float64]
	TPOT    serving.Opt[float64] // seconds, p50
	Bound   serving.Opt[float64] // tokens/s a user
	MBU     serving.Opt[float64]
	MFU     serving.Opt[float64] // share of the dense compute: prompt and output tokens
	Experts serving.Opt[float64] // distinct experts of a layer that a step is expected to use
	Beyond  bool                 // the batch is beyond the ridge: no bandwidth bound
}

// Binds names the ceiling that binds.
type Binds string

// The ceilings.
const (
	BindsBandwidth Binds = "bandwidth"
	BindsCapacity  Binds = "capacity"
	BindsBatch     Binds = "max_num_seqs"
	BindsCompute   Binds = "compute"
	BindsNeither   Binds = "neither"
	BindsUnknown   Binds = "unknown"
)

// A Binding is which ceiling binds at the highest load, with its evidence.
type Binding struct {
	What                  Binds
	At                    string // the level
	Text                  string
	For, Against, Missing []string
}

// BoundPerUser is the bandwidth bound of the tokens/s that each of so many users
// sees, at the observed context. It is missing where the model, the hardware or
// the context is not known and beyond the compute ridge, where the bound does
// not hold.
func (c *Ceiling) BoundPerUser(users float64) serving.Opt[float64] {
	if c.Model == nil || c.Machine == nil || c.Bandwidth == nil || !c.Context.OK || !(users > 0) {
		return serving.None[float64]()
	}
	batch := math.Max(1, users/float64(c.Machine.Replicas))
	if c.Bandwidth.Ridge.OK && batch > c.Bandwidth.Ridge.V {
		return serving.None[float64]()
	}
	return finite(ceiling.PerUser(c.Model, *c.Machine, batch, c.Context.V))
}
