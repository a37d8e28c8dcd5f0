package samples

import (
	"math/rand/v2"
	"net/http"
)

// A frontConfig is the API server in front of an engine: it tokenizes prompts
// on so many cores, and hands tokens on after a fixed delay.
type frontConfig struct {
	cores      int
	perRequest float64 // s of CPU: parsing, templating
	perToken   float64 // s of CPU a prompt token
	perOutput  float64 // s of CPU a generated token (detokenizing, streaming)
	ipc        float64 // s from the engine's output to the wire
	slowFrom   int64   // from here on …
	slow       float64 // … tokenizing takes this factor: a CPU limit that throttles
}

func newFrontend() frontConfig {
	return frontConfig{cores: 2, perRequest: 1.2e-3, perToken: 2.2e-6, perOutput: 25e-6, ipc: 0.7e-3}
}

// A serverConfig is one replica.
type serverConfig struct {
	pod       string
	engine    engineConfig
	front     frontConfig
	started   int64 // process start: before the scenario's zero, so negative
	joins     int64 // scraped from here on; 0: from the beginning
	leaves    int64 // scraped until here; 0: to the end
	crashes   int64 // the process dies here; 0: never
	returns   int64 // … and serves again from here
	stallFrom int64 // no step starts between these
	stallTo   int64
}

// A server is a replica at work: the API server and its engine process.
type server struct {
	w      *world
	cfg    serverConfig
	eng    *engine
	m      *metrics
	rng    *rand.Rand
	cores  []int64 // when each tokenizer core is free again
	down   bool
	onOver func(*attempt) // an attempt is over, on the server's side
	// inside counts attempts that were received and are not over.
	inside   int
	accepted int // given to an engine, over all its processes
	lost     int // gone with a process
	starts   []int64
	old      []*engine // engines of processes that died
}

func newServer(w *world, cfg serverConfig, src source) *server {
	s := &server{w: w, cfg: cfg, rng: src.of("noise/" + cfg.pod).rng(), cores: make([]int64, cfg.front.cores)}
	s.boot(cfg.started)
	if cfg.crashes > 0 {
		w.at(cfg.crashes, s.crash)
		w.at(cfg.returns, func() { s.down = false; s.boot(cfg.crashes + (cfg.returns-cfg.crashes)/4) })
	}
	return s
}

// boot starts a process: empty pool, counters at zero.
func (s *server) boot(started int64) {
	s.m = newMetrics(started, s.cfg.engine.maxModelLen)
	s.eng = newEngineProcess(s.w, s.cfg.engine, s.rng, s.m)
	s.eng.onToken = s.token
	if s.cfg.stallTo > 0 {
		s.eng.stall = func(t int64) int64 {
			if t >= s.cfg.stallFrom && t < s.cfg.stallTo {
				return s.cfg.stallTo
			}
			return t
		}
	}
	s.starts = append(s.starts, started)
}

// crash ends the process; what it held gets a broken connection.
func (s *server) crash() {
	s.down = true
	s.old = append(s.old, s.eng)
	for _, q := range s.eng.die() {
		s.lost++
		s.over(q.a, statusError, http.StatusInternalServerError, "EngineDeadError: EngineCore encountered an issue")
	}
}

// receive is the arrival of a request at the API server: arrival_time.
func (s *server) receive(a *attempt) {
	a.received = s.w.now
	s.inside++
	switch {
	case a.abandoned:
		s.over(a, a.status, 0, a.errText)
		return
	case s.down:
		s.over(a, statusError, http.StatusServiceUnavailable, "connection refused")
		return
	case a.req.prompt+a.req.maxTokens > s.cfg.engine.maxModelLen:
		s.m.http[1]++
		s.over(a, statusError, http.StatusBadRequest, "maximum context length exceeded")
		return
	}
	cost := s.cfg.front.perRequest + s.cfg.front.perToken*float64(a.req.prompt)
	if s.cfg.front.slowFrom > 0 && s.w.now >= s.cfg.front.slowFrom {
		cost *= s.cfg.front.slow
	}
	core := 0
	for i, t := range s.cores {
		if t < s.cores[core] {
			core = i
		}
	}
	begin := max(s.w.now, s.cores[core])
	s.cores[core] = begin + ns(cost)
	s.w.at(s.cores[core], func() { s.m.cpu += ns(cost); s.tokenized(a) })
}

// tokenized hands the request to the engine.
func (s *server) tokenized(a *attempt) {
	switch {
	case a.over:
	case s.down:
		s.over(a, statusError, http.StatusServiceUnavailable, "connection refused")
	default:
		s.accepted++
		a.seq = &seq{a: a, prompt: a.req.prompt, target: a.req.output, content: a.req.content}
		s.eng.add(a.seq)
	}
}

// token is a token on its way out.
func (s *server) token(q *seq, last bool) {
	a := q.a
	a.tokenAt = append(a.tokenAt, s.w.now)
	s.m.cpu += ns(s.cfg.front.perOutput)
	if q.generated == 1 {
		s.m.ttft.observe(sec(q.firstAt + ns(s.cfg.front.ipc) - a.received))
	}
	if last {
		s.m.http[0]++
		s.m.finish(q, a.received, q.lastAt+ns(s.cfg.front.ipc))
		s.over(a, statusOK, http.StatusOK, "")
	}
}

// abort is what a broken client connection does.
func (s *server) abort(a *attempt) {
	if a.over || a.received == 0 {
		return
	}
	if a.seq != nil {
		s.m.finished[2]++
		s.eng.abort(a.seq)
	}
	s.over(a, a.status, 0, a.errText)
}

// over ends an attempt on the server's side.
func (s *server) over(a *attempt, status string, code int, text string) {
	s.inside--
	a.over = true
	a.ended = s.w.now
	if status == statusOK {
		a.ended += ns(s.cfg.front.ipc)
	}
	a.status, a.http, a.errText = status, code, text
	s.onOver(a)
}
