package prom

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/prometheus/tsdb/tombstones"
)

// The table of contents at the end of an index: six offsets and a checksum.
const (
	tocSize     = 6*8 + 4
	tocSymbols  = 0
	tocSeries   = 1
	tocPostings = 4
	tocTable    = 5
)

// section is the content of a part of an index that has its length before it and
// a checksum behind; nil where there is none.
func section(b []byte, toc int) []byte {
	if len(b) < tocSize {
		return nil
	}
	at := binary.BigEndian.Uint64(b[len(b)-tocSize+8*toc:])
	if at+8 > uint64(len(b)) {
		return nil
	}
	n := uint64(binary.BigEndian.Uint32(b[at:]))
	if at+8+n > uint64(len(b)) {
		return nil
	}
	return b[at+4 : at+4+n : at+8+n]
}

// mendSection corrects the checksum behind a content.
func mendSection(content []byte) {
	sum := content[len(content):cap(content)]
	binary.BigEndian.PutUint32(sum, crc32.Checksum(content, castagnoli))
}

// seriesEntries are the contents of the series of an index, which are aligned to 16
// bytes and have their length before them.
func seriesEntries(b []byte) (out [][]byte) {
	toc := b[len(b)-tocSize:]
	at, end := int(binary.BigEndian.Uint64(toc[8*tocSeries:])), int(binary.BigEndian.Uint64(toc[8*tocPostings:]))
	for at = (at + 15) &^ 15; at < end && at < len(b); {
		n, w := binary.Uvarint(b[at:])
		if w <= 0 || n == 0 || at+w+int(n)+4 > len(b) {
			break
		}
		out = append(out, b[at+w:at+w+int(n):at+w+int(n)+4])
		at = (at + w + int(n) + 4 + 15) &^ 15
	}
	return out
}

func flipIn(r *rand.Rand, b []byte) {
	for range 1 + r.IntN(4) {
		if len(b) > 0 {
			b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		}
	}
}

var digitsIn = regexp.MustCompile(`\d+`)

// forgeries damage a block in ways that its checksums do not show.
var forgeries = []struct {
	name   string
	change func(r *rand.Rand, m fstest.MapFS)
}{
	{"index bytes", func(r *rand.Rand, m fstest.MapFS) { flipIn(r, m["index"].Data) }},
	{"index cut", func(r *rand.Rand, m fstest.MapFS) { m["index"].Data = m["index"].Data[:r.IntN(len(m["index"].Data))] }},
	{"symbols", func(r *rand.Rand, m fstest.MapFS) {
		if s := section(m["index"].Data, tocSymbols); s != nil {
			if r.IntN(3) == 0 {
				binary.BigEndian.PutUint32(s, []uint32{0, 1, 1 << 20, 1 << 31, 1<<32 - 1}[r.IntN(5)]) // their number
			} else {
				flipIn(r, s)
			}
			mendSection(s)
		}
	}},
	{"series", func(r *rand.Rand, m fstest.MapFS) {
		all := seriesEntries(m["index"].Data)
		for range 1 + r.IntN(5) {
			s := all[r.IntN(len(all))]
			flipIn(r, s)
			mendSection(s)
		}
	}},
	{"postings", func(r *rand.Rand, m fstest.MapFS) {
		b := m["index"].Data
		at := (binary.BigEndian.Uint64(b[len(b)-tocSize+8*tocPostings:]) + 3) &^ 3
		n := uint64(binary.BigEndian.Uint32(b[at:]))
		s := b[at+4 : at+4+n : at+8+n] // the first list: all series
		flipIn(r, s)
		mendSection(s)
	}},
	{"table of postings", func(r *rand.Rand, m fstest.MapFS) {
		if s := section(m["index"].Data, tocTable); s != nil {
			flipIn(r, s)
			mendSection(s)
		}
	}},
	{"table of contents", func(r *rand.Rand, m fstest.MapFS) {
		b := m["index"].Data
		toc := b[len(b)-tocSize : len(b)-4 : len(b)]
		if k := 8 * r.IntN(6); r.IntN(2) == 0 {
			binary.BigEndian.PutUint64(toc[k:], []uint64{0, 5, uint64(len(b)), 1 << 31, 1<<63 - 1, 1<<64 - 1}[r.IntN(6)])
		} else {
			flipIn(r, toc[k+5:k+8])
		}
		mendSection(toc)
	}},
	{"chunks", func(r *rand.Rand, m fstest.MapFS) {
		f := m["chunks/00000"+strconv.Itoa(1+r.IntN(3))]
		flipIn(r, f.Data[8:])
		f.Data = mendSegment(f.Data)
	}},
	{"chunks cut", func(r *rand.Rand, m fstest.MapFS) {
		f := m["chunks/00000"+strconv.Itoa(1+r.IntN(3))]
		f.Data = f.Data[:r.IntN(len(f.Data))]
	}},
	{"meta", func(r *rand.Rand, m fstest.MapFS) {
		text := string(m["meta.json"].Data)
		all := digitsIn.FindAllStringIndex(text, -1)
		at := all[r.IntN(len(all))]
		lie := []string{"-1", "0", "9223372036854775807", "-9223372036854775808", "1e300", "null", `"x"`, "[]", strings.Repeat("[", 20000), "1"}[r.IntN(10)]
		m["meta.json"].Data = []byte(text[:at[0]] + lie + text[at[1]:])
	}},
	{"tombstones", func(r *rand.Rand, m fstest.MapFS) {
		f := m["tombstones"]
		flipIn(r, f.Data[5:])
		f.Data = mendStones(f.Data)
	}},
}

// TestForgedBlocks reads damaged blocks: VREPORT_MUTANTS of them. None may panic,
// take longer than ten seconds or allocate a GiB.
func TestForgedBlocks(t *testing.T) {
	n := 550
	if s := os.Getenv("VREPORT_MUTANTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	writeBlock(t, dir, twoPods(), map[int]tombstones.Interval{0: {Mint: at(1), Maxt: at(2)}})
	whole := readFS(t, dir)
	r := rand.New(rand.NewPCG(5, 6))
	read := map[string]int{}
	var slowest time.Duration
	var most uint64
	for k := range n {
		f := forgeries[k%len(forgeries)]
		m := clone(whole)
		f.change(r, m)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		scrapes, _, err := decodeBlock(t, m, true)
		if err == nil {
			read[f.name]++
			Assemble(scrapes, AssembleOptions{})
			RawSeries(scrapes, AssembleOptions{})
		}
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if took > 10*time.Second || allocated > 1<<30 {
			t.Errorf("mutant %d (%s): %v, %d MiB", k, f.name, took, allocated>>20)
		}
		slowest, most = max(slowest, took), max(most, allocated)
	}
	t.Logf("of %d read: %v; the slowest took %v, the hungriest allocated %d MiB", n, read, slowest.Round(time.Millisecond), most>>20)
	for _, name := range []string{"symbols", "series", "postings", "chunks", "tombstones", "meta"} {
		if read[name] == 0 {
			t.Errorf("no block with forged %s is read: they test little", name)
		}
	}
}
