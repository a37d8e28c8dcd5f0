package analyze

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// command is the experiment as vLLM's own sweep runs it: the present value and
// the one to try, three runs each, on the load at which the observation was made. It is ""
// for other engines.
func (c *adviceCase) command(a Advice) string {
	if c.engine != "" && c.engine != "vllm" || len(c.runs) == 0 {
		return ""
	}
	model := c.runs[0].Run.Model.Or("MODEL")
	if strings.HasPrefix(model, "-") {
		model = "MODEL" // it would be read as an option
	}
	at := a.at
	if at == nil {
		at = c.levels[len(c.levels)-1][0]
	}
	bench := benchCommand(model, at.Run, at)
	serve := "vllm serve " + shellWord(model)
	if c.facts.tp > 1 && a.Knob != "tensor_parallel_size" {
		serve += fmt.Sprintf(" --tensor-parallel-size %d", c.facts.tp)
	}
	file, params := "serve.json", sweepParams(a)
	flag := "--serve-params serve.json"
	if a.Direction == "test" {
		file, flag = "bench.json", "--bench-params bench.json"
	}
	return fmt.Sprintf("echo %s > %s\nvllm bench sweep serve --serve-cmd %s --bench-cmd %s %s --num-runs 3 -o results",
		shellWord(params), file, shellWord(serve), shellWord(bench), flag)
}

// sweepParams is the JSON of the two values of a knob.
func sweepParams(a Advice) string {
	key := strconv.Quote(a.Knob)
	value := func(v string) string {
		v = strings.ReplaceAll(v, ",", "")
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			return v
		}
		return strconv.Quote(v)
	}
	switch {
	case a.Knob == "enable_expert_parallel":
		return `[{}, {"enable_expert_parallel": true}]`
	case a.Knob == "tensor_parallel_size" && a.Direction == "lower":
		from, _ := strconv.Atoi(a.From)
		to, _ := strconv.Atoi(a.To)
		if to > 0 && from%to == 0 {
			return fmt.Sprintf(`[{"tensor_parallel_size": %d}, {"tensor_parallel_size": %d, "data_parallel_size": %d}]`, from, to, from/to)
		}
	case a.From == "" || a.Knob == "quantization" || a.Knob == "kv_cache_dtype":
		return fmt.Sprintf("[{}, {%s: %s}]", key, value(a.To))
	}
	return fmt.Sprintf("[{%s: %s}, {%s: %s}]", key, value(a.From), key, value(a.To))
}

// benchCommand repeats a run's load with random prompts of its mean lengths:
// whoever has the dataset puts it in its place.
func benchCommand(model string, r *serving.Run, s *RunStats) string {
	w := []string{"vllm bench serve --model", shellWord(model)}
	n := int64(200)
	if s.Counts.Completed.Or(0) > 0 && s.Input.OK && s.Output.OK {
		in, out := float64(s.Input.V)/float64(s.Counts.Completed.V), float64(s.Output.V)/float64(s.Counts.Completed.V)
		w = append(w, fmt.Sprintf("--dataset-name random --random-input-len %.0f --random-output-len %.0f --ignore-eos", math.Max(1, in), math.Max(1, out)))
	}
	if c := r.Load.MaxConcurrency; c.OK {
		w = append(w, fmt.Sprintf("--max-concurrency %d", c.V))
		n = max(n, 5*c.V)
	}
	if q := r.Load.RequestRate; q.OK {
		w = append(w, "--request-rate "+strconv.FormatFloat(q.V, 'g', -1, 64))
	}
	return strings.Join(append(w, fmt.Sprintf("--num-prompts %d", n)), " ")
}

// shellWord quotes a word for a POSIX shell: names come from files.
func shellWord(s string) string {
	safe := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_./:=,+@%", r))
	}) < 0
	if safe {
		return s
	}
	// A line break or another control character has no business in a command.
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
