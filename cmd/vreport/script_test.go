package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vreport/vreport/templates"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vreport": main})
}

// TestScripts runs the program as users do: in a process of its own, with its
// exit status. The scripts lie in testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus,
			"bench":  cmdBench,
			"gzip":   cmdGzip,
			"empty":  cmdEmpty,
		},
		Condition: func(cond string) (bool, error) {
			if cond != "bundle" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			_, ok := templates.ChartLibrary()
			return ok, nil
		},
	})
}

// cmdStatus runs a command and wants one exit status: `status 2 vreport …`.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cmdBench writes a result of vllm bench serve with its request arrays:
// `bench FILE CONCURRENCY`.
func cmdBench(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bench FILE CONCURRENCY")
	}
	c, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, err := json.Marshal(benchResult(c))
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	ts.Check(os.WriteFile(path, data, 0o666))
}

// benchResult makes what vllm bench serve writes with --save-detailed: 40
// requests, times that grow with the concurrency, aggregates that fit them.
func benchResult(concurrency int) map[string]any {
	const n, outLen = 40, 11
	var ttfts, starts []float64
	var itls [][]float64
	var inLens, outLens []int
	var errs []string
	var sumTTFT, sumTPOT float64
	clock := make([]float64, concurrency)
	for i := range n {
		ttft := 0.020 + 0.002*float64(concurrency) + 0.0001*float64(i%7)
		gap := 0.010 + 0.0003*float64(concurrency)
		gaps := make([]float64, outLen-1)
		for j := range gaps {
			gaps[j] = gap
		}
		slot := i % concurrency
		starts = append(starts, 1000+clock[slot])
		clock[slot] += ttft + gap*(outLen-1)
		ttfts, itls = append(ttfts, ttft), append(itls, gaps)
		inLens, outLens = append(inLens, 100+i), append(outLens, outLen)
		errs = append(errs, "")
		sumTTFT, sumTPOT = sumTTFT+ttft, sumTPOT+gap
	}
	duration := 0.0
	for _, c := range clock {
		duration = math.Max(duration, c)
	}
	input := n*100 + n*(n-1)/2
	return map[string]any{
		"date": "20261103-101500", "endpoint_type": "openai", "backend": "openai", "label": nil,
		"model_id": "org/model", "tokenizer_id": "org/model", "num_prompts": n,
		"request_rate": "inf", "burstiness": 1.0, "max_concurrency": concurrency,
		"duration": duration, "completed": n, "failed": 0,
		"total_input_tokens": input, "total_output_tokens": n * outLen,
		"request_throughput": n / duration, "output_throughput": n * outLen / duration,
		"total_token_throughput": (float64(input) + n*outLen) / duration,
		"mean_ttft_ms":           sumTTFT / n * 1e3, "mean_tpot_ms": sumTPOT / n * 1e3, "mean_itl_ms": sumTPOT / n * 1e3,
		"input_lens": inLens, "output_lens": outLens, "ttfts": ttfts, "itls": itls,
		"start_times": starts, "errors": errs,
	}
}

// cmdGzip compresses a file: `gzip FROM TO`.
func cmdGzip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gzip FROM TO")
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o666))
}

// cmdEmpty wants a directory without anything in it, hidden files included.
func cmdEmpty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) > 0 {
		ts.Fatalf("%s holds %v", args[0], entries)
	}
}
