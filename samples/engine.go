package samples

import "math/rand/v2"

// A seq is a request inside the engine.
type seq struct {
	a       *attempt
	prompt  int
	target  int // tokens it will generate
	content content

	computed  int // tokens whose KV is in the pool
	generated int
	planned   int // tokens the running step computes
	cached    int // prompt tokens found in the prefix cache when first scheduled
	blocks    []int32
	hashes    []uint64
	named     int // blocks the pool knows the content of

	queuedAt, scheduledAt, firstAt, lastAt int64
	preemptions                            int
	recomputed                             int // tokens computed once more after a preemption
	highWater                              int // most tokens that were ever computed
	gone                                   bool
}

// total is how many tokens it has so far: what must be computed before the next
// one can come.
func (s *seq) total() int { return s.prompt + s.generated }

// An engine is the step loop: it schedules, computes for as long as stepCost
// says, hands out one token to every sequence that is complete, and schedules
// again.
type engine struct {
	w       *world
	cfg     engineConfig
	kv      *blockPool
	rng     *rand.Rand
	m       *metrics
	running []*seq
	waiting []*seq
	batch   []*seq
	busy    bool
	dead    bool
	onToken func(*seq, bool) // a token came; the flag says that it was the last

	stall func(t int64) int64 // planned stalls: when a step may start, at the earliest

	// What the conservation tests count beside the metrics.
	computedTokens, recomputedTokens, droppedTokens int64
	inSystem                                        int64 // ∫ (running + waiting) dt, request·ns
	lastChange                                      int64
}

func newEngineProcess(w *world, cfg engineConfig, rng *rand.Rand, m *metrics) *engine {
	return &engine{w: w, cfg: cfg, kv: newBlockPool(cfg.kvBlocks()), rng: rng, m: m, lastChange: w.now}
}

// tally advances the integral of the number in the system; it is called before
// every change of that number.
func (e *engine) tally() {
	e.inSystem += (e.w.now - e.lastChange) * int64(len(e.running)+len(e.waiting))
	e.lastChange = e.w.now
}

// add puts a request in the queue.
func (e *engine) add(s *seq) {
	e.tally()
	s.queuedAt = e.w.now
	e.waiting = append(e.waiting, s)
	e.wake()
}

// wake starts a step if there is something to do and none is under way.
func (e *engine) wake() {
	if e.busy || e.dead || len(e.running)+len(e.waiting) == 0 {
		return
	}
	if e.stall != nil {
		if t := e.stall(e.w.now); t > e.w.now {
			e.busy = true
			e.w.at(t, func() { e.busy = false; e.wake() })
			return
		}
	}
	load := e.schedule()
	if len(e.batch) == 0 {
		return
	}
	e.busy = true
	d := ns(e.cfg.stepCost(load) * e.jitter())
	e.m.busy += ns(sec(d) * e.cfg.kernelShare(load))
	e.w.at(e.w.now+d, e.stepDone)
}

// jitter is the noise of a step: relative, never beyond three deviations.
func (e *engine) jitter() float64 {
	return 1 + e.cfg.noise*max(-3, min(3, e.rng.NormFloat64()))
}

// schedule plans the next step: first a token (or a chunk of its prompt) for
// whoever runs, preempting from the back where blocks run out, then, unless
// something had to be preempted, the queue from the front.
func (e *engine) schedule() stepLoad {
	e.tally()
	budget := e.cfg.maxBatchedTokens
	e.batch = e.batch[:0]
	var load stepLoad
	preempted := false
	for i := 0; i < len(e.running) && budget > 0; i++ {
		s := e.running[i]
		n := min(s.total()-s.computed, budget)
		ok := true
		for !e.grow(s, s.computed+n) {
			preempted = true
			victim := e.running[len(e.running)-1]
			e.preempt(victim)
			if victim == s {
				ok = false
				break
			}
		}
		if !ok {
			break
		}
		budget -= n
		e.plan(s, n, &load)
	}
	for !preempted && budget > 0 && len(e.waiting) > 0 && len(e.running) < e.cfg.maxNumSeqs {
		s := e.waiting[0]
		n, ok := e.admit(s, budget)
		if !ok {
			break
		}
		e.waiting = e.waiting[1:]
		e.running = append(e.running, s)
		budget -= n
		e.plan(s, n, &load)
	}
	return load
}

// plan puts n tokens of s into the step.
func (e *engine) plan(s *seq, n int, load *stepLoad) {
	s.planned = n
	e.batch = append(e.batch, s)
	load.seqs++
	load.tokens += n
	load.kvTokens += s.computed + n
	if n > 1 || s.computed < s.prompt {
		load.prefill += n
		load.prefillCtx += float64(n) * (float64(s.computed) + float64(n)/2)
		if e.cfg.longPrefillFrom > 0 && s.prompt >= e.cfg.longPrefillFrom {
			load.long += n
		}
	}
}

