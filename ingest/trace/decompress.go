package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

var errSize = errors.New("page does not decompress to the size that its header gives")

// readable reports whether a codec can be decompressed here. LZ4 without RAW
// is Hadoop's framing, whose variants cannot be told apart.
func readable(c format.CompressionCodec) bool {
	switch c {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4Raw:
		return true
	}
	return false
}

// zstdDecoders are shared: a decoder's tables are large and cheap to reuse. The
// output is bounded by the capacity that a page's header asked for.
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}}

// zstdSlack is room behind the output that lets the decoder copy in large strides
// up to its end.
const zstdSlack = 32

// decompress fills dst, which has exactly the declared size, with src
// decompressed. Output of another size is an error, and never more than dst.
func decompress(codec format.CompressionCodec, dst, src []byte) error {
	switch codec {
	case format.Snappy:
		n, err := s2.DecodedLen(src)
		if err != nil {
			return err
		}
		if n != len(dst) {
			return errSize
		}
		_, err = s2.Decode(dst, src)
		return err
	case format.Zstd:
		d := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(d)
		out, err := d.DecodeAll(src, dst[:0:min(cap(dst), len(dst)+zstdSlack)])
		if err != nil {
			return err
		}
		if len(out) != len(dst) {
			return errSize
		}
		return nil
	case format.Lz4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		if err != nil {
			return fmt.Errorf("LZ4: %w", err)
		}
		if n != len(dst) {
			return errSize
		}
		return nil
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return err
		}
		return readExactly(r, dst)
	case format.Brotli:
		return readExactly(brotli.NewReader(bytes.NewReader(src)), dst)
	}
	return fmt.Errorf("codec %s cannot be read", codec)
}

func readExactly(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return errSize
	}
	var one [1]byte
	if n, err := r.Read(one[:]); n != 0 || err != io.EOF {
		if err != nil && err != io.EOF {
			return err
		}
		return errSize
	}
	return nil
}
