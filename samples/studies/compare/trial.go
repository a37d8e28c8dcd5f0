package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/samples"
)

// A tally is how often each of a row's counts came true.
type tally struct {
	trials int
	hits   []int
	odd    []string // the trials that came out as they should not
}

// run compares every seed's pair, as many at once as there are processors.
func (r *row) run(from, to uint64) (tally, error) {
	t := tally{trials: int(to - from + 1), hits: make([]int, len(r.counts))}
	results, errs := make([]result, t.trials), make([]error, t.trials)
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range t.trials {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			results[i], errs[i] = r.judge(from + uint64(i))
		})
	}
	wg.Wait()
	for i, res := range results {
		if errs[i] != nil {
			return t, errs[i]
		}
		odd := false
		for k, hit := range res.hits {
			if hit {
				t.hits[k]++
			}
			odd = odd || hit == r.counts[k].wanted.atMost
		}
		if odd {
			t.odd = append(t.odd, res.say)
		}
	}
	return t, nil
}

// A result is what is kept of a comparison: all of it holds all requests.
type result struct {
	hits []bool
	say  string
}

func (r *row) judge(seed uint64) (result, error) {
	c, err := r.compare(seed)
	if err != nil {
		return result{}, err
	}
	res := result{say: fmt.Sprintf("%s, seed %d: %s", r.name, seed, shortly(c))}
	for _, n := range r.counts {
		res.hits = append(res.hits, n.hit(c))
	}
	return res, nil
}

// trial writes a pair's files into a directory of its own and compares them as
// the program would.
func trial(t samples.Trial) func(uint64) (*analyze.Comparison, error) {
	t.Repeats = repeats
	if t.Requests == 0 {
		t.Requests = requests
	}
	return func(seed uint64) (*analyze.Comparison, error) {
		dir, err := os.MkdirTemp("", "study")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		t := t
		t.Seed = seed
		if err := t.Write(dir); err != nil {
			return nil, err
		}
		var data [2]*serving.Dataset
		for i, side := range sideNames {
			if data[i], err = ingest.Load(context.Background(), []string{filepath.Join(dir, side)}, ingest.Options{}); err != nil {
				return nil, err
			}
		}
		return compare(data)
	}
}

var sideNames = [2]string{samples.TrialBefore, samples.TrialAfter}

func compare(data [2]*serving.Dataset) (*analyze.Comparison, error) {
	rep, err := analyze.Compare(context.Background(), analyze.Sides{Names: sideNames, Data: data}, analyze.DefaultOptions())
	if err != nil {
		return nil, err
	}
	return analyze.Value[analyze.Comparison](rep), nil
}
