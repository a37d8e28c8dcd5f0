package trace

import (
	"strings"
	"testing"
)

// Where the directories and the file both name a column the file's is taken, and the
// note says so; where only the directories do, there is nothing to say.
func TestDirectoryThatAColumnOverrules(t *testing.T) {
	type named struct {
		TTFT     float64 `parquet:"ttft_ms"`
		Workload string  `parquet:"workload"`
	}
	type bare struct {
		TTFT float64 `parquet:"ttft_ms"`
	}
	both := fileIn("d/workload=chat/a.parquet", write(t, []named{{1, "rag"}}))
	alone := fileIn("d/workload=chat/b.parquet", write(t, []bare{{1}}))
	for _, f := range []*File{&both, &alone} {
		f.Partition = Hive(f.Path)
		open(t, Options{}, *f)
	}
	if want := "workload is a column of the file: that of the directory workload=chat is not used"; !strings.Contains(both.In.Note, want) {
		t.Errorf("note %q, want %q", both.In.Note, want)
	}
	if strings.Contains(alone.In.Note, "not used") {
		t.Errorf("note %q of a file without the column", alone.In.Note)
	}
}

func TestDirectoriesOfText(t *testing.T) {
	if got := unread("d/day=1/workload=chat/a.csv"); len(got) != 1 || !strings.Contains(got[0], "day=1, workload=chat is not used") {
		t.Errorf("%q", got)
	}
	if got := unread("d/chat/a=b.csv"); got != nil {
		t.Errorf("%q of no directories", got)
	}
}
