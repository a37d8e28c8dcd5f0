package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// largeRows is a trace too long to be resampled request by request.
const largeRows = 100_000

// large compares two long traces of one run a side. Times are log-normal around a
// level that drifts: load and batch of a server stay what they are for minutes, so
// that a hundred thousand requests are nothing like as many independent ones.
func large(ratio float64) func(uint64) (*analyze.Comparison, error) {
	return func(seed uint64) (*analyze.Comparison, error) {
		var data [2]*serving.Dataset
		for i := range data {
			by := 1.0
			if i == 1 {
				by = ratio
			}
			data[i] = &serving.Dataset{Traces: []serving.Requests{longTrace(sideNames[i], rand.New(rand.NewPCG(seed, uint64(i))), by)}}
		}
		return compare(data)
	}
}

// longTrace draws ten requests a second for nearly three hours.
func longTrace(name string, rng *rand.Rand, ratio float64) *column.Table {
	const (
		perSecond = 10.0
		memory    = 300.0 // s after which the level has forgotten itself
		drift     = 0.15  // standard deviation of the level's logarithm
	)
	at := make([]int64, largeRows)
	ttft, tpot, e2e := make([]float64, largeRows), make([]float64, largeRows), make([]float64, largeRows)
	prompt, output := make([]int64, largeRows), make([]int64, largeRows)
	now, level := 0.0, drift*rng.NormFloat64()
	for i := range largeRows {
		step := rng.ExpFloat64() / perSecond
		now += step
		keep := math.Exp(-step / memory)
		level = keep*level + math.Sqrt(1-keep*keep)*drift*rng.NormFloat64()
		at[i] = 1_767_571_200e9 + int64(now*1e9)
		prompt[i] = int64(math.Max(8, 600*math.Exp(0.8*rng.NormFloat64())))
		output[i] = int64(math.Max(2, 150*math.Exp(0.5*rng.NormFloat64())))
		ttft[i] = ratio * (0.03 + 0.0001*float64(prompt[i])) * math.Exp(2*level+0.4*rng.NormFloat64())
		tpot[i] = ratio * 0.02 * math.Exp(level+0.1*rng.NormFloat64())
		e2e[i] = ttft[i] + tpot[i]*float64(output[i]-1)
	}
	t := column.NewTable(name, fmt.Sprintf("%s.parquet", name), serving.ServerSide, largeRows)
	t.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime}, at, nil)
	for _, c := range []struct {
		key serving.MetricKey
		v   []float64
	}{{serving.TTFT, ttft}, {serving.TPOT, tpot}, {serving.E2E, e2e}} {
		all := serving.NewBitmap(largeRows)
		for i := range largeRows {
			all.Set(i)
		}
		t.Floats(serving.Column{Name: string(c.key), Kind: serving.KindDuration}, c.v, all)
	}
	t.Ints(serving.Column{Name: string(serving.PromptTokens), Kind: serving.KindCount}, prompt, nil)
	t.Ints(serving.Column{Name: string(serving.OutputTokens), Kind: serving.KindCount}, output, nil)
	return t
}
