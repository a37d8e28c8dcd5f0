// Package render lays the results of package analyze out for people and
// programs: one HTML page, Markdown for a pull request, JSON for scripts. It
// computes no statistic; everything it prints stands in an analyze.Report.
package render

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
}
