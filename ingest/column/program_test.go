package column

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

var nan = math.NaN()

// A case is a small table by raw column; NaN in floats, "" in texts and
// math.MaxInt64 in ints stand for null, bad for a NaN in the file.
type table map[string][]any

// run resolves raw columns, fills a batch with their values and returns the
// wanted columns as text, "-" where a row has none.
func run(t *testing.T, raws []Raw, values table, want ...string) (map[string][]string, *Plan, *serving.Problems) {
	t.Helper()
	p, err := Resolve(raws, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := p.NewDicts()
	g, err := p.Program(d, want)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	src, into := g.Sources()
	for k, s := range src {
		so := p.Sources[s]
		vals := values[p.Raws[so.Raw].Name]
		n = len(vals)
		v := into[k]
		v.Valid = serving.NewBitmap(n)
		for i, x := range vals {
			if x != nil {
				v.Valid.Set(i)
			}
			switch so.Kind {
			case serving.KindText:
				c := int32(0)
				if x != nil {
					c = d.Source(s).Code(fmt.Sprint(x))
				}
				v.Codes = append(v.Codes, c)
			case serving.KindTime:
				f, _ := x.(float64)
				v.Ints = append(v.Ints, int64(f*float64(so.Unit.Nanoseconds())))
			case serving.KindCount:
				c, _ := x.(int)
				v.Ints = append(v.Ints, int64(c))
			default:
				f, _ := x.(float64)
				v.Floats = append(v.Floats, f/so.Unit.PerSecond())
			}
		}
	}
	var ps serving.Problems
	b := g.Run(Place{Path: "t.parquet", Base: 100}, n, &ps)
	out := map[string][]string{}
	for k, name := range want {
		v := &b.Cols[k]
		for i := range n {
			s := "-"
			if v.Has(i) {
				switch v.Kind {
				case serving.KindText:
					s = d.Of(name).Name(v.Codes[i])
				case serving.KindTime, serving.KindCount:
					s = fmt.Sprint(v.Ints[i])
				default:
					s = fmt.Sprintf("%.6g", v.Floats[i])
				}
			}
			out[name] = append(out[name], s)
		}
	}
	return out, p, &ps
}

func check(t *testing.T, got map[string][]string, want map[string]string) {
	t.Helper()
	for n, w := range want {
		if d := cmp.Diff(strings.Fields(w), got[n]); d != "" {
			t.Errorf("%s: %s", n, d)
		}
	}
}

func problem(t *testing.T, ps *serving.Problems, want ...string) {
	t.Helper()
	all := fmt.Sprint(ps.List())
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("no problem %q in %s", w, all)
		}
	}
	if len(ps.List()) != len(want) {
		t.Errorf("%d problems, want %d: %s", len(ps.List()), len(want), all)
	}
}

// TestDeriveFromInstants makes every duration out of instants.
func TestDeriveFromInstants(t *testing.T) {
	raws := []Raw{instant("start_time", Second), instant("scheduled_at", Second), instant("queued_at", Second), instant("completion_start_time", Second), instant("end_time", Second), raw("output_tokens", Int)}
	got, p, ps := run(t, raws, table{
		"start_time":            {100.0, 200.0, 300.0, nil},
		"queued_at":             {101.0, 201.0, nil, 1.0},
		"scheduled_at":          {103.0, 202.0, 301.0, 2.0},
		"completion_start_time": {104.0, 203.0, 302.0, 3.0},
		"end_time":              {114.0, 199.0, nil, 4.0},
		"output_tokens":         {11, 5, 7, 1},
	}, "ttft", "e2e", "queue", "prefill", "decode", "frontend", "tpot", "normalized", "outcome")
	check(t, got, map[string]string{
		"ttft": "4 3 2 -", "e2e": "14 - - -", "queue": "2 1 - 1", "prefill": "1 1 1 1", "decode": "10 - - 1",
		"frontend": "1 - - -", "tpot": "1 - - -", "normalized": "1.27273 - - -", "outcome": "ok incomplete incomplete incomplete",
	})
	problem(t, ps, "row 102: e2e: ends 1 s before it starts", "row 102: decode: ends 4 s before")
	for _, c := range p.Columns {
		if c.Name == "tpot" && (c.How != "derived" || c.From != "end_time, start_time, completion_start_time, output_tokens") {
			t.Errorf("%+v", c)
		}
	}
	touched := fmt.Sprint(p.Touched())
	for _, w := range []string{"{e2e = end − arrival 1}", "{prefill = first token − scheduled 4}"} {
		if !strings.Contains(touched, w) {
			t.Errorf("no %s in %s", w, touched)
		}
	}
}

