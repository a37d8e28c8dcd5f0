// Command vreport turns LLM serving measurements into one static HTML report.
//
// Each subcommand is one file: report.go, inspect.go, samples.go, version.go.
// A command goes through the same stages each time: what was typed and what the
// config file says become one layer of settings (config.go, layer.go), the
// layer becomes validated options (options.go) before any work is done, the
// work makes its outputs in full (output.go), and only then do files appear.
package main

import "os"

func main() {
	collectLate()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
