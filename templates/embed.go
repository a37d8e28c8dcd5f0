// Package templates holds everything a report's page is made of: the page, its
// partials, one partial a section, the style sheet, the script and, once it is
// built, the chart library. It imports nothing of this module.
//
// The chart library is ECharts, cut down to what the reports draw. It is built
// from package-lock.json into dist/, which is not under version control:
//
//	npm ci && npm run build
//
// A program that was built without it works too and shows tables instead.
package templates

import (
	"embed"
	"io/fs"
)

// FS holds report.gohtml, partials.gohtml and sections/NAME.gohtml.
//
//go:embed report.gohtml partials.gohtml sections/*.gohtml
var FS embed.FS

//go:embed static/report.css
var css string

//go:embed static/report.js
var script string

//go:embed static/explore.js
var explore string

//go:embed static/notices.txt
var notices string

//go:embed all:dist
var dist embed.FS

// CSS returns the style sheet.
func CSS() string { return css }

// Script returns the page's own script: one, in two files.
func Script() string { return script + explore }

// Notices returns the licences of the chart library's parts, which stand in
// every page that has the library inside.
func Notices() string { return notices }

// ChartLibrary returns the gzip-compressed chart library, or false where this
// program was built without it.
func ChartLibrary() ([]byte, bool) {
	b, err := fs.ReadFile(dist, "dist/echarts.js.gz")
	return b, err == nil && len(b) > 0
}
