package prom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/vreport/vreport/ingest/serving"
)

const blockStart = int64(1_764_417_600_000)

var stale = math.Float64frombits(value.StaleNaN)

// A stored series is one to be put into a block: a value each 15 s, NaN for none.
type stored struct {
	labels labels.Labels
	values []float64
	native bool
}

// writeBlock writes a block as Prometheus does, 5 samples a chunk and small
// segments, so that there are several of both.
func writeBlock(t testing.TB, dir string, all []stored, stones map[int]tombstones.Interval) {
	t.Helper()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(os.MkdirAll(dir, 0o777))
	slices.SortFunc(all, func(a, b stored) int { return labels.Compare(a.labels, b.labels) })
	cw, err := chunks.NewWriter(filepath.Join(dir, "chunks"), chunks.WithSegmentSize(700))
	try(err)
	iw, err := index.NewWriter(t.Context(), filepath.Join(dir, "index"))
	try(err)
	symbols := map[string]bool{"": true}
	for _, s := range all {
		s.labels.Range(func(l labels.Label) { symbols[l.Name], symbols[l.Value] = true, true })
	}
	for _, s := range slices.Sorted(maps.Keys(symbols)) {
		try(iw.AddSymbol(s))
	}
	deleted := tombstones.NewMemTombstones()
	for i, s := range all {
		var metas []chunks.Meta
		for from := 0; from < len(s.values); from += 5 {
			if m, ok := chunkOf(t, s, from); ok {
				metas = append(metas, m)
			}
		}
		try(cw.WriteChunks(metas...))
		try(iw.AddSeries(storage.SeriesRef(i), s.labels, metas...))
	}
	try(cw.Close())
	try(iw.Close())
	if len(stones) > 0 {
		r, err := index.NewFileReader(filepath.Join(dir, "index"), index.DecodePostingsRaw)
		try(err)
		name, v := index.AllPostingsKey()
		p, err := r.Postings(t.Context(), name, v)
		try(err)
		for i := 0; p.Next(); i++ {
			if s, ok := stones[i]; ok {
				deleted.AddInterval(p.At(), s)
			}
		}
		try(r.Close())
		_, err = tombstones.WriteFile(nil, dir, deleted)
		try(err)
	}
	meta := fmt.Sprintf(`{"ulid": "01JDVXYZ000000000000000000", "minTime": %d, "maxTime": %d, "stats": {"numSeries": %d}, "compaction": {"level": 1}, "version": 1}`,
		blockStart, blockStart+15_000*20, len(all))
	try(os.WriteFile(filepath.Join(dir, "meta.json"), []byte(meta), 0o666))
}

func chunkOf(t testing.TB, s stored, from int) (chunks.Meta, bool) {
	c := chunkenc.Chunk(chunkenc.NewXORChunk())
	if s.native {
		return chunks.Meta{Chunk: chunkenc.NewHistogramChunk(), MinTime: at(from), MaxTime: at(from) + 1}, true
	}
	app, err := c.Appender()
	if err != nil {
		t.Fatal(err)
	}
	m := chunks.Meta{Chunk: c, MinTime: -1}
	for i := from; i < min(from+5, len(s.values)); i++ {
		v := s.values[i]
		if math.IsNaN(v) && !value.IsStaleNaN(v) {
			continue
		}
		if m.MinTime < 0 {
			m.MinTime = at(i)
		}
		m.MaxTime = at(i)
		app.Append(0, at(i), v)
	}
	return m, m.MinTime >= 0
}

func at(i int) int64 { return blockStart + int64(i)*15_000 }

func rising(n int, from, by float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = from + float64(i)*by
	}
	return out
}

// twoPods are two replicas, one of which restarts, and other series.
func twoPods() []stored {
	named := func(name, pod string, more ...string) labels.Labels {
		return labels.FromStrings(append([]string{"__name__", name, "job", "vllm", "instance", pod + ":8000", "pod", pod, "model_name", "m"}, more...)...)
	}
	var all []stored
	for i, pod := range []string{"a", "b"} {
		tokens := rising(20, 1000, 100)
		waiting := rising(20, 0, 1)
		if i == 1 {
			copy(tokens[10:], rising(10, 5, 50))
			waiting[3] = stale
		}
		all = append(all,
			stored{labels: named("vllm:generation_tokens_total", pod), values: tokens},
			stored{labels: named("vllm:num_requests_waiting", pod), values: waiting},
			stored{labels: labels.FromStrings("__name__", "up", "job", "vllm", "instance", pod+":8000", "pod", pod), values: rising(20, 1, 0)},
		)
		for k, le := range []string{"0.1", "1.0", "+Inf"} {
			all = append(all, stored{labels: named("vllm:time_to_first_token_seconds_bucket", pod, "le", le), values: rising(20, 0, float64(k+1))})
		}
	}
	return append(all,
		stored{labels: labels.FromStrings("__name__", "job:tokens:rate1m", "job", "vllm"), values: rising(20, 0, 1)},
		stored{labels: labels.FromStrings("__name__", "vllm:e2e_request_latency_seconds", "instance", "a:8000", "job", "vllm", "model_name", "m"), values: rising(1, 0, 1), native: true},
	)
}

