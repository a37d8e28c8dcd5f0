package analyze

import (
	"context"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// gaugesOnly is a server of whose scrapes only gauges and counters were kept: 80, one
// each 15 s, the second half of which may be worse.
func gaugesOnly(worse bool) *serving.Server {
	s := &serving.Server{ID: "pod", Label: "pod", Model: serving.Some("m")}
	var waiting, running, kv, preempted []float64
	for i := range 80 {
		s.Times = append(s.Times, 1_790_000_000_000_000_000+int64(i)*15e9)
		late := 0.0
		if worse && i >= 40 {
			late = float64(i - 39)
		}
		waiting, preempted = append(waiting, late), append(preempted, 3*late)
		running, kv = append(running, 20), append(kv, 0.4)
		if late > 0 {
			running[i], kv[i] = 64, 0.99
		}
	}
	s.Gauges = []serving.Gauge{{Name: serving.Waiting, Values: waiting}, {Name: serving.Running, Values: running}, {Name: serving.KVUsage, Values: kv}}
	s.Counters = []serving.Counter{{Name: serving.Preemptions, Values: preempted}}
	return s
}

// Where no latency is recorded, queue and preemptions stand for it; where those stay
// as they are nothing is known, which is no "no".
func TestNoLatencyIsNoCalm(t *testing.T) {
	onlyWaiting := gaugesOnly(true)
	onlyWaiting.Gauges, onlyWaiting.Counters = onlyWaiting.Gauges[:1], nil
	short, fuller := gaugesOnly(false), gaugesOnly(true)
	short.Times = short.Times[:5]
	for i := range short.Gauges {
		short.Gauges[i].Values = short.Gauges[i].Values[:5]
	}
	short.Counters = nil
	fuller.Gauges, fuller.Counters = fuller.Gauges[1:], nil
	for _, c := range []struct {
		name    string
		server  *serving.Server
		present bool
		says    string
	}{
		{"all explode", gaugesOnly(true), true, "kv_concurrency"},
		{"the queue alone is recorded", onlyWaiting, true, "A symptom is there"},
		{"nothing happens", gaugesOnly(false), false, "Of what is recorded, the queue did not grow."},
		{"too short to tell", short, false, "to hold one against."},
		{"only more run", fuller, false, "Of what is recorded, running got worse."},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := Diagnose(context.Background(), &serving.Dataset{Servers: []*serving.Server{c.server}}, DefaultOptions())
			if err != nil || out == nil {
				t.Fatalf("no diagnosis: %v", err)
			}
			d := out.Diagnoses[0]
			for _, s := range d.Symptoms {
				want := c.present && s.ID == "ttft"
				if s.Present != want || s.Known != want {
					t.Errorf("symptom %s is present %v and known %v, want both %v: its metric is absent", s.ID, s.Present, s.Known, want)
				}
			}
			if !strings.Contains(d.Verdict, c.says) || !c.present && (!strings.HasPrefix(d.Verdict, "The data do not tell") || !strings.HasSuffix(d.Verdict, c.says)) {
				t.Errorf("verdict %q, want %q", d.Verdict, c.says)
			}
		})
	}
}

// Requests beside such scrapes have the word: a queue that grew and cost nobody
// anything is no incident.
func TestLatencyOutranksItsProxies(t *testing.T) {
	var reqs []staged
	for i := range 1200 {
		reqs = append(reqs, staged{at: 1_790_000_000 + float64(i), queue: 0.01, prefill: 0.05, tpot: 0.02, prompt: 500, output: 100})
	}
	ds := &serving.Dataset{Traces: []serving.Requests{stagedTable(reqs)}, Servers: []*serving.Server{gaugesOnly(true)}}
	out, err := Diagnose(context.Background(), ds, DefaultOptions())
	if err != nil || len(out.Diagnoses) != 1 {
		t.Fatalf("want one diagnosis of both: %v", err)
	}
	if d := out.Diagnoses[0]; d.Known || len(d.Present()) > 0 {
		t.Errorf("an incident by %q, verdict %q", d.Lead, d.Verdict)
	}
}
