package sglang

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A batch line is what the scheduler prints after each prefill batch and after
// every 40th decode step, whatever time that takes:
//
//	[2026-06-07 12:04:38 DP0 TP0] Decode batch, #running-req: 1, #token: 76, token usage: 0.11, … gen throughput (token/s): 0.62, #queue-req: 0
//
// Before it may stand what a container runtime puts there. Fields are read by
// name: their order and number change with versions and options.
type batchLine struct {
	decode bool
	prefix string
	fields []batchField
}

// A batchField is a name and a number of a batch line.
type batchField struct {
	name    string
	value   float64
	percent bool
}

// maxPrefix bounds what may stand before "Decode batch".
const maxPrefix = 200

// parseBatch reads a batch line; ok is false where the line is none.
func parseBatch(line string) (b batchLine, ok bool) {
	i := strings.Index(line, "Decode batch")
	b.decode = i >= 0
	if i < 0 {
		i = strings.Index(line, "Prefill batch")
	}
	if i < 0 || i > maxPrefix {
		return b, false
	}
	b.prefix = line[:i]
	// Source code and documents quote these lines; logs do not.
	if strings.ContainsAny(b.prefix, "\"'`|") {
		return b, false
	}
	rest := line[i+len("Decode batch"):]
	if !b.decode {
		rest = line[i+len("Prefill batch"):]
	}
	// Old versions: "Prefill batch(mixed #running-req: 3). #new-seq: 1, …" and
	// "Decode batch. #running-req: 1, …".
	rest = strings.ReplaceAll(rest, "). ", ", ")
	for piece := range strings.SplitSeq(rest, ", ") {
		if f, ok := parseField(piece); ok {
			b.fields = append(b.fields, f)
		}
	}
	has := func(name string) bool { _, ok := b.get(name); return ok }
	return b, has(runningReq) && (has("#queue-req") || has("token usage") || has("#token")) || has("#new-seq") && has("#new-token")
}

func parseField(piece string) (batchField, bool) {
	name, text, ok := strings.Cut(piece, ": ")
	if !ok {
		return batchField{}, false
	}
	if i := strings.IndexByte(name, '#'); i >= 0 {
		name = name[i:]
	}
	name = strings.Trim(name, " .,(")
	text = strings.TrimRight(strings.TrimSpace(text), ".),")
	text, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v-v != 0 || name == "" || len(name) > 64 {
		return batchField{}, false
	}
	return batchField{name, v, percent}, true
}

func (b batchLine) get(name string) (float64, bool) {
	for _, f := range b.fields {
		if f.name == name {
			return f.value, true
		}
	}
	return 0, false
}

var (
	// [2026-06-07 12:04:38 DP0 TP0] with or without a fraction
	wallClock = regexp.MustCompile(`\[(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?`)
	// 2026-09-27T00:15:24.123Z or …+02:00, as container runtimes write it
	isoClock = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)`)
	rankTag  = regexp.MustCompile(`\b(DP|PP|TP|EP)(\d{1,5})\b`)
)

// A clock says which of the two times of a log counts.
type clock uint8

const (
	noClock    clock = iota
	localClock       // the engine's own, without a zone
	zonedClock       // the runtime's, with one
)

// stamp reads the time of a line. An instant with a zone wins over the engine's
// own, which has none and is read as UTC.
func stamp(line string) (ns int64, c clock) {
	head := line[:min(len(line), maxPrefix)]
	if s := isoClock.FindString(head); s != "" {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil && sane(t) {
			return t.UnixNano(), zonedClock
		}
	}
	m := wallClock.FindStringSubmatch(head)
	if m == nil {
		return 0, noClock
	}
	text := m[1] + " " + m[2]
	if m[3] != "" {
		text += "." + m[3]
	}
	t, err := time.Parse("2006-01-02 15:04:05.999999999", text)
	if err != nil || !sane(t) {
		return 0, noClock
	}
	return t.UnixNano(), localClock
}

// sane keeps instants inside what nanoseconds can hold.
func sane(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 2200 }

// ranks reads the parallel ranks of a line's prefix: DP0 TP0.
func ranks(prefix string) map[string]string {
	var out map[string]string
	for _, m := range rankTag.FindAllStringSubmatch(prefix, -1) {
		if out == nil {
			out = map[string]string{}
		}
		out[m[1]] = m[2]
	}
	return out
}
