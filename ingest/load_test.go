package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"

	"github.com/vreport/vreport/ingest/serving"
)

// result is a benchmark result of one load level, the duration in seconds.
func result(concurrency int, duration float64) string {
	return fmt.Sprintf(`{"date": "20260101-120000", "backend": "openai", "model_id": "m", "num_prompts": 10, "request_rate": "inf", "max_concurrency": %d,
 "duration": %g, "completed": 10, "failed": 0, "total_input_tokens": 1000, "total_output_tokens": 500, "request_throughput": %g,
 "output_throughput": %g, "total_token_throughput": %g, "mean_ttft_ms": 20.5, "median_ttft_ms": 20, "p99_ttft_ms": 31, "mean_tpot_ms": 9.5, "median_tpot_ms": 9, "p99_tpot_ms": 12}`,
		concurrency, duration, 10/duration, 500/duration, 1500/duration)
}

const scrape = `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 3
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="m"} %d
`

func put(t *testing.T, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, opt Options, args ...string) *serving.Dataset {
	t.Helper()
	ds, err := Load(context.Background(), args, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ds.Close() })
	return ds
}

func packed(t *testing.T, codec, data string) string {
	t.Helper()
	var b bytes.Buffer
	if codec == "gzip" {
		w := gzip.NewWriter(&b)
		w.Write([]byte(data))
		w.Close()
		return b.String()
	}
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(data))
	w.Close()
	return b.String()
}

// Formats are found by content: the names say nothing, or lie.
func TestLoadRecognizesByContent(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a.dat", result(1, 10))
	put(t, "b.csv", packed(t, "gzip", result(2, 8)))
	put(t, "c", packed(t, "zstd", result(4, 7)))
	put(t, "d.json", fmt.Sprintf(scrape, 5))
	put(t, "e.txt", "hello\n")
	put(t, "f.parquet", "")
	ds := load(t, Options{}, ".")
	var got []string
	for _, in := range ds.Inputs {
		got = append(got, in.Format)
		if in.SHA256 == "" {
			t.Errorf("%s has no checksum", in.Path)
		}
	}
	want := []string{"vllm-serve", "vllm-serve", "vllm-serve", "prometheus-text", "unknown", "unknown"}
	if !slices.Equal(got, want) {
		t.Errorf("formats %q, want %q", got, want)
	}
	if len(ds.Runs) != 3 || len(ds.Servers) != 1 {
		t.Errorf("%d runs and %d servers, want 3 and 1", len(ds.Runs), len(ds.Servers))
	}
	unknown := ds.Inputs[4]
	if len(unknown.Tried) == 0 || unknown.Problems.Len() != 1 {
		t.Errorf("the unknown file says tried %q, %d problems", unknown.Tried, unknown.Problems.Len())
	}
}

// Nothing depends on the order of arguments or the number of workers.
func TestLoadDoesNotDependOnOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	var args []string
	for i := range 12 {
		name := fmt.Sprintf("c%d.json", 1<<i)
		put(t, name, result(1<<i, float64(20-i)))
		args = append(args, name)
	}
	describe := func(ds *serving.Dataset) string {
		var parts []string
		for _, r := range ds.Runs {
			parts = append(parts, r.ID, r.Label, r.Source.String())
		}
		return strings.Join(parts, " ")
	}
	want := describe(load(t, Options{Workers: 1}, args...))
	slices.Reverse(args)
	if got := describe(load(t, Options{Workers: 7}, args...)); got != want {
		t.Errorf("in another order:\n%s\nwant\n%s", got, want)
	}
}

// A run that stands in two files is one run; the same file under two labels is
// two, since the user said so.
func TestLoadCountsTwinsOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "run1.json", result(1, 10))
	put(t, "run2.json", result(2, 8))
	put(t, "summary.json", "["+result(1, 10)+","+result(2, 8)+"]")
	ds := load(t, Options{}, ".")
	if len(ds.Runs) != 2 {
		t.Errorf("%d runs, want 2", len(ds.Runs))
	}
	if note := ds.Inputs[2].Note; !strings.Contains(note, "counted once") {
		t.Errorf("the summary's note is %q", note)
	}
	if ds := load(t, Options{}, "before=run1.json", "after=run1.json"); len(ds.Runs) != 2 {
		t.Errorf("%d runs under two labels, want 2", len(ds.Runs))
	}
}

