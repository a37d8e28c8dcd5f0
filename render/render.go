// Package render lays the results of package analyze out for people and
// programs: one HTML page, Markdown for a pull request, JSON for scripts. It
// computes no statistic; everything it prints stands in an analyze.Report.
package render

import (
	"sync"

	"github.com/vreport/vreport/analyze"
)

// Options say how a report is printed.
type Options struct {
	Version string // of vreport, printed in the footer and the JSON
	Command string // the command line that makes the report again; "" to leave it out
	Indent  bool   // lay the JSON out in lines, for a file rather than for the page

	// ChartLibrary is the gzip-compressed ECharts bundle, as
	// templates.ChartLibrary returns it. Without it the page shows tables
	// instead of charts and says so.
	ChartLibrary []byte
	// StockECharts is an uncompressed stock echarts.min.js given with
	// --echarts-js; it wins over ChartLibrary.
	StockECharts []byte

	library func() (library, error) // nil: it is made ready when it is needed
}

// Ahead makes ready in the background what every page takes, while the report is
// not there yet.
func (o *Options) Ahead() {
	opt := *o
	o.library = sync.OnceValues(func() (library, error) { return chartLibrary(opt) })
	go o.library()
	go pageTemplates()
}

// A Printer prints one report in each of its forms, which share what takes long
// to make. Its methods may be called side by side, as long as nobody changes the
// report.
type Printer struct {
	rep  *analyze.Report
	opt  Options
	data func() ([]byte, error) // the report as JSON: in one line, which it does not end
}

// NewPrinter returns a printer of a report.
func NewPrinter(rep *analyze.Report, opt Options) *Printer {
	return &Printer{rep: rep, opt: opt, data: sync.OnceValues(func() ([]byte, error) {
		return marshalReport(newWireReport(rep, opt))
	})}
}
