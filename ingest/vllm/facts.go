package vllm

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// facts fills in what --metadata and wrappers say of the server: its engine,
// version, number of GPUs and the workload. Such keys have no fixed names; those
// in use are taken at their last dotted part. What nobody states stays unknown:
// the backend is the client's protocol, and one GPU is never assumed.
func facts(r *serving.Run) {
	for _, s := range r.Settings {
		name := plainName(s.Key)
		switch {
		case engineKeys[name]:
			stateEngine(r, s.Value)
		case strings.HasSuffix(name, "_version") && engines[strings.TrimSuffix(name, "_version")] != "":
			r.Engine = or(r.Engine, engines[strings.TrimSuffix(name, "_version")])
			r.Version = or(r.Version, s.Value)
		case name == "engine_version" || name == "server_version":
			r.Version = or(r.Version, s.Value)
		case workloadKeys[name]:
			r.Workload = or(r.Workload, s.Value)
		}
		if strings.Contains(s.Key, "vllm_params.") {
			r.Engine = or(r.Engine, "vllm")
		}
	}
	r.GPUs = gpus(r.Settings)
}

func or(o serving.Opt[string], v string) serving.Opt[string] {
	if o.OK || v == "" {
		return o
	}
	return serving.Some(v)
}

// plainName is the last part of a dotted key in one spelling.
func plainName(key string) string {
	key = key[strings.LastIndexByte(key, '.')+1:]
	return strings.ReplaceAll(strings.ToLower(key), "-", "_")
}

var engineKeys = map[string]bool{"engine": true, "framework": true, "serving_engine": true, "inference_engine": true, "server_engine": true, "engine_name": true}

var workloadKeys = map[string]bool{"dataset_name": true, "dataset": true, "workload": true, "workload_name": true, "workload_type": true, "scenario": true, "use_case": true}

// engines are the spellings of known engines.
var engines = map[string]string{
	"vllm": "vllm", "sglang": "sglang", "sgl": "sglang", "tgi": "tgi", "lmdeploy": "lmdeploy",
	"trtllm": "tensorrt-llm", "trt_llm": "tensorrt-llm", "tensorrt_llm": "tensorrt-llm", "trt-llm": "tensorrt-llm", "tensorrt-llm": "tensorrt-llm",
}

var engineValue = regexp.MustCompile(`^([A-Za-z][A-Za-z_-]*?)(?:[ =:@/_-]+v?(\d[0-9A-Za-z.+-]*))?$`)

// stateEngine reads a value such as vllm, vLLM 0.9.1 or sglang==0.5.2.
func stateEngine(r *serving.Run, value string) {
	m := engineValue.FindStringSubmatch(strings.TrimSpace(value))
	if m == nil {
		return
	}
	name := strings.ToLower(m[1])
	if known := engines[name]; known != "" {
		name = known
	}
	r.Engine = or(r.Engine, name)
	r.Version = or(r.Version, m[2])
}

var (
	gpuCountKeys = map[string]bool{"num_gpus": true, "gpu_count": true, "gpus": true, "n_gpus": true, "ngpus": true, "num_gpu": true, "gpu_num": true, "world_size": true, "num_accelerators": true, "accelerator_count": true}
	gpuNameKeys  = map[string]bool{"gpu": true, "gpus": true, "gpu_type": true, "gpu_name": true, "gpu_config": true, "accelerator": true, "hardware": true, "hw": true}
	// factorOf names the parallel dimension a key sets the size of. Their
	// product is the number of GPUs; expert parallelism uses the same ones.
	factorOf = map[string]string{
		"tensor_parallel_size": "tp", "tensor_parallel": "tp", "tp_size": "tp", "tp": "tp",
		"pipeline_parallel_size": "pp", "pipeline_parallel": "pp", "pp_size": "pp", "pp": "pp",
		"data_parallel_size": "dp", "data_parallel": "dp", "dp_size": "dp", "dp": "dp",
	}
	gpuName = regexp.MustCompile(`^\s*(\d{1,4})\s*[xX×]\s*[A-Za-z]|[A-Za-z0-9)](?:\s*×\s*|x| [xX] ?)(\d{1,4})\s*$`)
)

// gpus reads the number of GPUs: a count where one is stated, else the product
// of the parallel sizes that are.
func gpus(settings []serving.Setting) serving.Opt[int] {
	factors := map[string]int{}
	for _, s := range settings {
		name := plainName(s.Key)
		n, ok := positive(s.Value)
		if gpuCountKeys[name] && ok {
			return serving.Some(n)
		}
		if m := gpuName.FindStringSubmatch(s.Value); gpuNameKeys[name] && m != nil {
			if n, ok := positive(m[1] + m[2]); ok {
				return serving.Some(n)
			}
		}
		if f := factorOf[name]; f != "" && ok {
			factors[f] = n
		}
	}
	if len(factors) == 0 {
		return serving.None[int]()
	}
	product := 1
	for _, n := range factors {
		product *= n
	}
	return serving.Some(product)
}

// positive reads a plausible number of devices.
func positive(s string) (int, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	n := int(v)
	return n, err == nil && v >= 1 && v <= 1<<16 && float64(n) == v
}
