package vllm

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// FormatLog is the format name of an engine log.
const FormatLog = "vllm-log"

// Figures of an engine log beyond the program's shared vocabulary.
const (
	deferred         serving.SeriesName = "deferred"                  // waiting for something else than capacity; part of Waiting
	corrupted        serving.SeriesName = "corrupted"                 // requests with NaN in their logits, of the interval
	cpuKVUsage       serving.SeriesName = "cpu_kv_usage"              // V0's swap space
	externalHitRatio serving.SeriesName = "external_prefix_hit_ratio" // through a KV connector
	mmHitRatio       serving.SeriesName = "mm_cache_hit_ratio"        // of multi-modal inputs
	acceptanceRatio  serving.SeriesName = "spec_acceptance_rate"      // accepted of drafted tokens
	acceptanceLength serving.SeriesName = "spec_acceptance_length"    // tokens a draft round, the bonus token included
)

// A logColumn is one figure of the lines that an engine prints every ten
// seconds, or however VLLM_LOG_STATS_INTERVAL is set. All are read by their
// name: which of them stand in a line, and in which order, differs by version.
type logColumn struct {
	key   string // as printed
	name  serving.SeriesName
	unit  serving.Unit
	word  string // the printed unit
	per   float64
	count logCount // how a count is printed
}

// logCount says what a printed number counts.
type logCount uint8

const (
	level      logCount = iota // a gauge
	ofInterval                 // a count since the line before
	sinceStart                 // a count since the process started
)

// periodicColumns are those of the "Avg prompt throughput" line of V0 and V1.
var periodicColumns = []logColumn{
	{key: "Avg prompt throughput", name: serving.PromptRate, unit: serving.PerSecond, word: "tokens/s", per: 1},
	{key: "Avg generation throughput", name: serving.GenerationRate, unit: serving.PerSecond, word: "tokens/s", per: 1},
	{key: "Running", name: serving.Running, unit: serving.RequestsUnit, word: "reqs", per: 1},
	{key: "Waiting", name: serving.Waiting, unit: serving.RequestsUnit, word: "reqs", per: 1},
	{key: "Pending", name: serving.Waiting, unit: serving.RequestsUnit, word: "reqs", per: 1}, // V0
	{key: "Swapped", name: serving.Swapped, unit: serving.RequestsUnit, word: "reqs", per: 1}, // V0
	{key: "Deferred", name: deferred, unit: serving.RequestsUnit, word: "reqs", per: 1},
	{key: "Preemptions", name: serving.Preemptions, unit: serving.NoUnit, per: 1, count: ofInterval},
	{key: "GPU KV cache usage", name: serving.KVUsage, unit: serving.Share, word: "%", per: 100},
	{key: "KV cache usage", name: serving.KVUsage, unit: serving.Share, word: "%", per: 100},
	{key: "CPU KV cache usage", name: cpuKVUsage, unit: serving.Share, word: "%", per: 100}, // V0
	{key: "Prefix cache hit rate", name: serving.PrefixHitRatio, unit: serving.Share, word: "%", per: 100},
	{key: "External prefix cache hit rate", name: externalHitRatio, unit: serving.Share, word: "%", per: 100},
	{key: "MM cache hit rate", name: mmHitRatio, unit: serving.Share, word: "%", per: 100},
	{key: "Corrupted", name: corrupted, unit: serving.RequestsUnit, word: "reqs", per: 1, count: ofInterval},
}

// specColumns are those of the line about speculative decoding that follows it.
// V1 counts over the interval; V0 ("Speculative metrics") since the start.
var specColumns = []logColumn{
	{key: "Mean acceptance length", name: acceptanceLength, unit: serving.Tokens, word: "tokens", per: 1},
	{key: "Avg Draft acceptance rate", name: acceptanceRatio, unit: serving.Share, word: "%", per: 100},
	{key: "Draft acceptance rate", name: acceptanceRatio, unit: serving.Share, word: "%", per: 100},
	{key: "Accepted", name: serving.SpecAccepted, unit: serving.Tokens, word: "tokens", per: 1, count: ofInterval},
	{key: "Drafted", name: serving.SpecDraft, unit: serving.Tokens, word: "tokens", per: 1, count: ofInterval},
	{key: "Number of accepted tokens", name: serving.SpecAccepted, unit: serving.Tokens, word: "tokens", per: 1, count: sinceStart},
	{key: "Number of draft tokens", name: serving.SpecDraft, unit: serving.Tokens, word: "tokens", per: 1, count: sinceStart},
	{key: "Number of draft tokens tokens", name: serving.SpecDraft, unit: serving.Tokens, word: "tokens", per: 1, count: sinceStart},
}

var (
	periodicByKey = byKey(periodicColumns)
	specByKey     = byKey(specColumns)
)

func byKey(cs []logColumn) map[string]*logColumn {
	m := make(map[string]*logColumn, len(cs))
	for i := range cs {
		m[cs[i].key] = &cs[i]
	}
	return m
}

// What the lines are found by.
var (
	periodicMark = []byte("Avg prompt throughput: ")
	runningMark  = []byte("Running: ") // a simulator's lines have the rates alone
	specMarks    = [][]byte{[]byte("SpecDecoding metrics: "), []byte("Speculative metrics: ")}
	prefixMark   = []byte("Prefix cache hit rate: GPU: ") // V0: a line of its own
	receivedMark = []byte("Received request ")            // holds a prompt: anything may stand in it
)

// number reads a printed value: 97.2%, 64 reqs, 3021.4 tokens/s. A percentage is
// printed with its sign; a bare number of such a column is a share (V0's
// acceptance rate).
func (c *logColumn) number(value string) (float64, bool) {
	value = strings.TrimSpace(value)
	n := 0
	for n < len(value) && (value[n] >= '0' && value[n] <= '9' || strings.IndexByte("+-.eE", value[n]) >= 0) {
		n++
	}
	v, err := strconv.ParseFloat(value[:n], 64)
	if err != nil || v < 0 || v-v != 0 { // nan: no draft in the interval; −1%: no such cache
		return 0, false
	}
	per := c.per
	if c.word == "%" && !strings.HasPrefix(strings.TrimSpace(value[n:]), "%") {
		per = 1
	}
	return v / per, true
}

// pairs calls f for each "Key: value" of a line, which are separated by commas.
// A part without a key belongs to the value before it, which is a list.
func pairs(text string, f func(key, value string)) {
	for part := range strings.SplitSeq(text, ", ") {
		if key, value, ok := strings.Cut(part, ": "); ok {
			f(strings.TrimSpace(key), strings.TrimRight(value, " .\r\n"))
		}
	}
}

// periodic finds the periodic line in a line: what stands before it, and it.
func periodic(line []byte) (before, text []byte, ok bool) {
	i := bytes.Index(line, periodicMark)
	if i < 0 || i > maxBefore || !bytes.Contains(line[i:], runningMark) || bytes.Contains(line[:i], receivedMark) {
		return nil, nil, false
	}
	return line[:i], line[i:], true
}

// maxBefore bounds what may stand before a figure line: the prefixes of a
// container runtime, a process and a logger.
const maxBefore = 512
