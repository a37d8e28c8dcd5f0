package ceiling

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

//go:embed hardware.json
var hardwareJSON []byte

// A GPU is one accelerator (or one chip of a pod) with the peak figures that
// its vendor states.
type GPU struct {
	Name      string             // as a user writes it: h100-sxm
	Title     string             // for people
	Memory    float64            // bytes
	Bandwidth float64            // of memory, bytes/s
	FLOPS     map[string]float64 // dense FLOP/s by type: bf16, fp16, fp8, fp4, int8
	Link      string             // to its neighbours: nvlink, nvlink-bridge, pcie, infinity-fabric, ethernet, ici, …; "" unknown
	Source    string             // where the figures are from

	match []string // device names, in words
}

// UserSource is the source of an entry that a user gave.
const UserSource = "given by the user"

// Hardware is a number of equal GPUs.
type Hardware struct {
	GPU   GPU
	Count int // 0: not known. It is never assumed to be 1
}

// String writes the hardware as --hardware takes it.
func (h Hardware) String() string {
	if h.Count == 0 {
		return h.GPU.Name
	}
	return h.GPU.Name + ":" + strconv.Itoa(h.Count)
}

// Inline writes the hardware with all its fields, so that it needs no catalogue.
func (h Hardware) Inline() string {
	g := h.GPU
	plain := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	w := []string{h.String(), "memory=" + plain(g.Memory), "bandwidth=" + plain(g.Bandwidth)}
	for _, t := range []string{"bf16", "fp16", "fp8", "fp4", "int8"} {
		if f := g.FLOPS[t]; f > 0 {
			w = append(w, t+"="+plain(f))
		}
	}
	if g.Link != "" {
		w = append(w, "link="+g.Link)
	}
	return strings.Join(w, ",")
}

// catalogued is an entry of hardware.json: data sheets count in GB and TFLOP/s.
type catalogued struct {
	Name      string             `json:"name"`
	Title     string             `json:"title"`
	MemoryGB  float64            `json:"memory_gb"`
	Bandwidth float64            `json:"bandwidth_gb_s"`
	TFLOPS    map[string]float64 `json:"tflops"`
	Link      string             `json:"link"`
	Source    string             `json:"source"`
	Match     []string           `json:"match"`
}

// GPUs returns the catalogue in its own order.
func GPUs() []GPU { return slices.Clone(readGPUs()) }

var readGPUs = sync.OnceValue(func() []GPU {
	var list []catalogued
	if err := json.Unmarshal(hardwareJSON, &list); err != nil {
		panic("analyze/ceiling: hardware.json: " + err.Error()) // a test reads it
	}
	out := make([]GPU, 0, len(list))
	for _, c := range list {
		g := GPU{Name: c.Name, Title: c.Title, Memory: c.MemoryGB * 1e9, Bandwidth: c.Bandwidth * 1e9, FLOPS: map[string]float64{},
			Link: c.Link, Source: c.Source, match: c.Match}
		for k, v := range c.TFLOPS {
			g.FLOPS[k] = v * 1e12
		}
		out = append(out, g)
	}
	return out
})

// GPUNames returns the names of the catalogue and of a user's own entries.
func GPUNames(own []GPU) []string {
	var names []string
	for _, g := range append(slices.Clone(own), GPUs()...) {
		names = append(names, g.Name)
	}
	return names
}

// ParseHardware reads NAME or NAME:COUNT, as in h100-sxm:4, with further fields
// of a card that the catalogue does not have: card:2,memory=48GB,bandwidth=864GB/s.
// A user's own entries come before the catalogue's.
func ParseHardware(s string, own []GPU) (Hardware, error) {
	head, fields, _ := strings.Cut(s, ",")
	name, count, counted := strings.Cut(strings.TrimSpace(head), ":")
	name = strings.ToLower(strings.TrimSpace(name))
	var h Hardware
	if counted {
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil || n < 1 || n > maxGPUs {
			return h, fmt.Errorf("%q has no number of GPUs, want NAME:COUNT, e.g. h100-sxm:4", s)
		}
		h.Count = n
	}
	if name == "" {
		return h, fmt.Errorf("%q names no hardware, want NAME:COUNT, e.g. h100-sxm:4", s)
	}
	if fields != "" {
		g, err := NewGPU(name, strings.Split(fields, ","))
		h.GPU = g
		return h, err
	}
	g, err := lookUp(name, own)
	h.GPU = g
	return h, err
}

// maxGPUs bounds the number of GPUs of one deployment: beyond it is a typing
// error.
const maxGPUs = 1 << 16

