package prom

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/vreport/vreport/ingest/serving"
)

// FormatBlock is the contract's name of a block of Prometheus' database. A block
// is a directory: meta.json says what it is, index holds the series, chunks/ the
// samples and tombstones what was deleted.
const FormatBlock = "prometheus-tsdb"

const (
	maxIndex        = 1 << 30  // bytes of an index file: it is read whole
	maxBlockSamples = 32 << 20 // that are kept, 24 bytes each at most
)

// TakeSnapshot tells how to get what can be read of a server that runs.
const TakeSnapshot = "take a snapshot with curl -XPOST http://HOST:9090/api/v1/admin/tsdb/snapshot (the server needs --web.enable-admin-api) and read its directory"

// SniffBlock reports whether a JSON object with these names is the meta.json of a
// block.
func SniffBlock(keys map[string]bool) (bool, string) {
	for _, k := range [...]string{"ulid", "minTime", "maxTime", "compaction", "version"} {
		if !keys[k] {
			return false, fmt.Sprintf("no %q, which the meta.json of a block has", k)
		}
	}
	return true, ""
}

// DecidedBlock reports whether the names seen so far settle SniffBlock.
func DecidedBlock(keys map[string]bool) bool { ok, _ := SniffBlock(keys); return ok }

// The kinds of files that belong to a database, as BlockPart names them.
const (
	PartIndex      = "index"
	PartChunks     = "chunks"
	PartTombstones = "tombstones"
	PartHead       = "head" // what the server has not written to a block yet
)

var partMagic = map[uint32]string{index.MagicIndex: PartIndex, chunks.MagicChunks: PartChunks, tombstones.MagicTombstone: PartTombstones, chunks.MagicHeadChunks: PartHead}

// BlockPart tells which part of a database a file that begins with head is; ""
// for none. A write-ahead log has no magic number, so its name has to help.
func BlockPart(file string, head []byte) string {
	if len(head) >= 4 {
		if part := partMagic[binary.BigEndian.Uint32(head)]; part != "" {
			return part
		}
	}
	dir, base := filepath.Base(filepath.Dir(file)), filepath.Base(file)
	inLog := dir == "wal" || dir == "wbl" || len(dir) > 11 && dir[:11] == "checkpoint."
	if inLog && len(base) == 8 && isInt([]byte(base)) && (len(head) == 0 || head[0]&7 <= 4) { // the type of its first record
		return PartHead
	}
	return ""
}

// A blockMeta is what is read of a meta.json.
type blockMeta struct {
	ULID    string `json:"ulid"`
	Version int    `json:"version"`
	MinTime int64  `json:"minTime"`
	MaxTime int64  `json:"maxTime"`
}

// A block is being read.
type block struct {
	path string // of meta.json, for positions
	in   *serving.Input
	raw  bool

	index   *index.Reader
	chunks  segments
	deleted tombstones.Reader
	left    int // samples that may still be kept

	names   []string // in order of appearance
	seen    map[string]bool
	targets map[targetKey]*blockTarget
	order   []targetKey
	found   int // series
	native  int // series of native histograms
}

// DecodeBlock reads the block whose meta.json is file and stands in dir, and
// fills in in.Records, in.Fields, in.Note and in.Problems. Nothing is written.
// Each target that the server scraped becomes a series of scrapes, as if its
// pages had been saved. raw keeps every series: see ParseRaw.
//
// A block that cannot be opened is a *serving.FormatError; damaged chunks are
// problems.
func DecodeBlock(ctx context.Context, dir fs.FS, file string, in *serving.Input, raw bool) ([]*Scrape, error) {
	b := &block{path: file, in: in, raw: raw, left: maxBlockSamples, seen: map[string]bool{}, targets: map[targetKey]*blockTarget{}}
	meta, err := b.open(dir)
	if err != nil {
		return nil, err
	}
	defer b.chunks.close()
	defer b.index.Close()
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	if in.Format == "" {
		in.Format = FormatBlock
	}
	p := &parser{in: in, names: b.names}
	p.fields()
	var out []*Scrape
	for _, t := range b.order {
		out = append(out, b.targets[t].scrapes(file, len(out))...)
	}
	in.Records = int64(len(out))
	in.Note += fmt.Sprintf("; block %s: %d series of %d targets from %s to %s", meta.ULID, b.found, len(b.order), stamp(meta.MinTime), stamp(meta.MaxTime))
	if b.native > 0 {
		b.problem("native", fmt.Sprintf("%d series of native histograms are not read; those of classic buckets are", b.native))
	}
	return out, nil
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

func (b *block) problem(kind, msg string) {
	b.in.Problems.AddKind(kind, serving.Problem{At: serving.Pos{Path: b.path}, Message: msg})
}

func (b *block) damaged(what string, err error) error {
	return &serving.FormatError{At: serving.Pos{Path: b.path}, Format: FormatBlock, Found: what + " of the block cannot be read: " + err.Error(),
		Want: "a whole block: meta.json, index and chunks/ side by side", Remedy: "copy the block's directory again, or " + TakeSnapshot}
}

func (b *block) open(dir fs.FS) (meta blockMeta, err error) {
	text, err := fs.ReadFile(dir, path.Base(filepath.ToSlash(b.path)))
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	if err == nil && meta.Version != 1 {
		err = fmt.Errorf("version %d of the block format, want 1", meta.Version)
	}
	if err != nil {
		return meta, b.damaged("meta.json", err)
	}
	if b.index, err = openIndex(dir); err != nil {
		return meta, b.damaged("index", err)
	}
	if b.chunks, err = openSegments(dir); err != nil {
		return meta, b.damaged("chunks", err)
	}
	if b.deleted, err = readTombstones(dir); err != nil {
		b.chunks.close()
		return meta, b.damaged("tombstones", err)
	}
	return meta, nil
}

// openIndex reads the index file. It is checked by sums, but offsets that lead
// out of it make its reader panic.
func openIndex(dir fs.FS) (r *index.Reader, err error) {
	defer recovered(&err)
	st, err := fs.Stat(dir, "index")
	if err != nil {
		return nil, err
	}
	if st.Size() > maxIndex {
		return nil, fmt.Errorf("%d bytes, more than %d", st.Size(), maxIndex)
	}
	data, err := fs.ReadFile(dir, "index")
	if err != nil {
		return nil, err
	}
	if err := checkSymbols(data); err != nil {
		return nil, err
	}
	return index.NewReader(byteSlice(data), index.DecodePostingsRaw)
}

// checkSymbols refuses an index that claims more symbols than it has bytes for: its
// reader sets memory aside by the claim, up to a GiB.
func checkSymbols(data []byte) error {
	toc, err := index.NewTOCFromByteSlice(byteSlice(data))
	if err != nil {
		return err
	}
	if toc.Symbols > uint64(len(data)) || uint64(len(data))-toc.Symbols < 8 {
		return fmt.Errorf("damaged: symbols at byte %d of %d", toc.Symbols, len(data))
	}
	if n := binary.BigEndian.Uint32(data[toc.Symbols+4:]); uint64(n) > uint64(len(data)) {
		return fmt.Errorf("damaged: %d symbols in an index of %d bytes", n, len(data))
	}
	return nil
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("damaged: %v", r)
	}
}

