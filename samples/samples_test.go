package samples

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/compress/zstd"
)

var update = flag.Bool("update", false, "rewrite what is committed: data, truths.jsonl, README.md")

// TestCommitted holds the committed archive, truth table and README against the
// generator.
func TestCommitted(t *testing.T) {
	if runtime.GOARCH != "amd64" && !*update {
		t.Skip("other architectures round fused multiplications differently")
	}
	all, err := compact()
	if err != nil {
		t.Fatal(err)
	}
	files := collect(all)
	if *update {
		data, err := pack(files)
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"data/compact.tar.zst": data, "truths.jsonl": truthTable(all), "README.md": readme(all)} {
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if n := len(committed); n >= 3_000_000 {
		t.Errorf("the archive has %d bytes, want less than 3 MB", n)
	}
	kept, err := unpack(committed)
	if err != nil {
		t.Fatal(err)
	}
	same(t, kept, files)
	for name, want := range map[string][]byte{"truths.jsonl": truthTable(all), "README.md": readme(all)} {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes: go test ./samples -update", name)
		}
	}
}

func same(t *testing.T, got, want []file) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d files, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].path != want[i].path || !bytes.Equal(got[i].data, want[i].data) {
			t.Errorf("%s differs from %s", got[i].path, want[i].path)
		}
	}
}

// TestSameSeedSameBytes generates on one processor what was generated on all.
func TestSameSeedSameBytes(t *testing.T) {
	all, err := compact()
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, err := generate(sets, DefaultSeed, false)
	if err != nil {
		t.Fatal(err)
	}
	same(t, collect(again), collect(all))
}

func TestOtherSeedOtherBytes(t *testing.T) {
	one := []*set{sets[slices.IndexFunc(sets, func(s *set) bool { return s.dir == "server-v0" })]}
	a, err := generate(one, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := generate(one, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(a[0].files[1].data, b[0].files[1].data) {
		t.Error("seeds 1 and 2 give the same scrape")
	}
}

// TestTruthTable holds the form of truths.jsonl: one object a set, causes and
// cases of the hypothesis map, paths that exist, values inside their ranges.
func TestTruthTable(t *testing.T) {
	causes := map[string]string{"over_capacity": "A", "pool_shared": "A", "burst": "A", "hot_replica": "A", "retries": "A", "long_prompts": "B", "prefix_reuse_lost": "B",
		"max_num_seqs": "C", "batch_in_pool": "C", "longer_outputs": "C", "kv_concurrency": "D", "kv_giants": "D", "tokenizer_cpu": "E", "proxy_buffering": "E", "load_generator": "E", "none": ""}
	all, err := compact()
	if err != nil {
		t.Fatal(err)
	}
	files := collect(all)
	lines := bytes.Split(bytes.TrimSpace(truthTable(all)), []byte("\n"))
	if len(lines) != len(sets) {
		t.Fatalf("%d lines for %d sets", len(lines), len(sets))
	}
	for _, l := range lines {
		var x struct {
			Scenario, Cause, Case, Where, From, To, Says string
			Paths                                        []string
			Ranges                                       []struct {
				Name     string
				From, To *float64
				OneOf    []string `json:"one_of"`
				Value    any
			}
		}
		if err := json.Unmarshal(l, &x); err != nil {
			t.Fatal(err)
		}
		if c, ok := causes[x.Cause]; !ok || c != x.Case {
			t.Errorf("%s: case %q, cause %q", x.Scenario, x.Case, x.Cause)
		}
		if strings.HasPrefix(x.Scenario, "scenarios/") && (x.From == "" || x.To <= x.From) || x.Says == "" || x.Cause != "none" && x.Where == "" {
			t.Errorf("%s: window %s to %s, where %q, says %q", x.Scenario, x.From, x.To, x.Where, x.Says)
		}
		for _, p := range x.Paths {
			if !slices.ContainsFunc(files, func(f file) bool { return strings.HasPrefix(f.path, p+"/") }) {
				t.Errorf("%s: nothing below %s", x.Scenario, p)
			}
		}
		for _, r := range x.Ranges {
			if v, ok := r.Value.(float64); ok && (v < *r.From*0.999 || v > *r.To*1.001) {
				t.Errorf("%s: %s %v is not in [%v, %v]", x.Scenario, r.Name, v, *r.From, *r.To)
			}
		}
	}
}

// TestWrite writes the samples as a newcomer gets them.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "samples")
	if err := Write(dir, DefaultSeed); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "truths.jsonl", "trace/requests.parquet", "sweep/openai-infqps-concurrency64.json", "scenarios/healthy/vllm-0.log"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	scrapes, err := filepath.Glob(filepath.Join(dir, "server", "metrics", "*"))
	if err != nil || len(scrapes) != 30 {
		t.Errorf("%d scrapes of one server, %v", len(scrapes), err)
	}
}

func TestWriteSaysWhatFailed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, DefaultSeed); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("writing below a file: %v", err)
	}
}

func TestTrace(t *testing.T) {
	rows := open(t, "trace").rows("requests.parquet")
	within(t, "rows", float64(len(rows)), 5000, 5000)
	seen := map[string]int{}
	ids := map[string]bool{}
	for i, r := range rows {
		for _, k := range []string{r.Status, r.Workload, r.Model, r.Replica} {
			seen[k]++
		}
		if ids[r.ID] {
			t.Errorf("%s stands twice", r.ID)
		}
		ids[r.ID] = true
		if i > 0 && r.Arrival < rows[i-1].Arrival {
			t.Errorf("row %d is out of order", i)
		}
		switch {
		case r.Cached == nil:
		case *r.Cached == 0:
			seen["cold"]++
		case float64(*r.Cached) >= 0.9*float64(r.Prompt):
			seen["warm"]++
		default:
			seen["partial"]++
		}
		if r.Status != "ok" {
			continue
		}
		if d := r.E2E - *r.Queue - *r.Prefill - *r.Decode; d < 0.0005 || d > 1 {
			t.Errorf("%s: front end took %v s", r.ID, d)
		}
		if r.TTFT != nil && (*r.TTFT > r.E2E || *r.TTFT < *r.Queue+*r.Prefill) {
			t.Errorf("%s: TTFT %v of E2E %v", r.ID, *r.TTFT, r.E2E)
		}
		if *r.Cached > r.Prompt {
			t.Errorf("%s: %d of %d prompt tokens cached", r.ID, *r.Cached, r.Prompt)
		}
	}
	t.Log(seen)
	for _, k := range []string{"ok", "error", "timeout", "cancelled", "chat", "rag", "agent", "batch", "cold", "partial", "warm", "vllm-8b-0", "vllm-8b-1", "vllm-70b-0"} {
		if seen[k] == 0 {
			t.Errorf("no %s among the rows", k)
		}
	}
}

// pack makes the archive: no owners, one time, files in the order given.
func pack(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Size: int64(len(f.data)), Mode: 0o644, ModTime: time.Unix(firstZero, 0).UTC(), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	c := &zstd.Codec{Level: zstd.SpeedBestCompression}
	return c.Encode(nil, b.Bytes())
}
