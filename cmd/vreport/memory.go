package main

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// leastMemory is what a report takes whatever is asked for: the page alone is
// put together from some tens of MiB.
const leastMemory = 128 << 20

// sizes are the units of --max-memory, longest first.
var sizes = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1},
}

// parseSize reads a size in bytes: 512MiB, 1.5GB, 2g, 1073741824.
func parseSize(s string) (int64, error) {
	text, unit := strings.ToLower(strings.TrimSpace(s)), 1.0
	for _, u := range sizes {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n*unit < math.MaxInt64) {
		return 0, fmt.Errorf("%q is no size, want e.g. 512MiB or 1GiB", s)
	}
	return int64(n * unit), nil
}

func (o *options) setExact(vs []given) error {
	exact := true
	err := setBool(&exact, last(vs))
	o.analyze.NoExact = !exact
	return err
}

func (o *options) setMaxMemory(vs []given) error {
	v := last(vs)
	n, err := parseSize(v.text)
	if err != nil {
		return wrong(v, "%w", err)
	}
	if n < leastMemory {
		return wrong(v, "%s is less than a report takes, want %d MiB at least", v.text, leastMemory>>20)
	}
	o.maxMemory, o.analyze.MaxMemory, o.ingest.MaxMemory = n, n, n
	return nil
}

// limitMemory has the collector keep the heap below the limit, and returns what
// undoes it.
func (o *options) limitMemory() func() {
	if o.maxMemory == 0 {
		return func() {}
	}
	was := debug.SetMemoryLimit(o.maxMemory)
	return func() { debug.SetMemoryLimit(was) }
}

// The collector's own setting, and the one of the start. Its first collections,
// from 4 MiB of heap on, are of what a program sets up for good: they find next to
// nothing. The first one of the start is at 40 MiB.
const (
	usualPercent = 100
	startPercent = 1000
)

// collectLate has the first collection wait until the program is set up. From then
// on all is as usual. It leaves alone what the environment (GOGC) says.
func collectLate() {
	if was := debug.SetGCPercent(startPercent); was != usualPercent {
		debug.SetGCPercent(was)
		return
	}
	onceCollected(collectAsUsual)
}

// collectAsUsual ends the start. A scan may have set another percentage for the
// moment and bring that of the start back: so it looks after every collection, and
// it never sets what somebody else has to undo.
func collectAsUsual() {
	if collectorPercent() == startPercent {
		debug.SetGCPercent(usualPercent)
	}
	onceCollected(collectAsUsual)
}

// collectorPercent is the collector's setting; setting one to see the other would
// get in the way of who does the same.
func collectorPercent() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// onceCollected calls f after the next collection.
func onceCollected(f func()) {
	runtime.AddCleanup(new(*byte), func(int) { f() }, 0) // nothing refers to it
}
