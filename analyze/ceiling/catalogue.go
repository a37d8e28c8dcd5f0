package ceiling

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed models.json
var modelsJSON []byte

// known is an entry of models.json: the dimensions of a published config.json.
// Parameters is the published count, where one is published of the language
// model alone; a test holds it and the count from the dimensions together.
type known struct {
	Name       string          `json:"name"`
	Aliases    []string        `json:"aliases"`
	Parameters float64         `json:"parameters"`
	Config     json.RawMessage `json:"config"`
}

var knownModels = sync.OnceValue(func() []known {
	var list []known
	if err := json.Unmarshal(modelsJSON, &list); err != nil {
		panic("analyze/ceiling: models.json: " + err.Error()) // a test reads it
	}
	return list
})

// ModelNames lists the models of the catalogue.
func ModelNames() []string {
	var names []string
	for _, k := range knownModels() {
		names = append(names, k.Name)
	}
	return names
}

// LookUp finds a model by name: the organization, the words of its tuning
// (Instruct, it, Chat, a date) and of its quantization do not count; the latter
// decide the format of the weights. "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8" is
// Llama 3.1 8B in FP8. A fine-tune of another name is not guessed at.
func LookUp(name string) (*Model, bool) {
	want, format := canonical(name)
	all := knownModels()
	// A name as it stands in the catalogue comes before one that is like it.
	at := slices.IndexFunc(all, func(k known) bool { return last(k.Name) == last(name) })
	if at < 0 {
		at = slices.IndexFunc(all, func(k known) bool {
			return slices.ContainsFunc(append([]string{k.Name}, k.Aliases...), func(a string) bool { c, _ := canonical(a); return c == want })
		})
	}
	if at >= 0 && want != "" {
		k := all[at]
		m, err := ParseConfig(name, k.Config)
		if err != nil {
			panic("analyze/ceiling: models.json: " + k.Name + ": " + err.Error())
		}
		m.Source = fmt.Sprintf("the dimensions of %s in the catalogue", k.Name)
		if f, ok := FormatOf(format); ok && f.Name != m.Weights.Name {
			f.Spares, f.Source = sparesLinear, "the name of the model"
			m.Weights = f
		}
		return m, true
	}
	return nil, false
}

// tuning are words of a model's name that do not change its shape.
var tuning = map[string]bool{
	"instruct": true, "it": true, "chat": true, "hf": true, "base": true, "meta": true, "thinking": true, "dynamic": true, "quantized": true, "quant": true, "block": true, "qat": true,
	"turbo": true, "original": true, "unquantized": true, "kv": true, "compressed": true, "tensors": true, "ct": true, "g128": true, "pt": true, "preview": true, "fp16": true, "bf16": true, "hi": true, "marlin": true, "mlx": true,
}

// quantizations are the words of a name that say how the weights are stored.
var quantizations = map[string]string{
	"fp8": "fp8", "awq": "int4", "gptq": "int4", "int4": "int4", "w4a16": "int4", "4bit": "int4", "nvfp4": "nvfp4", "mxfp4": "mxfp4", "fp4": "nvfp4", "w8a8": "int8", "int8": "int8", "w8a16": "w8a16", "bnb": "int4",
}

// canonical reduces a model's name to the words that tell its shape, and finds
// the quantization in it.
func canonical(name string) (shape, format string) {
	name = last(name)
	var words []string
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == ' ' || r == ':' }) {
		if f, ok := quantizations[w]; ok {
			format = f
			continue
		}
		if tuning[w] || isDate(w) {
			continue
		}
		words = append(words, w)
	}
	return strings.Join(words, "-"), format
}

// last is a model's name without its organization, in lower case.
func last(name string) string {
	name = lower(strings.TrimRight(name, "/"))
	return name[strings.LastIndexByte(name, '/')+1:]
}

// isDate reports whether a word is the month of a release: 2507, 0528.
func isDate(w string) bool {
	if len(w) != 4 || strings.Trim(w, "0123456789") != "" {
		return false
	}
	return w[0] == '2' || w[0] == '0'
}

// SameShape reports whether two names are of one shape of model, however tuned
// or quantized.
func SameShape(a, b string) bool {
	x, _ := canonical(a)
	y, _ := canonical(b)
	return x == y
}
