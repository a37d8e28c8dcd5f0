package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/ingest/serving"
)

func runCeilings(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	f := &ceilingFinder{in: in, servers: Value[Servers](rep), runs: Value[Runs](rep)}
	f.countGPUs()
	var out Ceilings
	for _, s := range f.subjects(Value[Sweeps](rep)) {
		if c := f.ceiling(s); c != nil {
			c.ID = fmt.Sprintf("ceiling-%d", len(out.Ceilings)+1)
			out.Ceilings = append(out.Ceilings, c)
		}
	}
	if len(out.Ceilings) == 0 {
		return nil, nil, nil
	}
	return &out, []string{
		"The bandwidth bound of one request is memory bandwidth over the bytes of the weights a step reads; a step of a batch reads the KV cache of every request besides. Real engines reach 50 to 70 % of it.",
		"MBU is what a step must read at least (weights and the KV cache of the batch) over TPOT p50 and the peak bandwidth. The batch is output tokens/s × mean TPOT: requests that are decoding, without those that wait or prefill.",
		"A data sheet's GB are 10⁹ bytes. A pool that the engine reports beats the computed one.",
	}, nil
}

// A ceilingFinder makes the ceilings of a dataset.
type ceilingFinder struct {
	in      *Input
	runs    *Runs
	servers *Servers
	mixed   bool // the files state different numbers of GPUs
}

// A subject is what one ceiling is about: the runs of a sweep, runs of one model
// and hardware, or servers without any run.
type subject struct {
	label   string
	sweep   *Sweep
	runs    []*RunStats
	servers []*ServerStats
	facts   deployment
}

// countGPUs finds whether the runs ran on different numbers of GPUs: then the
// number typed cannot be that of all.
func (f *ceilingFinder) countGPUs() {
	if f.runs == nil {
		return
	}
	seen := 0
	for _, r := range f.runs.Runs {
		if n := gpusOf(r.Run).Or(0); n > 0 {
			f.mixed = f.mixed || seen > 0 && seen != n
			seen = n
		}
	}
}

// subjects are the sweeps, then what is left over, then servers of models that
// no run is of.
func (f *ceilingFinder) subjects(sweeps *Sweeps) []*subject {
	var out []*subject
	used := map[*RunStats]bool{}
	if sweeps != nil {
		for _, s := range sweeps.Sweeps {
			sub := &subject{label: s.Label, sweep: s}
			for _, p := range s.Points {
				for _, r := range p.Runs {
					used[r] = true
					sub.runs = append(sub.runs, r)
				}
			}
			sub.facts = f.deployment(sub.runs[0].Run)
			out = append(out, sub)
		}
	}
	if f.runs != nil {
		for _, r := range f.runs.Runs {
			if used[r] || r.Counts.Completed.OK && r.Counts.Completed.V == 0 {
				continue
			}
			facts := f.deployment(r.Run)
			i := slices.IndexFunc(out, func(s *subject) bool { return s.sweep == nil && s.facts.key() == facts.key() })
			if i < 0 {
				i = len(out)
				out = append(out, &subject{facts: facts})
			}
			out[i].runs = append(out[i].runs, r)
		}
	}
	return append(out, f.attachServers(out)...)
}

// attachServers gives each subject the servers of its model, and returns the
// models that only servers are of.
func (f *ceilingFinder) attachServers(have []*subject) []*subject {
	if f.servers == nil {
		return nil
	}
	var alone []*subject
	for _, s := range f.servers.Servers {
		if s.Members > 0 || s.Server.Engine == "" {
			continue // a fleet repeats its replicas; an exporter of a GPU serves nothing
		}
		name := s.Server.Model.Or("")
		found := false
		for _, sub := range have {
			if name == "" && len(have) == 1 || name != "" && sameModel(sub.facts.model, name) {
				sub.servers = append(sub.servers, s)
				found = true
			}
		}
		if found || name == "" {
			continue
		}
		facts := f.serverDeployment(s.Server)
		i := slices.IndexFunc(alone, func(a *subject) bool { return a.facts.key() == facts.key() })
		if i < 0 {
			i = len(alone)
			alone = append(alone, &subject{facts: facts})
		}
		alone[i].servers = append(alone[i].servers, s)
	}
	return alone
}