// grow gives s blocks for n tokens, or says that there are none left.
func (e *engine) grow(s *seq, n int) bool {
	for len(s.blocks)*blockTokens < n {
		b, ok := e.kv.alloc()
		if !ok {
			return false
		}
		s.blocks = append(s.blocks, b)
	}
	return true
}

// admit looks up the prefix of a waiting request, takes blocks for its first
// chunk and returns the chunk's length. At least one token is always computed:
// without it there would be no next token.
func (e *engine) admit(s *seq, budget int) (int, bool) {
	s.hashes = s.content.chain(s.hashes, s.total()/blockTokens)
	hits := 0
	for hits < (s.total()-1)/blockTokens {
		b, ok := e.kv.known[s.hashes[hits]]
		if !ok {
			break
		}
		e.kv.take(b)
		s.blocks = append(s.blocks, b)
		hits++
	}
	found := hits * blockTokens
	n := min(s.total()-found, budget)
	if need := (found+n+blockTokens-1)/blockTokens - hits; need > e.kv.free || !e.grow(s, found+n) {
		e.free(s)
		return 0, false
	}
	s.computed, s.named = found, hits
	if s.scheduledAt == 0 {
		s.scheduledAt = e.w.now
		s.cached = min(found, s.prompt)
		e.m.prefixQueries += int64(s.prompt)
		e.m.prefixHits += int64(s.cached)
		e.m.recent.add(s.prompt, s.cached)
	}
	return n, true
}

// preempt throws the last comer out: its blocks are gone, and it is first in
// the queue with everything to compute again.
func (e *engine) preempt(s *seq) {
	e.running = e.running[:len(e.running)-1]
	e.free(s)
	s.computed, s.named = 0, 0
	s.preemptions++
	e.m.preemptions++
	e.waiting = append([]*seq{s}, e.waiting...)
}

// free gives a sequence's blocks back, the last ones first, so that the head of
// a prefix is evicted last.
func (e *engine) free(s *seq) {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		e.kv.release(s.blocks[i])
	}
	s.blocks = s.blocks[:0]
}

// stepDone is the end of a step.
func (e *engine) stepDone() {
	e.busy = false
	if e.dead {
		return
	}
	e.tally()
	iteration, done := 0, false
	for _, s := range e.batch {
		e.computedTokens += int64(s.planned)
		if s.gone {
			e.droppedTokens += int64(s.planned)
			continue
		}
		e.credit(s)
		if s.computed < s.total() {
			continue // a chunk of a longer prompt
		}
		last, prompt := e.emit(s)
		iteration += 1 + prompt
		done = done || last
	}
	if iteration > 0 {
		e.m.iteration.observe(float64(iteration))
	}
	if done {
		e.sweep()
	}
	e.wake()
}

// credit books the tokens a step computed for s.
func (e *engine) credit(s *seq) {
	before := s.computed
	s.computed += s.planned
	if again := min(s.computed, s.highWater) - before; again > 0 {
		s.recomputed += again
		e.recomputedTokens += int64(again)
	}
	s.highWater = max(s.highWater, s.computed)
	full := s.computed / blockTokens
	s.hashes = s.content.chain(s.hashes, full)
	for ; s.named < full; s.named++ {
		e.kv.name(s.blocks[s.named], s.hashes[s.named])
	}
}

// emit hands out the next token of s. It returns whether it was the last one,
// and the prompt tokens that this step completed.
func (e *engine) emit(s *seq) (last bool, prompt int) {
	now := e.w.now
	s.generated++
	e.m.generation++
	if s.generated == 1 {
		s.firstAt = now
		prompt = s.prompt - s.cached
		e.m.prompt += int64(s.prompt)
		e.m.promptCached += int64(s.cached)
	} else {
		e.m.itl.observe(sec(now - s.lastAt))
	}
	s.lastAt = now
	last = s.generated >= s.target
	if last {
		e.free(s)
		s.gone = true
	}
	e.onToken(s, last)
	return last, prompt
}

// sweep takes finished sequences out of the running list.
func (e *engine) sweep() {
	e.running = without(e.running)
}

func without(list []*seq) []*seq {
	kept := list[:0]
	for _, s := range list {
		if !s.gone {
			kept = append(kept, s)
		}
	}
	clear(list[len(kept):])
	return kept
}

// abort takes a request out, wherever it is.
func (e *engine) abort(s *seq) {
	if s.gone {
		return
	}
	e.tally()
	s.gone = true
	e.free(s)
	e.running = without(e.running)
	e.waiting = without(e.waiting)
	e.wake()
}

// die ends the process: everything in it is lost.
func (e *engine) die() []*seq {
	e.tally()
	e.dead = true
	lost := append(append([]*seq(nil), e.running...), e.waiting...)
	for _, s := range lost {
		s.gone = true
		e.free(s)
	}
	e.running, e.waiting = nil, nil
	return lost
}
