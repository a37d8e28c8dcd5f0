package trace

import (
	"context"
	"errors"
	"io"
)

// A cutReader takes a stream that breaks off, such as compressed data without its
// end, for one that ends there: what came before is whole. err is why it broke off,
// which whoever reads tells when all else is read.
type cutReader struct {
	r   io.Reader
	err error
}

func (c *cutReader) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, io.EOF
	}
	n, err := c.r.Read(p)
	if err == nil || err == io.EOF || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	c.err = err
	return n, io.EOF
}