func decodeBlock(t testing.TB, dir fs.FS, raw bool) ([]*Scrape, *serving.Input, error) {
	in := &serving.Input{}
	scrapes, err := DecodeBlock(t.Context(), dir, "data/01J/meta.json", in, raw)
	return scrapes, in, err
}

func TestBlock(t *testing.T) {
	dir := t.TempDir()
	all := twoPods()
	slices.SortFunc(all, func(a, b stored) int { return labels.Compare(a.labels, b.labels) })
	gone := slices.IndexFunc(all, func(s stored) bool {
		return s.labels.Get("__name__") == "vllm:num_requests_waiting" && s.labels.Get("pod") == "a"
	})
	writeBlock(t, dir, all, map[int]tombstones.Interval{gone: {Mint: at(5), Maxt: at(7)}})
	if files, _ := os.ReadDir(filepath.Join(dir, "chunks")); len(files) < 2 {
		t.Fatalf("%d segments, want several", len(files))
	}
	scrapes, in, err := decodeBlock(t, os.DirFS(dir), false)
	if err != nil || len(scrapes) != 40 || in.Records != 40 || in.Format != FormatBlock {
		t.Fatalf("%d scrapes, %d records, format %q, %v, %v", len(scrapes), in.Records, in.Format, err, in.Problems.List())
	}
	if !strings.Contains(in.Note, "3 of 6 families are used") || !strings.Contains(in.Note, "14 series of 2 targets from 2025-11-29T12:00:00Z") {
		t.Errorf("note %q", in.Note)
	}
	if ps := in.Problems.List(); len(ps) != 1 || !strings.Contains(ps[0].Message, "1 series of native histograms") {
		t.Errorf("problems %v", ps)
	}
	servers, ps := Assemble(scrapes, AssembleOptions{})
	if len(servers) != 2 || len(ps) > 0 {
		t.Fatalf("%d servers, %v", len(servers), ps)
	}
	for i, s := range servers {
		checkServer(t, s)
		if s.Replica.V != []string{"a", "b"}[i] || s.Relative || s.TimeRule != ruleStamps || s.Times[0] != at(0)*1e6 || len(s.Times) != 20 {
			t.Errorf("replica %v, rule %s, %d times from %d", s.Replica, s.TimeRule, len(s.Times), s.Times[0])
		}
		h := s.HistogramOf(serving.TTFT)
		if h == nil || fmt.Sprint(h.Bounds, h.Counts[19]) != "[0.1 1 +Inf] [19 38 57]" {
			t.Errorf("histogram %+v", h)
		}
	}
	if got := counterOf(servers[1], serving.GenerationTotal); got[9] != 1900 || got[10] != 5 || got[19] != 455 {
		t.Errorf("tokens %v", got)
	}
	if got := fmt.Sprint(gaugeOf(servers[0], serving.Waiting).Values[4:9]); got != "[4 NaN NaN NaN 8]" {
		t.Errorf("deleted samples: %s", got)
	}
	if got := fmt.Sprint(gaugeOf(servers[1], serving.Waiting).Values[2:5]); got != "[2 NaN 4]" {
		t.Errorf("a stale marker: %s", got)
	}
}

