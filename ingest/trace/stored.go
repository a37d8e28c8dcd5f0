package trace

import "github.com/klauspost/compress/zstd"

// Blocks of a zstd frame: a header of 3 bytes, then the most that one holds.
const (
	blockHeader = 3
	maxBlock    = 128 << 10
)

// storedZstd returns the content of a zstd frame whose blocks are not compressed, as
// those of measured times with all their digits are: it takes no decoder and next to
// no copying. The blocks are moved together within b. It is nil of any other frame,
// and of one with a checksum of its own.
func storedZstd(b []byte, size int) []byte {
	var h zstd.Header
	if h.Decode(b) != nil || h.Skippable || h.HasCheckSum || h.DictionaryID != 0 || !h.HasFCS || h.FrameContentSize != uint64(size) {
		return nil
	}
	b = b[h.HeaderSize:]
	if !isStored(b, size) {
		return nil
	}
	first, last := zstdBlock(b)
	out := b[blockHeader : blockHeader+first]
	for b = b[blockHeader+first:]; !last; {
		var n int
		n, last = zstdBlock(b)
		out = append(out, b[blockHeader:blockHeader+n]...) // where the header was, and on
		b = b[blockHeader+n:]
	}
	return out
}

// isStored reports whether the blocks of a frame are all there, not compressed and
// of so many bytes together.
func isStored(b []byte, size int) bool {
	for last := false; !last; {
		n := -1
		if n, last = zstdBlock(b); n < 0 || n > size {
			return false
		}
		b, size = b[blockHeader+n:], size-n
	}
	return size == 0 && len(b) == 0
}

// zstdBlock returns the size of the block that b starts with, -1 of one that is
// compressed or not all there, and whether it is the last.
func zstdBlock(b []byte) (n int, last bool) {
	if len(b) < blockHeader {
		return -1, true
	}
	h := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	n, last = h>>3, h&1 != 0
	if h&6 != 0 || n > maxBlock || n > len(b)-blockHeader {
		return -1, true
	}
	return n, last
}
