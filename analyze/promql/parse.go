package promql

import (
	"fmt"

	"github.com/prometheus/prometheus/promql/parser"
)

// Bounds on an expression itself: the parser and the engine take time with the
// square of its depth. No dashboard comes near.
const (
	maxExpr  = 16 << 10 // bytes
	maxDepth = 100
	maxNodes = 1000
)

// Check reports what is wrong with an expression before there is anything to ask.
func Check(expr string) error {
	_, err := parse(parser.NewParser(parser.Options{}), expr)
	return err
}

func parse(p parser.Parser, expr string) (parser.Expr, error) {
	if len(expr) > maxExpr {
		return nil, fmt.Errorf("an expression of %d bytes, want at most %d", len(expr), maxExpr)
	}
	tree, err := p.ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	nodes := 0
	return tree, measure(tree, 1, &nodes)
}

// measure refuses a tree that is too deep or too large.
func measure(n parser.Node, depth int, nodes *int) error {
	if *nodes++; *nodes > maxNodes {
		return fmt.Errorf("an expression of more than %d parts, want fewer: ask for the parts apart", maxNodes)
	}
	if depth > maxDepth {
		return fmt.Errorf("an expression of parts inside each other more than %d deep, want fewer", maxDepth)
	}
	for c := range parser.ChildrenIter(n) {
		if err := measure(c, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// maxShown bounds what a message says of an expression.
const maxShown = 300

// shown is an expression as a message names it.
func shown(expr string) string {
	if r := []rune(expr); len(r) > maxShown {
		return string(r[:maxShown-1]) + "…"
	}
	return expr
}