// Blocks of one snapshot may overlap, and a later one may hold other series of the
// same times: each sample counts once, and nothing is lost or told as damage.
func TestOverlappingBlocks(t *testing.T) {
	whole, early, late := t.TempDir(), t.TempDir(), t.TempDir()
	writeBlock(t, whole, twoPods(), nil)
	cut := func(from, to int, keep func(name string) bool) (out []stored) {
		for _, s := range twoPods() {
			if !keep(s.labels.Get("__name__")) {
				continue
			}
			for i := range s.values {
				if i < from || i >= to {
					s.values[i] = math.NaN()
				}
			}
			out = append(out, s)
		}
		return out
	}
	writeBlock(t, early, cut(0, 14, func(name string) bool { return name != "vllm:generation_tokens_total" }), nil)
	writeBlock(t, late, append(cut(6, 20, func(name string) bool { return name != "vllm:generation_tokens_total" }),
		cut(0, 20, func(name string) bool { return name == "vllm:generation_tokens_total" })...), nil)
	for _, raw := range []bool{false, true} {
		want, _, err := decodeBlock(t, os.DirFS(whole), raw)
		if err != nil {
			t.Fatal(err)
		}
		var got []*Scrape
		for _, dir := range []string{early, late} {
			scrapes, err := DecodeBlock(t.Context(), os.DirFS(dir), dir+"/meta.json", &serving.Input{}, raw)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, scrapes...)
		}
		a, _ := Assemble(want, AssembleOptions{})
		b, ps := Assemble(got, AssembleOptions{})
		if len(ps) > 0 || len(b) != len(a) {
			t.Fatalf("%d servers, want %d; %v", len(b), len(a), ps)
		}
		for i := range a {
			if x, y := counterOf(a[i], serving.GenerationTotal), counterOf(b[i], serving.GenerationTotal); !slices.Equal(x, y) || !slices.Equal(a[i].Times, b[i].Times) {
				t.Errorf("tokens %v at %d times, want %v", y, len(b[i].Times), x)
			}
			if x, y := fmt.Sprint(gaugeOf(a[i], serving.Waiting).Values), fmt.Sprint(gaugeOf(b[i], serving.Waiting).Values); x != y {
				t.Errorf("waiting %s, want %s", y, x)
			}
			if x, y := fmt.Sprint(a[i].HistogramOf(serving.TTFT).Counts), fmt.Sprint(b[i].HistogramOf(serving.TTFT).Counts); x != y {
				t.Errorf("histogram %s, want %s", y, x)
			}
		}
		if raw {
			x, _ := RawSeries(want, AssembleOptions{})
			y, _ := RawSeries(got, AssembleOptions{})
			sum := func(r serving.Raw) (n int, total float64) {
				for _, s := range r.Series {
					for _, v := range s.V {
						if !math.IsNaN(v) {
							n, total = n+1, total+v
						}
					}
				}
				return n, total
			}
			n, total := sum(y)
			if wn, wt := sum(x); n != wn || total != wt || len(y.Series) != len(x.Series) {
				t.Errorf("%d raw samples that add up to %g in %d series, want %d, %g, %d", n, total, len(y.Series), wn, wt, len(x.Series))
			}
		}
	}
}

// A block and the pages that were scraped into it give the same servers.
func TestBlockLikeText(t *testing.T) {
	dir := t.TempDir()
	writeBlock(t, dir, twoPods(), nil)
	scrapes, _, err := decodeBlock(t, os.DirFS(dir), false)
	if err != nil {
		t.Fatal(err)
	}
	fromBlock, _ := Assemble(scrapes, AssembleOptions{})
	var all []*Scrape
	for i := range 20 {
		for _, pod := range []string{"a:8000", "b:8000"} {
			var b strings.Builder
			fmt.Fprintf(&b, "# Timestamp: %d\n# Pod: %s\n", at(i)/1000, pod)
			for _, s := range twoPods() {
				if s.labels.Get("instance") == pod && !s.native && !value.IsStaleNaN(s.values[i]) {
					fmt.Fprintf(&b, "%s%s %v\n", s.labels.Get("__name__"), strings.Replace(s.labels.String(), `__name__="`+s.labels.Get("__name__")+`", `, "", 1), s.values[i])
				}
			}
			text := b.String()
			for _, n := range []string{"vllm:generation_tokens_total", "vllm:num_requests_waiting", "vllm:time_to_first_token_seconds_bucket", "up"} {
				text = strings.ReplaceAll(text, n+n, n)
			}
			scrapes, in := parse(t, fmt.Sprintf("%s_%d.prom", pod[:1], i), text)
			if in.Problems.Len() > 0 {
				t.Fatal(in.Problems.List())
			}
			all = append(all, scrapes...)
		}
	}
	fromText, _ := Assemble(all, AssembleOptions{})
	for _, s := range append(fromText, fromBlock...) {
		s.Sources, s.TimeRule = nil, ""
	}
	if a, b := dump(fromText, nil), dump(fromBlock, nil); a != b {
		t.Errorf("text:\n%s\nblock:\n%s", a, b)
	}
}

