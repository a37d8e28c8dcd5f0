package analyze

import "strings"

// reach says what time a point's figure is of.
type reach uint8

const (
	ofStretch    reach = iota // a stretch that begins at the point
	ofMoment                  // the moment; it is assumed to hold until the next one
	ofBefore                  // a time before the point, which the engine chose
	ofExpression              // as far back as an expression says
	numReaches
)

// drawnPoints is what a reader needs to know of the points that were drawn.
type drawnPoints struct {
	has       [numReaches]bool
	stretched bool // a figure stands in several steps
	merged    bool // of several figures in a step one is drawn
}

// stretch takes note of a figure that goes on for so many more steps.
func (d *drawnPoints) stretch(r reach, more int) {
	d.has[r] = true
	d.stretched = d.stretched || more > 0 && r == ofStretch
}

// note says how points are to be read.
func (d *drawnPoints) note() string {
	var b strings.Builder
	b.WriteString("A point stands at the start of its step")
	if d.has[ofStretch] {
		b.WriteString(", which its figure covers")
	}
	if d.stretched {
		b.WriteString("; a figure of a longer time stands in each of its steps")
	}
	if d.merged {
		b.WriteString("; of several figures in one step the largest is drawn")
	}
	b.WriteString(".")
	if d.has[ofMoment] {
		b.WriteString(" Levels of a server are of the moment they were read, and stand until the next.")
	}
	if d.has[ofBefore] {
		b.WriteString(" Throughput that an engine states itself is of a time before its point.")
	}
	if d.has[ofExpression] {
		b.WriteString(" An expression looks back from its point as far as it says.")
	}
	return b.String()
}
