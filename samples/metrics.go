package samples

import (
	"slices"
	"sort"
)

// Bucket bounds of vLLM 0.25.
var (
	ttftBounds = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBounds  = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	reqBounds  = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	iterBounds = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	nBounds    = []float64{1, 2, 5, 10, 20}
)

// tokenBounds is the 1-2-5 series up to the longest context.
func tokenBounds(maxModelLen int) []float64 {
	var b []float64
	for d := 1; ; d *= 10 {
		for _, m := range []int{1, 2, 5} {
			if d*m > maxModelLen {
				return b
			}
			b = append(b, float64(d*m))
		}
	}
}

// A histogram counts observations in buckets, the last one without an end.
type histogram struct {
	bounds []float64
	counts []int64
	sum    float64
	n      int64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]int64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
	h.n++
}

func (h histogram) clone() histogram {
	h.counts = slices.Clone(h.counts)
	return h
}

// finishReasons are the labels of request_success, in exposition order.
var finishReasons = []string{"stop", "length", "abort", "error", "repetition"}

// metrics is what one engine process counts, from its start on.
type metrics struct {
	started int64 // process start

	prompt, promptCached, generation int64
	prefixQueries, prefixHits        int64
	preemptions                      int64
	finished                         [5]int64 // by finishReasons
	http                             [3]int64 // 2xx, 4xx, 5xx answers
	busy                             int64    // ns the GPU was computing
	cpu                              int64    // ns the API server's threads computed

	ttft, itl, tpot, e2e                       histogram
	queue, inference, prefill, decode          histogram
	promptTokens, genTokens, maxTokens, params histogram
	computed, iteration                        histogram

	recent  hitWindow
	lastLog logMark
}

func newMetrics(started int64, maxModelLen int) *metrics {
	tok := tokenBounds(maxModelLen)
	h := newHistogram
	return &metrics{
		started: started,
		ttft:    h(ttftBounds), itl: h(itlBounds), tpot: h(itlBounds), e2e: h(reqBounds),
		queue: h(reqBounds), inference: h(reqBounds), prefill: h(reqBounds), decode: h(reqBounds),
		promptTokens: h(tok), genTokens: h(tok), maxTokens: h(tok), params: h(nBounds),
		computed: h(tok), iteration: h(iterBounds),
	}
}

// clone is the state at this moment.
func (m *metrics) clone() *metrics {
	c := *m
	for _, h := range []*histogram{
		&c.ttft, &c.itl, &c.tpot, &c.e2e, &c.queue, &c.inference, &c.prefill, &c.decode,
		&c.promptTokens, &c.genTokens, &c.maxTokens, &c.params, &c.computed, &c.iteration,
	} {
		*h = h.clone()
	}
	c.recent = hitWindow{}
	return &c
}

// finish observes what vLLM observes when a request is done.
func (m *metrics) finish(s *seq, received, ended int64) {
	m.finished[slices.Index(finishReasons, s.a.req.finishReason())]++
	m.e2e.observe(sec(ended - received))
	m.queue.observe(sec(s.scheduledAt - s.queuedAt))
	m.prefill.observe(sec(s.firstAt - s.scheduledAt))
	m.decode.observe(sec(s.lastAt - s.firstAt))
	m.inference.observe(sec(s.lastAt - s.scheduledAt))
	m.promptTokens.observe(float64(s.prompt))
	m.genTokens.observe(float64(s.generated))
	m.maxTokens.observe(float64(s.a.req.maxTokens))
	m.params.observe(1)
	m.computed.observe(float64(s.prompt - s.cached))
	perToken := 0.0
	if s.generated > 1 {
		perToken = sec(s.lastAt-s.firstAt) / float64(s.generated-1)
	}
	m.tpot.observe(perToken)
}

// A hitWindow holds the prefix cache's hits over the last requests: what the
// engine's log line calls its hit rate.
type hitWindow struct {
	last          [1000][2]int32
	n             int
	queries, hits int64
}

func (h *hitWindow) add(queries, hits int) {
	slot := &h.last[h.n%len(h.last)]
	h.queries += int64(queries) - int64(slot[0])
	h.hits += int64(hits) - int64(slot[1])
	*slot = [2]int32{int32(queries), int32(hits)}
	h.n++
}

func (h *hitWindow) rate() float64 {
	if h.queries == 0 {
		return 0
	}
	return float64(h.hits) / float64(h.queries)
}

// A logMark is what the engine's log has told so far.
type logMark struct{ at, prompt, generation, preemptions int64 }
