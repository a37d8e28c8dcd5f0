package own

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// Bounds on a report. One of ours is far below.
const (
	maxRuns   = 20_000
	maxSlices = 50_000
)

// Decided reports whether the names seen so far decide.
func Decided(keys map[string]bool) bool {
	return keys["schema"] && keys["generator"] && keys["gate"]
}

// Sniff reports whether a record with these names is a report.
func Sniff(keys map[string]bool) (bool, string) {
	if Decided(keys) {
		return true, ""
	}
	return false, "no schema, generator and gate side by side"
}

// Decode reads a report as JSON.
func Decode(ctx context.Context, path string, rd io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &decoder{ctx: ctx, path: path, in: in, r: jsonscan.NewReader(path, rd)}
	ok, err := d.r.Object(d.member)
	switch {
	case err != nil && d.failed != nil:
		return nil, d.failed
	case err != nil:
		return nil, d.r.Describe(err, Format)
	case !ok || d.schema != schema:
		return nil, d.otherVersion()
	}
	return d.finish(), nil
}

// DecodePage reads the report that a page carries.
func DecodePage(ctx context.Context, path string, rd io.Reader, in *serving.Input) ([]*serving.Run, error) {
	json, err := island(rd)
	if err != nil {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: err.Error(), Want: "a page of vreport with its data",
			Remedy: "pass the JSON of --json, or the page as it was written"}
	}
	return Decode(ctx, path, json, in)
}

// A decoder reads one report.
type decoder struct {
	ctx    context.Context
	path   string
	in     *serving.Input
	r      *jsonscan.Reader
	failed error // of the report as a whole

	schema string
	runs   []*serving.Run
	ids    []string // of the runs, as the report has them
	sets   []*dataset
	sides  []string // of a comparison: what its sides were called

	pending map[string][]serving.ReportedSlice // by dataset
}

func (d *decoder) otherVersion() error {
	return &serving.FormatError{At: serving.Pos{Path: d.path, Field: "schema"}, Format: Format, Found: fmt.Sprintf("%.80q", d.schema), Want: schema,
		Remedy: "make the report again from its files with this version"}
}

func (d *decoder) member(name string) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	switch name {
	case "schema":
		n, err := tree.Next(d.r, name)
		if err != nil {
			return err
		}
		if d.schema = n.Text(); d.schema != schema {
			d.failed = d.otherVersion()
			return d.failed
		}
		return nil
	case "compare":
		_, err := d.r.Object(func(name string) error {
			if name != "sides" {
				return d.r.Skip()
			}
			n, err := tree.Next(d.r, "compare.sides")
			for _, s := range n.List() {
				d.sides = append(d.sides, s.Get("name").Text())
			}
			return err
		})
		return err
	case "runs":
		return d.each(name, maxRuns, d.run)
	case "datasets":
		return d.each(name, maxRuns, d.dataset)
	case "slices":
		return d.each(name, maxSlices, d.slice)
	}
	return d.r.Skip()
}

// each reads the elements of a list, one at a time.
func (d *decoder) each(name string, most int, take func(*tree.Node)) error {
	_, err := d.r.Array(func(i int) error {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if i >= most {
			if i == most {
				d.in.Problems.Add(serving.Problem{At: serving.Pos{Path: d.path, Field: name}, Message: fmt.Sprintf("more than %d elements; the rest is left out", most)})
			}
			return d.r.Skip()
		}
		n, err := tree.Next(d.r, fmt.Sprintf("%s[%d]", name, i))
		if err != nil {
			return err
		}
		d.in.Records++
		if n.Kind != tree.Object {
			d.problem(n, "found no object, want one of "+name)
			return nil
		}
		take(n)
		return nil
	})
	return err
}

func (d *decoder) problem(n *tree.Node, message string) {
	d.in.Problems.Add(serving.Problem{At: n.At(d.path), Message: message})
}

// finish gives the runs. Of a comparison it is the second side that was measured
// last, and that is a baseline for what comes now.
func (d *decoder) finish() []*serving.Run {
	d.settle()
	for _, s := range d.sets {
		if s.run != nil {
			d.runs, d.ids = append(d.runs, s.run), append(d.ids, s.name)
		}
	}
	if len(d.sides) != 2 {
		return d.runs
	}
	var out []*serving.Run
	for i, r := range d.runs {
		if name := d.sides[1]; strings.HasPrefix(d.ids[i], name+"/") || strings.HasPrefix(r.Label, name+" · ") {
			r.Label = strings.TrimPrefix(r.Label, name+" · ")
			out = append(out, r)
		}
	}
	d.in.Note = strings.TrimPrefix(d.in.Note+"; the report is a comparison: its second side is read", "; ")
	return out
}
