package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/vreport/vreport/samples"
)

// samplesCmd is `vreport samples`.
type samplesCmd struct {
	Dir string `arg:"" name:"dir" help:"Directory to write to; it is made where it does not exist."`
}

func (c *samplesCmd) run(e *env, _ layer) (int, error) {
	if st, err := os.Stat(c.Dir); err == nil && !st.IsDir() {
		return 0, fmt.Errorf("%s: is a file, want a directory to write the samples to", c.Dir)
	}
	if err := samples.Write(c.Dir, samples.DefaultSeed); err != nil {
		return 0, err
	}
	at := func(part string) string { return quote(filepath.Join(c.Dir, part)) }
	say(e.stderr, "wrote the samples to %s (its README.md says what each part shows); now try: vreport report %s %s %s -o report.html",
		c.Dir, at("sweep"), at("server/metrics"), at("trace"))
	return statusDone, nil
}