// TestDeriveClocks never subtracts a wall clock from an engine's own.
func TestDeriveClocks(t *testing.T) {
	raws := []Raw{raw("arrival_time", Float, 1.787e9), raw("queued_ts", Float, 20), raw("first_token_ts", Float, 25), raw("last_token_ts", Float, 30), raw("output_tokens", Int)}
	got, p, _ := run(t, raws, table{"arrival_time": {1.787e9}, "queued_ts": {20.0}, "first_token_ts": {25.0}, "last_token_ts": {30.0}, "output_tokens": {6}}, "ttft", "e2e", "decode", "tpot")
	check(t, got, map[string]string{"ttft": "5", "e2e": "10", "decode": "5", "tpot": "1"})
	for _, c := range p.Columns {
		if c.Name == "frontend" || c.Name == "arrival_time" && c.Relative || c.Name == "first_token_time" && !c.Relative {
			t.Errorf("%+v", c)
		}
	}
	p, err := Resolve([]Raw{raw("arrival_time_s", Float, 1.787e9), raw("end_ts_s", Float, 30), raw("prompt_tokens", Int)}, nil)
	if err != nil || p.makes("e2e") {
		t.Error("two clocks make no E2E", err)
	}
}

// TestPresentWins keeps a metric column, its missing rows included.
func TestPresentWins(t *testing.T) {
	raws := []Raw{raw("e2e_s", Float), raw("ttft_s", Float), raw("tpot_s", Float), raw("output_tokens", Int)}
	got, _, _ := run(t, raws, table{"e2e_s": {10.0, 10.0}, "ttft_s": {1.0, 1.0}, "tpot_s": {0.5, nil}, "output_tokens": {10, 10}}, "tpot")
	check(t, got, map[string]string{"tpot": "0.5 -"})
}

// TestChecks removes what cannot be, keeps the row and says where.
func TestChecks(t *testing.T) {
	raws := []Raw{raw("e2e_ms", Float), raw("ttft_ms", Float), raw("prompt_tokens", Int), raw("cached_tokens", Int), raw("output_tokens", Int), raw("status", Text)}
	got, _, ps := run(t, raws, table{
		"e2e_ms":        {100.0, -4.0, nan, math.Inf(1), 50.0, 9.0},
		"ttft_ms":       {10.0, 10.0, 10.0, 10.0, 60.0, 0.0},
		"prompt_tokens": {10, 10, 10, -1, 10, 10},
		"cached_tokens": {10, 11, 0, 5, nil, 0},
		"output_tokens": {2, 1, 0, 2, 3, BadInt},
		"status":        {"ok", "ok", "ok", "ok", "ok", "error"},
	}, "e2e", "ttft", "cached_tokens", "prompt_tokens", "output_tokens", "tpot", "outcome", "normalized")
	check(t, got, map[string]string{
		"e2e": "0.1 - - - 0.05 0.009", "ttft": "0.01 0.01 0.01 0.01 0.06 -", "cached_tokens": "10 - 0 5 - 0", "prompt_tokens": "10 10 10 - 10 10",
		"output_tokens": "2 1 0 2 3 -", "tpot": "0.09 - - - - -", "outcome": "ok ok ok ok ok error", "normalized": "0.05 - - - 0.0166667 -",
	})
	problem(t, ps, "row 102: e2e_ms: -4 is negative, want a duration (3 records)", "row 104: prompt_tokens: -1 is negative", "row 102: cached_tokens: 11 cached tokens of a prompt of 10",
		"row 106: output_tokens: not a whole number", "row 105: ttft: TTFT of 0.06 s is longer than E2E of 0.05 s", "row 106: ttft: TTFT of 0 s")
}

