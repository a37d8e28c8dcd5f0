package aiperf

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffTelemetry says whether a file is AIPerf's gpu_telemetry_export.jsonl by
// the names of its first record, and why not.
func SniffTelemetry(keys map[string]bool) (ok bool, why string) {
	if keys["timestamp_ns"] && keys["telemetry_data"] {
		return true, ""
	}
	return false, `no "timestamp_ns" and "telemetry_data" in a record`
}

// DecidedTelemetry says whether these first names already make the decision.
func DecidedTelemetry(keys map[string]bool) bool {
	return keys["timestamp_ns"] && keys["telemetry_data"]
}

// A sensor is a figure of a GPU: how the program calls it, its unit, and how many
// of the program's units one of the wire's is. The telemetry has no unit
// strings; AIPerf writes percent, decimal gigabytes and watts.
type sensor struct {
	name serving.SeriesName
	unit serving.Unit
	size float64
	from string
	max  float64 // what no device exceeds, in base units
}

var (
	utilSensor   = sensor{serving.GPUUtil, serving.Share, 0.01, "gpu_utilization (%)", 1}
	memorySensor = sensor{serving.GPUMemoryUsed, serving.Bytes, 1e9, "gpu_memory_used (GB)", 1e15}
	powerSensor  = sensor{serving.GPUPower, serving.NoUnit, 1, "gpu_power_usage (W)", 1e6}
)

// sensors are the names on the wire; since schema 1.5 they begin with the maker.
// AMD's utilization and power are read as their own tool defines them.
var sensors = map[string]*sensor{
	"gpu_utilization": &utilSensor, "nvidia_gpu_utilization": &utilSensor, "amd_gpu_utilization": &utilSensor,
	"gpu_memory_used": &memorySensor, "nvidia_memory_used": &memorySensor, "amd_memory_used": &memorySensor,
	"gpu_power_usage": &powerSensor, "nvidia_power_usage": &powerSensor, "amd_power_usage": &powerSensor,
}

// allSensors is their order in a server.
var allSensors = []*sensor{&utilSensor, &memorySensor, &powerSensor}

// maxReadings bounds the telemetry of one file: a day of 64 GPUs, three a second.
const maxReadings = 32 << 20

// DecodeTelemetry reads the telemetry of GPUs into servers without an engine, one
// for each exporter that was asked: utilization (the mean over its GPUs), memory
// and power (their sums), and the same of each GPU where there are several. A GPU
// that two exporters report is counted once.
//
// It fills in Records, Fields, Note and Problems of the input. Damaged records
// are problems; an error means that there was no reading at all.
func DecodeTelemetry(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Server, error) {
	d := &telemetryDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, seen: map[string]bool{}, gpus: map[gpuKey]*gpu{}}
	_, _, err := d.r.Records(FormatTelemetry, &in.Problems, d.record)
	in.Records = d.records
	if err != nil {
		return nil, d.r.Describe(err, FormatTelemetry)
	}
	if len(d.gpus) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatTelemetry, Found: "no reading of a GPU",
			Want: `lines with "timestamp_ns", "gpu_uuid" and "telemetry_data"`}
	}
	if d.full {
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: path}, Message: fmt.Sprintf("more than %d readings: those after them are left out", maxReadings)})
	}
	return d.servers(), nil
}

// A gpuKey is a GPU as one exporter reports it.
type gpuKey struct{ exporter, uuid string }

// A gpu is the readings of one GPU by one exporter.
type gpu struct {
	gpuKey
	index       string
	model, host string
	times       []int64
	values      [3][]float64 // by allSensors; NaN where missing
}

type telemetryDecoder struct {
	ctx      context.Context
	path     string
	r        *jsonscan.Reader
	in       *serving.Input
	seen     map[string]bool
	gpus     map[gpuKey]*gpu
	records  int64
	readings int
	full     bool
}

