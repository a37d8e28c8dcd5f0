package samples

import (
	"container/heap"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Simulated time is int64 nanoseconds from a scenario's start: sums are exact
// and do not depend on their order.
const (
	microsecond = int64(time.Microsecond)
	millisecond = int64(time.Millisecond)
	second      = int64(time.Second)
)

// ns turns seconds into nanoseconds, in whole microseconds: no observer of the
// simulation sees more.
func ns(s float64) int64 { return microsecond * int64(s*1e6+0.5) }

// sec turns nanoseconds into seconds.
func sec(t int64) float64 { return float64(t) / 1e9 }

// An event is something that happens at an instant. Events of one instant
// happen in the order in which they were planned.
type event struct {
	at, order int64
	do        func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return x
}

// A world is the clock and everything that is still to happen.
type world struct {
	now    int64
	orders int64
	queue  events
}

// at plans do for an instant, which must not lie in the past.
func (w *world) at(t int64, do func()) {
	w.orders++
	heap.Push(&w.queue, event{max(t, w.now), w.orders, do})
}

// run lets everything happen until nothing is planned any more.
func (w *world) run() {
	for len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
}

// A source hands out random streams. Streams of different names are
// independent, so that one consumer more does not change what others draw.
type source struct {
	seed uint64
	name string
}

// of is the source of a part of this one.
func (s source) of(name string) source { return source{s.seed, s.name + "/" + name} }

// rng is the stream of a source.
func (s source) rng() *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(s.name))
	return rand.New(rand.NewPCG(s.seed, h.Sum64()))
}
