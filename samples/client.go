package samples

// Outcomes of an attempt.
const (
	statusOK        = "ok"
	statusError     = "error"
	statusTimeout   = "timeout"
	statusCancelled = "cancelled"
)

// An attempt is one sending of a request.
type attempt struct {
	req    *request
	no     int // 1 for the first
	from   client
	server *server

	sent     int64 // client clock
	up, down int64 // network and gateway, ns each way
	buffer   int   // tokens a proxy holds back before it passes them on; 0: none

	received int64 // server clock (which is the same here) from here on
	seq      *seq  // nil: never reached the engine
	tokenAt  []int64
	ended    int64
	over     bool

	abandoned bool // by the client, before the server knew
	settled   bool // the client has its answer
	status    string
	http      int
	errText   string
	closed    int64 // when the client had its answer or went away
}

// chunks are the instants at which the client saw something: a token each,
// unless a proxy collects them.
func (a *attempt) chunks() []int64 {
	if a.seq == nil {
		return nil
	}
	delay := ns(a.server.cfg.front.ipc) + a.down
	if !a.req.streaming {
		if a.status != statusOK {
			return nil
		}
		return []int64{a.tokenAt[len(a.tokenAt)-1] + delay}
	}
	var out []int64
	for i, t := range a.tokenAt {
		if a.buffer > 1 && (i+1)%a.buffer != 0 && i != len(a.tokenAt)-1 {
			continue
		}
		if a.status != statusOK && t+delay > a.closed {
			break
		}
		out = append(out, t+delay)
	}
	return out
}

// A client sends requests and decides what follows an answer.
type client interface {
	start(*stage)
	settled(*stage, *attempt)
}

// An openClient sends each request at its own time, whatever became of the
// others, gives up after a timeout, and may try again.
type openClient struct {
	reqs    []*request
	timeout int64 // to the last token; 0: none
	retries int
	backoff int64
}

func (c *openClient) start(st *stage) {
	for _, q := range c.reqs {
		st.w.at(q.at, func() { st.send(c, q, 1) })
	}
}

func (c *openClient) settled(st *stage, a *attempt) {
	if (a.status == statusTimeout || a.http >= 500) && a.no <= c.retries {
		st.w.at(st.w.now+c.backoff, func() { st.send(c, a.req, a.no+1) })
	}
}

// A pacedClient is an open client whose one process needs a while for each request
// it sends: asked for more than it can do, it sends later than it was asked to.
type pacedClient struct {
	openClient
	each  int64 // ns a request
	until int64 // send nothing from here on
}

func (c *pacedClient) start(st *stage) {
	free := int64(0)
	for _, q := range c.reqs {
		if free = max(free, q.at); free >= c.until {
			return
		}
		st.w.at(free, func() { st.send(c, q, 1) })
		free += c.each
	}
}

// A closedClient keeps a number of requests in flight, as `vllm bench serve
// --max-concurrency` does: each takes its slot at its own time at the earliest.
type closedClient struct {
	reqs        []*request
	concurrency int
	until       int64 // send nothing from here on; 0: to the last request
	flying      int
	ready       []*request
}

func (c *closedClient) start(st *stage) {
	for _, q := range c.reqs {
		st.w.at(q.at, func() { c.ready = append(c.ready, q); c.next(st) })
	}
}

func (c *closedClient) next(st *stage) {
	for c.flying < c.concurrency && len(c.ready) > 0 && (c.until == 0 || st.w.now < c.until) {
		q := c.ready[0]
		c.ready = c.ready[1:]
		c.flying++
		st.send(c, q, 1)
	}
}

func (c *closedClient) settled(st *stage, a *attempt) {
	c.flying--
	c.next(st)
}
