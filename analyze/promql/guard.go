package promql

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// What the engine does not count as samples: labels, the slices it sets aside for
// series, and what a result takes outside of it.
const (
	maxLabel  = 64 << 10 // bytes of a label that an expression makes
	maxLabels = 64 << 20 // … of all series
	maxSeries = 10_000   // of a result
	maxHeap   = 512 << 20
	heapCheck = 20 * time.Millisecond
)

// guarded runs a query within limits of time and memory. A panic of the engine is
// an error of the expression: its own counters overflow on nested subqueries.
func guarded(ctx context.Context, q promql.Query) (res *promql.Result, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go watchHeap(ctx, cancel)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine gave up: %v", r)
		}
	}()
	res = q.Exec(ctx)
	if cause := context.Cause(ctx); cause != nil && res.Err != nil {
		return nil, cause
	}
	return res, explained(res.Err)
}

// watchHeap stops a query that takes too much memory. The engine looks for the end
// of its context at each step. As with the limit of time, no figure depends on when
// it looks: a query is answered in full or not at all.
func watchHeap(ctx context.Context, cancel context.CancelCauseFunc) {
	before := heap()
	tick := time.NewTicker(heapCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if heap() <= before+maxHeap {
			continue
		}
		// Some of it may be garbage, of which there is as much as of the rest.
		runtime.GC()
		if heap() > before+maxHeap {
			cancel(fmt.Errorf("it needs more than %d MiB of memory, which is the limit: select fewer series, a longer step or a shorter range", maxHeap>>20))
			return
		}
	}
}

func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// checkLabels refuses expressions that make labels of labels until they fill
// memory: each of 40 nested label_replace may double one.
func (c *checker) checkLabels(tree parser.Expr) error {
	longest, err := c.labelOf(tree)
	if err != nil {
		return err
	}
	if all := longest * float64(len(c.db.series)); all > maxLabels && longest > c.longest() {
		return fmt.Errorf("its labels may take %.0f MiB, want at most %d: make shorter labels, of fewer series", all/(1<<20), maxLabels>>20)
	}
	return nil
}

// labelOf bounds the length of a label that a node makes.
func (c *checker) labelOf(n parser.Node) (float64, error) {
	longest := 0.0
	for child := range parser.ChildrenIter(n) {
		l, err := c.labelOf(child)
		if err != nil {
			return 0, err
		}
		longest = max(longest, l)
	}
	switch n := n.(type) {
	case *parser.VectorSelector:
		longest = c.longest()
	case *parser.Call:
		grown := longest
		switch n.Func.Name {
		case "label_replace":
			text := literal(n.Args, 2)
			grown = float64(len(text)) + float64(strings.Count(text, "$"))*longest
		case "label_join":
			values := float64(len(n.Args) - 3)
			grown = values * (longest + float64(len(literal(n.Args, 2))))
		}
		if grown > maxLabel && grown > longest {
			return 0, fmt.Errorf("%s makes labels of up to %.0f bytes, want at most %d: repeat fewer labels", shown(n.String()), grown, maxLabel)
		}
		longest = max(longest, grown)
	}
	return longest, nil
}

// literal is a text argument, "" where there is none.
func literal(args parser.Expressions, i int) string {
	if i >= len(args) {
		return ""
	}
	s, _ := args[i].(*parser.StringLiteral)
	if s == nil {
		return ""
	}
	return s.Val
}

// longest is the length of the longest label of all series.
func (c *checker) longest() float64 {
	if c.label == 0 {
		for _, s := range c.db.series {
			s.labels.Range(func(l labels.Label) { c.label = max(c.label, len(l.Value)) })
		}
		c.label = max(c.label, 1)
	}
	return float64(c.label)
}

// sized refuses results that no page can show.
func sized(n int) error {
	if n > maxSeries {
		return fmt.Errorf("the result has %d series, want at most %d: aggregate them, as by sum(…) or topk(10, …)", n, maxSeries)
	}
	return nil
}
