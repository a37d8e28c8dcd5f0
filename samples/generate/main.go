// Command generate writes the samples of a seed into a directory.
//
//	go run ./samples/generate -full -seed 7 out/samples
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/vreport/vreport/samples"
)

func main() {
	seed := flag.Uint64("seed", samples.DefaultSeed, "seed of everything that is drawn")
	full := flag.Bool("full", false, "write the full set, not the compact one")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: generate [-full] [-seed N] DIR")
		os.Exit(2)
	}
	if err := samples.Generate(flag.Arg(0), *seed, *full); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