// record reads one reading.
func (d *telemetryDecoder) record(i int) error {
	if i&1023 == 0 && d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	at := serving.Pos{Path: d.path, Line: d.r.NextLine()}
	var g gpu
	var when int64
	values := [3]float64{math.NaN(), math.NaN(), math.NaN()}
	text := func(s *string) error {
		v, ok, err := d.r.Text(maxID)
		if ok {
			*s = v
		}
		return err
	}
	_, err := d.r.Object(func(name string) error {
		switch name {
		case "timestamp_ns":
			s, ok, err := d.r.Scalar(32)
			if ok {
				when, _ = epochNanos(s.Text)
			}
			d.field(name, "time", "ns", "dialect")
			return err
		case "dcgm_url", "endpoint_url", "source":
			return text(&g.exporter)
		case "gpu_uuid":
			d.field(name, "gpu", "", "dialect")
			return text(&g.uuid)
		case "gpu_model_name", "gpu_name":
			return text(&g.model)
		case "hostname":
			return text(&g.host)
		case "gpu_index":
			s, ok, err := d.r.Scalar(16)
			if ok && !s.IsNull() {
				g.index = s.Text
			}
			return err
		case "telemetry_data":
			_, err := d.r.Object(func(name string) error { return d.sensor(name, &values) })
			return err
		}
		return d.r.Skip()
	})
	switch {
	case err != nil:
		return err
	case when < 1e18:
		d.in.Problems.AddKind("time", serving.Problem{At: at, Message: "no timestamp_ns, want nanoseconds since the epoch; the reading is left out"})
		return nil
	case g.uuid == "" && g.index == "":
		d.in.Problems.AddKind("gpu", serving.Problem{At: at, Message: "neither gpu_uuid nor gpu_index; the reading is left out"})
		return nil
	case d.readings >= maxReadings:
		d.full = true
		return nil
	}
	d.records++
	d.readings += 4
	d.reading(g, when, values)
	return nil
}

// sensor reads one figure. What a device cannot show is a problem: DCGM has
// huge numbers for "not supported".
func (d *telemetryDecoder) sensor(name string, values *[3]float64) error {
	s := sensors[name]
	if s == nil {
		d.field("telemetry_data."+name, "", "", "")
		return d.r.Skip()
	}
	null := d.r.Peek() == 'n'
	v, ok, err := d.r.Float()
	if err != nil || null {
		return err
	}
	d.field("telemetry_data."+name, string(s.name), s.from[strings.IndexByte(s.from, '(')+1:len(s.from)-1], "dialect")
	if v *= s.size; !ok || !(v >= 0 && v <= s.max) {
		d.in.Problems.AddKind(name, d.r.Problemf("no plausible reading; taken as missing"))
		return nil
	}
	if s.unit == serving.Bytes {
		v = math.Round(v)
	}
	values[slices.Index(allSensors, s)] = v
	return nil
}

func (d *telemetryDecoder) reading(g gpu, when int64, values [3]float64) {
	if g.uuid == "" {
		g.uuid = g.host + " GPU " + g.index
	}
	have := d.gpus[g.gpuKey]
	if have == nil {
		have = &g
		d.gpus[g.gpuKey] = have
	}
	have.times = append(have.times, when)
	for i, v := range values {
		have.values[i] = append(have.values[i], v)
	}
}

func (d *telemetryDecoder) field(name, as, unit, how string) {
	if !d.seen[name] && len(d.in.Fields) < maxFields {
		d.seen[name] = true
		d.in.Fields = append(d.in.Fields, serving.Field{Name: name, As: as, Unit: unit, How: how})
	}
}

// servers makes a server of each exporter's GPUs.
func (d *telemetryDecoder) servers() []*serving.Server {
	byExporter := map[string][]*gpu{}
	var exporters []string
	twice := 0
	for _, g := range d.distinct(&twice) {
		if byExporter[g.exporter] == nil {
			exporters = append(exporters, g.exporter)
		}
		byExporter[g.exporter] = append(byExporter[g.exporter], g)
	}
	if twice > 0 {
		d.in.Note = fmt.Sprintf("GPUs that several exporters report, counted once: %d", twice)
	}
	slices.Sort(exporters)
	var out []*serving.Server
	for _, e := range exporters {
		out = append(out, d.server(e, byExporter[e], len(exporters) > 1))
	}
	return out
}

