package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/ceiling"
)

// ownHardware is the layer's key for the user's entries of the hardware
// catalogue. They are no setting of their own: they stand below `hardware`, and
// --hardware on the command line may name one of them.
const ownHardware = "hardware entries"

// hardware reads the mapping form of the setting:
//
//	hardware:
//	  use: my-card:2
//	  my-card: {memory: 48GB, bandwidth: 864GB/s, bf16: 362TFLOP/s, link: pcie}
func (d *configDecoder) hardware(kvs []*ast.MappingValueNode) {
	for _, kv := range kvs {
		name := kv.Key.GetToken().Value
		place := at(d.path, kv.Key.GetToken()) + "hardware"
		if name == "use" {
			text, ok := scalar(kv.Value)
			if !ok {
				d.fail(kv.Value, "hardware: use: %s, want NAME:COUNT, e.g. h100-sxm:4", describe(kv.Value))
				continue
			}
			d.out["hardware"] = []given{{text, place}}
			continue
		}
		fields, ok := mapping(kv.Value)
		if !ok {
			d.fail(kv.Value, "hardware: %s: %s, want a mapping with memory and bandwidth, e.g. {memory: 48GB, bandwidth: 864GB/s} (the hardware to use is named by use:)", name, describe(kv.Value))
			continue
		}
		d.out[ownHardware] = append(d.out[ownHardware], given{name, place})
		for _, f := range fields {
			key := f.Key.GetToken().Value
			if !slices.Contains(ceiling.HardwareFields(), key) {
				d.fail(f.Key, "hardware: %s: unknown key %q, did you mean %q? (keys are %s)", name, key, nearest(key, ceiling.HardwareFields()), strings.Join(ceiling.HardwareFields(), ", "))
				continue
			}
			text, ok := scalar(f.Value)
			if !ok {
				d.fail(f.Value, "hardware: %s: %s: %s, want a single value", name, key, describe(f.Value))
				continue
			}
			d.out[ownHardware] = append(d.out[ownHardware], given{key + "=" + text, at(d.path, start(f.Value)) + "hardware: " + name})
		}
	}
}

// setOwnHardware takes the entries: a name, then its fields.
func (o *options) setOwnHardware(vs []given) error {
	var errs []error
	var g *ceiling.GPU
	var where given
	bad := false
	done := func() {
		if g == nil {
			return
		}
		if bad {
			return // a field that cannot be read is said once, not as a lack besides
		}
		if err := g.Check(); err != nil {
			errs = append(errs, wrong(where, "%w", err))
			return
		}
		o.analyze.OwnGPUs = append(o.analyze.OwnGPUs, *g)
	}
	for _, v := range vs {
		if !strings.Contains(v.text, "=") {
			done()
			where, bad = v, false
			one, _ := ceiling.NewGPU(v.text, nil)
			g = &one
			continue
		}
		if err := g.Set(v.text); err != nil {
			errs, bad = append(errs, wrong(v, "%w", err)), true
		}
	}
	done()
	return errors.Join(errs...)
}

func (o *options) setHardware(vs []given) error {
	v := last(vs)
	h, err := ceiling.ParseHardware(v.text, o.analyze.OwnGPUs)
	if err != nil {
		return wrong(v, "%w", err)
	}
	o.analyze.Hardware = &h
	return nil
}

// hardwareText is what --hardware would say: an entry of the config file is
// written out, so that the command printed in a report needs no file.
func (o *options) hardwareText() string {
	h := o.analyze.Hardware
	if h == nil {
		return ""
	}
	if _, err := ceiling.ParseHardware(h.GPU.Name, nil); err == nil && !slices.ContainsFunc(o.analyze.OwnGPUs, func(g ceiling.GPU) bool { return g.Name == h.GPU.Name }) && h.GPU.Source != ceiling.UserSource {
		return h.String()
	}
	return h.Inline()
}

// maxModelConfig bounds a model's config.json; real ones have a few kilobytes.
const maxModelConfig = 4 << 20

func (o *options) setModel(vs []given) error {
	v := last(vs)
	spec, err := ceiling.ParseSpec(v.text)
	if err != nil {
		return wrong(v, "%w", err)
	}
	config, err := modelConfig(spec.Name)
	if err != nil {
		return wrong(v, "%w", err)
	}
	m, err := spec.Model(config)
	if err != nil {
		if config != nil {
			return wrong(v, "%s: %w", spec.Name, err)
		}
		return wrong(v, "%w", err)
	}
	o.analyze.Model = m
	return nil
}

// modelConfig reads a config.json, or the one of a model's directory; nil where
// the name is no file, so that it is one of the catalogue.
func modelConfig(name string) ([]byte, error) {
	st, err := os.Stat(name)
	if err != nil {
		if strings.HasSuffix(strings.ToLower(name), ".json") {
			return nil, err
		}
		return nil, nil
	}
	if st.IsDir() {
		name = filepath.Join(name, "config.json")
		if st, err = os.Stat(name); err != nil {
			return nil, fmt.Errorf("%w; want a model's directory with its config.json", err)
		}
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxModelConfig+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxModelConfig {
		return nil, fmt.Errorf("%s: is larger than %s MiB, want a model's config.json", name, strconv.Itoa(maxModelConfig>>20))
	}
	return data, nil
}

func (o *options) setPrice(vs []given) error {
	v := last(vs)
	p, err := analyze.ParsePrice(v.text)
	if err != nil {
		return wrong(v, "%w", err)
	}
	o.analyze.Price = &p
	return nil
}
