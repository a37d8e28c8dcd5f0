package column

import (
	"context"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// workloads scans a labelled table's workload column beside another one.
func workloads(t *testing.T, src serving.Requests, want ...string) string {
	t.Helper()
	var got []string
	at := 0
	for i, w := range want {
		if w == serving.ColWorkload {
			at = i
		}
	}
	for _, p := range src.Parts() {
		err := p.Scan(context.Background(), want, nil, func(b *serving.Batch) error {
			if len(b.Cols) != len(want) {
				t.Fatalf("%d columns, want %d", len(b.Cols), len(want))
			}
			for i := range b.N {
				if !b.Cols[at].Has(i) {
					got = append(got, "-")
					continue
				}
				got = append(got, src.Dict(serving.ColWorkload).Name(b.Cols[at].Codes[i]))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(got, " ")
}

func TestLabel(t *testing.T) {
	table := func(own bool) *Table {
		tb := NewTable("nightly", "x.parquet", serving.UnknownSide, 4)
		d := serving.NewDict("/v1/chat", "/v1/completions", "/embed")
		valid := serving.NewBitmap(4)
		valid.Set(0)
		valid.Set(1)
		valid.Set(2)
		tb.Text(serving.Column{Name: "endpoint", Kind: serving.KindText}, []int32{0, 1, 2, 0}, d, valid)
		tb.Ints(serving.Column{Name: "prompt_tokens", Kind: serving.KindCount}, []int64{1, 2, 3, 4}, nil)
		if own {
			w := serving.NewDict("batch")
			tb.Text(serving.Column{Name: serving.ColWorkload, Kind: serving.KindText}, []int32{0, 0, 0, 0}, w, nil)
		}
		return tb
	}
	for _, tc := range []struct {
		rules string
		own   bool
		want  string
	}{
		{"chat=endpoint=~chat", false, "chat - - -"},
		{"chat=endpoint=/v1/chat;code=endpoint=~^/v1/", false, "chat code - -"},
		{"chat=endpoint=~chat", true, "chat batch batch batch"},
		{"night=run=~^night", false, "night night night night"},
		{"chat=endpoint=~chat;rest=run=~.", true, "chat rest rest rest"},
		{"x=missing=1", true, "batch batch batch batch"},
	} {
		var rules []WorkloadRule
		for _, s := range strings.Split(tc.rules, ";") {
			r, err := ParseWorkloadRule(s)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
		}
		src := Label(table(tc.own), rules)
		for _, want := range [][]string{{serving.ColWorkload}, {"prompt_tokens", serving.ColWorkload, "endpoint"}, {serving.ColWorkload, "endpoint"}} {
			if got := workloads(t, src, want...); got != tc.want {
				t.Errorf("%s, own %v, columns %q: %s, want %s", tc.rules, tc.own, want, got, tc.want)
			}
		}
	}
}

func TestParseWorkloadRule(t *testing.T) {
	for _, s := range []string{"", "chat", "chat=endpoint", "=a=b", "a==b", "a=b=~("} {
		if r, err := ParseWorkloadRule(s); err == nil {
			t.Errorf("ParseWorkloadRule(%q) = %+v, want an error", s, r)
		}
	}
}
