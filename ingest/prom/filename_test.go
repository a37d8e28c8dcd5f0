package prom

import (
	"slices"
	"testing"
	"time"
)

func TestReadName(t *testing.T) {
	at := func(s string) int64 {
		x, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return x.UnixNano()
	}
	for _, c := range []struct {
		name, stamp   string
		zoned         bool
		before, after string
	}{
		{"vllm-7d9f8-abcde_1764417600_metrics.log", "2025-11-29T12:00:00Z", true, "vllm-7d9f8-abcde", "metrics"},
		{"m-1764417600123.prom", "2025-11-29T12:00:00.123Z", true, "m", ""},
		{"1764417600.5.txt", "2025-11-29T12:00:00.5Z", true, "", ""},
		{"1764417600", "2025-11-29T12:00:00Z", true, "", ""},
		{"metrics.1764417600", "2025-11-29T12:00:00Z", true, "metrics", ""},
		{"metrics_2025-11-29T12-00-05Z.prom", "2025-11-29T12:00:05Z", true, "metrics", ""},
		{"metrics_20251129_120005.prom.gz", "2025-11-29T12:00:05Z", false, "metrics", ""},
		{"2025-11-29_12.00.05-pod-a.txt", "2025-11-29T12:00:05Z", false, "", "pod-a"},
		{"20251129120005.txt", "2025-11-29T12:00:05Z", false, "", ""},
		{"x_2025-11-29T12:00:05+09:00.txt", "2025-11-29T03:00:05Z", true, "x", ""},
		{"abc_before_1764417600.txt", "2025-11-29T12:00:00Z", true, "abc", ""},
	} {
		n := readName("dir/" + c.name)
		if !n.timed || n.stamp.nanos != at(c.stamp) || n.stamp.zoned != c.zoned || n.before != c.before || n.after != c.after {
			t.Errorf("%s: %+v, want %+v", c.name, n, c)
		}
	}
	for _, c := range []struct {
		name, template string
		numbers        []int64
	}{
		{"m_0005.prom", "m_#", []int64{5}},
		{"vllm_0.25.1_idle.txt", "vllm_#.#.#_idle", []int64{0, 25, 1}},
		{"scrape.12", "scrape.#", []int64{12}},
		{"20251301_120000.txt", "#_#", []int64{20251301, 120000}}, // there is no month 13
		{"9999999999999999999999.txt", "9999999999999999999999", nil},
		{"run_4242424242.txt", "run_#", []int64{4242424242}}, // seconds after 2096
	} {
		if n := readName(c.name); n.timed || n.template != c.template || !slices.Equal(n.numbers, c.numbers) {
			t.Errorf("%s: %+v", c.name, n)
		}
	}
}

func TestParseStamp(t *testing.T) {
	const noon = 1764417600e9
	for _, c := range []struct {
		text  string
		zoned bool
	}{
		{"2025-11-29T12:00:00Z", true}, {"2025-11-29T21:00:00+09:00", true}, {"2025-11-29 12:00:00+00:00", true},
		{"2025-11-29T12:00:00.000000", false}, {"2025-11-29 12:00:00", false}, {"2025-11-29 12:00:00 UTC", true},
		{"Sat Nov 29 12:00:00 UTC 2025", true}, {"Sat Nov 29 12:00:00 KST 2025", false}, {"Sat, 29 Nov 2025 12:00:00 GMT", true},
		{"Sat 29 Nov 2025 12:00:00 PM UTC", true}, {"1764417600", true}, {"1764417600000", true}, {"1764417600.000", true},
	} {
		if got, ok := parseStamp(c.text); !ok || got.nanos != noon || got.zoned != c.zoned {
			t.Errorf("%q: %+v, %v", c.text, got, ok)
		}
	}
	for _, text := range []string{"", "12:00:00", "2025-11-29", "1234567", "vllm:x 1", "2025-13-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"} {
		if got, ok := parseStamp(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestNaturalOrder(t *testing.T) {
	got := []string{"m_10", "m_2", "m_02", "a", "m_1", "m_1a", "m_"}
	slices.SortFunc(got, natural)
	if want := []string{"a", "m_", "m_1", "m_1a", "m_02", "m_2", "m_10"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
