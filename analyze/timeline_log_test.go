package analyze

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// eventServer is a log's series: ten-second lines from a moment on.
func eventServer(path string, from int64, n int) *serving.Server {
	s := &serving.Server{ID: path, Label: path, Sources: []string{path}}
	g := serving.Gauge{Name: serving.Waiting, Unit: serving.RequestsUnit}
	gen := serving.Gauge{Name: serving.GenerationRate, Unit: serving.PerSecond}
	for i := range n {
		s.Times = append(s.Times, from+int64(i)*10e9)
		g.Values, gen.Values = append(g.Values, float64(i)), append(gen.Values, 100)
	}
	s.Gauges = []serving.Gauge{g, gen}
	return s
}

func timelinesOf(t *testing.T, ds *serving.Dataset) []*Timeline {
	t.Helper()
	rep, err := Run(t.Context(), ds, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	v := Value[Timelines](rep)
	if v == nil {
		return nil
	}
	return v.Timelines
}

type marks struct {
	At         float64 // s after the axis begins
	Kind, Text string
	Source     string
	Count      int64
}

func marksOf(tl *Timeline) []marks {
	var out []marks
	for _, e := range tl.Events {
		out = append(out, marks{float64(e.At-tl.From) / 1e9, e.Kind, e.Text, e.Source, e.Count})
	}
	return out
}

// A log without a year and scrapes with one stand on one axis, the log's failures
// too: its year is theirs.
func TestLogEventsJoinTheAxis(t *testing.T) {
	start := time.Date(2026, 6, 7, 10, 0, 0, 0, time.UTC)
	inYear := start.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Nanoseconds() + int64(24*time.Hour) // a leap year's
	log := eventServer("server.log", 0, 40)
	log.Relative, log.YearTime = true, serving.Some(inYear)
	scrapes := eventServer("scrapes", start.UnixNano(), 40)
	events := &serving.EventLog{Path: "server.log", Timed: true, Yearless: true, From: inYear, To: inYear + 390e9, Events: []serving.Event{
		{At: inYear + 100e9, To: inYear + 100e9, Kind: serving.EventOOM, What: "the GPU ran out of memory", Replica: "pod-1", Source: serving.Pos{Path: "server.log", Line: 7}, Count: 1},
		{At: inYear + 110e9, To: inYear + 118e9, Kind: serving.EventError, What: "requests were answered with status 500", Source: serving.Pos{Path: "server.log", Line: 9}, Count: 12},
	}}
	all := timelinesOf(t, &serving.Dataset{Servers: []*serving.Server{log, scrapes}, Logs: []*serving.EventLog{events}})
	if len(all) != 1 || all[0].Relative {
		t.Fatalf("%d timelines, want one with dates", len(all))
	}
	want := []marks{{100, "oom", "the GPU ran out of memory (pod-1)", "server.log:7", 1}, {110, "5xx", "requests were answered with status 500, 12 lines", "server.log:9", 12}}
	if d := cmp.Diff(want, marksOf(all[0])); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	var counted []string
	for _, s := range all[0].Series {
		if s.Metric == "log_lines" {
			counted = append(counted, fmt.Sprint(s.Stat, " ", sumKnown(s.Values)))
		}
	}
	if d := cmp.Diff([]string{"5xx 12"}, counted); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	// Without the scrapes nobody knows the year; log and failures still agree.
	all = timelinesOf(t, &serving.Dataset{Servers: []*serving.Server{log}, Logs: []*serving.EventLog{events}})
	if len(all) != 1 || !all[0].Relative {
		t.Fatalf("%d timelines", len(all))
	}
	if d := cmp.Diff(want, marksOf(all[0])); d != "" {
		t.Errorf("events of the log alone (-want +got):\n%s", d)
	}
}

// A log without any series is an axis of its own, on which its failures are
// counted; one without times is on none, and that is said.
func TestLogEventsAlone(t *testing.T) {
	at := time.Date(2026, 6, 7, 10, 0, 0, 0, time.UTC).UnixNano()
	l := &serving.EventLog{Path: "kubelet.log", Timed: true, From: at, To: at + 600e9, Events: []serving.Event{
		{At: at + 60e9, To: at + 60e9, Kind: serving.EventRestart, What: "x", Source: serving.Pos{Path: "kubelet.log", Line: 2}, Count: 1}}}
	all := timelinesOf(t, &serving.Dataset{Logs: []*serving.EventLog{l}})
	if len(all) != 1 || len(all[0].Series) != 1 || len(all[0].Events) != 1 || all[0].Series[0].Panel != PanelEvents {
		t.Errorf("%+v", all)
	}
	if all = timelinesOf(t, &serving.Dataset{Logs: []*serving.EventLog{{Path: "x", Events: l.Events}}}); len(all) != 0 {
		t.Errorf("a log without times is drawn: %+v", all[0])
	}
}

// Ten thousand failures are counted together, and none is lost.
func TestBoundEvents(t *testing.T) {
	var all []Event
	for i := range 10_000 {
		all = append(all, Event{At: int64(i) * 1e9, Kind: "5xx", Text: "x, 2 lines", Count: 2})
	}
	all = append(all, Event{At: 5e9, Kind: "gap"})
	got := boundEvents(all, 500)
	n := int64(0)
	for _, e := range got {
		n += e.Count
	}
	if len(got) > 500 || n != 20_000 || got[0].Text == "x, 2 lines" {
		t.Errorf("%d events of %d lines, the first %+v", len(got), n, got[0])
	}
}