// TestStreaming never pools the TTFT of requests that were not streamed.
func TestStreaming(t *testing.T) {
	raws := []Raw{raw("e2e_s", Float), raw("ttft_s", Float), raw("tpot_s", Float), raw("stream", Bool)}
	got, p, ps := run(t, raws, table{"e2e_s": {2.0, 2.0, 2.0, 2.0}, "ttft_s": {1.0, 2.0, 1.0, 1.0}, "tpot_s": {.1, .1, .1, .1}, "stream": {"true", "false", nil, "perhaps"}}, "streaming", "ttft", "tpot", "e2e")
	check(t, got, map[string]string{"streaming": "yes no - -", "ttft": "1 - 1 1", "tpot": "0.1 - 0.1 0.1", "e2e": "2 2 2 2"})
	problem(t, ps, `row 104: stream: "perhaps" is neither yes nor no`)
	if s := fmt.Sprint(p.Touched()); !strings.Contains(s, "not streamed: no ttft, tpot and itl 1") {
		t.Error(s)
	}
}

// TestOutcomeColumns takes the worst verdict of all columns; where none speaks,
// completeness decides.
func TestOutcomeColumns(t *testing.T) {
	raws := []Raw{raw("e2e_s", Float), raw("output_tokens", Int), raw("success", Bool), raw("error", Text), raw("http_status", Int), raw("finish_reason", Text), raw("was_cancelled", Bool)}
	got, _, _ := run(t, raws, table{
		"e2e_s":         {1.0, nil, 1.0, nil, 1.0, nil, 1.0, 1.0},
		"output_tokens": {5, 0, 5, 0, 5, nil, 0, nil},
		"success":       {"true", "false", "true", "false", nil, nil, nil, nil},
		"error":         {nil, "boom", nil, "request timed out", nil, nil, nil, "None"},
		"http_status":   {200, 500, 200, nil, 499, nil, nil, nil},
		"finish_reason": {"stop", nil, "length", "abort", nil, nil, nil, nil},
		"was_cancelled": {"false", "false", "true", "true", nil, nil, nil, nil},
	}, "outcome")
	check(t, got, map[string]string{"outcome": "ok error cancelled timeout cancelled incomplete error ok"})

	got, _, ps := run(t, []Raw{raw("status", Text), raw("e2e_s", Float)}, table{"status": {"ok", "purple"}, "e2e_s": {1.0, 1.0}}, "outcome")
	check(t, got, map[string]string{"outcome": "ok ok"})
	problem(t, ps, `row 102: status: "purple" is no known status: its figures decide`)

	got, _, _ = run(t, []Raw{instant("timestamp", Second), raw("prompt_tokens", Int), raw("output_tokens", Int)}, table{"timestamp": {1.8e9, 1.8e9, 1.8e9}, "prompt_tokens": {1, 1, 1}, "output_tokens": {1, 0, nil}}, "outcome")
	check(t, got, map[string]string{"outcome": "ok error incomplete"})
}

func TestOtherDerivations(t *testing.T) {
	got, _, ps := run(t, []Raw{raw("e2e_s", Float), raw("kv_hit_rate", Float), raw("prompt_tokens", Int), raw("warmup", Bool)},
		table{"e2e_s": {1.0, 1.0, 1.0}, "kv_hit_rate": {0.5, 1.5, nil}, "prompt_tokens": {101, 100, 100}, "warmup": {"true", "false", nil}}, "cached_tokens", "phase")
	check(t, got, map[string]string{"cached_tokens": "51 - -", "phase": "warmup profiling -"})
	problem(t, ps, "row 102: kv_hit_rate: 1.5, want a share of 0 to 1")
}

