package serving

import (
	"errors"
	"io"
)

// OnClose registers something to close with the dataset: a file that a table
// of requests still reads from.
func (d *Dataset) OnClose(c io.Closer) { d.closers = append(d.closers, c) }

// Close releases what the dataset's tables read from. Its requests cannot be
// scanned afterwards.
func (d *Dataset) Close() error {
	var errs []error
	for _, c := range d.closers {
		errs = append(errs, c.Close())
	}
	d.closers = nil
	return errors.Join(errs...)
}
