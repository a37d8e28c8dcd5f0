package trace

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// Bounds of a page.
const (
	maxPageHeader  = 8 << 20  // statistics of long strings are in it
	readWindow     = 64 << 10 // bytes that are read at least
	headerWindow   = 1 << 10  // bytes behind a page that are read with it: the next one's header
	headerLook     = 256      // bytes that are read of a header at first, where its page is not wanted
	smallPage      = 4 << 10  // a page that is read sooner than the file is read anew behind it
	maxDeltaValues = 16 << 20 // of a page that is decoded as a whole
)

// An ioError is a failure of the medium, not of the file's content.
type ioError struct{ error }

func (e ioError) Unwrap() error { return e.error }

// pages cuts a column chunk into pages and hands them out decompressed. Its two
// buffers are all the memory it takes.
type pages struct {
	r       io.ReaderAt
	budget  *budget
	codec   format.CompressionCodec
	at, end int64 // the rest of the chunk
	left    int64 // values that are not handed out yet
	pass    int64 // of them, those that nobody wants: pages of nothing else are not looked into
	maxPage int64

	window   []byte // a piece of the file
	windowAt int64
	data     []byte // decompressed
	thrift   thriftWalk
	head     format.PageHeader
}

// A page is one data page, decompressed; its slices are valid until the next.
type page struct {
	values   int // levels: rows and nulls included
	encoding format.Encoding
	rep, def []byte
	repEnc   format.Encoding
	defEnc   format.Encoding
	data     []byte
	v1       bool // levels are a prefix of data
}

// release gives the buffers back.
func (p *pages) release() { p.budget.release(p.window, p.data) }

// open starts on a chunk.
func (p *pages) open(r io.ReaderAt, m *format.ColumnMetaData, size int64) error {
	start := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	// Old writers leave the dictionary's header out of the size (PARQUET-816):
	// the number of values ends the chunk, the size only bounds it.
	end := start + m.TotalCompressedSize + 100
	if start < 4 || m.TotalCompressedSize < 0 || start+m.TotalCompressedSize > size || end < start {
		return fmt.Errorf("its pages lie outside of the file (%d bytes at %d of %d)", m.TotalCompressedSize, start, size)
	}
	if !readable(m.Codec) {
		return codecError(m.Codec)
	}
	p.r, p.codec, p.at, p.end, p.left = r, m.Codec, start, min(end, size), m.NumValues
	p.window, p.windowAt, p.pass = p.window[:0], 0, 0
	return nil
}

func codecError(c format.CompressionCodec) error {
	return fmt.Errorf("codec %s is not supported, want zstd, snappy, gzip, brotli, LZ4_RAW or none", c)
}

// peek returns n bytes of the file at an offset, from the window where it has
// them. Otherwise more may be read, for whatever follows. It is valid until the
// next call.
func (p *pages) peek(at int64, n, more int) ([]byte, error) {
	off := at - p.windowAt
	if off >= 0 && off+int64(n) <= int64(len(p.window)) {
		return p.window[off : off+int64(n)], nil
	}
	want := int(min(int64(max(n, more)), p.end-at))
	if want < n {
		return nil, io.ErrUnexpectedEOF
	}
	old := p.window
	if err := p.budget.grow(&p.window, want); err != nil {
		return nil, err
	}
	have := 0
	if off >= 0 && off < int64(len(old)) {
		have = copy(p.window, old[off:])
	}
	k, err := p.r.ReadAt(p.window[have:], at+int64(have))
	p.window, p.windowAt = p.window[:have+k], at
	if have+k < n {
		return nil, readError(err)
	}
	return p.window[:n], nil
}

func readError(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return ioError{err}
}

// held returns what the window has from here on.
func (p *pages) held() []byte {
	if off := p.at - p.windowAt; off >= 0 && off < int64(len(p.window)) {
		return p.window[off:]
	}
	return nil
}

// header decodes the next page header. It is valid until the next call.
func (p *pages) header() (*format.PageHeader, error) {
	most := int(min(p.end-p.at, maxPageHeader))
	if most <= 0 {
		return nil, io.ErrUnexpectedEOF
	}
	more := p.lookAhead()
	for b := p.held(); ; {
		b = b[:min(len(b), most)]
		p.thrift = thriftWalk{b: b}
		err := readPageHeader(&p.thrift, &p.head)
		switch {
		case err == nil:
			p.at += int64(p.thrift.at)
			return &p.head, p.check(&p.head)
		case !errors.Is(err, errThrift):
			return nil, fmt.Errorf("damaged page header (%w)", err)
		case len(b) < most: // it may be longer than what was looked at
			if b, err = p.peek(p.at, min(max(headerLook, 8*len(b)), most), more); err != nil {
				return nil, err
			}
		case most == maxPageHeader && errors.Is(err, errGoesOn):
			return nil, fmt.Errorf("a page header of more than %d MiB, which may be statistics of long texts: write it anew without them, or with shorter texts", maxPageHeader>>20)
		default:
			return nil, errors.New("damaged page header")
		}
	}
}

// lookAhead is how much is read where the next header is not in the window: not
// of pages that nobody wants, unless they are as small as the last one.
func (p *pages) lookAhead() int {
	switch {
	case p.pass == 0:
		return readWindow
	case p.head.CompressedPageSize < smallPage:
		return 4 * smallPage
	}
	return headerLook
}

