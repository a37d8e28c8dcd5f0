package render

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/vreport/vreport/ingest/serving"
)

func TestInspectGolden(t *testing.T) {
	inputs := fixtureInputs().Inputs
	var text, js bytes.Buffer
	if err := InspectText(&text, inputs); err != nil {
		t.Fatal(err)
	}
	golden(t, "inspect.txt", text.Bytes())
	if err := InspectJSON(&js, inputs); err != nil {
		t.Fatal(err)
	}
	golden(t, "inspect.json", js.Bytes())
}

func TestInspectNothing(t *testing.T) {
	var text, js bytes.Buffer
	if err := InspectText(&text, nil); err != nil || text.String() != "0 files: 0 recognized, 0 unknown; 0 problems\n" {
		t.Errorf("%v %q", err, text.String())
	}
	if err := InspectJSON(&js, nil); err != nil || js.String() != "[]\n" {
		t.Errorf("%v %q", err, js.String())
	}
}

func TestInspectTextBoundsProblems(t *testing.T) {
	in := &serving.Input{Path: "x", Format: "prometheus-text", Records: 1}
	for i := range 500 {
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: "x", Line: i + 1}, Message: "no value"})
	}
	var b bytes.Buffer
	if err := InspectText(&b, []*serving.Input{in}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "no value"); n != inspectProblems {
		t.Errorf("%d problems are listed, want %d", n, inspectProblems)
	}
	for _, want := range []string{"500 problems", "more, all in --json", "1 scrape\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func FuzzTerminalText(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred", "a\nb", hostileBinary, "\u200b\ufeff", "\xff\xfe", "한국어"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := terminalText(s)
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("%q became %q, which holds %U", s, got, r)
			}
		}
	})
}
