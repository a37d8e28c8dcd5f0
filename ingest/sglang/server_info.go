package sglang

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/serving"
)

const serverInfo = "server_info"

// topName is the top-level part of a dotted name.
func topName(name string) string {
	if i := strings.IndexAny(name, ".["); i >= 0 {
		return name[:i]
	}
	return name
}

// serverKey returns the argument's own name of a dotted name below server_info:
// tp_size of server_info.decode[0].tp_size; "" of server_info itself and of the
// members of its lists.
func serverKey(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, serverInfo)
	if !ok {
		return "", false
	}
	rest = strings.TrimPrefix(rest, ".")
	if i := strings.Index(rest, "]."); i >= 0 {
		rest = rest[i+2:]
	}
	return rest, true
}

// applyServerInfo fills in what the server said of itself at the end of the run.
func applyServerInfo(r *serving.Run, rec *flat.Record) {
	split := rec.Has(serverInfo+".prefill[0].model_path") || rec.Has(serverInfo+".decode[0].model_path") || rec.Has(serverInfo+".decode[0].tp_size")
	prefixes := []string{serverInfo + "."}
	if split {
		prefixes = []string{serverInfo + ".prefill[0].", serverInfo + ".decode[0]."}
	}
	known := false
	for _, p := range prefixes {
		known = known || rec.Has(p+"tp_size") && (rec.Has(p+"mem_fraction_static") || rec.Has(p+"schedule_policy") || rec.Has(p+"chunked_prefill_size"))
	}
	if !known {
		return
	}
	r.Engine = serving.Some("sglang")
	for _, p := range prefixes {
		or(&r.Model, rec.Text(p+"model_path", p+"served_model_name"))
		or(&r.Tokenizer, rec.Text(p+"tokenizer_path"))
	}
	serverVersion(r, rec, prefixes)
	for _, name := range rec.Names {
		for _, p := range prefixes {
			key, ok := strings.CutPrefix(name, p)
			if ok && engineSettings[key] && rec.Text(name).OK {
				r.Settings = append(r.Settings, serving.Setting{Key: strings.TrimPrefix(strings.Replace(p, "[0]", "", 1), serverInfo+".") + key, Value: rec.Text(name).V})
			}
		}
	}
	if split {
		r.Notes = append(r.Notes, "prefill and decode are split: the number of GPUs is not known, since the router's server_info need not list every worker")
		return
	}
	r.GPUs = gpus(rec, prefixes[0])
}

func or[T any](dst *serving.Opt[T], v serving.Opt[T]) {
	if !dst.OK {
		*dst = v
	}
}

// gpus is tensor × pipeline × data parallel size. With data-parallel attention
// the replicas of the attention share the tensor-parallel GPUs, so that dp_size
// does not multiply; expert parallelism never does.
func gpus(rec *flat.Record, p string) serving.Opt[int] {
	tp := rec.Positive(p + "tp_size")
	if !tp.OK {
		return tp
	}
	n := tp.V * rec.Positive(p+"pp_size").Or(1)
	if rec.Text(p+"enable_dp_attention").V != "true" {
		n *= rec.Positive(p + "dp_size").Or(1)
	}
	return serving.Some(n)
}

// serverVersion states the engine's version where all workers have the same.
func serverVersion(r *serving.Run, rec *flat.Record, prefixes []string) {
	var versions []string
	for _, p := range prefixes {
		if v := rec.Text(p + "version"); v.OK && (len(versions) == 0 || versions[0] != v.V) {
			versions = append(versions, v.V)
		}
	}
	switch len(versions) {
	case 1:
		r.Version = serving.Some(versions[0])
	case 2:
		r.Notes = append(r.Notes, fmt.Sprintf("prefill runs version %s, decode %s", versions[0], versions[1]))
	}
}