func (p *pages) check(h *format.PageHeader) error {
	c, u := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	switch {
	case c < 0 || u < 0:
		return fmt.Errorf("damaged page header: sizes %d and %d", c, u)
	case c > p.end-p.at:
		return fmt.Errorf("a page of %d bytes where %d are left", c, p.end-p.at)
	case c > p.maxPage || u > p.maxPage:
		return fmt.Errorf("a page of %d MiB, want %d at most: write it anew with smaller pages", max(c, u)>>20, p.maxPage>>20)
	}
	return nil
}

// payload returns the compressed bytes of the page whose header was read, after
// comparing their checksum where the writer left one.
func (p *pages) payload(h *format.PageHeader) ([]byte, error) {
	n := int(h.CompressedPageSize)
	b, err := p.peek(p.at, n, max(n+headerWindow, readWindow))
	if err != nil {
		return nil, err
	}
	p.at += int64(n)
	if h.CRC != 0 && crc32.ChecksumIEEE(b) != uint32(h.CRC) {
		return nil, fmt.Errorf("checksum %08x of a page, want %08x: the file was changed after it was written", crc32.ChecksumIEEE(b), uint32(h.CRC))
	}
	return b, nil
}

// next returns the next dictionary or data page, valid until the next call; io.EOF
// after the last value.
func (p *pages) next() (h *format.PageHeader, pg page, err error) {
	for {
		if p.left <= 0 {
			return nil, page{}, io.EOF
		}
		if h, err = p.header(); err != nil {
			return nil, page{}, err
		}
		switch h.Type {
		case format.DictionaryPage:
			if !h.DictionaryPageHeader.Valid {
				return nil, page{}, errors.New("damaged page header: a dictionary page without its header")
			}
			pg, err = p.dictionary(h)
			return h, pg, err
		case format.DataPage, format.DataPageV2:
			n, err := p.values(h)
			if err != nil {
				return nil, page{}, err
			}
			p.left -= n
			if p.pass > 0 && n <= p.pass {
				p.pass -= n
				break
			}
			if h.Type == format.DataPage {
				pg, err = p.v1(h)
			} else {
				pg, err = p.v2(h)
			}
			return h, pg, err
		}
		p.at += int64(h.CompressedPageSize) // passed over, an index page or something newer
	}
}

// values returns how many values a data page says that it holds.
func (p *pages) values(h *format.PageHeader) (n int64, err error) {
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		n = int64(h.DataPageHeader.V.NumValues)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		n = int64(h.DataPageHeaderV2.V.NumValues)
	default:
		return 0, errors.New("damaged page header: a data page without its header")
	}
	if n < 0 || n > p.left {
		return 0, fmt.Errorf("a page of %d values where %d are left", n, p.left)
	}
	return n, nil
}

func (p *pages) expand(b []byte, size int) ([]byte, error) {
	if p.codec == format.Uncompressed {
		return b, nil
	}
	if size == 0 {
		return nil, nil // an all-null page of some writers has a body all the same
	}
	if p.codec == format.Zstd {
		if out := storedZstd(b, size); out != nil {
			return out, nil
		}
	}
	if err := p.budget.grow(&p.data, size); err != nil {
		return nil, err
	}
	if err := decompress(p.codec, p.data, b); err != nil {
		return nil, fmt.Errorf("page cannot be decompressed (%w)", err)
	}
	return p.data, nil
}

func (p *pages) dictionary(h *format.PageHeader) (page, error) {
	b, err := p.payload(h)
	if err != nil {
		return page{}, err
	}
	if b, err = p.expand(b, int(h.UncompressedPageSize)); err != nil {
		return page{}, err
	}
	d := h.DictionaryPageHeader.V
	if d.NumValues < 0 || int64(d.NumValues) > p.maxPage {
		return page{}, fmt.Errorf("a dictionary of %d values", d.NumValues)
	}
	return page{values: int(d.NumValues), encoding: d.Encoding, data: b}, nil
}

func (p *pages) v1(h *format.PageHeader) (page, error) {
	b, err := p.payload(h)
	if err != nil {
		return page{}, err
	}
	if b, err = p.expand(b, int(h.UncompressedPageSize)); err != nil {
		return page{}, err
	}
	d := h.DataPageHeader.V
	return page{values: int(d.NumValues), encoding: d.Encoding, repEnc: d.RepetitionLevelEncoding, defEnc: d.DefinitionLevelEncoding, data: b, v1: true}, nil
}

func (p *pages) v2(h *format.PageHeader) (page, error) {
	b, err := p.payload(h)
	if err != nil {
		return page{}, err
	}
	d := h.DataPageHeaderV2.V
	nr, nd := int64(d.RepetitionLevelsByteLength), int64(d.DefinitionLevelsByteLength)
	if nr < 0 || nd < 0 || nr+nd > int64(len(b)) || nr+nd > int64(h.UncompressedPageSize) {
		return page{}, fmt.Errorf("damaged page header: levels of %d and %d bytes in a page of %d", nr, nd, len(b))
	}
	pg := page{values: int(d.NumValues), encoding: d.Encoding, repEnc: format.RLE, defEnc: format.RLE, rep: b[:nr], def: b[nr : nr+nd], data: b[nr+nd:]}
	if !d.IsCompressed.Valid || d.IsCompressed.V {
		pg.data, err = p.expand(pg.data, int(int64(h.UncompressedPageSize)-nr-nd))
	}
	return pg, err
}
