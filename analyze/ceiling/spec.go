package ceiling

import (
	"fmt"
	"slices"
	"strings"
)

// A Spec is what --model says: a name of the catalogue or a config.json, and
// what the user knows better.
type Spec struct {
	Name           string // as given
	Weights, KV    string // formats; "" for those of the model
	Params, Active float64
}

// ParseSpec reads NAME|config.json[,weights=fp8][,kv=fp8][,params=25.2e9][,active=3.8e9].
func ParseSpec(s string) (Spec, error) {
	name, rest, more := strings.Cut(s, ",")
	out := Spec{Name: strings.TrimSpace(name)}
	if out.Name == "" {
		return out, fmt.Errorf("%q names no model, want a name or a config.json, e.g. meta-llama/Llama-3.1-8B,weights=fp8", s)
	}
	if !more {
		return out, nil
	}
	for _, f := range strings.Split(rest, ",") {
		key, value, _ := strings.Cut(f, "=")
		key, value = lower(key), lower(value)
		var err error
		switch key {
		case "weights", "kv":
			if _, ok := FormatOf(value); !ok {
				return out, fmt.Errorf("%s=%s is no format, want one of %s", key, value, strings.Join(FormatNames(), ", "))
			}
			if key == "weights" {
				out.Weights = value
			} else {
				out.KV = value
			}
		case "params":
			out.Params, err = parseAmount(strings.TrimSuffix(value, "b")+billions(value), "", "70.6e9 or 70.6B")
		case "active":
			out.Active, err = parseAmount(strings.TrimSuffix(value, "b")+billions(value), "", "3.8e9 or 3.8B")
		default:
			return out, fmt.Errorf("%q is nothing a model has, want weights=, kv=, params= or active=", f)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", key, err)
		}
	}
	return out, nil
}

// billions turns the B behind a number of parameters into a prefix.
func billions(v string) string {
	if strings.HasSuffix(v, "b") {
		return "g"
	}
	return ""
}

// Model resolves the specification. config is the content of the config.json,
// nil where a name of the catalogue was given.
func (s Spec) Model(config []byte) (*Model, error) {
	m, err := s.base(config)
	if err != nil {
		return nil, err
	}
	if s.Params > 0 {
		m.setParameters(s.Params, s.Active)
	}
	if s.Weights != "" {
		m.SetWeights(s.Weights, "--model")
	}
	if s.KV != "" {
		m.SetKV(s.KV, "--model")
	}
	return m, nil
}

func (s Spec) base(config []byte) (*Model, error) {
	if config != nil {
		return ParseConfig(s.Name, config)
	}
	if m, ok := LookUp(s.Name); ok {
		return m, nil
	}
	if s.Params > 0 {
		m := &Model{Name: s.Name, Source: "--model", DType: "bf16"}
		m.Weights, _ = FormatOf("bf16")
		m.Weights.Source = "assumed"
		m.KVType = m.Weights
		if _, f := canonical(s.Name); f != "" {
			m.SetWeights(f, "the name of the model")
		}
		m.Doubts = []string{"cannot tell its KV cache: its dimensions are not known, give its config.json"}
		return m, nil
	}
	return nil, fmt.Errorf("%q is no model of the catalogue, want the path of its config.json, or its size as %s,params=70.6e9 (the catalogue has %s)", s.Name, s.Name, strings.Join(ModelNames(), ", "))
}

// setParameters takes the user's counts in place of those of the parts.
func (m *Model) setParameters(total, active float64) {
	m.Parts, m.Total, m.Active = nil, total, total
	m.Doubts = slices.DeleteFunc(m.Doubts, func(d string) bool { return strings.HasPrefix(d, "cannot tell its parameters:") })
	moe := m.MoE
	m.MoE = nil
	if active > 0 && active < total {
		m.Active = active
		if moe != nil {
			_, routed := SplitActive(total, active, moe.Experts, moe.TopK)
			m.MoE = &MoE{Experts: moe.Experts, TopK: moe.TopK, Routed: routed}
		} else {
			m.Doubts = append(m.Doubts, "how many experts it has is not known: what a batch of several requests reads of the weights cannot be told; give its config.json")
			m.MoE = &MoE{Experts: 0, TopK: 0, Routed: total - active}
		}
	}
}

// SetWeights sets the format of every parameter.
func (m *Model) SetWeights(format, source string) bool {
	f, ok := FormatOf(format)
	if !ok {
		return false
	}
	if source != "--model" && f.Bytes < 2 {
		f.Spares = sparesLinear
	}
	f.Source = source
	m.Weights = f
	m.Doubts = slices.DeleteFunc(m.Doubts, func(d string) bool { return strings.HasPrefix(d, "cannot tell the bytes of its weights") })
	return true
}

// SetKV sets the format of the KV cache.
func (m *Model) SetKV(format, source string) bool {
	f, ok := FormatOf(format)
	if ok {
		f.Source = source
		m.KVType = f
	}
	return ok
}

// Clone copies a model, so that one group of runs may store it otherwise.
func (m *Model) Clone() *Model {
	c := *m
	c.Parts, c.KV, c.Doubts = slices.Clone(m.Parts), slices.Clone(m.KV), slices.Clone(m.Doubts)
	return &c
}
