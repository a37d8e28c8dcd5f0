package promql

import "github.com/prometheus/prometheus/promql/parser"

// Check reports what is wrong with an expression's grammar, with its position in
// the expression, before anything is read.
func Check(expr string) error {
	_, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	return err
}