func sameModel(a, b string) bool {
	return strings.EqualFold(a, b) || strings.EqualFold(a[strings.LastIndexByte(a, '/')+1:], b[strings.LastIndexByte(b, '/')+1:])
}

// A deployment is what the files say of how a model was served.
type deployment struct {
	model           string
	gpu             string // as the files name it
	gpus            int    // 0 unknown
	tp, pp, dp      int    // 0 unknown
	quantization    string
	kv              string
	util            string
	maxSeqs         string
	speculative     string // what says so; "" for none
	expertParallel  bool
	prefillDisagged bool
}

func (d deployment) key() string {
	return strings.Join([]string{d.model, d.gpu, strconv.Itoa(d.gpus), strconv.Itoa(d.tp), strconv.Itoa(d.pp), strconv.Itoa(d.dp), d.quantization, d.kv, d.util}, "\x00")
}

// Keys under which files state the facts of a deployment: vLLM's, SGLang's,
// TensorRT-LLM's, InferenceX's, and those of people's own metadata.
var (
	gpuKeys   = []string{"gpu", "gpu_name", "gpu_type", "gpu_model", "accelerator", "device_name", "hardware", "hw", "gpu 0"}
	tpKeys    = []string{"tensor_parallel_size", "tp_size", "tp", "tensor-parallel-size"}
	ppKeys    = []string{"pipeline_parallel_size", "pp_size", "pp", "pipeline-parallel-size"}
	dpKeys    = []string{"data_parallel_size", "dp_size", "data-parallel-size"}
	quantKeys = []string{"quantization", "precision"}
	kvKeys    = []string{"kv_cache_dtype", "cache_dtype"}
	utilKeys  = []string{"gpu_memory_utilization", "mem_fraction_static"}
	specKeys  = []string{"spec_decoding", "speculative_config", "speculative_algorithm", "num_speculative_tokens", "num_spec_tokens", "speculative_model"}
)

// settingsReader finds the first of several keys among settings.
type settingsReader []serving.Setting

func (s settingsReader) get(keys ...string) string {
	for _, k := range keys {
		for _, o := range s {
			if o.Key != k {
				continue
			}
			v := o.Value
			if i := strings.LastIndex(v, ", then "); i >= 0 {
				v = v[i+len(", then "):] // of several starts the last
			}
			if v = strings.TrimSpace(v); v != "" && v != "None" && v != "null" && v != "none" {
				return v
			}
		}
	}
	return ""
}

func (s settingsReader) count(keys ...string) int {
	n, err := strconv.Atoi(s.get(keys...))
	if err != nil || n < 1 || n > 1<<16 {
		return 0
	}
	return n
}

func (s settingsReader) deployment() deployment {
	d := deployment{gpu: s.get(gpuKeys...), tp: s.count(tpKeys...), pp: s.count(ppKeys...), dp: s.count(dpKeys...),
		quantization: s.get(quantKeys...), kv: s.get(kvKeys...), util: s.get(utilKeys...), maxSeqs: s.get(batchKeys...)}
	for _, k := range specKeys {
		if v := s.get(k); v != "" && v != "0" && v != "false" {
			d.speculative = k + " = " + v
			break
		}
	}
	switch strings.ToLower(s.get("enable_expert_parallel", "enable_ep_moe")) {
	case "true", "1":
		d.expertParallel = true
	}
	if s.count("ep_size", "ep") > 1 {
		d.expertParallel = true
	}
	switch strings.ToLower(s.get("disagg", "disaggregation_mode")) {
	case "", "false":
	default:
		d.prefillDisagged = true
	}
	return d
}

