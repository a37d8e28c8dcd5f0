package prom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/tombstones"
)

const valFloat = chunkenc.ValFloat

var errNative = errors.New("native histogram")

func isFloats(e chunkenc.Encoding) bool { return e == chunkenc.EncXOR || e == chunkenc.EncXOR2 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segments are the files of samples. They are read at random and not mapped into
// memory as package chunks does: a file that shrinks meanwhile would kill the
// program.
type segments []segment

type segment struct {
	fs.File
	at   io.ReaderAt
	size int64
}

// maxChunk is far above what Prometheus writes, about a kilobyte for floats.
const maxChunk = 16 << 20

func openSegments(dir fs.FS) (out segments, err error) {
	entries, err := fs.ReadDir(dir, "chunks")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			out.close()
		}
	}()
	for _, e := range entries { // by name: 000001, 000002
		if !isInt([]byte(e.Name())) || e.IsDir() {
			continue
		}
		s, err := openSegment(dir, "chunks/"+e.Name())
		if err != nil {
			return out, fmt.Errorf("%s: %w", e.Name(), err)
		}
		out = append(out, s)
	}
	return out, nil
}

func openSegment(dir fs.FS, name string) (s segment, err error) {
	f, err := dir.Open(name)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return s, err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return s, errors.New("cannot be read at random")
	}
	s = segment{f, at, st.Size()}
	var head [chunks.SegmentHeaderSize]byte
	if _, err := at.ReadAt(head[:], 0); err != nil {
		return s, fmt.Errorf("reading its header: %w", err)
	}
	if m := binary.BigEndian.Uint32(head[:]); m != chunks.MagicChunks || head[chunks.MagicChunksSize] != 1 {
		return s, fmt.Errorf("begins with %x version %d, want %x version 1", m, head[chunks.MagicChunksSize], chunks.MagicChunks)
	}
	return s, nil
}

func (ss segments) close() {
	for _, s := range ss {
		s.Close()
	}
}

// chunk reads the chunk at a reference: length of the data as a varint, encoding,
// data, checksum over the latter two (Prometheus' tsdb/docs/format/chunks.md).
func (ss segments) chunk(ref chunks.ChunkRef) (chunkenc.Chunk, error) {
	i, off := chunks.BlockChunkRef(ref).Unpack()
	if i < 0 || i >= len(ss) || off < chunks.SegmentHeaderSize {
		return nil, fmt.Errorf("there is no file %06d in chunks/", i+1)
	}
	s := ss[i]
	var head [chunks.MaxChunkLengthFieldSize]byte
	n, err := s.at.ReadAt(head[:], int64(off))
	if err != nil && err != io.EOF {
		return nil, err
	}
	length, w := binary.Uvarint(head[:n])
	if w <= 0 || length > maxChunk || int64(off)+int64(w)+1+int64(length)+crc32.Size > s.size {
		return nil, fmt.Errorf("it goes beyond the end of file %06d", i+1)
	}
	data := make([]byte, 1+length+crc32.Size)
	if _, err := s.at.ReadAt(data, int64(off)+int64(w)); err != nil && err != io.EOF {
		return nil, err
	}
	body := data[:1+length]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(data[1+length:]) {
		return nil, fmt.Errorf("its checksum in file %06d does not match", i+1)
	}
	return chunkenc.FromData(chunkenc.Encoding(body[0]), body[1:])
}

// readTombstones reads what was deleted; a block without the file has nothing
// deleted.
func readTombstones(dir fs.FS) (tombstones.Reader, error) {
	data, err := fs.ReadFile(dir, tombstones.TombstonesFilename)
	if errors.Is(err, fs.ErrNotExist) {
		return tombstones.NewMemTombstones(), nil
	}
	if err != nil {
		return nil, err
	}
	const frame = 4 + 1 + crc32.Size // magic, version, checksum
	if len(data) < frame || binary.BigEndian.Uint32(data) != tombstones.MagicTombstone {
		return nil, errors.New("it is no file of tombstones")
	}
	body := data[4 : len(data)-crc32.Size]
	if crc32.Checksum(body[1:], castagnoli) != binary.BigEndian.Uint32(data[len(data)-crc32.Size:]) {
		return nil, errors.New("its checksum does not match")
	}
	return tombstones.Decode(slices.Clone(body))
}
