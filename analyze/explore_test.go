package analyze

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// mixed returns n requests of several workloads and lengths.
func mixed(n, workloads int) []request {
	r := rand.New(rand.NewSource(3))
	out := make([]request, n)
	for i := range out {
		w := r.Intn(workloads)
		ttft := 0.05 * (1 + float64(w)) * (1 + r.Float64())
		out[i] = request{at: float64(i), ttft: ttft, tpot: 0.02, e2e: ttft + 1, in: 1 << r.Intn(15), out: 1 << r.Intn(12), workload: fmt.Sprintf("w%02d", w)}
		if r.Intn(10) == 0 {
			out[i].outcome, out[i].ttft, out[i].e2e = serving.Failed, -1, -1
		}
	}
	return out
}

func exploredOf(t *testing.T, reqs []request, opt Options) *Explorer {
	t.Helper()
	rep := analyzed(t, &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.ServerSide, reqs)}}, opt)
	for _, r := range rep.Results {
		if s, ok := r.Value.(*Slices); ok {
			return s.Datasets[0].Explore
		}
	}
	t.Fatal("no slices")
	return nil
}

func TestExplorer(t *testing.T) {
	opt := DefaultOptions()
	opt.SLOs = slos(t, "ttft:p99<150ms", "e2e:p95<1.2s", "ttft:p50<10ms")
	e := exploredOf(t, mixed(3000, 4), opt)
	if e == nil {
		t.Fatal("there is nothing to explore")
	}
	if want := []string{"workload", "prompt_tokens", "output_tokens"}; !slices.Equal(e.Dims, want) {
		t.Errorf("dimensions %v, want %v", e.Dims, want)
	}
	if e.Bits != exploreBits || e.Error() != 1./32 || e.Good != GoodObjectives || len(e.SLOs) != 3 {
		t.Errorf("bits %d, error %v, good %q, %d objectives", e.Bits, e.Error(), e.Good, len(e.SLOs))
	}
	sent, good := int64(0), int64(0)
	for _, c := range e.Cells {
		sent += c.Sent
		good += c.Good
	}
	want := int64(0)
	for _, r := range mixed(3000, 4) {
		if r.outcome == serving.OK && r.ttft <= 0.15 && r.e2e <= 1.2 {
			want++
		}
	}
	if sent != 3000 || good != want {
		t.Errorf("%d sent, %d good, want 3000 and %d", sent, good, want)
	}
}

// What does not fit gets coarser first, then loses its last dimension, by name.
func TestExplorerFits(t *testing.T) {
	opt := DefaultOptions()
	whole := exploredOf(t, mixed(6000, 30), opt)
	if whole.Folded["workload"] != 6 || len(whole.Values[0]) != exploreNames+1 {
		t.Errorf("workloads %v, %d folded", whole.Values[0], whole.Folded["workload"])
	}
	last := whole.size()
	for _, c := range []struct {
		budget int
		bits   uint
		left   int
	}{{last, exploreBits, 0}, {last - 1, exploreBits - 1, 0}, {last / 3, exploreBits, 2}} {
		e := *whole
		if err := e.fit(c.budget); err != nil {
			t.Fatal(err)
		}
		if e.size() > c.budget || e.Bits != c.bits || len(e.Left) != len(whole.Left)+c.left {
			t.Errorf("within %d: %d bytes, %d bits, dimensions %v, left out %v", c.budget, e.size(), e.Bits, e.Dims, e.Left)
		}
	}
	e := *whole
	if err := e.fit(100); err != nil || e.Packed != nil {
		t.Errorf("within 100 bytes: %d packed, %v", len(e.Packed), err)
	}
}
