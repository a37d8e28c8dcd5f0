package ingest

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/vreport/vreport/ingest/serving"
)

// headBytes is how much of a file sniffing may look at without reading on.
const headBytes = 256 << 10

// A file is an open input: raw bytes at random, decompressed bytes in a stream.
type file struct {
	found
	raw   *os.File
	size  int64
	codec string          // gzip, zstd or ""
	head  []byte          // of the decompressed bytes
	ctx   context.Context // of the load: it ends a stream of gigabytes, too
}

// openFile opens a found file and reads its head. Standard input, which cannot
// be read twice, is spooled to an unlinked temporary file first.
//
// A pipe may keep us waiting for ever; the context ends that.
func openFile(ctx context.Context, f found, stdin io.Reader) (*file, error) {
	if f.err != nil {
		return nil, f.err
	}
	raw, err := waitRaw(ctx, f, stdin)
	if err != nil {
		return nil, err
	}
	st, err := raw.Stat()
	if err != nil {
		raw.Close()
		return nil, err
	}
	out := &file{found: f, raw: raw, size: st.Size(), ctx: ctx}
	if err := out.readHead(); err != nil {
		raw.Close()
		return nil, err
	}
	return out, nil
}

// waitRaw is openRaw for sources that block: a pipe that nobody writes to.
func waitRaw(ctx context.Context, f found, stdin io.Reader) (*os.File, error) {
	if st, err := os.Stat(f.path); !f.stdin && err == nil && st.Mode().IsRegular() {
		return openRaw(f, stdin)
	}
	type result struct {
		raw *os.File
		err error
	}
	done := make(chan result, 1)
	go func() {
		raw, err := openRaw(f, stdin)
		done <- result{raw, err}
	}()
	select {
	case r := <-done:
		return r.raw, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func openRaw(f found, stdin io.Reader) (*os.File, error) {
	var src io.Reader = stdin
	if !f.stdin {
		raw, err := os.Open(f.path)
		if err != nil {
			return nil, err
		}
		st, err := raw.Stat()
		if err != nil || st.Mode().IsRegular() {
			return raw, err
		}
		defer raw.Close()
		src = raw // a pipe: it cannot be read twice either
	}
	if src == nil {
		return nil, fmt.Errorf("-: there is no standard input to read")
	}
	tmp, err := os.CreateTemp("", "vreport-input-*")
	if err != nil {
		return nil, fmt.Errorf("spooling %s: %w", f.path, err)
	}
	os.Remove(tmp.Name()) // the open file stays readable; nothing is left behind
	if _, err := io.Copy(tmp, src); err != nil {
		tmp.Close()
		return nil, fmt.Errorf("spooling %s: %w", f.path, err)
	}
	return tmp, nil
}

// readHead finds the compression and keeps the first bytes.
func (f *file) readHead() error {
	var magic [4]byte
	n, err := f.raw.ReadAt(magic[:], 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	switch {
	case n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		f.codec = "gzip"
	case n == 4 && binary.LittleEndian.Uint32(magic[:]) == 0xfd2fb528:
		f.codec = "zstd"
	}
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	head := make([]byte, headBytes)
	n, err = io.ReadFull(r, head)
	f.head = head[:n]
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF && (n == 0 || f.codec == "") {
		return f.damaged(err) // where some can be unpacked, whoever reads it says what is missing
	}
	return nil
}

func (f *file) damaged(err error) error {
	return &serving.FormatError{At: serving.Pos{Path: f.path}, Found: fmt.Sprintf("damaged %s data: %v", f.codec, err),
		Want: "a whole compressed file", Remedy: "copy the file again"}
}

// whole reports whether the head is the whole file.
func (f *file) whole() bool { return len(f.head) < headBytes }

// open returns a fresh stream of the decompressed bytes for as long as files are
// loaded. Several may be open at the same time.
func (f *file) open() (io.ReadCloser, error) {
	r, err := f.reopen()
	if err != nil {
		return nil, err
	}
	return &live{f.ctx, r}, nil
}

// A live stream ends with its context. A small compressed file may hold
// gigabytes without a line break, which no decoder would come back from in time.
type live struct {
	ctx context.Context
	io.ReadCloser
}

func (l *live) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.ReadCloser.Read(p)
}

// reopen is open for tables that are read from later on, in scans that have a
// context of their own.
func (f *file) reopen() (io.ReadCloser, error) {
	src := bufio.NewReaderSize(io.NewSectionReader(f.raw, 0, f.size), 256<<10)
	switch f.codec {
	case "gzip":
		r, err := gzip.NewReader(src)
		if err != nil {
			return nil, f.damaged(err)
		}
		return r, nil
	case "zstd":
		// One goroutine and a bounded window: a hostile frame header must not
		// be able to ask for gigabytes.
		r, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, f.damaged(err)
		}
		return r.IOReadCloser(), nil
	}
	return io.NopCloser(src), nil
}
