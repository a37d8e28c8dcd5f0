package analyze

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// traceOf is a trace of like requests, of which a column of names has so many of each
// value; "" is a request that does not say.
func traceOf(dim string, values ...string) serving.Requests {
	rng := rand.New(rand.NewPCG(71, 72))
	n := len(values)
	t := column.NewTable("t", "t.parquet", serving.ServerSide, n)
	var at, in []int64
	var ttft []float64
	var codes []int32
	names, said := serving.NewDict(), serving.NewBitmap(n)
	for i, r := range load(rng, n, "", 500, 0.1, 0.02) {
		at, in, ttft = append(at, int64(r.at*1e9)), append(in, 500), append(ttft, r.ttft)
		codes = append(codes, names.Code(values[i]))
		if values[i] != "" {
			said.Set(i)
		}
	}
	t.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime}, at, nil)
	t.Floats(serving.Column{Name: string(serving.TTFT), Kind: serving.KindDuration}, ttft, nil)
	t.Ints(serving.Column{Name: string(serving.PromptTokens), Kind: serving.KindCount}, in, nil)
	if dim != "" {
		t.Text(serving.Column{Name: dim, Kind: serving.KindText}, codes, names, said)
	}
	return t
}

// times repeats values: so many of each.
func times(n int, values ...string) []string {
	var out []string
	for _, v := range values {
		out = append(out, slices.Repeat([]string{v}, n)...)
	}
	return out
}

func comparedTraces(t *testing.T, b, a serving.Requests) (*Comparison, *Report) {
	t.Helper()
	opt := DefaultOptions()
	opt.Gates = []string{"regression"}
	rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{{Traces: []serving.Requests{b}}, {Traces: []serving.Requests{a}}}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return Value[Comparison](rep), rep
}

func factsText(list []Changed) string {
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprintf("%s %s: %s | %s", x.Kind, x.Key, x.Before, x.After))
	}
	return strings.Join(out, "\n")
}

// What requests state one by one is compared by values and shares.
func TestCompareWhatRequestsState(t *testing.T) {
	chat, rag := times(400, "chat"), times(400, "rag")
	for _, tt := range []struct {
		name                     string
		dim                      string
		b, a                     []string
		changed, same, notStated string
	}{
		{"models", serving.ColModel, times(400, "llama"), times(400, "qwen"), "model model: llama | qwen", "", ""},
		{"one model", serving.ColModel, times(400, "llama"), times(300, "llama"), "", "model model: llama | llama", ""},
		{"engines", serving.ColEngine, times(400, "vllm"), times(400, "sglang"), "version engine: vllm | sglang", "", ""},
		{"workloads", serving.ColWorkload, chat, rag, "workload workload: chat | rag", "", ""},
		{"no workload in common", serving.ColWorkload, times(200, "agent", "chat"), times(200, "batch", "rag"), "workload workload: agent 50 %, chat 50 % | batch 50 %, rag 50 %", "", ""},
		{"shares", serving.ColWorkload, slices.Concat(times(360, "chat"), times(40, "rag")), slices.Concat(times(40, "chat"), times(360, "rag")), "workload workload: chat 90 %, rag 10 % | chat 10 %, rag 90 %", "", ""},
		{"shares within chance", serving.ColWorkload, slices.Concat(times(214, "chat"), times(186, "rag")), slices.Concat(times(190, "chat"), times(210, "rag")), "", "workload workload: chat 53.5 %, rag 46.5 % | chat 47.5 %, rag 52.5 %", ""},
		{"a little, of many", serving.ColWorkload, slices.Concat(times(5000, "chat", "rag")), slices.Concat(times(5200, "chat"), times(4800, "rag")), "", "workload workload: chat 50 %, rag 50 % | chat 52 %, rag 48 %", ""},
		{"half no longer say", serving.ColWorkload, chat, slices.Concat(times(200, "chat"), times(200, "")), "workload workload: chat | chat 50 %", "", ""},
		{"streaming", serving.ColStreaming, times(400, "yes"), times(400, "no"), "workload streaming: yes | no", "", ""},
		{"replicas", serving.ColReplica, times(210, "a", "b"), times(140, "c", "d", "e"), "hardware replicas: 2 | 3", "", ""},
		{"as many replicas of other names", serving.ColReplica, times(200, "a", "b"), times(200, "c", "d"), "", "hardware replicas: 2 | 2", ""},
		{"not stated after", serving.ColWorkload, chat, times(400, ""), "", "", "workload workload: chat | not stated"},
		{"stated by nobody", serving.ColWorkload, times(400, ""), times(400, ""), "", "", "workload workload: not stated | not stated"},
	} {
		c, _ := comparedTraces(t, traceOf(tt.dim, tt.b...), traceOf(tt.dim, tt.a...))
		if got := factsText(c.Changed); got != tt.changed {
			t.Errorf("%s: changed %q, want %q", tt.name, got, tt.changed)
		}
		if got := factsText(c.Same); got != tt.same {
			t.Errorf("%s: the same %q, want %q", tt.name, got, tt.same)
		}
		if got := factsText(c.NotStated); !strings.Contains(got, tt.notStated) || !strings.Contains(got, "version: not stated | not stated") || !strings.Contains(got, "settings: not stated | not stated") {
			t.Errorf("%s: not stated %q, want %q, and version and settings", tt.name, got, tt.notStated)
		}
	}
}