// batchKeys are the settings that limit how many requests run at once.
var batchKeys = []string{"max_num_seqs", "max-num-seqs", "max_running_requests", "max-running-requests", "max_batch_size"}

func gpusOf(r *serving.Run) serving.Opt[int] {
	if r.GPUs.OK && r.GPUs.V > 0 {
		return r.GPUs
	}
	s := settingsReader(r.Settings)
	if tp := s.count(tpKeys...); tp > 0 {
		return serving.Some(tp * max(1, s.count(ppKeys...)) * max(1, s.count(dpKeys...)))
	}
	return serving.None[int]()
}

// deployment reads a run's facts; what its file does not say is taken from the
// engine's log or scrapes, where all that serve the model agree.
func (f *ceilingFinder) deployment(r *serving.Run) deployment {
	d := settingsReader(r.Settings).deployment()
	d.model = r.Model.Or("")
	d.gpus = gpusOf(r).Or(0)
	if _, _, ok := speculated(r); ok && d.speculative == "" {
		d.speculative = "the file reports an acceptance rate"
	}
	var others []deployment
	for _, s := range f.in.Data.Servers {
		if s.Engine == "" || !s.Model.OK || d.model == "" || !sameModel(d.model, s.Model.V) {
			continue
		}
		others = append(others, f.serverDeployment(s))
	}
	agree := func(get func(deployment) string) string {
		v := ""
		for i, o := range others {
			if i > 0 && get(o) != v {
				return ""
			}
			v = get(o)
		}
		return v
	}
	d.quantization = cmp.Or(d.quantization, agree(func(o deployment) string { return o.quantization }))
	d.kv = cmp.Or(d.kv, agree(func(o deployment) string { return o.kv }))
	d.util = cmp.Or(d.util, agree(func(o deployment) string { return o.util }))
	d.maxSeqs = cmp.Or(d.maxSeqs, agree(func(o deployment) string { return o.maxSeqs }))
	d.speculative = cmp.Or(d.speculative, agree(func(o deployment) string { return o.speculative }))
	if d.tp == 0 {
		d.tp, _ = strconv.Atoi(agree(func(o deployment) string { return strconv.Itoa(o.tp) }))
	}
	if d.gpu == "" {
		d.gpu = f.telemetryGPU()
	}
	return d
}

func (f *ceilingFinder) serverDeployment(s *serving.Server) deployment {
	d := settingsReader(s.Info).deployment()
	d.model = s.Model.Or("")
	if d.tp > 0 {
		d.gpus = d.tp * max(1, d.pp) * max(1, d.dp)
	}
	if d.gpu == "" {
		d.gpu = f.telemetryGPU()
	}
	return d
}

// telemetryGPU is the GPU that exporters name, where all name the same.
func (f *ceilingFinder) telemetryGPU() string {
	name, found := "", ""
	for _, s := range f.in.Data.Servers {
		for _, i := range s.Info {
			if !strings.HasPrefix(i.Key, "gpu ") {
				continue
			}
			g, ok := ceiling.Recognize(i.Value, f.in.Opt.OwnGPUs)
			if !ok || name != "" && name != g.Name {
				return ""
			}
			name, found = g.Name, i.Value
		}
	}
	return found
}

// speculated returns what a run says of accepted draft tokens.
func speculated(r *serving.Run) (rate, length float64, ok bool) {
	rate, a := r.ReportedValue(serving.SpecAcceptanceRate, "")
	length, b := r.ReportedValue(serving.SpecAcceptanceLen, "")
	return rate, length, a || b
}

