package analyze

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A sectionRun is a section's result, on its way into the report.
type sectionRun struct {
	place  int
	result Result
	err    error
}

// runSections runs each section once those it reads have run, beside the others.
// It alone writes the report: a section is handed the results of those it reads,
// which are complete.
func runSections(ctx context.Context, in *Input, rep *Report, sections []*Section) error {
	done := map[string]bool{}
	for _, s := range Sections {
		done[s.Name] = !slices.Contains(sections, s)
	}
	runs, running := make(chan sectionRun), 0
	started, errs := make([]bool, len(sections)), make([]error, len(sections))
	start := func() {
		for i, s := range sections {
			if started[i] || slices.ContainsFunc(s.After, func(n string) bool { return !done[n] }) {
				continue
			}
			started[i] = true
			running++
			read := rep.only(s.After)
			go func() {
				r, err := runSection(ctx, in, read, s)
				runs <- sectionRun{i, r, err}
			}()
		}
	}
	failed := func(err error) bool { return err != nil }
	for start(); running > 0; {
		r := <-runs
		running--
		rep.Results[r.place], errs[r.place] = r.result, r.err
		done[sections[r.place].Name] = true
		if !slices.ContainsFunc(errs, failed) {
			start()
		}
	}
	if i := slices.IndexFunc(errs, failed); i >= 0 {
		return errs[i]
	}
	if slices.Contains(started, false) {
		panic("analyze: sections wait for each other") // a programming error; a test walks the list
	}
	return nil
}

// only is a report of the results of some sections.
func (r *Report) only(names []string) *Report {
	out := &Report{Title: r.Title}
	for _, s := range r.Results {
		if s.Section != nil && slices.Contains(names, s.Section.Name) {
			out.Results = append(out.Results, s)
		}
	}
	return out
}

func runSection(ctx context.Context, in *Input, rep *Report, s *Section) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	v, notes, err := s.Run(ctx, in, rep)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	r := Result{Section: s, Value: v, Notes: notes}
	if v == nil {
		r.Skipped = "needs " + s.lacks(in, rep)
	}
	return r, nil
}

// sideBySide calls work(i) for 0 ≤ i < n on as many goroutines as there may be
// workers (0: processors). Calls must not write what another one reads.
func sideBySide(workers, n int, work func(i int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wg.Wait()
}
