package ingest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"

	"github.com/vreport/vreport/ingest/serving"
)

// writeTSDB writes a block with one gauge of a vLLM server.
func writeTSDB(t *testing.T, dir string) {
	t.Helper()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(os.MkdirAll(dir, 0o777))
	c := chunkenc.NewXORChunk()
	app, err := c.Appender()
	try(err)
	for i := range int64(4) {
		app.Append(0, 1_764_417_600_000+15_000*i, float64(i))
	}
	cw, err := chunks.NewWriter(filepath.Join(dir, "chunks"))
	try(err)
	metas := []chunks.Meta{{Chunk: c, MinTime: 1_764_417_600_000, MaxTime: 1_764_417_645_000}}
	try(cw.WriteChunks(metas...))
	try(cw.Close())
	iw, err := index.NewWriter(t.Context(), filepath.Join(dir, "index"))
	try(err)
	for _, s := range []string{"", "__name__", "instance", "vllm-0:8000", "vllm:num_requests_waiting"} {
		try(iw.AddSymbol(s))
	}
	try(iw.AddSeries(1, labels.FromStrings("__name__", "vllm:num_requests_waiting", "instance", "vllm-0:8000"), metas...))
	try(iw.Close())
	try(os.WriteFile(filepath.Join(dir, "meta.json"), []byte(`{
	"ulid": "01JDVXYZ000000000000000000", "minTime": 1764417600000, "maxTime": 1764424800000,
	"stats": {"numSamples": 4, "numSeries": 1, "numChunks": 1}, "compaction": {"level": 1}, "version": 1}`), 0o666))
}

// readTSDB recognizes and decodes one file by formatTSDB alone.
func readTSDB(t *testing.T, path string) (*serving.Input, *loaded, error) {
	t.Helper()
	open, err := openFile(t.Context(), found{path: path, rel: filepath.Base(path)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer open.raw.Close()
	p, l := &probe{file: open, in: &serving.Input{Path: path, Format: unknown}}, &loaded{}
	ok, why := formatTSDB.sniff(p)
	if !ok {
		p.in.Note = why
		return p.in, l, nil
	}
	p.in.Format = formatTSDB.Name
	return p.in, l, formatTSDB.decode(t.Context(), p, l)
}

func TestTSDBFormat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "01JDVXYZ000000000000000000")
	writeTSDB(t, dir)
	in, l, err := readTSDB(t, filepath.Join(dir, "meta.json"))
	if err != nil || in.Format != "prometheus-tsdb" || len(l.scrapes) != 4 || in.Records != 4 || in.Problems.Len() > 0 {
		t.Fatalf("%v, %+v, %d scrapes", err, in, len(l.scrapes))
	}
	for _, name := range []string{"index", "chunks/000001"} {
		in, l, err := readTSDB(t, filepath.Join(dir, name))
		if err != nil || in.Format != "prometheus-tsdb" || in.Records != 0 || len(l.scrapes) != 0 || !strings.Contains(in.Note, "read with its meta.json") {
			t.Errorf("%s: %v, %+v", name, err, in)
		}
	}
}

func TestTSDBInPieces(t *testing.T) {
	dir := t.TempDir()
	block := filepath.Join(dir, "block")
	writeTSDB(t, block)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	meta, err := os.ReadFile(filepath.Join(block, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := readTSDB(t, write("alone/meta.json", string(meta))); err == nil || !strings.Contains(err.Error(), "index of the block cannot be read") {
		t.Errorf("meta.json alone: %v", err)
	}
	idx, err := os.ReadFile(filepath.Join(block, "index"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := readTSDB(t, write("lost/index", string(idx))); err == nil || !strings.Contains(err.Error(), "there is no") {
		t.Errorf("index alone: %v", err)
	}
	// The working directory of a server: its log is not read, and that is said.
	in, _, err := readTSDB(t, write("data/wal/00000001", "\x01\x00\x20"+strings.Repeat("x", 40)))
	if err != nil || in.Format != "prometheus-tsdb" || !strings.Contains(in.Problems.List()[0].Message, "snapshot") {
		t.Errorf("log: %v, %+v", err, in)
	}
	for _, other := range []string{`{"ulid": "x"}`, `{"version": 1, "minTime": 1}`, "00000001", ""} {
		if in, _, _ := readTSDB(t, write("other/meta.json", other)); in.Format != unknown || in.Note == "" {
			t.Errorf("%q is taken for %s (%s)", other, in.Format, in.Note)
		}
	}
}

// No file of another tool is taken for a piece of a database.
func TestTSDBCorpus(t *testing.T) {
	root := os.Getenv("VREPORT_CORPUS")
	if root == "" {
		t.Skip("VREPORT_CORPUS names no directory")
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if in, _, _ := readTSDB(t, path); in.Format != unknown {
			t.Errorf("%s is taken for %s", path, in.Format)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
