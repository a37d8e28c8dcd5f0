package samples

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// A length is a distribution of token counts: log-normal around a median,
// clipped; with sigma 0 always the median.
type length struct {
	median, sigma float64
	lo, hi        int
}

func fixed(n int) length { return length{median: float64(n), lo: n, hi: n} }

func (l length) draw(r *rand.Rand) int {
	if l.sigma == 0 {
		return int(l.median)
	}
	return l.at(r.NormFloat64())
}

// at is the length so many deviations from the median.
func (l length) at(z float64) int {
	return max(l.lo, min(l.hi, int(l.median*math.Exp(l.sigma*z))))
}

// quantile is the distribution's p-quantile, 0 < p < 1.
func (l length) quantile(p float64) int { return l.at(math.Sqrt2 * math.Erfinv(2*p-1)) }

// A workload is a kind of request: chat, rag, agent, batch.
type workload struct {
	name         string
	prompt       length // tokens of its own, without the shared prefix
	output       length
	maxTokens    int     // what the client asks for at most
	prefixTokens int     // of the shared system prompt and tool schema
	prefixes     int     // how many different ones there are
	stamped      bool    // a timestamp stands ahead of the shared prefix: no two prompts begin alike
	sessions     int     // conversations kept open; 0: every request stands alone
	longShare    float64 // share of prompts drawn from long instead
	long         length
	batched      float64 // share of requests that are not streamed
	cancel       float64 // share of requests whose user goes away early
}

// A share is a workload's part of a traffic.
type share struct {
	of     *workload
	weight float64
}

// A traffic is a stretch of Poisson arrivals, at a constant rate or along a
// ramp.
type traffic struct {
	from, to     float64 // s
	rate, rateTo float64 // requests/s; rateTo 0: constant
	mix          []share
	tenants      []float64 // weights of tenants; nil: one
}

// A request is what a user wants, once, however often a client sends it.
type request struct {
	id        string
	at        int64 // when the client means to send it
	workload  string
	tenant    int
	session   string
	streaming bool
	content   content
	prompt    int
	output    int
	maxTokens int
	cancel    int64 // the user goes away after this time; 0: stays
}

func (r *request) finishReason() string {
	if r.output >= r.maxTokens {
		return "length"
	}
	return "stop"
}

// A maker turns workloads into requests.
type maker struct {
	rng      *rand.Rand
	ids      string
	n        int
	sessions map[string][]session
}

// A session is a conversation: the next turn repeats what has been said.
type session struct {
	key    uint64
	tokens int
}

func newMaker(s source, ids string) *maker {
	return &maker{rng: s.rng(), ids: ids, sessions: map[string][]session{}}
}

// one makes a request of a workload.
func (m *maker) one(w *workload, at int64) *request {
	r := m.rng
	m.n++
	q := &request{
		id: fmt.Sprintf("%s-%06d", m.ids, m.n), at: at, workload: w.name,
		streaming: r.Float64() >= w.batched, maxTokens: w.maxTokens,
	}
	own := w.prompt.draw(r)
	if r.Float64() < w.longShare {
		own = w.long.draw(r)
	}
	q.output = max(1, min(w.output.draw(r), w.maxTokens))
	q.content.own = r.Uint64()
	group := 0
	if w.prefixes > 1 {
		group = r.IntN(w.prefixes)
	}
	q.content.prefix = mix(uint64(len(w.name))<<32 ^ uint64(w.name[0])<<8 ^ uint64(group))
	q.content.prefixTokens = w.prefixTokens
	if w.stamped {
		q.content.prefix = q.content.own
	}
	if w.sessions > 0 {
		own = m.turn(w, q, own)
	}
	q.prompt = w.prefixTokens + own
	if r.Float64() < w.cancel {
		q.cancel = ns(0.5 + 8*r.Float64())
	}
	return q
}

// turn makes q the next turn of one of the workload's conversations and returns
// the length of its prompt without the shared prefix.
func (m *maker) turn(w *workload, q *request, own int) int {
	all := m.sessions[w.name]
	if all == nil {
		all = make([]session, w.sessions)
		m.sessions[w.name] = all
	}
	i := m.rng.IntN(len(all))
	s := &all[i]
	if s.tokens == 0 || s.tokens > 8000 {
		*s = session{key: q.content.own}
	}
	q.content.own = s.key
	q.session = fmt.Sprintf("%s-%03d", w.name, i)
	own += s.tokens
	s.tokens = own + q.output
	return own
}

// pick draws an index by weight.
func pick(r *rand.Rand, weights []float64) int {
	var sum float64
	for _, w := range weights {
		sum += w
	}
	x := r.Float64() * sum
	for i, w := range weights {
		if x -= w; x < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// pickWorkload draws a workload of a mix.
func (m *maker) pickWorkload(mix []share) *workload {
	if len(mix) == 1 {
		return mix[0].of
	}
	weights := make([]float64, len(mix))
	for i, s := range mix {
		weights[i] = s.weight
	}
	return mix[pick(m.rng, weights)].of
}

// arrive makes the requests of a stretch of traffic, by thinning: candidates at
// the highest rate, each kept with the chance of the rate at its instant.
func (m *maker) arrive(t traffic) []*request {
	rateTo := t.rateTo
	if rateTo == 0 {
		rateTo = t.rate
	}
	top := max(t.rate, rateTo)
	if top <= 0 {
		return nil
	}
	var out []*request
	for at := t.from; ; {
		at += m.rng.ExpFloat64() / top
		if at >= t.to {
			return out
		}
		rate := t.rate + (rateTo-t.rate)*(at-t.from)/(t.to-t.from)
		if m.rng.Float64()*top >= rate {
			continue
		}
		q := m.one(m.pickWorkload(t.mix), ns(at))
		if len(t.tenants) > 0 {
			q.tenant = pick(m.rng, t.tenants)
		}
		out = append(out, q)
	}
}

// spread gives requests the prompt lengths of their workload's evenly spaced
// quantiles, in random order: a few hundred independent draws would miss the
// percentiles a story is told in.
func (m *maker) spread(reqs []*request, w *workload) {
	long := int(math.Round(float64(len(reqs)) * w.longShare))
	for k, i := range m.rng.Perm(len(reqs)) {
		if k < long {
			reqs[i].prompt = w.prefixTokens + w.long.quantile((float64(k)+0.5)/float64(long))
		} else {
			reqs[i].prompt = w.prefixTokens + w.prompt.quantile((float64(k-long)+0.5)/float64(len(reqs)-long))
		}
	}
}

// some makes n requests of a mix that all wait from the start.
func (m *maker) some(n int, mix []share, at int64) []*request {
	out := make([]*request, n)
	for i := range out {
		out[i] = m.one(m.pickWorkload(mix), at)
	}
	return out
}

// shapeOf estimates a mix's mean request by drawing from it.
func shapeOf(mix []share) shape {
	m := newMaker(source{1, "shape"}, "s")
	const n = 4000
	var s shape
	for range n {
		w := m.pickWorkload(mix)
		q := m.one(w, 0)
		s.prompt += float64(q.prompt) / n
		s.output += float64(q.output) / n
		switch {
		case q.session != "":
			// All but this turn's own part is found again.
			s.cached += max(0, float64(q.prompt)-w.prompt.median) / n
		case !w.stamped:
			s.cached += float64(w.prefixTokens) / n
		}
	}
	return s
}
