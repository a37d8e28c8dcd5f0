package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// labelsOf lists the columns of a table that are worth slices unasked.
func labelsOf(tb serving.Requests) []string {
	var out []string
	for _, c := range tb.Columns() {
		if c.Label {
			out = append(out, strings.TrimSpace(c.Name+" "+c.How))
		}
	}
	return out
}

// TestLabels tells labels from ids, prompts and constants, in each kind of file.
func TestLabels(t *testing.T) {
	type labelled struct {
		ID     string  `parquet:"request_id"`
		TTFT   float64 `parquet:"ttft_ms"`
		Region string  `parquet:"region"` // sorted by it: one value where the file starts
		Tier   *string `parquet:"tier,optional"`
		Cold   bool    `parquet:"thinking"`
		Trace  string  `parquet:"trace_id"`
		Prompt string  `parquet:"prompt"`
		Build  string  `parquet:"build"` // never changes
		Team   string  `parquet:"tenant"`
		User   string  `parquet:"user"` // too many to be labels
		Pod    string  `parquet:"pod"`  // is the replica, which has slices anyway
	}
	var rows []labelled
	var csv, jl strings.Builder
	csv.WriteString("request_id,ttft_ms,region,tier,thinking,trace_id,prompt,build,tenant,user,pod\n")
	for i := range 6000 {
		region := []string{"eu", "us", "ap"}[i/2000]
		tier := []string{"free", "paid"}[i%2]
		r := labelled{ID: fmt.Sprint("r", i), TTFT: 5, Region: region, Tier: &tier, Cold: i%3 == 0, Trace: fmt.Sprintf("%08x", i*7919), Build: "v1",
			Prompt: strings.Repeat("Tell me about the weather, please. ", 3), Team: []string{"a", "b", "c"}[i%3], User: fmt.Sprint("u", i%300), Pod: fmt.Sprint("p", i%4)}
		if i%10 == 0 {
			r.Tier = nil
		}
		rows = append(rows, r)
		cell := tier
		if r.Tier == nil {
			cell = ""
		}
		// Text is judged by its start: there the regions alternate.
		region = []string{"eu", "us", "ap"}[i%3]
		fmt.Fprintf(&csv, "%s,5,%s,%s,%t,%s,%q,v1,%s,%s,%s\n", r.ID, region, cell, r.Cold, r.Trace, r.Prompt, r.Team, r.User, r.Pod)
		fmt.Fprintf(&jl, `{"request_id":%q,"ttft_ms":5,"region":%q,"tier":%q,"thinking":%t,"trace_id":%q,"prompt":%q,"build":"v1","tenant":%q,"user":%q,"pod":%q}`+"\n",
			r.ID, region, cell, r.Cold, r.Trace, r.Prompt, r.Team, r.User, r.Pod)
	}
	want := []string{"tenant", "region", "tier", "thinking"}
	for name, data := range map[string][]byte{
		"one row group": write(t, rows),
		"ten":           write(t, rows, parquet.MaxRowsPerRowGroup(600)),
	} {
		if d := cmp.Diff(want, labelsOf(open(t, Options{}, fileIn("t.parquet", data)))); d != "" {
			t.Error(name, d)
		}
	}
	tb, _ := openString(t, OpenCSV, csv.String(), Options{})
	if d := cmp.Diff(want, labelsOf(tb)); d != "" {
		t.Error("CSV", d)
	}
	tb, _ = openString(t, OpenJSONL, jl.String(), Options{})
	if d := cmp.Diff(want, labelsOf(tb)); d != "" {
		t.Error("JSON lines", d)
	}
}

// TestPartitionLabels makes dimensions of the directories that tell rows apart.
func TestPartitionLabels(t *testing.T) {
	type bare struct {
		TTFT float64 `parquet:"ttft_ms"`
	}
	var files []File
	for _, dir := range []string{"year=2026/hour=10/fleet=blue", "year=2026/hour=11/fleet=blue", "year=2026/hour=__HIVE_DEFAULT_PARTITION__/fleet=blue%20green"} {
		f := fileIn("d/"+dir+"/data.parquet", write(t, []bare{{1}, {2}}))
		f.Partition = Hive(f.Path)
		files = append(files, f)
	}
	tb := open(t, Options{}, files...)
	if d := cmp.Diff([]string{"hour partition", "fleet partition"}, labelsOf(tb)); d != "" {
		t.Error(d)
	}
	got := collect(t, tb, "hour", "fleet", "year")
	var texts []string
	for i := range got.rows {
		texts = append(texts, got.text("hour", i)+" "+got.text("fleet", i)+" "+got.text("year", i))
	}
	if d := cmp.Diff([]string{"10 blue 2026", "10 blue 2026", "11 blue 2026", "11 blue 2026", "null blue green 2026", "null blue green 2026"}, texts); d != "" {
		t.Error(d)
	}
	for _, fd := range files[0].In.Fields {
		if fd.Name == "hour" && fd.How != serving.HowPartition {
			t.Errorf("field %+v", fd)
		}
	}
}
