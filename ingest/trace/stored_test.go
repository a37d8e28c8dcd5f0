package trace

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A frame that was not compressed is taken as it is, any other left to the decoder.
func TestStoredZstd(t *testing.T) {
	noise := make([]byte, 400<<10)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(noise)
	encode := func(b []byte, opt ...zstd.EOption) []byte {
		w, err := zstd.NewWriter(nil, append(opt, zstd.WithSingleSegment(true))...)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(b, nil)
	}
	for _, n := range []int{300, 5000, 128 << 10, 128<<10 + 1, 160_000, 400 << 10} {
		frame := encode(noise[:n], zstd.WithEncoderCRC(false))
		if got := storedZstd(bytes.Clone(frame), n); !bytes.Equal(got, noise[:n]) {
			t.Errorf("%d bytes: %d", n, len(got))
		}
		for name, b := range map[string][]byte{"cut": frame[:len(frame)-1], "longer": append(bytes.Clone(frame), 0), "twice": append(bytes.Clone(frame), frame...)} {
			if got := storedZstd(bytes.Clone(b), n); got != nil {
				t.Errorf("%d bytes, %s: %d", n, name, len(got))
			}
		}
		if got := storedZstd(bytes.Clone(frame), n-1); got != nil {
			t.Errorf("%d bytes taken for one less: %d", n, len(got))
		}
		if got := storedZstd(encode(noise[:n]), n); got != nil {
			t.Errorf("%d bytes with a checksum: %d", n, len(got))
		}
	}
	mixed := append(bytes.Repeat([]byte("the same "), 20_000), noise...)
	if got := storedZstd(encode(mixed, zstd.WithEncoderCRC(false)), len(mixed)); got != nil {
		t.Errorf("blocks of both kinds: %d", len(got))
	}
}
