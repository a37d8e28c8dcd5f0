// Command comparestudy counts how often comparisons are right: it simulates pairs of
// whose difference everything is known, compares them as the program does, and
// prints a table. docs/compare-study.md has it.
//
//	go run ./samples/comparestudy [-from 1001] [-to 1200] [-only NAME]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	from := flag.Uint64("from", 1001, "first seed; 1 to 100 are for tuning")
	to := flag.Uint64("to", 1200, "last seed")
	only := flag.String("only", "", "only rows whose name contains this")
	list := flag.Bool("list", false, "list every trial that did not come out as wanted")
	flag.Parse()
	if flag.NArg() > 0 || *from > *to {
		fmt.Fprintln(os.Stderr, "usage: comparestudy [-from N] [-to N] [-only NAME] [-list]")
		os.Exit(2)
	}
	missed, err := study(os.Stdout, *from, *to, *only, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "comparestudy:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "comparestudy: %d rows miss what is wanted\n", missed)
		os.Exit(1)
	}
}

// study runs the rows and prints the table. It returns how many rows miss what is
// wanted of them.
func study(w io.Writer, from, to uint64, only string, list bool) (missed int, err error) {
	fmt.Fprintf(w, "%s\n\n", powerText())
	fmt.Fprintf(w, "| compared | seeds | counted | wanted | share | |\n|---|---|---|---|---|---|\n")
	var odd []string
	for _, r := range rows {
		if !strings.Contains(r.name, only) {
			continue
		}
		last := min(to, from+uint64(r.most)-1)
		t, err := r.run(from, last)
		if err != nil {
			return missed, err
		}
		odd = append(odd, t.odd...)
		for i, n := range r.counts {
			met := "met"
			if !n.wanted.met(t.hits[i], t.trials) {
				met = "**missed**"
				missed++
			}
			fmt.Fprintf(w, "| %s | %d–%d | %s | %s | %d of %d: %.1f %% | %s |\n", r.what, from, last, n.of, n.wanted, t.hits[i], t.trials, 100*float64(t.hits[i])/float64(t.trials), met)
		}
	}
	if list {
		fmt.Fprintln(w)
		for _, s := range odd {
			fmt.Fprintln(w, "*", s)
		}
	}
	return missed, nil
}