func TestDamagedBlock(t *testing.T) {
	dir := t.TempDir()
	writeBlock(t, dir, twoPods(), nil)
	whole := readFS(t, dir)
	for _, c := range []struct {
		name    string
		change  func(m fstest.MapFS)
		err     string // of the block
		problem string
	}{
		{"no index", func(m fstest.MapFS) { delete(m, "index") }, "index of the block cannot be read", ""},
		{"no chunks", func(m fstest.MapFS) {
			delete(m, "chunks/000001")
			delete(m, "chunks/000002")
			delete(m, "chunks/000003")
		}, "chunks of the block", ""},
		{"cut index", func(m fstest.MapFS) { m["index"].Data = m["index"].Data[:200] }, "index of the block", ""},
		{"another index", func(m fstest.MapFS) { m["index"].Data = []byte("text, for a change") }, "index of the block", ""},
		{"cut chunks", func(m fstest.MapFS) { m["chunks/000002"].Data = m["chunks/000002"].Data[:100] }, "", "goes beyond the end"},
		{"changed chunks", func(m fstest.MapFS) {
			for i := range m["chunks/000001"].Data[8:] {
				if i%40 == 0 {
					m["chunks/000001"].Data[8+i] ^= 4
				}
			}
		}, "", "checksum"},
		{"another version", func(m fstest.MapFS) { m["meta.json"].Data = []byte(`{"ulid": "x", "version": 2}`) }, "version 2", ""},
		{"no JSON", func(m fstest.MapFS) { m["meta.json"].Data = []byte(`{"ulid"`) }, "meta.json of the block", ""},
		{"tombstones", func(m fstest.MapFS) { m["tombstones"] = &fstest.MapFile{Data: []byte("x")} }, "no file of tombstones", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := clone(whole)
			c.change(m)
			scrapes, in, err := decodeBlock(t, m, false)
			var fe *serving.FormatError
			if c.err != "" && (!errors.As(err, &fe) || !strings.Contains(err.Error(), c.err) || fe.Remedy == "") {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if c.err == "" && (err != nil || len(scrapes) != 40 || !strings.Contains(fmt.Sprint(in.Problems.List()), c.problem)) {
				t.Errorf("%d scrapes, %v, problems %v", len(scrapes), err, in.Problems.List())
			}
		})
	}
}

func readFS(t testing.TB, dir string) fstest.MapFS {
	out := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, p))
		out[p] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func clone(m fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{}
	for k, f := range m {
		out[k] = &fstest.MapFile{Data: slices.Clone(f.Data)}
	}
	return out
}

func TestBlockPart(t *testing.T) {
	dir := t.TempDir()
	writeBlock(t, dir, twoPods(), map[int]tombstones.Interval{0: {Mint: 0, Maxt: 1}})
	for name, want := range map[string]string{"index": PartIndex, "chunks/000001": PartChunks, "tombstones": PartTombstones, "meta.json": ""} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := BlockPart(name, data); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"data/wal/00000003": PartHead, "wal/checkpoint.00000002/00000000": PartHead, "wal/readme": "", "00000003": "", "walk/00000003": ""} {
		if got := BlockPart(name, []byte{1, 0, 9}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// mendSegment corrects the checksums of chunks as far as their lengths lead.
func mendSegment(data []byte) []byte {
	out := slices.Clone(data)
	for at := chunks.SegmentHeaderSize; at < len(out); {
		n, w := binary.Uvarint(out[at:])
		if w <= 0 || n > uint64(len(out)) || at+w+1+int(n)+4 > len(out) {
			break
		}
		body := out[at+w : at+w+1+int(n)]
		at += w + len(body)
		binary.BigEndian.PutUint32(out[at:], crc32.Checksum(body, castagnoli))
		at += 4
	}
	return out
}

func mendStones(data []byte) []byte {
	out := slices.Clone(data)
	if n := len(out); n > 9 {
		binary.BigEndian.PutUint32(out[n-4:], crc32.Checksum(out[5:n-4], castagnoli))
	}
	return out
}

// FuzzBlock changes a block's files and mends the checksums of samples and
// tombstones, so that what is behind them is reached.
func FuzzBlock(f *testing.F) {
	dir := f.TempDir()
	writeBlock(f, dir, twoPods(), map[int]tombstones.Interval{0: {Mint: at(1), Maxt: at(2)}})
	whole := readFS(f, dir)
	f.Add(whole["index"].Data, whole["chunks/000001"].Data, whole["tombstones"].Data)
	f.Add(whole["index"].Data, whole["chunks/000002"].Data, []byte{})
	f.Add([]byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, index, segment, stones []byte) {
		m := clone(whole)
		m["index"].Data, m["chunks/000001"].Data, m["tombstones"].Data = index, mendSegment(segment), mendStones(stones)
		scrapes, in, err := decodeBlock(t, m, true)
		if err != nil {
			return
		}
		if in.Records != int64(len(scrapes)) {
			t.Fatalf("%d records, %d scrapes", in.Records, len(scrapes))
		}
		for _, s := range scrapes {
			if len(s.series) != len(s.values) || s.Samples != len(s.values) || s.Samples == 0 {
				t.Fatalf("a scrape of %d series with %d values of %d samples", len(s.series), len(s.values), s.Samples)
			}
		}
		Assemble(scrapes, AssembleOptions{})
		RawSeries(scrapes, AssembleOptions{})
	})
}
