package samples

import "math/rand/v2"

// A network is the way between client and server: gateway and propagation, each
// direction drawn once a request.
type network struct{ base, jitter float64 } // s

// A plan is everything that decides a simulation.
type plan struct {
	servers    []serverConfig
	route      router
	clients    []client
	net        network
	buffer     int   // tokens a proxy holds back …
	bufferFrom int64 // … from here on
	scrapeFrom int64
	scrapes    int
	every      int64 // between scrapes
}

// A stage is a simulation that has run: servers, attempts, and what an observer
// with a scraper and a log saw meanwhile.
type stage struct {
	w        *world
	plan     plan
	servers  []*server
	attempts []*attempt // in the order of sending
	net      *rand.Rand
	scrapes  map[*server][]scrape
	logs     map[*server][]logLine
}

// A scrape is the state of a server at an instant.
type scrape struct {
	at               int64
	m                *metrics
	running, waiting int
	kvUsage          float64
}

// A logLine is what the engine logs every ten seconds.
type logLine struct {
	at                         int64
	promptRate, generationRate float64
	running, waiting           int
	preemptions                int64
	kvUsage, hitRate           float64
}

const logEvery = 10 * second

// simulate runs a plan until every request has its answer.
func simulate(p plan, src source) *stage {
	w := &world{}
	st := &stage{w: w, plan: p, net: src.of("network").rng(), scrapes: map[*server][]scrape{}, logs: map[*server][]logLine{}}
	for _, c := range p.servers {
		s := newServer(w, c, src)
		s.onOver = st.serverDone
		st.servers = append(st.servers, s)
	}
	for i := range p.scrapes {
		w.at(p.scrapeFrom+int64(i)*p.every, st.scrape)
	}
	if p.scrapes > 0 {
		for t := p.scrapeFrom; t <= p.scrapeFrom+int64(p.scrapes-1)*p.every; t += logEvery {
			w.at(t, st.log)
		}
	}
	for _, c := range p.clients {
		c.start(st)
	}
	w.run()
	return st
}

// present says whether a server is there to be scraped.
func (s *server) present(now int64) bool {
	return !s.down && now >= s.cfg.joins && (s.cfg.leaves == 0 || now <= s.cfg.leaves)
}

func (st *stage) scrape() {
	for _, s := range st.servers {
		if s.present(st.w.now) {
			st.scrapes[s] = append(st.scrapes[s], scrape{
				at: st.w.now, m: s.m.clone(),
				running: len(s.eng.running), waiting: len(s.eng.waiting), kvUsage: s.eng.kv.usage(),
			})
		}
	}
}

// log writes the periodic line of each engine. As in vLLM nothing is logged
// while an engine stays idle.
func (st *stage) log() {
	for _, s := range st.servers {
		if !s.present(st.w.now) {
			continue
		}
		m := s.m
		if m.lastLog.at == 0 {
			m.lastLog = logMark{at: max(st.w.now-logEvery, m.started), prompt: m.prompt, generation: m.generation, preemptions: m.preemptions}
			if st.w.now-logEvery < m.started {
				m.lastLog.prompt, m.lastLog.generation, m.lastLog.preemptions = 0, 0, 0
			} else {
				m.lastLog.at = st.w.now
				continue
			}
		}
		d := sec(st.w.now - m.lastLog.at)
		l := logLine{
			at: st.w.now, promptRate: float64(m.prompt-m.lastLog.prompt) / d, generationRate: float64(m.generation-m.lastLog.generation) / d,
			running: len(s.eng.running), waiting: len(s.eng.waiting), preemptions: m.preemptions - m.lastLog.preemptions,
			kvUsage: s.eng.kv.usage(), hitRate: m.recent.rate(),
		}
		m.lastLog = logMark{st.w.now, m.prompt, m.generation, m.preemptions}
		if l.promptRate+l.generationRate > 0 || l.running+l.waiting > 0 {
			st.logs[s] = append(st.logs[s], l)
		}
	}
}

// send makes an attempt.
func (st *stage) send(c client, q *request, no int) {
	n := st.plan.net
	a := &attempt{
		req: q, no: no, from: c, sent: st.w.now, server: st.plan.route(st, q),
		up: ns(n.base + n.jitter*st.net.ExpFloat64()), down: ns(n.base + n.jitter*st.net.ExpFloat64()),
	}
	if st.plan.buffer > 0 && st.w.now >= st.plan.bufferFrom {
		a.buffer = st.plan.buffer
	}
	st.attempts = append(st.attempts, a)
	st.w.at(a.sent+a.up, func() { a.server.receive(a) })
	if o, ok := c.(*openClient); ok && o.timeout > 0 {
		st.w.at(a.sent+o.timeout, func() { st.giveUp(a, statusTimeout, "client timeout") })
	}
	if q.cancel > 0 {
		st.w.at(a.sent+q.cancel, func() { st.giveUp(a, statusCancelled, "client disconnected") })
	}
}

// giveUp is the client going away.
func (st *stage) giveUp(a *attempt, status, text string) {
	if a.settled || a.over {
		return // the answer is there, or on its way
	}
	a.settled, a.abandoned = true, true
	a.status, a.errText, a.closed = status, text, st.w.now
	st.w.at(st.w.now+a.up, func() { a.server.abort(a) })
	a.from.settled(st, a)
}

// serverDone is the end of an attempt on the server; the client hears of it
// after the way back.
func (st *stage) serverDone(a *attempt) {
	if a.settled {
		return
	}
	st.w.at(a.ended+a.down, func() {
		if a.settled {
			return
		}
		a.settled = true
		a.closed = st.w.now
		a.from.settled(st, a)
	})
}
