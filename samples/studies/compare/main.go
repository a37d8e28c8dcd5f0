// Command compare counts how often comparisons are right: it simulates pairs of
// whose difference everything is known, compares them as the program does, and
// prints a table. docs/compare-study.md has it.
//
//	go run ./samples/studies/compare [-from N -to N] [-only NAME]
//
// Without seeds each row runs those it was published with.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	from := flag.Uint64("from", 0, "first seed; 1 to 100 are for tuning (default: each row's published ones)")
	to := flag.Uint64("to", 0, "last seed")
	only := flag.String("only", "", "only rows whose name contains this")
	list := flag.Bool("list", false, "list every trial that did not come out as wanted")
	flag.Parse()
	if flag.NArg() > 0 || *from > *to || *from == 0 && *to > 0 {
		fmt.Fprintln(os.Stderr, "usage: compare [-from N -to N] [-only NAME] [-list]")
		os.Exit(2)
	}
	missed, err := study(os.Stdout, *from, *to, *only, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "compare: %d rows miss what is wanted\n", missed)
		os.Exit(1)
	}
}

// study runs the rows and prints the table: of seeds from 0 each row's own. It returns
// how many rows miss what is wanted of them.
func study(w io.Writer, from, to uint64, only string, list bool) (missed int, err error) {
	fmt.Fprintf(w, "%s\n\n", powerText())
	fmt.Fprintf(w, "| compared | seeds | counted | wanted | share | |\n|---|---|---|---|---|---|\n")
	var odd []string
	for _, r := range rows {
		if !strings.Contains(r.name, only) {
			continue
		}
		first, last := from, min(to, from+uint64(r.most)-1)
		if from == 0 {
			first, last = r.first, r.first+uint64(r.most)-1
		}
		t, err := r.run(first, last)
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
			fmt.Fprintf(w, "| %s | %d–%d | %s | %s | %d of %d: %.1f %% | %s |\n", r.what, first, last, n.of, n.wanted, t.hits[i], t.trials, 100*float64(t.hits[i])/float64(t.trials), met)
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