// ceiling makes a subject's ceiling; nil where neither model nor hardware nor a
// reported pool is known, so that there is nothing to say.
func (f *ceilingFinder) ceiling(s *subject) *Ceiling {
	c := &Ceiling{Sweep: s.sweep, Name: s.facts.model}
	f.setModel(c, s)
	f.setHardware(c, s)
	c.Context = contextOf(s.runs)
	c.setLabel(s)
	reported := reportedPool(s)
	if c.Model == nil && c.GPU == nil && reported == nil {
		return nil
	}
	c.setBandwidth()
	f.setCapacity(c, s, reported)
	c.setLevels(s)
	c.setLine()
	c.setCurve()
	c.examine(s)
	c.setBinding(s)
	c.Missing = unique(c.Missing)
	return c
}

func (c *Ceiling) setLabel(s *subject) {
	if c.Label = s.label; c.Label == "" {
		c.Label = cmp.Or(c.Name, "runs of an unnamed model")
		if n := len(s.runs); n > 0 {
			c.Label += ", " + plural(n, "run", "runs")
		}
	}
}

// setModel takes the user's model, else the one that the files name.
func (f *ceilingFinder) setModel(c *Ceiling, s *subject) {
	name := s.facts.model
	switch given := f.in.Opt.Model; {
	case given != nil && f.givenFor(name):
		c.Model = given.Clone()
	default:
		if m, ok := ceiling.LookUp(name); ok && name != "" {
			c.Model = m
		}
	}
	if c.Model == nil {
		if name == "" {
			c.Missing = append(c.Missing, "the model: the files do not name it; give --model NAME or --model path/to/config.json")
		} else {
			c.Missing = append(c.Missing, fmt.Sprintf("the dimensions of %s: it is not in the catalogue; give --model path/to/config.json", name))
		}
		return
	}
	m := c.Model
	if m.Weights.Source != "--model" {
		if q, ok := quantizationOf(s.facts.quantization, m); ok {
			m.SetWeights(q, "the setting quantization = "+s.facts.quantization)
		} else if named, ok := ceiling.LookUp(name); ok && m.Weights.Bytes >= 2 && named.Weights.Source == "the name of the model" {
			m.Weights = named.Weights
		}
	}
	if m.KVType.Source != "--model" {
		if kv := strings.ToLower(s.facts.kv); kv != "" && kv != "auto" && m.SetKV(kv, "the setting kv_cache_dtype = "+s.facts.kv) {
		} else if kv == "" && m.KVType.Source != "quantization_config" {
			c.Assumptions = append(c.Assumptions, "KV cache in "+m.KVType.Name+", the type of the weights: no file states kv_cache_dtype (else --model …,kv=fp8)")
		}
	}
	if m.Weights.Bytes == 0 {
		c.Missing = append(c.Missing, "the bytes of the weights: "+strings.Join(m.Doubts, "; "))
	} else if m.Weights.Source == "config.json" && s.facts.quantization == "" && f.in.Opt.Model == nil {
		c.Assumptions = append(c.Assumptions, "weights in "+m.Weights.Name+" as published: no file states a quantization (else --model …,weights=fp8)")
	}
	c.Assumptions = append(c.Assumptions, m.Doubts...)
}

// quantizationOf is the format that an engine's setting names: methods that
// read their bits from the model's own configuration are left to that.
func quantizationOf(q string, m *ceiling.Model) (string, bool) {
	q = strings.ToLower(q)
	if q == "" || q == "auto" || q == m.Weights.Name {
		return "", false
	}
	if q == "fp4" && m.Weights.Name != "bf16" {
		return "", false // says no more than the configuration
	}
	f, ok := ceiling.FormatOf(q)
	if !ok || f.Bytes == m.Weights.Bytes || m.Weights.Bytes > 0 && m.Weights.Bytes < 1 && f.Bytes < 1 {
		return "", false
	}
	return f.Name, true
}

// givenFor reports whether the model that the user gave is that of a name. Where
// the files name one model only, it is: served names are often aliases.
func (f *ceilingFinder) givenFor(name string) bool {
	names := map[string]bool{}
	for _, r := range f.in.Data.Runs {
		names[r.Model.Or("")] = true
	}
	for _, s := range f.in.Data.Servers {
		if s.Engine != "" && s.Model.OK {
			names[s.Model.V] = true
		}
	}
	if len(names) <= 1 {
		return true
	}
	anyMatch := false
	for n := range names {
		anyMatch = anyMatch || ceiling.SameShape(f.in.Opt.Model.Name, n)
	}
	return !anyMatch || ceiling.SameShape(f.in.Opt.Model.Name, name)
}