func lookUp(name string, own []GPU) (GPU, error) {
	all := append(slices.Clone(own), GPUs()...)
	for _, g := range all {
		if g.Name == name {
			return g, nil
		}
	}
	// A family (h100, a100) names several cards that differ in bandwidth: which
	// one is meant is not guessed.
	words := wordsOf(name)
	var near []string
	for _, g := range all {
		if w := wordsOf(g.Name); len(words) > 0 && len(w) > 0 && w[0] == words[0] {
			near = append(near, g.Name)
		}
	}
	if len(near) == 1 {
		return GPU{}, fmt.Errorf("%q is no hardware of the catalogue, did you mean %q?", name, near[0])
	}
	if len(near) > 1 {
		return GPU{}, fmt.Errorf("%q can be several cards, want one of %s", name, strings.Join(near, ", "))
	}
	return GPU{}, fmt.Errorf("%q is no hardware of the catalogue, want one of %s, or your own as %s:1,memory=48GB,bandwidth=864GB/s", name, strings.Join(GPUNames(own), ", "), name)
}

// Recognize finds the GPU that a text names: "NVIDIA H100 80GB HBM3",
// "cluster:mi355x". The longest match counts; a text that several cards fit, or
// none, gives false.
func Recognize(text string, own []GPU) (GPU, bool) {
	words := wordsOf(text)
	best, size, ties := GPU{}, 0, 0
	for _, g := range append(slices.Clone(own), GPUs()...) {
		n := 0
		for _, m := range append([]string{g.Name}, g.match...) {
			if w := wordsOf(m); len(w) > n && within(words, w) {
				n = len(w)
			}
		}
		switch {
		case n > size:
			best, size, ties = g, n, 1
		case n == size && n > 0 && g.Name != best.Name:
			ties++
		}
	}
	return best, size > 0 && ties == 1
}

// wordsOf splits a device name into its words, in lower case.
func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// within reports whether part stands in words, one after the other.
func within(words, part []string) bool {
	for i := 0; i+len(part) <= len(words); i++ {
		if slices.Equal(words[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// hardwareFields are the fields of an entry of a user's own.
var hardwareFields = []string{"memory", "bandwidth", "bf16", "fp16", "fp8", "fp4", "int8", "link", "source"}

// HardwareFields lists what an entry of one's own may say.
func HardwareFields() []string { return slices.Clone(hardwareFields) }

// NewGPU makes an entry of one's own from fields of the form name=value:
// memory=48GB, bandwidth=864GB/s, bf16=362TFLOP/s, link=pcie, source=…
// Memory and bandwidth are needed; without them there is no ceiling.
func NewGPU(name string, fields []string) (GPU, error) {
	g := GPU{Name: strings.ToLower(name), Title: name, FLOPS: map[string]float64{}, Source: UserSource}
	for _, f := range fields {
		if err := g.Set(f); err != nil {
			return g, err
		}
	}
	return g, g.Check()
}

// Check says what an entry lacks.
func (g *GPU) Check() error {
	switch {
	case g.Memory <= 0:
		return fmt.Errorf("%s has no memory, want e.g. memory=48GB", g.Name)
	case g.Bandwidth <= 0:
		return fmt.Errorf("%s has no bandwidth, want e.g. bandwidth=864GB/s", g.Name)
	}
	return nil
}

// Set sets one field, written as name=value.
func (g *GPU) Set(field string) error {
	name, value, ok := strings.Cut(field, "=")
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
	if !ok || value == "" {
		return fmt.Errorf("%q is no field of hardware, want e.g. memory=48GB", field)
	}
	var err error
	switch name {
	case "memory":
		g.Memory, err = parseAmount(value, "b", "48GB")
	case "bandwidth":
		g.Bandwidth, err = parseAmount(value, "b/s", "864GB/s")
	case "bf16", "fp16", "fp8", "fp4", "int8":
		g.FLOPS[name], err = parseAmount(value, "flop/s", "362TFLOP/s")
	case "link":
		g.Link = strings.ToLower(value)
	case "source":
		g.Source = value
	default:
		return fmt.Errorf("%q is no field of hardware, want one of %s", name, strings.Join(hardwareFields, ", "))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

var prefixes = map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}

// parseAmount reads a number with a prefix and a unit: 80GB, 80 GiB, 3.35TB/s,
// 989TFLOPS; without a unit it is in the base unit, as 80e9.
func parseAmount(s, unit, example string) (float64, error) {
	bad := fmt.Errorf("%q, want a number and a unit above 0, e.g. %s", s, example)
	end := strings.LastIndexAny(s, "0123456789.")
	if end < 0 {
		return 0, bad
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(s[:end+1]), 64)
	if err != nil || v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, bad
	}
	u := strings.ToLower(strings.TrimSpace(s[end+1:]))
	if u == "" {
		return v, nil
	}
	spellings := []string{unit}
	if unit == "flop/s" {
		spellings = append(spellings, "flops", "op/s", "ops")
	}
	for _, sp := range spellings {
		if p, ok := strings.CutSuffix(u, sp); ok {
			if f, ok := prefixes[p]; ok {
				return v * f, nil
			}
		}
	}
	return 0, bad
}
