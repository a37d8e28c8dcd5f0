package llmd

import (
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// maxGPUs bounds a plausible number of accelerators.
const maxGPUs = 1 << 20

// stack01 reads what was measured and how, of version 0.1.
func (b *report) stack01() {
	s := b.doc.Get("scenario")
	b.r.Model = s.Get("model", "name").Opt()
	var names, versions []string
	engines := s.Get("platform", "engine").List()
	roles := s.Get("host", "type").List()
	for i, e := range engines {
		names, versions = appendNew(names, e.Get("name").Text()), appendNew(versions, e.Get("version").Text())
		prefix := ""
		if len(engines) > 1 && i < len(roles) {
			prefix = roles[i].Text() + "."
		}
		b.args(prefix, e.Get("args"))
	}
	b.engine(names, versions)
	b.gpus01(s.Get("host", "accelerator").List())
	b.load01(s.Get("load"))
}

// gpus01 adds the accelerators up; one host without a count makes the sum unknown.
func (b *report) gpus01(list []*tree.Node) {
	sum := 0.0
	for _, a := range list {
		n, ok := a.Get("count").Float()
		if !ok || n < 1 {
			return
		}
		sum += n
		b.accelerator(a)
	}
	b.setGPUs(sum, "scenario.host.accelerator[].count")
}

func (b *report) setGPUs(sum float64, from string) {
	if sum >= 1 && sum <= maxGPUs && sum == math.Trunc(sum) {
		b.r.GPUs = serving.Some(int(sum))
		b.field(from, "gpus", "", "dialect")
	}
}

// accelerator notes the kind of accelerator, once.
func (b *report) accelerator(a *tree.Node) {
	model := a.Get("model").Text()
	if model == "" {
		return
	}
	if old, ok := b.r.Setting("accelerator"); !ok {
		b.setting("accelerator", model)
	} else if !slices.Contains(strings.Split(old, ", "), model) {
		for i := range b.r.Settings {
			if b.r.Settings[i].Key == "accelerator" {
				b.r.Settings[i].Value += ", " + model
			}
		}
	}
}

// engine names the server where all its components are one.
func (b *report) engine(names, versions []string) {
	if len(names) == 1 {
		b.r.Engine = serving.Some(strings.ToLower(names[0]))
	}
	if len(versions) == 1 {
		b.r.Version = serving.Some(versions[0])
	}
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// args are a program's own: --max-num-seqs is the setting max_num_seqs. Those
// that stand elsewhere in the run are passed over.
func (b *report) args(prefix string, n *tree.Node, placed ...*tree.Node) {
	if n == nil || n.Kind != tree.Object {
		return
	}
	for i, name := range n.Names {
		key := prefix + strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")
		v := n.Items[i]
		switch {
		case v.Kind == tree.List || v.Kind == tree.Object || slices.Contains(placed, v):
		case v.Kind == tree.Null:
			b.once(key, "true") // a flag without a value is set
		default:
			b.once(key, v.Text())
		}
	}
}

// once keeps the first value of a key, and every other one beside it.
func (b *report) once(key, value string) {
	if old, ok := b.r.Setting(key); ok && old == value {
		return
	}
	b.setting(key, value)
}

// load01 reads the load of version 0.1, whose arguments are the generator's own:
// a rate or a concurrency counts where it is a single number under a usual name.
func (b *report) load01(n *tree.Node) {
	if tool := n.Get("name").Text(); tool != "" {
		b.setting("load_generator", tool)
	}
	b.r.Workload = n.Get("type").Opt()
	args := n.Get("args")
	var rate, conc *tree.Node
	for _, name := range []string{"request_rate", "request-rate", "rate", "qps", "qps_values"} {
		if rate == nil {
			rate = args.Get(name)
		}
	}
	for _, name := range []string{"max_concurrency", "max-concurrency", "concurrency"} {
		if conc == nil {
			conc = args.Get(name)
		}
	}
	b.level(rate, conc)
	b.args("load.", args, rate, conc)
}

// level is the load level: an infinite rate or concurrency is none.
func (b *report) level(rate, conc *tree.Node) {
	var r serving.Opt[float64]
	var c serving.Opt[int64]
	unlimited := false
	if v, ok := rate.Float(); ok && v > 0 {
		if math.IsInf(v, 0) {
			unlimited = true
		} else {
			r = serving.Some(v)
			b.field(rate.Path, "request_rate", "req/s", "dialect")
		}
	}
	if v, ok := conc.Float(); ok && v >= 1 {
		if math.IsInf(v, 0) {
			unlimited = unlimited || !r.OK
		} else if v < 1<<53 {
			c = serving.Some(int64(v))
			b.field(conc.Path, "max_concurrency", "requests", "dialect")
		}
	}
	b.r.Load = serving.LoadOf(c, r, unlimited)
}

// stack02 reads the components of version 0.2.
func (b *report) stack02() {
	var names, versions, models []string
	gpus, known := 0.0, true
	var engines []*tree.Node
	for _, c := range b.doc.Get("scenario", "stack").List() {
		if c.Get("standardized", "kind").Text() == "inference_engine" {
			engines = append(engines, c)
		}
	}
	for _, c := range engines {
		s := c.Get("standardized")
		names, versions, models = appendNew(names, s.Get("tool").Text()), appendNew(versions, s.Get("tool_version").Text()), appendNew(models, s.Get("model", "name").Text())
		count, ok1 := s.Get("accelerator", "count").Float()
		replicas, ok2 := s.Get("replicas").Float()
		known = known && ok1 && ok2 && count >= 0 && replicas >= 0
		gpus += count * replicas
		b.accelerator(s.Get("accelerator"))
		prefix := ""
		if len(engines) > 1 {
			prefix = s.Get("role").Text() + "."
		}
		for _, k := range []string{"tp", "pp", "dp", "ep"} {
			if v := s.Get("accelerator", "parallelism", k).Text(); v != "" {
				b.once(prefix+k, v)
			}
		}
		if v := s.Get("replicas").Text(); v != "" {
			b.once(prefix+"replicas", v)
		}
		b.args(prefix, c.Get("native", "args"))
	}
	b.engine(names, versions)
	if len(models) == 1 {
		b.r.Model = serving.Some(models[0])
	}
	if known {
		b.setGPUs(gpus, "scenario.stack[].standardized: replicas × accelerator.count")
	}
}

// load02 reads the standardized load of version 0.2.
func (b *report) load02(n *tree.Node) {
	if n == nil {
		return
	}
	if tool := n.Get("tool").Text(); tool != "" {
		b.setting("load_generator", tool)
	}
	b.level(n.Get("rate_qps"), n.Get("concurrency"))
	b.r.Workload = n.Get("source").Opt()
	for _, k := range [][]string{{"input_seq_len", "value"}, {"output_seq_len", "value"}, {"prefix", "prefix_len", "value"}, {"prefix", "num_prefixes"}, {"multi_turn", "enabled"}} {
		if v := n.Get(k...); v.Text() != "" {
			b.setting(strings.TrimSuffix(strings.Join(k, "."), ".value"), v.Text())
		}
	}
}
