package ingest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files below a temporary working directory.
func tree(t *testing.T, files ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(f), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	tree(t, "r/c16.json", "r/c2.json", "r/.hidden/x.json", "r/_SUCCESS", "r/sub/d.json", "hour=12/a.parquet", "x=y.json")
	for _, tc := range []struct {
		args []string
		want string // label:path …, or an error's text
	}{
		{[]string{"r"}, ":r/c2.json :r/c16.json :r/sub/d.json"},
		{[]string{"r/c2.json", "r"}, ":r/c2.json :r/c16.json :r/sub/d.json"},
		{[]string{"r/*.json"}, ":r/c2.json :r/c16.json"},
		{[]string{"before=r/c2.json"}, "before:r/c2.json"},
		{[]string{"before=r/c2.json", "after=r/c2.json"}, "after:r/c2.json before:r/c2.json"},
		{[]string{"hour=12"}, ":hour=12/a.parquet"},
		{[]string{"x=y.json"}, ":x=y.json"},
		{[]string{"-"}, ":-"},
		{[]string{"a/b=r/c2.json"}, "error: a/b=r/c2.json: no such file"},
		{[]string{"nothing"}, "error: nothing: no such file"},
		{[]string{"r/*.csv"}, "error: r/*.csv: no file matches"},
	} {
		fs, err := find(tc.args)
		var got []string
		for _, f := range fs {
			got = append(got, f.label+":"+filepath.ToSlash(f.path))
		}
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		if s := strings.Join(got, " "); !strings.HasPrefix(s, tc.want) || err == nil && s != tc.want {
			t.Errorf("find(%q) = %s, want %s", tc.args, s, tc.want)
		}
	}
}

func TestNaturalOrder(t *testing.T) {
	want := []string{"c1", "c2", "c002", "c10", "c10a", "c16", "d"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTableKey(t *testing.T) {
	same := func(a, b string) bool { return tableKey(found{path: a}) == tableKey(found{path: b}) }
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"t/part-0001.parquet", "t/part-0002.parquet", true},
		{"t/before.parquet", "t/after.parquet", false},
		{"t/hour=1/a.parquet", "t/hour=2/b.parquet", true},
		{"t/hour=1/a.parquet", "u/hour=2/a.parquet", false},
		{"t/part-1.parquet", "u/part-1.parquet", false},
	} {
		if got := same(tc.a, tc.b); got != tc.want {
			t.Errorf("%s and %s in one table: %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestStem(t *testing.T) {
	for _, tc := range []struct {
		f      found
		prefix string
		want   string
	}{
		{found{path: "r/a/c1.json", rel: "c1.json"}, "r/a", "c1"},
		{found{path: "r/a/c1.json.gz", rel: "c1.json.gz"}, "r", "a/c1"},
		{found{path: "r/v0.25.json", rel: "v0.25.json"}, "r", "v0.25"},
		{found{path: "r/c1.json", rel: "c1.json", label: "new"}, "r", "new"},
		{found{path: "r/a/c1.json", rel: "a/c1.json", label: "new"}, "r", "new/a/c1"},
		{found{path: "-", rel: "stdin", stdin: true}, "", "stdin"},
		{found{path: ".json", rel: ".json"}, "", ".json"},
	} {
		if got := stem(tc.f, tc.prefix); got != tc.want {
			t.Errorf("stem(%+v, %q) = %q, want %q", tc.f, tc.prefix, got, tc.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"c1 c16", "c1, c16"},
		{"openai-10qps-concurrency1-20250325 openai-10qps-concurrency16-20250326", "concurrency1, concurrency16"},
		{"a-20250325 a-20250326", "a 20250325, a 20250326"}, // nothing else tells them apart
		{"part1/c1 part2/c1", "part1, part2"},
		{"a-b a", "a-b, a"},
		{"only", "only"},
	} {
		got := strings.Join(shorten(strings.Fields(tc.in)), ", ")
		if got != tc.want {
			t.Errorf("shorten(%s) = %s, want %s", tc.in, got, tc.want)
		}
	}
}
