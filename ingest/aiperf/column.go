package aiperf

import (
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A col is a column in the making: values with a bit a row that has one.
type col[T any] struct {
	values []T
	valid  serving.Bitmap
	n      int // rows that have a value
}

// set gives row i its value; rows before it that were not set have none.
func (c *col[T]) set(i int, v T) {
	c.grow(i + 1)
	c.values[i] = v
	if !c.valid.Get(i) {
		c.n++
	}
	c.valid.Set(i)
}

// grow makes the column at least rows long.
func (c *col[T]) grow(rows int) {
	if n := rows - len(c.values); n > 0 {
		c.values = append(c.values, make([]T, n)...)
	}
	for len(c.valid)*64 < rows {
		c.valid = append(c.valid, 0)
	}
}

// cut forgets row i and those after it: a record that turned out to be damaged.
func (c *col[T]) cut(i int) {
	for j := i; j < len(c.values); j++ {
		if c.valid.Get(j) {
			c.valid.Clear(j)
			c.n--
		}
	}
	c.values = c.values[:min(i, len(c.values))]
}

// get returns the value of a row.
func (c *col[T]) get(i int) (v T, ok bool) {
	if i >= len(c.values) || !c.valid.Get(i) {
		return v, false
	}
	return c.values[i], true
}

// done returns the full column; a nil bitmap stands for "every row".
func (c *col[T]) done(rows int) ([]T, serving.Bitmap) {
	c.grow(rows)
	c.values = slices.Clip(c.values)
	if c.n == rows {
		return c.values, nil
	}
	return c.values, c.valid
}