// setHardware takes the user's hardware, else what the files name.
func (f *ceilingFinder) setHardware(c *Ceiling, s *subject) {
	opt := f.in.Opt.Hardware
	if opt != nil {
		g := opt.GPU
		c.GPU = &g
	} else if s.facts.gpu != "" {
		if g, ok := ceiling.Recognize(s.facts.gpu, f.in.Opt.OwnGPUs); ok {
			c.GPU = &g
		} else {
			c.Missing = append(c.Missing, fmt.Sprintf("the hardware: the files say %q, which is no single card of the catalogue; give --hardware NAME:COUNT", s.facts.gpu))
		}
	} else {
		c.Missing = append(c.Missing, "the hardware: the files do not name it; give --hardware NAME:COUNT, e.g. --hardware h100-sxm:1")
	}
	f.setGPUs(c, s)
	if c.GPU == nil || !c.GPUs.OK {
		return
	}
	c.Interlink = c.GPU.Link
	c.setMachine(s)
}

// fromFile says of a number of GPUs that the file of the runs states it.
const fromFile = "the file"

func (f *ceilingFinder) setGPUs(c *Ceiling, s *subject) {
	typed := 0
	if f.in.Opt.Hardware != nil {
		typed = f.in.Opt.Hardware.Count
	}
	file := s.facts.gpus
	switch {
	case typed > 0 && file > 0 && typed != file && f.mixed:
		c.GPUs, c.GPUsFrom = serving.Some(file), fromFile
		c.Assumptions = append(c.Assumptions, fmt.Sprintf("%d GPUs as the file says, not the %d of --hardware: the runs differ in their number", file, typed))
	case typed > 0:
		c.GPUs, c.GPUsFrom = serving.Some(typed), "--hardware"
		if file > 0 && file != typed {
			c.Findings = append(c.Findings, fmt.Sprintf("--hardware says %d GPUs, the files %d: the former is taken. If it is wrong, so is every figure here.", typed, file))
		}
	case file > 0:
		c.GPUs, c.GPUsFrom = serving.Some(file), fromFile
	default:
		name := "h100-sxm"
		if c.GPU != nil {
			name = c.GPU.Name
		}
		c.Missing = append(c.Missing, fmt.Sprintf("the number of GPUs: the files do not state it; give --hardware %s:COUNT", name))
	}
}

// setMachine lays the GPUs out: the sizes that the files state, else one group
// of all of them.
func (c *Ceiling) setMachine(s *subject) {
	n := c.GPUs.V
	m := &ceiling.Machine{GPU: *c.GPU, TP: s.facts.tp, Stages: max(1, s.facts.pp), Replicas: 1}
	if m.TP == 0 || n%(m.TP*m.Stages) != 0 {
		if m.TP > 0 {
			c.Findings = append(c.Findings, fmt.Sprintf("a tensor-parallel size of %d does not divide %d GPUs: all are taken as one group", m.TP, n))
		} else if n > 1 {
			c.Assumptions = append(c.Assumptions, fmt.Sprintf("the %d GPUs are one tensor-parallel group: no file states tensor_parallel_size", n))
		}
		m.TP, m.Stages = n, 1
		if s.facts.dp > 1 && n%s.facts.dp == 0 {
			m.TP = n / s.facts.dp
		}
	}
	m.Replicas = n / m.GPUs()
	c.Machine = m
	if s.facts.prefillDisagged {
		c.Assumptions = append(c.Assumptions, "prefill runs apart from decode: the GPUs of both are counted, so that the bounds are too high for either")
	}
}
