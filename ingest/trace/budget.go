package trace

import (
	"fmt"
	"sync/atomic"
)

// Defaults of Options.
const (
	defaultMaxPage   = 128 << 20
	defaultMaxMemory = 1 << 30
)

// A budget bounds the page buffers of all scans of a table together: the sizes
// come from the file and are not to be believed.
type budget struct {
	used  atomic.Int64
	limit int64
}

// grow makes b n bytes long, charging what it has to allocate.
func (m *budget) grow(b *[]byte, n int) error {
	if cap(*b) >= n {
		*b = (*b)[:n]
		return nil
	}
	size := n + n/8
	if m.used.Add(int64(size-cap(*b))) > m.limit {
		m.used.Add(-int64(size - cap(*b)))
		return fmt.Errorf("reading it takes more than %d MiB of pages: write it anew with smaller pages", m.limit>>20)
	}
	*b = make([]byte, n, size)
	return nil
}

// release gives back what a buffer was charged.
func (m *budget) release(bs ...[]byte) {
	for _, b := range bs {
		m.used.Add(-int64(cap(b)))
	}
}
