package analyze

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// A section is handed the results of those it reads, and of no other.
func TestRunSections(t *testing.T) {
	type one struct{ n int }
	type two struct{ n int }
	meet := make(chan int) // sections that do not read each other run at the same time
	sections := []*Section{
		{Name: "sum", After: []string{"one", "two"}, Run: func(_ context.Context, _ *Input, rep *Report) (any, []string, error) {
			return &struct{ n int }{Value[one](rep).n + Value[two](rep).n}, nil, nil
		}},
		{Name: "one", Run: func(context.Context, *Input, *Report) (any, []string, error) { return &one{<-meet}, nil, nil }},
		{Name: "two", Run: func(context.Context, *Input, *Report) (any, []string, error) { meet <- 1; return &two{2}, nil, nil }},
		{Name: "alone", After: []string{"one"}, Run: func(_ context.Context, _ *Input, rep *Report) (any, []string, error) {
			if len(rep.Results) != 1 || Value[two](rep) != nil {
				t.Errorf("a section after one is handed %+v", rep.Results)
			}
			return nil, []string{"nothing"}, nil
		}},
	}
	rep := &Report{Results: make([]Result, len(sections))}
	if err := runSections(context.Background(), nil, rep, sections); err != nil {
		t.Fatal(err)
	}
	for i, r := range rep.Results {
		if r.Section != sections[i] {
			t.Errorf("result %d is of %+v", i, r.Section)
		}
	}
	if got := rep.Results[0].Value.(*struct{ n int }).n; got != 3 {
		t.Errorf("the sum is %d", got)
	}
	if r := rep.Results[3]; r.Value != nil || r.Skipped == "" || !slices.Equal(r.Notes, []string{"nothing"}) {
		t.Errorf("a section without data is %+v", r)
	}
}

// A section that fails is named, and those that read it do not run.
func TestRunSectionsFails(t *testing.T) {
	broken := errors.New("broken")
	sections := []*Section{
		{Name: "after", After: []string{"bad"}, Run: func(context.Context, *Input, *Report) (any, []string, error) {
			t.Error("runs after a section that failed")
			return nil, nil, nil
		}},
		{Name: "bad", Run: func(context.Context, *Input, *Report) (any, []string, error) { return nil, nil, broken }},
	}
	err := runSections(context.Background(), nil, &Report{Results: make([]Result, len(sections))}, sections)
	if !errors.Is(err, broken) || err.Error() != "bad: broken" {
		t.Errorf("the error is %v", err)
	}
}
