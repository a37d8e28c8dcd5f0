package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/serving"
)

func TestTrouble(t *testing.T) {
	ds := &serving.Dataset{}
	for f := range 25 {
		in := &serving.Input{Path: fmt.Sprintf("f%d", f)}
		for i := range 30 {
			in.Problems.Add(serving.Problem{At: serving.Pos{Path: in.Path, Line: i + 1}, Message: "is bad"})
		}
		ds.Inputs = append(ds.Inputs, in)
	}
	tr := collectTrouble(ds)
	if tr.records != 25*30 {
		t.Errorf("%d records", tr.records)
	}
	var b bytes.Buffer
	tr.print(&b)
	if n := strings.Count(b.String(), "\n"); n != 20*21+1 {
		t.Errorf("%d lines, want 20 files of 20 problems and a line for the rest of each", n)
	}
	for _, want := range []string{"vreport: f0:1: is bad\n", "… and 10 more problems of the same file", "… and problems in 5 more files"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if got := tr.err().Error(); !strings.Contains(got, "750 records with problems in 25 files") {
		t.Errorf("error %q", got)
	}
}

func TestMeter(t *testing.T) {
	yes, no := true, false
	p := ingest.Progress{Path: "a\x1b", Done: 3, Total: 9}
	for _, tt := range []struct {
		name string
		want *bool
		term bool
		wait time.Duration
		out  string
	}{
		{"no terminal, not asked for", nil, false, time.Hour, ""},
		{"asked for", &yes, false, time.Hour, "vreport: read 3 of 9 files, a\\u001b\n"},
		{"asked for, too early", &yes, false, 0, ""},
		{"terminal", &yes, true, time.Hour, "\r\x1b[Kread 3 of 9 files, a\\u001b\r\x1b[K"},
		{"terminal, silenced", &no, true, time.Hour, ""},
	} {
		var b bytes.Buffer
		m := newMeter(&b, tt.want)
		m.term = tt.term
		m.last = time.Now().Add(-tt.wait)
		m.update(p)
		m.end()
		if b.String() != tt.out {
			t.Errorf("%s: %q, want %q", tt.name, &b, tt.out)
		}
	}
}
