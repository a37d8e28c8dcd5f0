package render

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"github.com/vreport/vreport/analyze"
)

// The forms of a report are the same whether they are printed by themselves or
// side by side. The race detector watches this test.
func TestFormsSideBySide(t *testing.T) {
	forms := []func(*Printer, io.Writer) error{(*Printer).HTML, (*Printer).JSON, (*Printer).Markdown, (*Printer).HTML, (*Printer).JSON}
	for name, rep := range map[string]*analyze.Report{"rich": richReport(), "page": pageReport(), "empty": emptyReport()} {
		opt := Options{Version: "v1", Command: "vreport report x", ChartLibrary: tinyLibrary}
		shared := NewPrinter(rep, opt)
		got := make([]bytes.Buffer, len(forms))
		var wg sync.WaitGroup
		for i, form := range forms {
			wg.Go(func() {
				if err := form(shared, &got[i]); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, form := range forms {
			var alone bytes.Buffer
			must(t, form(NewPrinter(rep, opt), &alone))
			if !bytes.Equal(got[i].Bytes(), alone.Bytes()) {
				t.Errorf("%s: form %d differs when it is printed beside the others", name, i)
			}
		}
	}
}
