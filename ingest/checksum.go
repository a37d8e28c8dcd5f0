package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/vreport/vreport/ingest/serving"
)

// checksumLimit is the size up to which a whole file is hashed without being
// asked to; above it a fingerprint stands in (contract, inputs[]).
const checksumLimit = 64 << 20

// A summer has files hashed while they are decoded, a few at a time.
type summer struct {
	ctx   context.Context
	all   bool          // whole files of any size
	slots chan struct{} // one a file that is being hashed
}

// A checksum is that of a file once done is closed: SHA256, or Fingerprint for a
// large file, which is the size and the hash of its Parquet footer, or else of its
// first, middle and last MiB.
type checksum struct {
	done                chan struct{}
	sha256, fingerprint string
	err                 error
}

// start begins to hash a file, which has to stay open until that is done.
func (s *summer) start(f *file) *checksum {
	c := &checksum{done: make(chan struct{})}
	s.slots <- struct{}{}
	go func() {
		defer func() {
			<-s.slots
			close(c.done)
		}()
		if f.size <= checksumLimit || s.all {
			c.sha256, c.err = s.hash(f, [][2]int64{{0, f.size}})
			return
		}
		const mib = 1 << 20
		spans := [][2]int64{{0, mib}, {f.size/2 - mib/2, mib}, {f.size - mib, mib}}
		if n, ok := f.footer(); ok {
			spans = [][2]int64{{f.size - 8 - n, n + 8}}
		}
		sum, err := s.hash(f, spans)
		c.fingerprint, c.err = fmt.Sprintf("%d-%s", f.size, sum), err
	}()
	return c
}

// hash returns the hash of some stretches of a file, each given by where it starts
// and how long it is.
func (s *summer) hash(f *file, spans [][2]int64) (string, error) {
	h := sha256.New()
	for _, span := range spans {
		r := io.NopCloser(io.NewSectionReader(f.raw, span[0], span[1]))
		if _, err := io.Copy(h, &live{s.ctx, r}); err != nil {
			return "", fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// into waits for the checksum and fills it in.
func (c *checksum) into(in *serving.Input) error {
	<-c.done
	in.SHA256, in.Fingerprint = c.sha256, c.fingerprint
	return c.err
}

// footer returns the length of a Parquet footer that fits the file.
func (f *file) footer() (int64, bool) {
	var tail [8]byte
	if _, err := f.raw.ReadAt(tail[:], f.size-8); err != nil || !bytes.Equal(tail[4:], []byte("PAR1")) {
		return 0, false
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	return n, n > 0 && n <= f.size-12
}