// TestNoProblems runs without a sink, as a second pass does.
func TestNoProblems(t *testing.T) {
	p, err := Resolve([]Raw{raw("e2e_ms", Float), raw("ttft_ms", Float)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Program(p.NewDicts(), []string{"e2e", "ttft"})
	if err != nil {
		t.Fatal(err)
	}
	_, into := g.Sources()
	into[0].Floats, into[1].Floats = []float64{-1}, []float64{3}
	b := g.Run(Place{}, 1, nil)
	if b.Cols[0].Has(0) || !b.Cols[1].Has(0) || len(p.Touched()) != 0 {
		t.Error("batch", b)
	}
	if _, err := p.Program(p.NewDicts(), []string{"e2"}); err == nil || !strings.Contains(err.Error(), `did you mean "e2e"`) {
		t.Error(err)
	}
}

// TestCrossCheck finds units that cannot all be right.
func TestCrossCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		raws   []Raw
		values table
		want   []string
	}{
		{"e2e in ms called s", []Raw{instant("start_time", Second), instant("end_time", Second), raw("e2e_s", Float)}, table{"start_time": {1e9, 1e9, 1e9}, "end_time": {1e9 + 2, 1e9 + 3, 1e9 + 4}, "e2e_s": {2000.0, 3000.0, 9000.0}}, []string{"e2e_s (taken as s)", "end_time"}},
		{"e2e right", []Raw{instant("start_time", Second), instant("end_time", Second), raw("e2e_s", Float)}, table{"start_time": {1e9, 1e9}, "end_time": {1e9 + 2, 1e9 + 3}, "e2e_s": {2.0, 3.1}}, nil},
		{"ttft in us called ms", []Raw{raw("e2e_ms", Float), raw("ttft_ms", Float)}, table{"e2e_ms": {1000.0}, "ttft_ms": {90000.0}}, []string{"ttft_ms", "e2e_ms"}},
		{"tpot in ms called s", []Raw{raw("e2e_s", Float), raw("ttft_s", Float), raw("tpot_s", Float), raw("output_tokens", Int)}, table{"e2e_s": {10.1}, "ttft_s": {0.1}, "tpot_s": {10.0}, "output_tokens": {1001}}, []string{"tpot_s", "e2e_s"}},
		{"tpot right", []Raw{raw("e2e_s", Float), raw("ttft_s", Float), raw("tpot_s", Float), raw("output_tokens", Int)}, table{"e2e_s": {10.1}, "ttft_s": {0.1}, "tpot_s": {0.01}, "output_tokens": {1001}}, nil},
		{"nothing to compare", []Raw{raw("e2e_s", Float), raw("ttft_s", Float)}, table{"e2e_s": {nil}, "ttft_s": {1.0}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Resolve(tt.raws, nil)
			if err != nil {
				t.Fatal(err)
			}
			g, err := p.Program(p.NewDicts(), p.SampleColumns())
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			src, into := g.Sources()
			for k, s := range src {
				so, v := p.Sources[s], into[k]
				vals := tt.values[p.Raws[so.Raw].Name]
				n = len(vals)
				v.Valid = serving.NewBitmap(n)
				for i, x := range vals {
					if x != nil {
						v.Valid.Set(i)
					}
					f, _ := x.(float64)
					c, _ := x.(int)
					v.Floats = append(v.Floats, f/so.Unit.PerSecond())
					v.Ints = append(v.Ints, int64(f*float64(so.Unit.Nanoseconds()))+int64(c))
				}
			}
			g.Run(Place{}, n, nil)
			err = g.CrossCheck(n)
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("error %v", err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v, want %q", err, w)
				}
			}
		})
	}
}

// FuzzMapping reads any flag without panicking, and what it accepts it accepts
// again as it writes it.
func FuzzMapping(f *testing.F) {
	for _, s := range []string{"ttft=first_token:ms", "e2e=a:b:ns", "=", "ttft=:", "прompt=x:µs", "e2e==:s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMapping(s)
		if err != nil {
			return
		}
		again, err := ParseMapping(m.String())
		if err != nil || again != m {
			t.Errorf("%q: %+v, then %+v, %v", s, m, again, err)
		}
	})
}
