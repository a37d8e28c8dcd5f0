package render

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

func renderJSON(t *testing.T, rep *analyze.Report, opt Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := NewPrinter(rep, opt).JSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Each section's JSON has a golden file of its own, so that a change shows
// where it is.
func TestJSONGolden(t *testing.T) {
	raw := renderJSON(t, richReport(), Options{Version: "v0.0.0-test", Command: "vreport report results/"})
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for key, val := range doc {
		t.Run(key, func(t *testing.T) {
			var b bytes.Buffer
			if err := json.Indent(&b, val, "", "  "); err != nil {
				t.Fatal(err)
			}
			b.WriteByte('\n')
			golden(t, "json/"+key+".json", b.Bytes())
		})
	}
}

func TestJSONIsTheSameTwice(t *testing.T) {
	a := renderJSON(t, richReport(), Options{Version: "v"})
	for range 20 {
		if b := renderJSON(t, richReport(), Options{Version: "v"}); !bytes.Equal(a, b) {
			t.Fatal("two renderings of one report differ")
		}
	}
}

func TestJSONIndentChangesNoValue(t *testing.T) {
	compact := renderJSON(t, richReport(), Options{})
	indented := renderJSON(t, richReport(), Options{Indent: true})
	if bytes.Count(compact, []byte("\n")) != 1 || bytes.Count(indented, []byte("\n")) < 500 {
		t.Errorf("compact has %d lines, indented %d", bytes.Count(compact, []byte("\n")), bytes.Count(indented, []byte("\n")))
	}
	var a, b any
	if err := json.Unmarshal(compact, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(indented, &b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

// The text must be inert inside a script element, whatever the data say.
func TestJSONIsInertInHTML(t *testing.T) {
	raw := renderJSON(t, richReport(), Options{Command: "vreport report " + hostileText})
	if i := bytes.IndexAny(raw, "<>&\u2028\u2029"); i >= 0 {
		t.Errorf("a character of markup at byte %d: %q", i, raw[max(0, i-30):i+30])
	}
	if !utf8.Valid(raw) {
		t.Error("not UTF-8")
	}
	var doc struct {
		Runs []struct{ Model string }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Runs[0].Model != hostileModel {
		t.Errorf("the model came back as %q", doc.Runs[0].Model)
	}
}

// A number that is none is absent, never 0: the failed run of the fixture is
// full of them.
func TestJSONMissingIsAbsent(t *testing.T) {
	var doc struct {
		Runs []map[string]json.RawMessage
	}
	if err := json.Unmarshal(renderJSON(t, richReport(), Options{}), &doc); err != nil {
		t.Fatal(err)
	}
	failed := doc.Runs[4]
	if _, ok := failed["duration_s"]; ok {
		t.Errorf("a NaN duration is there: %s", failed["duration_s"])
	}
	if got := string(failed["metrics"]); got != "{}" {
		t.Errorf("an all-failed run has latencies: %s", got)
	}
	if got := string(failed["throughput"]); got != "{}" {
		t.Errorf("an infinite rate is there: %s", got)
	}
	pasted := doc.Runs[3]
	for _, k := range []string{"sent", "failed", "outcomes", "gpus", "slo", "duration_s"} {
		if v, ok := pasted[k]; ok {
			t.Errorf("%s was not measured and reads %s", k, v)
		}
	}
}

func TestJSONEmptyReport(t *testing.T) {
	var doc wireReport
	if err := json.Unmarshal(renderJSON(t, emptyReport(), Options{}), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Runs != nil || doc.Timeline != nil || doc.Gate.Result != "none" {
		t.Errorf("sections that were skipped are there: %+v", doc)
	}
	if len(doc.Skipped) != len(reportSections()) {
		t.Errorf("%d sections are named as skipped, want %d", len(doc.Skipped), len(reportSections()))
	}
}

// An empty list says "looked, found none", an absent one "not looked".
func TestJSONEmptyListIsKept(t *testing.T) {
	rep := &analyze.Report{Results: []analyze.Result{{Value: &analyze.QualityFindings{}}}}
	raw := string(renderJSON(t, rep, Options{}))
	if !strings.Contains(raw, `"quality":[]`) || strings.Contains(raw, `"runs"`) {
		t.Error(raw)
	}
}

func TestDistJSON(t *testing.T) {
	some := serving.Some[float64]
	d := &analyze.Dist{
		Metric: serving.TTFT, Count: serving.Some(int64(500)), Mean: some(0.28217), Min: some(math.Inf(1)), Origin: analyze.FromRequests,
		Quantiles: []analyze.Quantile{
			{P: 0.5, Value: some(0.1863), Lo: some(0.18), Hi: some(0.19), Quality: analyze.QualityOK},
			{P: 0.5, Value: some(9)},            // twice: the first stands
			{P: math.NaN(), Value: some(1)},     // none
			{P: 0.999, Value: some(math.NaN())}, // no figure, no quality
			{P: 0.99, Lo: some(10), Quality: analyze.QualityCoarse},
		},
	}
	got, err := json.Marshal(newWireDist(d))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"unit":"ms","count":500,"mean":282.17,"p50":186.3,"interval":{"p50":[180,190],"p99":[10000,null]},` +
		`"quality":{"p50":"ok","p99":"coarse"},"origin":"requests","side":"unknown","relative_error":0}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d = &analyze.Dist{Metric: serving.PromptTokens, Mean: some(850.5), Origin: analyze.FromRequests, Side: serving.ServerSide}
	if got, _ := json.Marshal(newWireDist(d)); !strings.HasPrefix(string(got), `{"unit":"tokens","mean":850.5,`) {
		t.Errorf("tokens are not tokens: %s", got)
	}
}

// A file's own milliseconds come back with its own digits.
func TestMillisecondsRoundTrip(t *testing.T) {
	for _, file := range []float64{282.17, 841.87, 0.1, 97.43, 1e-7, 123456.789012, 214.63} {
		if got := toMillis(file / 1000); got != file {
			t.Errorf("%v ms came back as %v", file, got)
		}
	}
}

func TestTimelineValuesAreShortButWhole(t *testing.T) {
	for _, c := range []struct {
		u    serving.Unit
		v    float64
		want float64
	}{
		{serving.Seconds, 0.123456789, 123.457},
		{serving.RequestsUnit, 123456789, 123456789},
		{serving.PerSecond, 1234567.8, 1234568},
		{serving.Share, 1. / 3, 0.333333},
		{serving.PerSecond, 5e-300, 5e-300},
	} {
		if got := wireSeriesValue(c.u, c.v); got == nil || *got != c.want {
			t.Errorf("%v: got %v, want %v", c.v, got, c.want)
		}
	}
	if got := wireSeriesValue(serving.Seconds, math.NaN()); got != nil {
		t.Errorf("NaN became %v", *got)
	}
}

func TestWireTime(t *testing.T) {
	for _, c := range []struct {
		ns       int64
		relative bool
		want     string
	}{
		{fixtureStart, false, "2026-01-31T12:00:00Z"},
		{fixtureStart + 1500, false, "2026-01-31T12:00:00.0000015Z"},
		{12.5e9, true, "+12.5s"},
		{0, true, "+0s"},
		{-2e9, true, "-2s"},
	} {
		if got := wireTime(c.ns, c.relative); got != c.want {
			t.Errorf("wireTime(%d, %v) = %q, want %q", c.ns, c.relative, got, c.want)
		}
	}
}
