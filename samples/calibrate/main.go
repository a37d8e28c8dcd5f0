// Command calibrate holds the simulator against a measured concurrency sweep of
// Llama-3.1-8B in FP16 on one H100: detailed `vllm bench serve` files, of which
// it takes the request lengths, the rate and the concurrency.
//
//	go run ./samples/calibrate DIR
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/vreport/vreport/samples"
)

// tolerance is how far throughput and median TPOT may be off.
const tolerance = 0.25

// A measured run, of which only these fields are needed.
type measured struct {
	MaxConcurrency int     `json:"max_concurrency"`
	RequestRate    float64 `json:"request_rate"`
	Output         float64 `json:"output_throughput"`
	TPOT           float64 `json:"median_tpot_ms"`
	TTFT           float64 `json:"median_ttft_ms"`
	InputLens      []int   `json:"input_lens"`
	OutputLens     []int   `json:"output_lens"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: calibrate DIR")
		os.Exit(2)
	}
	off, err := compare(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if off {
		fmt.Fprintf(os.Stderr, "calibrate: a level is off by more than %.0f %%\n", 100*tolerance)
		os.Exit(1)
	}
}

func compare(dir string) (off bool, err error) {
	runs, err := load(dir)
	if err != nil {
		return false, err
	}
	fmt.Println("concurrency   tokens/s measured  simulated   ratio   TPOT ms measured  simulated   ratio   TTFT ms measured  simulated")
	for _, r := range runs {
		c := samples.Reproduce(samples.Level{Prompts: r.InputLens, Outputs: r.OutputLens, Rate: r.RequestRate, Concurrency: r.MaxConcurrency}, samples.DefaultSeed)
		a, b := c.OutputPerSecond/r.Output, 1000*c.MedianTPOT/r.TPOT
		off = off || math.Abs(a-1) > tolerance || math.Abs(b-1) > tolerance
		fmt.Printf("%11d   %17.1f  %9.1f   %5.2f   %16.2f  %9.2f   %5.2f   %16.1f  %9.1f\n",
			r.MaxConcurrency, r.Output, c.OutputPerSecond, a, r.TPOT, 1000*c.MedianTPOT, b, r.TTFT, 1000*c.MedianTTFT)
	}
	return off, nil
}

func load(dir string) ([]measured, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no *.json, want the detailed files of a sweep", dir)
	}
	var runs []measured
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		var m measured
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		if len(m.InputLens) == 0 || len(m.InputLens) != len(m.OutputLens) {
			return nil, fmt.Errorf("%s: no request arrays, want a file written with --save-detailed", p)
		}
		runs = append(runs, m)
	}
	slices.SortFunc(runs, func(a, b measured) int { return cmp.Compare(a.MaxConcurrency, b.MaxConcurrency) })
	return runs, nil
}
