package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/vreport/vreport/templates"
)

// versionCmd is `vreport version`.
type versionCmd struct {
	JSON *string `name:"json" placeholder:"FILE" help:"Write JSON here instead of text to standard output. A dash is standard output."`
}

// A build says what this binary is. Every part but Go may be unknown: a source
// archive has no revision, and a binary of `go test` no version.
type build struct {
	Version      string `json:"version"`            // a release, a pseudo-version, or devel
	Revision     string `json:"revision,omitempty"` // of the version control system
	Modified     bool   `json:"modified,omitempty"` // the sources differed from the revision
	Go           string `json:"go"`
	Platform     string `json:"platform"`
	ChartLibrary bool   `json:"chart_library"` // inside
}

// buildInfo reads what the Go linker left in the binary.
func buildInfo() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	_, b.ChartLibrary = templates.ChartLibrary()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String formats the build as lines of text.
func (b build) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "vreport %s\n", b.Version)
	if b.Revision != "" {
		modified := ""
		if b.Modified {
			modified = " (modified)"
		}
		fmt.Fprintf(&s, "revision %s%s\n", b.Revision, modified)
	}
	fmt.Fprintf(&s, "built with %s for %s\n", b.Go, b.Platform)
	if b.ChartLibrary {
		s.WriteString("chart library: inside\n")
	} else {
		s.WriteString("chart library: not inside; reports show tables instead of charts\n")
	}
	return s.String()
}

func (c *versionCmd) run(e *env, typed layer) (int, error) {
	out := &output{flag: "version", path: "-", render: func(w io.Writer) error {
		_, err := io.WriteString(w, buildInfo().String())
		return err
	}}
	if j, ok := typed["json"]; ok {
		out = &output{flag: "--json", path: last(j).text, render: func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(buildInfo())
		}}
	}
	if err := checkOutputs([]*output{out}); err != nil {
		return 0, err
	}
	return statusDone, writeOutputs(e.ctx, e.stdout, []*output{out})
}