// distinct returns each GPU once: as the exporter with the most readings has it,
// the first by name where several have as many.
func (d *telemetryDecoder) distinct(twice *int) []*gpu {
	var all []*gpu
	for _, g := range d.gpus {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *gpu) int {
		return cmp.Or(cmp.Compare(a.uuid, b.uuid), -cmp.Compare(len(a.times), len(b.times)), cmp.Compare(a.exporter, b.exporter))
	})
	var out []*gpu
	for i, g := range all {
		switch {
		case i == 0 || g.uuid != all[i-1].uuid:
			out = append(out, g)
		case i == 1 || g.uuid != all[i-2].uuid:
			*twice++
		}
	}
	slices.SortStableFunc(out, func(a, b *gpu) int {
		return cmp.Or(cmp.Compare(len(a.index), len(b.index)), cmp.Compare(a.index, b.index))
	})
	return out
}

// server puts the GPUs of one exporter on one time axis. An exporter is asked for
// all its GPUs at once, so that they share their times.
func (d *telemetryDecoder) server(exporter string, gpus []*gpu, several bool) *serving.Server {
	s := &serving.Server{Label: "GPU telemetry", TimeRule: "timestamps", Sources: []string{d.path}}
	if name := shortURL(exporter); name != "" {
		s.Replica = serving.Some(name)
		if several {
			s.Label += " " + name
		}
	}
	for _, g := range gpus {
		s.Times = append(s.Times, g.times...)
		s.Info = append(s.Info, serving.Setting{Key: "gpu " + g.index, Value: strings.TrimSpace(g.model + " " + g.uuid)})
	}
	slices.Sort(s.Times)
	s.Times = slices.Clip(slices.Compact(s.Times))
	for i, sen := range allSensors {
		s.Gauges = append(s.Gauges, gauges(sen, i, gpus, s.Times)...)
	}
	return s
}

// gauges are one figure of a server: over all GPUs, then of each where there are
// several. A time at which a GPU is missing has no figure over all of them.
func gauges(sen *sensor, at int, gpus []*gpu, times []int64) []serving.Gauge {
	whole := serving.Gauge{Name: sen.name, Unit: sen.unit, From: sen.from, Values: make([]float64, len(times))}
	var out []serving.Gauge
	with := 0
	for _, g := range gpus {
		v := g.on(times, at)
		if !slices.ContainsFunc(v, func(x float64) bool { return !math.IsNaN(x) }) {
			continue
		}
		with++
		for i := range v {
			whole.Values[i] += v[i]
		}
		out = append(out, serving.Gauge{Name: sen.name, By: []serving.Term{{Dim: "gpu", Value: g.label()}}, Unit: sen.unit, From: sen.from, Values: v})
	}
	if with == 0 {
		return nil
	}
	if sen.unit == serving.Share {
		for i := range whole.Values {
			whole.Values[i] /= float64(with)
		}
	}
	if with == 1 {
		return []serving.Gauge{whole}
	}
	if !slices.ContainsFunc(whole.Values, func(x float64) bool { return !math.IsNaN(x) }) {
		return out
	}
	return append([]serving.Gauge{whole}, out...)
}

func (g *gpu) label() string {
	if g.index != "" {
		return g.index
	}
	return g.uuid
}

// on aligns a GPU's readings with times.
func (g *gpu) on(times []int64, at int) []float64 {
	v := make([]float64, len(times))
	for i := range v {
		v[i] = math.NaN()
	}
	for k, t := range g.times {
		if i, ok := slices.BinarySearch(times, t); ok {
			v[i] = g.values[at][k]
		}
	}
	return v
}

// shortURL is an endpoint's host and port.
func shortURL(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		return u.Host
	}
	return strings.TrimSuffix(s, "/metrics")
}
