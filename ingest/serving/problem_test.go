package serving

import (
	"fmt"
	"testing"
)

func TestPosString(t *testing.T) {
	for _, tc := range []struct {
		pos  Pos
		want string
	}{
		{Pos{Path: "r/b.json", Line: 12, Field: "requests[11].ttft_ms"}, "r/b.json:12: requests[11].ttft_ms"},
		{Pos{Path: "t.parquet", Row: 10482, Field: "output_tokens"}, "t.parquet: row 10482: output_tokens"},
		{Pos{Field: "x"}, "x"},
		{Pos{}, ""},
	} {
		if got := tc.pos.String(); got != tc.want {
			t.Errorf("%#v = %q, want %q", tc.pos, got, tc.want)
		}
	}
}

// A file with a million bad rows must not fill memory, and the count must not
// be lost.
func TestProblemsAreBounded(t *testing.T) {
	var ps Problems
	for i := range 1000 {
		ps.AddKind("negative", Problem{At: Pos{Row: int64(i + 1)}, Message: "negative"})
	}
	for i := range 1000 {
		ps.Add(Problem{Message: fmt.Sprint(i)})
	}
	list := ps.List()
	if ps.Len() != 2000 {
		t.Errorf("%d problems counted, want 2000", ps.Len())
	}
	if len(list) != maxProblems+1 {
		t.Errorf("%d problems listed, want %d and the overflow", len(list), maxProblems)
	}
	if list[0].Count != 1000 || list[0].At.Row != 1 {
		t.Errorf("the repeated kind is %+v, want 1000 of it at the first row", list[0])
	}
}

func TestProblemsMerge(t *testing.T) {
	var a, b Problems
	a.AddKind("k", Problem{At: Pos{Row: 5}, Message: "k"})
	b.AddKind("k", Problem{At: Pos{Row: 9}, Message: "k"})
	b.Add(Problem{Message: "other"})
	a.Merge(&b)
	if l := a.List(); len(l) != 2 || l[0].Count != 2 || l[0].At.Row != 5 {
		t.Errorf("merged to %+v, want the kind counted twice at row 5 and the other", l)
	}
}
