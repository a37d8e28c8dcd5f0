package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Buckets of what is no count of any input are an error that names what there is.
func TestBucketsOfNothing(t *testing.T) {
	path := writeTrace(t, "t.csv", "ttft_ms,e2e_ms,output_tokens,prompt_tokens,max_tokens,retries,load", func(i int) string { return fmt.Sprintf("100,1000,10,100,%d,%d,%d.5", 50+i, i%3, i) })
	for _, tt := range []struct{ flags, want string }{
		{"--buckets nope=1", `--buckets: no input has a column "nope" (buckets are of prompt_tokens, output_tokens, cached_tokens, preemptions, max_tokens)`},
		{"--buckets ttft=1,2", "ttft is no count"},
		{"--buckets retries=1", `column "retries" is taken for names`},
		{"--buckets max_tokens=100", `nothing is grouped by "max_tokens", add it to --group-by`},
		{"--buckets max_tokens=100 --group-by max_tokens", ""},
		{"--buckets load=100 --group-by load", ""},
		{"--buckets cached_tokens=64", ""}, // a shared config file may name it
	} {
		var stdout, stderr bytes.Buffer
		status := run(append([]string{"report", path, "--json", "-"}, strings.Fields(tt.flags)...), strings.NewReader(""), &stdout, &stderr)
		if (status == statusError) != (tt.want != "") || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%s: status %d, %s; want %q", tt.flags, status, stderr.String(), tt.want)
		}
	}
}