type byteSlice []byte

func (b byteSlice) Len() int                    { return len(b) }
func (b byteSlice) Range(start, end int) []byte { return b[start:end] }

// read goes through the series in the order of their labels.
func (b *block) read(ctx context.Context) error {
	ids, err := b.all(ctx)
	if err != nil {
		return b.damaged("index", err)
	}
	for i, id := range ids {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := b.series(id); err != nil {
			b.problem("series", fmt.Sprintf("a series of the block cannot be read and is left out: %s, want the block as it was written; copy it again", err))
		}
		if b.left <= 0 {
			b.problem("full", fmt.Sprintf("only the first %d samples of the block are read; take a snapshot of fewer series or a shorter time", maxBlockSamples))
			return nil
		}
	}
	return nil
}

func (b *block) all(ctx context.Context) (ids []storage.SeriesRef, err error) {
	defer recovered(&err)
	name, v := index.AllPostingsKey()
	p, err := b.index.Postings(ctx, name, v)
	if err != nil {
		return nil, err
	}
	for p.Next() {
		ids = append(ids, p.At())
	}
	return ids, p.Err()
}

// series reads one series, if anything is made of it.
func (b *block) series(id storage.SeriesRef) (err error) {
	defer recovered(&err)
	var lb labels.ScratchBuilder
	var metas []chunks.Meta
	if err := b.index.Series(id, &lb, &metas); err != nil {
		return err
	}
	ls := lb.Labels()
	b.found++
	name := ls.Get(nameLabel)
	if !b.seen[name] && len(b.names) < 10*maxFields {
		b.seen[name] = true
		b.names = append(b.names, name)
	}
	s, err := newSeries(name, ls)
	if err != nil {
		return err
	}
	if b.raw {
		s = labelled(s, ls)
	}
	if s == nil {
		if _, ok := byName[canonical(name)+"_count"]; ok {
			b.native++ // the bare name of a histogram that we would read
		}
		return nil
	}
	gone, err := b.deleted.Get(id)
	if err != nil {
		return err
	}
	c := column{series: s}
	for _, m := range metas {
		if err := b.chunk(&c, m, gone); errors.Is(err, errNative) {
			b.native++
			return nil
		} else if err != nil {
			b.problem("chunk", fmt.Sprintf("%s: a chunk of samples cannot be read and is left out: %s, want the block as it was written; copy it again", name, err))
		}
	}
	b.add(ls, c)
	return nil
}

// chunk appends the samples of a chunk to the column. A stale marker says that
// the scrape was without the series.
func (b *block) chunk(c *column, m chunks.Meta, gone tombstones.Intervals) (err error) {
	defer recovered(&err)
	ch, err := b.chunks.chunk(m.Ref)
	if err != nil {
		return err
	}
	if !isFloats(ch.Encoding()) {
		return errNative
	}
	it := ch.Iterator(nil)
	for it.Next() == valFloat {
		t, v := it.At()
		if value.IsStaleNaN(v) || slices.ContainsFunc(gone, func(i tombstones.Interval) bool { return i.InBounds(t) }) {
			continue
		}
		if b.left--; b.left < 0 {
			return nil
		}
		c.t, c.v = append(c.t, t), append(c.v, v)
	}
	return it.Err()
}

// add gives a column to its target: what one page of metrics held. Series
// without such labels, recording rules for one, are a target too.
func (b *block) add(ls labels.Labels, c column) {
	if len(c.t) == 0 {
		return
	}
	k := targetKey{ls.Get("job"), ls.Get("instance")}
	t := b.targets[k]
	if t == nil {
		t = &blockTarget{key: k}
		b.targets[k] = t
		b.order = append(b.order, k)
	}
	c.sort()
	t.columns = append(t.columns, c)
}