// A damaged file is told by name and position; the others are read.
func TestLoadKeepsWhatIsWhole(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "good.json", result(1, 10))
	put(t, "cut.json", result(2, 8)[:400])
	put(t, "bad.gz", packed(t, "gzip", result(4, 7))[:80])
	ds := load(t, Options{}, ".")
	if len(ds.Runs) != 1 {
		t.Errorf("%d runs, want the good one", len(ds.Runs))
	}
	for _, in := range ds.Inputs {
		bad := in.Path != "good.json"
		if got := in.Problems.Len() > 0; got != bad {
			t.Errorf("%s: %d problems", in.Path, in.Problems.Len())
		}
		for _, p := range in.Problems.List() {
			if p.At.Path != in.Path {
				t.Errorf("%s: problem at %q", in.Path, p.At)
			}
		}
	}
	if err := Usable(ds); err != nil {
		t.Errorf("usable: %v", err)
	}
}

func TestUnknownSaysWhatWasTried(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "x.txt", "hello\n")
	ds := load(t, Options{}, "x.txt")
	tried := strings.Join(ds.Inputs[0].Tried, "\n")
	for _, f := range Formats {
		if !strings.Contains(tried, f.Name+":") {
			t.Errorf("%s\ndoes not say why it is no %s", tried, f.Name)
		}
	}
	err := Usable(ds)
	if err == nil || !strings.Contains(err.Error(), "inspect") || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("%v, want a line and the way to inspect", err)
	}
}

func TestUnknownEncodings(t *testing.T) {
	const csv = "request_id,ttft_ms\na,5\nb,6\n"
	wide := func(order binary.AppendByteOrder, s string) string {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	for name, c := range map[string]struct{ text, want string }{
		"with a mark": {wide(binary.LittleEndian, "\ufeff"+csv), "iconv"},
		"without":     {wide(binary.LittleEndian, csv), "iconv"},
		"big-endian":  {wide(binary.BigEndian, csv), "iconv"},
		"CR":          {strings.ReplaceAll(csv, "\n", "\r"), "tr "},
		"binary":      {strings.Repeat("\x00\x00\x00\x07", 50), ""},
		"text":        {"hello\n", ""},
	} {
		if got := encodingHint([]byte(c.text)); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want it to name %q", name, got, c.want)
		}
	}
}

// A stream ends with the context of the load, wherever it is.
func TestOpenEndsWithContext(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "x.txt", "hello\n")
	ctx, cancel := context.WithCancel(context.Background())
	f, err := openFile(ctx, found{path: "x.txt"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.raw.Close()
	r, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}

func TestLoadFromStandardInput(t *testing.T) {
	ds := load(t, Options{Stdin: strings.NewReader(result(1, 10))}, "live=-")
	if len(ds.Runs) != 1 || ds.Runs[0].Label != "live" {
		t.Errorf("runs %+v", ds.Runs)
	}
}

func TestLoadStopsWhenCancelled(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a.json", result(1, 10))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if ds, err := Load(ctx, []string{"a.json"}, Options{}); err == nil {
		t.Errorf("loaded %+v after the context was cancelled", ds)
	}
}

// Every format of the list is named once and can be told from the others.
func TestFormatsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Formats {
		if seen[f.Name+f.Doc] || f.Name == "" || f.Doc == "" || f.sniff == nil || f.decode == nil {
			t.Errorf("format %q is listed twice or incomplete", f.Name)
		}
		seen[f.Name+f.Doc] = true
	}
}

// What cannot be looked at below a directory is a problem of its own: the others are
// still worth a report. What was named is an error.
func TestUnreadableOfADirectory(t *testing.T) {
	gone := found{path: filepath.Join(t.TempDir(), "gone.json"), walked: true}
	locked := found{path: "locked", walked: true, err: &fs.PathError{Op: "open", Path: "locked", Err: fs.ErrPermission}}
	for _, f := range []found{gone, locked} {
		in, _, err := readOne(context.Background(), f, new(loaded), Options{}, nil)
		if err != nil || in.Format != unknown || in.Problems.Len() != 1 || !strings.HasPrefix(in.Problems.List()[0].String(), f.path+": ") {
			t.Errorf("%s: %+v, %v", f.path, in, err)
		}
	}
	gone.walked = false
	if _, _, err := readOne(context.Background(), gone, new(loaded), Options{}, nil); err == nil {
		t.Error("a file that was named is not there, and nobody says so")
	}
	if _, err := find([]string{"-", "-"}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("- -: %v", err)
	}
}