// A side without the column at all does not state it, and the values of the other are
// neither new nor gone.
func TestCompareAColumnOfOneSide(t *testing.T) {
	c, _ := comparedTraces(t, traceOf(serving.ColWorkload, times(200, "chat", "rag")...), traceOf("", times(400, "")...))
	if got := factsText(c.NotStated); !strings.Contains(got, "workload workload: chat 50 %, rag 50 % | not stated") || len(c.Changed) > 0 || len(c.New)+len(c.Gone) > 0 {
		t.Errorf("not stated %q, changed %q, new %v, gone %v", got, factsText(c.Changed), c.New, c.Gone)
	}
}

// Slices of a side that has one value only are new and gone like any other, and what
// both sides have of them is compared.
func TestCompareSlicesOfOneValue(t *testing.T) {
	named := func(list []SliceRef) string {
		var out []string
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s %.2g", s.By[0].Value, s.Share))
		}
		return strings.Join(out, ", ")
	}
	for _, tt := range []struct {
		name      string
		b, a      []string
		neu, gone string
		compared  string
		cause     string
	}{
		{"all other", times(400, "chat"), times(400, "rag"), "rag 1", "chat 1", "", "workload"},
		{"half other", times(400, "chat"), times(200, "chat", "rag"), "rag 0.5", "", "chat", "workload"},
		{"all of one", times(400, "chat"), times(400, "chat"), "", "", "", ""},
	} {
		c, _ := comparedTraces(t, traceOf(serving.ColWorkload, tt.b...), traceOf(serving.ColWorkload, tt.a...))
		compared := ""
		for _, r := range c.Slices {
			if compared = r.By[0].Value; r.By[0].Dim != serving.ColWorkload {
				t.Errorf("%s: slice %v", tt.name, r.By)
			}
		}
		if named(c.New) != tt.neu || named(c.Gone) != tt.gone || compared != tt.compared || c.Cause != tt.cause {
			t.Errorf("%s: new %q, gone %q, compared %q, cause %q; want %q, %q, %q, %q", tt.name, named(c.New), named(c.Gone), compared, c.Cause, tt.neu, tt.gone, tt.compared, tt.cause)
		}
	}
}

// Where no kind of request is on both sides, the totals are no evidence of the server,
// and that is said; where there is one, the mix is split and the caution is another.
func TestCompareWithoutCommonRequests(t *testing.T) {
	const split = "cannot be told apart"
	for _, tt := range []struct {
		b, a []string
		want bool
	}{
		{times(400, "chat"), times(400, "rag"), true},
		{slices.Concat(times(360, "chat"), times(40, "rag")), slices.Concat(times(40, "chat"), times(360, "rag")), false},
		{times(400, "chat"), times(200, "chat", "rag"), false},
		{slices.Concat(times(380, "chat"), times(20, "rag")), times(400, "rag"), true},
		{times(400, "chat"), times(400, "chat"), false},
		{times(400, "chat"), times(400, ""), false},
	} {
		c, _ := comparedTraces(t, traceOf(serving.ColWorkload, tt.b...), traceOf(serving.ColWorkload, tt.a...))
		if told := strings.Contains(strings.Join(c.Cautions, "\n"), split); told != tt.want {
			t.Errorf("%s against %s: cautions %q", tt.b[0], tt.a[0], c.Cautions)
		}
	}
}

// What runs state stands before what their requests do, and is listed where it is the
// same.
func TestCompareNamesWhatIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	of := func(settings ...serving.Setting) []*serving.Run {
		return []*serving.Run{sided("a", 8, load(rng, 60, "chat", 500, 0.1, 0.02), settings...)}
	}
	block := serving.Setting{Key: "block_size", Value: "16"}
	c, _ := comparedRuns(t, DefaultOptions(), of(block), of(block, serving.Setting{Key: "max_num_seqs", Value: "64"}))
	if want := "setting max_num_seqs: not stated | 64"; factsText(c.Changed) != want {
		t.Errorf("changed %q, want %q", factsText(c.Changed), want)
	}
	for _, want := range []string{"model model: m | m", "setting block_size: 16 | 16", "workload workload: chat | chat"} {
		if !strings.Contains(factsText(c.Same), want) {
			t.Errorf("the same %q, want %q", factsText(c.Same), want)
		}
	}
	if want := "version version: not stated | not stated"; factsText(c.NotStated) != want {
		t.Errorf("not stated %q, want %q", factsText(c.NotStated), want)
	}
}
