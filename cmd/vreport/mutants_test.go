package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

// What a damaged file may cost, from its path to the page.
const (
	mutantTime   = 10 * time.Second
	mutantMemory = 1 << 30
)

// A scrapedValue is a row of AIPerf's server metrics.
type scrapedValue struct {
	Endpoint string   `parquet:"endpoint_url,dict"`
	Metric   string   `parquet:"metric_name,dict"`
	Type     string   `parquet:"metric_type,dict"`
	Time     int64    `parquet:"timestamp_ns"`
	Model    *string  `parquet:"model_name,optional,dict"`
	Value    *float64 `parquet:"value,optional"`
	Sum      *float64 `parquet:"sum,optional"`
	Count    *float64 `parquet:"count,optional"`
	Bound    *string  `parquet:"bucket_le,optional,dict"`
	Bucket   *float64 `parquet:"bucket_count,optional"`
}

// scrapedRows are 40 scrapes of two endpoints.
func scrapedRows() []scrapedValue {
	p := func(x float64) *float64 { return &x }
	model := "m"
	var rows []scrapedValue
	for _, endpoint := range []string{"http://h:8000/metrics", "http://h:8001/metrics"} {
		for i := range 40 {
			row := scrapedValue{Endpoint: endpoint, Time: 1760000000e9 + int64(i)*5e9, Model: &model}
			row.Metric, row.Type, row.Value = "vllm:num_requests_running", "gauge", p(float64(i%7))
			rows = append(rows, row)
			row.Metric, row.Type, row.Value = "vllm:num_preemptions", "counter", p(float64(i))
			rows = append(rows, row)
			for k, le := range []string{"0.5", "1.0", "+Inf"} {
				row := row
				row.Metric, row.Type, row.Value = "vllm:time_to_first_token_seconds", "histogram", nil
				row.Sum, row.Count, row.Bound, row.Bucket = p(float64(i)*4.5), p(float64(i)*10), &le, p(float64(i)*float64(8+k))
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func asParquet(rows []scrapedValue) []byte {
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// lyingRows is a sound file whose rows say what none was.
func lyingRows(r *rand.Rand, _ []byte, _, _ int) []byte {
	rows := scrapedRows()
	number := func() *float64 {
		x := []float64{-1, 0, 1e308, -1e308, math.NaN(), math.Inf(1), 5e-324, 1 << 53, r.Float64()}[r.IntN(9)]
		return &x
	}
	text := func() string {
		return []string{"", "<script>", "__proto__", "\x00", "é\xff", "a{b=\"c\"}\n", strings.Repeat("x", 1<<20), "+Inf", "-1", "1e400", "NaN"}[r.IntN(11)]
	}
	for range 1 + r.IntN(20) {
		row := &rows[r.IntN(len(rows))]
		switch s := text(); r.IntN(9) {
		case 0, 1:
			row.Time = []int64{0, -1, 1e18, math.MaxInt64, math.MinInt64, row.Time + 1, row.Time * 2, 1e18 + r.Int64N(8e18)}[r.IntN(8)]
		case 2:
			row.Value = number()
		case 3:
			row.Sum, row.Count = number(), number()
		case 4:
			row.Bucket = number()
		case 5:
			row.Bound = &s
		case 6:
			row.Model = &s
		case 7:
			row.Type = []string{"histogram", "counter", "gauge", "summary", s}[r.IntN(5)]
		default:
			row.Metric, row.Endpoint = []string{row.Metric, s}[r.IntN(2)], []string{row.Endpoint, s}[r.IntN(2)]
		}
	}
	return asParquet(rows)
}

// ownPage is a page of ours about a benchmark and a trace.
func ownPage(t testing.TB) []byte {
	dir := t.TempDir()
	var trace strings.Builder
	trace.WriteString("arrival_time_ms,workload,prompt_tokens,cached_tokens,output_tokens,ttft_ms,e2e_ms\n")
	var ttfts []string
	for i := range 60 {
		fmt.Fprintf(&trace, "%d,%s,%d,%d,%d,%d,%d\n", i*250, []string{"chat", "rag"}[i%2], 100+i, i%50, 20+i%9, 40+i, 900+7*i)
		ttfts = append(ttfts, fmt.Sprintf("0.0%d", 40+i%9))
	}
	bench := `{"date":"20260105-100000","backend":"vllm","model_id":"m","num_prompts":60,"max_concurrency":8,"duration":20.5,"completed":60,"total_input_tokens":6000,"total_output_tokens":1200,"request_throughput":2.93,"output_throughput":58.5,"total_token_throughput":351,
"mean_ttft_ms":44,"median_ttft_ms":44,"p99_ttft_ms":48,"mean_tpot_ms":9,"median_tpot_ms":9,"p99_tpot_ms":12,"ttfts":[` + strings.Join(ttfts, ",") + `]}`
	for name, text := range map[string]string{"trace.csv": trace.String(), "bench.json": bench} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out.html")
	var said bytes.Buffer
	if status := run([]string{"report", filepath.Join(dir, "trace.csv"), filepath.Join(dir, "bench.json"), "-o", out}, strings.NewReader(""), &said, &said); status != 0 {
		t.Fatalf("status %d: %s", status, said.String())
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// island is where the report's JSON stands in a page.
func island(page []byte) (from, to int) {
	const tag = `id="vreport-data">`
	from = bytes.Index(page, []byte(tag)) + len(tag)
	return from, from + bytes.IndexByte(page[from:], '<')
}

var jsonNumber = regexp.MustCompile(`-?\d+(?:\.\d+)?(?:e[+-]?\d+)?`)

// lies are what a number of a report may be changed to.
var lies = []string{"-1", "0", "1e308", "-1e308", "1e999", "9223372036854775807", "9999999999999999999999", "null", `"x"`, "[]", "{}", "1e-320", "NaN", "123456789012", strings.Repeat("[", 5000)}

// A damage changes a file from a place to another. It may return b, changed.
type damage struct {
	name   string
	change func(r *rand.Rand, b []byte, from, to int) []byte
}

var damages = []damage{
	{"bytes", func(r *rand.Rand, b []byte, from, to int) []byte {
		for range 1 + r.IntN(4) {
			b[from+r.IntN(to-from)] ^= byte(1 + r.IntN(255))
		}
		return b
	}},
	{"cut", func(r *rand.Rand, b []byte, from, to int) []byte { return b[:from+r.IntN(to-from)] }},
	{"a piece less", func(r *rand.Rand, b []byte, from, to int) []byte {
		at := from + r.IntN(to-from)
		return append(b[:at:at], b[at+r.IntN(to-at):]...)
	}},
	{"a piece twice", func(r *rand.Rand, b []byte, from, to int) []byte {
		at := from + r.IntN(to-from)
		return append(b[:at:at], b[from+r.IntN(at-from+1):]...)
	}},
}

var lie = damage{"numbers", func(r *rand.Rand, b []byte, from, to int) []byte {
	all := jsonNumber.FindAllIndex(b[from:to], -1)
	for range 1 + r.IntN(3) {
		at := all[r.IntN(len(all))]
		// Behind what was changed before, places are others; any will do.
		b = append(b[:from+at[0]:from+at[0]], append([]byte(lies[r.IntN(len(lies))]), b[min(from+at[1], len(b)):]...)...)
	}
	return b
}}

// TestMutants makes reports of damaged files: VREPORT_MUTANTS of each kind. None may
// panic, take longer than ten seconds or allocate a GiB.
func TestMutants(t *testing.T) {
	n := 60
	if s := os.Getenv("VREPORT_MUTANTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		n = 10
	}
	page := ownPage(t)
	from, to := island(page)
	scraped := asParquet(scrapedRows())
	for _, seed := range []struct {
		name     string
		file     []byte
		from, to int
		damages  []damage
		flags    []string
	}{
		{"metrics.parquet", scraped, 0, len(scraped), append(damages, damage{"rows", lyingRows}, damage{"rows", lyingRows}), []string{"--promql", "r=rate({__name__=~\".+\"}[20s])"}},
		{"metadata.parquet", scraped, len(scraped) - 1500, len(scraped), damages, nil},
		{"report.html", page, from, to, append(damages, lie, lie, lie), []string{"--slo", "ttft:p95<50ms"}},
		{"report.json", page[from:to], 0, to - from, append(damages, lie, lie, lie), nil},
	} {
		t.Run(seed.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, seed.name)
			r := rand.New(rand.NewPCG(11, 11))
			read := 0
			var slowest time.Duration
			var most uint64
			for k := range n {
				d := seed.damages[k%len(seed.damages)]
				b := d.change(r, bytes.Clone(seed.file), max(seed.from, 0), seed.to)
				if err := os.WriteFile(path, b, 0o666); err != nil {
					t.Fatal(err)
				}
				status, took, allocated := tryReport(t, append([]string{"report", path, "-o", filepath.Join(dir, "out.html")}, seed.flags...))
				if took > mutantTime || allocated > mutantMemory || status > 2 {
					t.Errorf("mutant %d (%s): status %d, %v, %d MiB", k, d.name, status, took, allocated>>20)
				}
				if status == 0 {
					read++
				}
				slowest, most = max(slowest, took), max(most, allocated)
			}
			t.Logf("%d mutants: %d read; the slowest took %v, the hungriest allocated %d MiB", n, read, slowest.Round(time.Millisecond), most>>20)
			if read == 0 {
				t.Error("none is read: they test little")
			}
		})
	}
}

// tryReport runs the command. A hang ends the test with all stacks.
func tryReport(t *testing.T, args []string) (status int, took time.Duration, allocated uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	hang := time.AfterFunc(6*mutantTime, func() { panic(fmt.Sprintf("%q hangs", args)) })
	defer hang.Stop()
	status = run(args, strings.NewReader(""), io.Discard, io.Discard)
	took = time.Since(began)
	runtime.ReadMemStats(&after)
	return status, took, after.TotalAlloc - before.TotalAlloc
}
