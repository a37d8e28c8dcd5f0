package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The collector is as usual after the first collection, or the first one after
// somebody else's setting.
func TestCollectLate(t *testing.T) {
	was := debug.SetGCPercent(usualPercent)
	defer debug.SetGCPercent(was)
	percent := func() int {
		now := debug.SetGCPercent(50)
		debug.SetGCPercent(now)
		return now
	}
	collectLate()
	if got := percent(); got != startPercent {
		t.Errorf("%d at the start, want %d", got, startPercent)
	}
	debug.SetGCPercent(33)
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if got := percent(); got != 33 {
		t.Errorf("%d while it is set to 33", got)
	}
	debug.SetGCPercent(startPercent)
	for end := time.Now().Add(10 * time.Second); percent() != usualPercent; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("still %d, want %d", percent(), usualPercent)
		}
	}
	debug.SetGCPercent(70) // GOGC
	if collectLate(); percent() != 70 {
		t.Errorf("%d where the environment says 70", percent())
	}
}

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
	}{
		{"512MiB", 512 << 20}, {"1GiB", 1 << 30}, {"1.5gb", 1.5e9}, {"2g", 2 << 30}, {"1073741824", 1 << 30}, {"256 MiB", 256 << 20}, {"100B", 100},
		{"", 0}, {"many", 0}, {"-1GiB", 0}, {"NaN", 0}, {"1e300TiB", 0}, {"0", 0}, {"GiB", 0},
	} {
		got, err := parseSize(tt.text)
		if got != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("parseSize(%q) = %d, %v, want %d", tt.text, got, err, tt.want)
		}
	}
}

func TestExactAndMemory(t *testing.T) {
	o, err := resolve(typedAs("exact", "false", "max-memory", "300MiB"))
	if err != nil || !o.analyze.NoExact || o.analyze.MaxMemory != 300<<20 || o.maxMemory != 300<<20 {
		t.Fatalf("options %+v, %v", o, err)
	}
	if len(o.flags) != 1 || o.flags[0] != "--no-exact" {
		t.Errorf("flags %q, want --no-exact alone: no figure depends on the memory", o.flags)
	}
	if o, err := resolve(typedAs("exact", "true")); err != nil || o.analyze.NoExact || len(o.flags) != 0 {
		t.Errorf("--exact: %+v, %v", o, err)
	}
	if _, err := resolve(typedAs("max-memory", "1MiB")); err == nil {
		t.Error("1 MiB is taken")
	}
}
