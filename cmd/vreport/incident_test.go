package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/analyze/promql"
)

func TestParseIncident(t *testing.T) {
	at := func(s string) int64 {
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return x.UnixNano()
	}
	a, b := at("2026-11-03T10:00:00Z"), at("2026-11-03T10:15:00Z")
	for _, s := range []string{"2026-11-03T10:00:00Z/2026-11-03T10:15:00Z", "2026-11-03T19:00+09:00/15m", "15m/2026-11-03T10:15:00Z", "2026-11-03T10:00:00Z/10:15",
		"2026-11-03T19:00:00+09:00/19:15", "2026-11-03 10:00:00Z/10:15:00Z", "2026-11-03T10:00:00Z/PT15M", "2026-11-03T05:00-05:00/2026-11-03T19:15+09:00"} {
		if w, err := parseIncident(s); err != nil || w.From != a || w.To != b {
			t.Errorf("%s: %+v, %v", s, w, err)
		}
	}
	if w, err := parseIncident("60/120"); err != nil || w.From != 60e9 || w.To != 120e9 {
		t.Errorf("seconds: %+v, %v", w, err)
	}
	if w, err := parseIncident("2026-11-03T10:00:00Z/"); err != nil || w.From != a || w.To < b {
		t.Errorf("an open end: %+v, %v", w, err)
	}
	for _, s := range []string{"", "/", "10:00", "/2026-11-03T10:00:00Z", "15m/15m", "15m/", "2026-11-03T10:00:00/15m", "2026-11-03T10:00:00Z/2026-11-03T09:00:00Z", "2026-11-03T10:00:00Z/soon"} {
		if w, err := parseIncident(s); err == nil {
			t.Errorf("%q is taken for %+v", s, w)
		}
	}
}

func TestDecodeAnnotations(t *testing.T) {
	got, err := decodeAnnotations("deploys.csv", strings.NewReader("\ufeffTime,Text,kind,end\n2026-11-03T10:00:00Z,\"deploy 0.12, canary\",,\n\n2026-11-03T19:05+09:00,drill,note,2026-11-03T19:10+09:00\n"))
	if err != nil || len(got) != 2 || got[0].Text != "deploy 0.12, canary" || got[0].Kind != "deploy" || got[1].Kind != "note" || got[1].To-got[1].At != 300e9 {
		t.Fatalf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                    "has no header",
		"when,who\n":                          `no column "text"`,
		"time,text\nyesterday,x\n":            "deploys.csv:2: time:",
		"time,text\n2026-11-03T10:00:00Z,\n":  "deploys.csv:2: no text",
		"time,text\n2026-11-03T10:00:00Z,\"x": "deploys.csv",
	} {
		if _, err := decodeAnnotations("deploys.csv", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	// A longer file is refused, not cut: a deploy would be missing.
	name := filepath.Join(t.TempDir(), "deploys.csv")
	if err := os.WriteFile(name, []byte("time,text\n"+strings.Repeat("\n", maxAnnotationBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	if events, err := readAnnotations(name); err == nil || !strings.Contains(err.Error(), "has 8388618 bytes, want at most 8388608") {
		t.Errorf("%d annotations, %v", len(events), err)
	}
}

func FuzzDecodeAnnotations(f *testing.F) {
	f.Add("time,text\n2026-11-03T10:00:00Z,deploy\n")
	f.Add("at,what,kind,end\n1,\"x\ny\",note,2\n")
	f.Fuzz(func(t *testing.T, s string) {
		events, err := decodeAnnotations("x.csv", strings.NewReader(s))
		for _, e := range events {
			if err == nil && (e.Text == "" || e.Kind == "") {
				t.Errorf("an event without words: %+v", e)
			}
		}
	})
}

type incidentJSON struct {
	Incident *struct {
		Window     struct{ From, To time.Time }
		Onsets     []struct{ Signal string }
		Examples   []struct{ ID string }
		Prevention []struct{ PromQL string }
	}
	Timeline struct {
		From   time.Time
		Step   float64 `json:"step_s"`
		Series []struct {
			Metric, Panel string
			Values        []*float64
		}
	}
}

func incidentOf(t *testing.T, args ...string) (out incidentJSON) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(append([]string{"report", "--json", "-"}, args...), strings.NewReader(""), &stdout, &stderr); status != statusDone {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Planted incidents are found where they are, and none where there is none. The
// alert that prevention writes fires in the incident and not before it.
func TestPlantedIncidents(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	if status := run([]string{"samples", dir}, strings.NewReader(""), &stdout, &stderr); status != statusDone {
		t.Fatal(stderr.String())
	}
	truths, err := os.ReadFile(filepath.Join(dir, "truths.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"scenarios/over-capacity": true, "scenarios/burst": true, "scenarios/long-prompts": true, "scenarios/kv-restart": true, "scenarios/healthy": true, "scenarios/low-traffic": true}
	for line := range strings.Lines(string(truths)) {
		var truth struct {
			Scenario, Cause string
			From, To        time.Time
		}
		if err := json.Unmarshal([]byte(line), &truth); err != nil {
			t.Fatal(err)
		}
		if !want[truth.Scenario] {
			continue
		}
		delete(want, truth.Scenario)
		path := filepath.Join(dir, filepath.FromSlash(truth.Scenario))
		got := incidentOf(t, path).Incident
		switch {
		case truth.Cause == "none" && got != nil:
			t.Errorf("%s has an incident: %+v", truth.Scenario, got.Window)
			continue
		case truth.Cause == "none":
			continue
		case got == nil:
			t.Errorf("%s has no incident", truth.Scenario)
			continue
		}
		if got.Window.From.After(truth.To) && truth.Cause != "burst" || got.Window.To.Before(truth.From) || got.Window.From.Sub(truth.From).Abs() > 75*time.Second {
			t.Errorf("%s: from %s to %s, planted %s to %s", truth.Scenario, got.Window.From, got.Window.To, truth.From, truth.To)
		}
		if len(got.Onsets) == 0 || len(got.Examples) == 0 || got.Examples[0].ID == "" {
			t.Errorf("%s: onsets %v, examples %v", truth.Scenario, got.Onsets, got.Examples)
		}
		alert := got.Prevention[0].PromQL
		if err := promql.Check(alert); err != nil || alert == "" {
			t.Errorf("%s: alert %q: %v", truth.Scenario, alert, err)
		}
		if truth.Scenario == "scenarios/over-capacity" {
			alertFires(t, filepath.Join(path, "metrics"), alert, truth.From)
		}
	}
	if len(want) > 0 {
		t.Errorf("not among the samples: %v", want)
	}
}

func alertFires(t *testing.T, metrics, alert string, from time.Time) {
	t.Helper()
	tl := incidentOf(t, metrics, "--promql", "alert="+alert).Timeline
	fires := 0
	for _, s := range tl.Series {
		if s.Metric != "alert" {
			continue
		}
		for i, v := range s.Values {
			at := tl.From.Add(time.Duration(float64(i) * tl.Step * float64(time.Second)))
			if v == nil {
				continue
			}
			fires++
			if at.Before(from.Add(-15 * time.Second)) {
				t.Errorf("the alert fires at %s, before the incident (%s)", at, from)
			}
		}
	}
	if fires == 0 {
		t.Errorf("the alert never fires: %s", alert)
	}
}
