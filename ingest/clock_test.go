package ingest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// arrivals reads a table's arrival times.
func arrivals(t *testing.T, src serving.Requests) []int64 {
	t.Helper()
	var out []int64
	for _, p := range src.Parts() {
		err := p.Scan(context.Background(), []string{serving.ColArrival}, nil, func(b *serving.Batch) error {
			out = append(out, b.Cols[0].Ints[:b.N]...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestClockOffsets(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "front.csv")
	put(t, trace, "request_id,arrival_time,ttft_ms,e2e_ms,prompt_tokens,output_tokens\na,2026-01-05T10:00:00Z,50,900,100,10\nb,2026-01-05T10:00:01Z,60,800,100,10\n")
	metrics := filepath.Join(dir, "metrics")
	if err := os.Mkdir(metrics, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, at := range []string{"1767607200", "1767607215"} {
		put(t, filepath.Join(metrics, "vllm-0_"+at+"_metrics.log"), strings.Replace(scrape, "%d", string(rune('1'+i)), 1))
	}
	plain := load(t, Options{}, dir)
	was, times := arrivals(t, plain.Traces[0]), plain.Servers[0].Times
	for _, c := range []struct {
		name    string
		offsets []string
		trace   int64 // seconds
		server  int64
	}{
		{"by kind", []string{"server=-2s"}, -2, -2},
		{"a file wins over its kind", []string{trace + "=1m", "server=-2s"}, 60, -2},
		{"in either order", []string{"server=-2s", trace + "=1m"}, 60, -2},
		{"a directory", []string{metrics + "=1h"}, 0, 3600},
		{"a kind that is not there", []string{"log=9h"}, 0, 0},
		{"a start of what has a date", []string{"server=2026-01-01T00:00:00Z"}, 0, 0},
	} {
		var opt Options
		for _, s := range c.offsets {
			o, err := ParseClockOffset(s)
			if err != nil {
				t.Fatal(err)
			}
			opt.Clocks = append(opt.Clocks, o)
		}
		ds := load(t, opt, dir)
		got := arrivals(t, ds.Traces[0])
		for i := range was {
			if d := got[i] - was[i]; d != c.trace*1e9 {
				t.Errorf("%s: request %d moved by %d ns, want %d s", c.name, i, d, c.trace)
			}
		}
		for i := range times {
			if d := ds.Servers[0].Times[i] - times[i]; d != c.server*1e9 {
				t.Errorf("%s: scrape %d moved by %d ns, want %d s", c.name, i, d, c.server)
			}
		}
	}
	if _, err := Load(context.Background(), []string{dir}, Options{Clocks: []ClockOffset{{Of: "nobody", By: 1}}}); err == nil || !strings.Contains(err.Error(), `no source is called "nobody"`) {
		t.Errorf("an offset of nothing: %v", err)
	}
}

// Times that count from their start get a date.
func TestClockStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.csv")
	put(t, file, "request_id,arrival_s,ttft_ms,e2e_ms\na,0,50,900\nb,1.5,60,800\n")
	o, err := ParseClockOffset("client=2026-01-05T10:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	ds := load(t, Options{Clocks: []ClockOffset{o}, Side: serving.Client}, file)
	for _, c := range ds.Traces[0].Columns() {
		if c.Name == serving.ColArrival && c.Relative {
			t.Error("its times still count from their start")
		}
	}
	if got := arrivals(t, ds.Traces[0]); got[1] != o.By+1_500_000_000 {
		t.Errorf("the second request is at %d, want 1.5 s after %d", got[1], o.By)
	}
}

func TestParseClockOffset(t *testing.T) {
	for _, s := range []string{"", "client", "client=", "=2s", "client=2", "client=yesterday", "client=2026-01-05T10:00:00"} {
		if _, err := ParseClockOffset(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
	for s, want := range map[string]ClockOffset{
		"client=-2.5s":                {"client", -2_500_000_000, false},
		"log=+9h":                     {"log", 9 * 3600 * 1e9, false},
		"a=b/x.csv=10ms":              {"a=b/x.csv", 10_000_000, false},
		"pod*=1m30s":                  {"pod*", 90 * 1e9, false},
		"client=1970-01-01T00:00:01Z": {"client", 1e9, true},
	} {
		if got, err := ParseClockOffset(s); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", s, got, err, want)
		}
	}
}
