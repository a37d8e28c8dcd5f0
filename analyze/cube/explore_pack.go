package cube

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/gzip"
)

// packLevel takes a quarter of the time of the best one and a hundredth more room.
const packLevel = 7

// Pack writes the cells for a page's script: unsigned LEB128 numbers, under
// gzip. First come the columns of counts, a number a cell each, so that like
// stands by like:
//
//	the level in each dimension
//	sent, each outcome, good
//	within and of of each limit
//
// then, for each metric, each cell's histogram: how many bins, and of each bin
// how far its bucket is from the one before (the first: from 0), and its count.
func (x *Explored) Pack() []byte {
	var b []byte
	column := func(get func(c *ExploredCell) int64) {
		for i := range x.Cells {
			b = binary.AppendUvarint(b, uint64(get(&x.Cells[i])))
		}
	}
	for d := range x.Dims {
		column(func(c *ExploredCell) int64 { return int64(c.Levels[d]) })
	}
	column(func(c *ExploredCell) int64 { return c.Sent })
	if len(x.Cells) > 0 {
		for o := range x.Cells[0].Outcomes {
			column(func(c *ExploredCell) int64 { return c.Outcomes[o] })
		}
	}
	column(func(c *ExploredCell) int64 { return c.Good })
	if len(x.Cells) > 0 {
		for l := range x.Cells[0].Within {
			column(func(c *ExploredCell) int64 { return c.Within[l] })
			column(func(c *ExploredCell) int64 { return c.Of[l] })
		}
	}
	for m := range x.Metrics {
		for i := range x.Cells {
			b = x.Cells[i].Histograms[m].pack(b)
		}
	}
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, packLevel) // the level exists
	w.Write(b)                                   // a buffer takes everything
	w.Close()
	return out.Bytes()
}

func (h Histogram) pack(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(h)))
	last := uint16(0)
	for _, bin := range h {
		b = binary.AppendUvarint(b, uint64(bin.Bucket-last))
		b = binary.AppendUvarint(b, uint64(bin.N))
		last = bin.Bucket
	}
	return b
}

// Scale says how buckets of so many mantissa bits are numbered: from regular on,
// octaves·2^bits of them cut the octaves from 2^least up; those below are less
// than 0, 0, and between 0 and 2^least.
func Scale() (regular, least, octave int) { return pageSize, minExp, octaves }
