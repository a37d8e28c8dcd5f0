package render

import (
	"bytes"
	"html/template"
	"math/rand/v2"
	"strings"
	"testing"
)

// rowsTemplate is what Table.Body writes, in html/template's terms.
const rowsTemplate = `{{define "cell"}}{{if .Pill}}<span class="pill {{.Pill}}">{{.Text}}</span>{{else if .Code}}<code>{{.Text}}</code>{{else if .Link}}<a href="#{{.Link}}">{{.Text}}</a>{{else}}{{.Text}}{{end}}{{with .Mark}}<span class="mark" title="{{$.MarkText}}">{{.}}</span>{{end}}{{with .Doubt}}<a class="doubt" href="#{{.Link}}" title="{{.Text}}" aria-label="{{.Text}}"></a>{{end}}{{with .Sub}} <small>{{.}}</small>{{end}}{{end}}
{{- define "rows"}}{{range .}}
<tr{{with .ID}} id="{{.}}"{{end}}{{with .Class}} class="{{.}}"{{end}}>{{range $i, $c := .Cells}}{{if eq $i 0}}<th scope="row"{{with $c.Class}} class="{{.}}"{{end}}{{with $c.Raw}} data-v="{{.}}"{{end}}>{{template "cell" $c}}</th>{{else}}<td{{with $c.Class}} class="{{.}}"{{end}}{{with $c.Raw}} data-v="{{.}}"{{end}}{{with $c.Lo}} data-lo="{{.}}"{{end}}{{with $c.Hi}} data-hi="{{.}}"{{end}}>{{template "cell" $c}}</td>{{end}}{{end}}</tr>
{{- end}}{{end}}`

// What is written by hand is escaped as html/template escapes it.
func TestRowsAreEscapedAsTemplatesDo(t *testing.T) {
	byTemplate := template.Must(template.New("").Parse(rowsTemplate))
	check := func(rows []Row) {
		t.Helper()
		var want bytes.Buffer
		must(t, byTemplate.ExecuteTemplate(&want, "rows", rows))
		if got := string((&Table{Rows: rows}).Body()); got != want.String() {
			t.Fatalf("%+v is\n%s, want\n%s", rows, got, want.String())
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	hostile := []string{"</td><script>", `" onload="x`, "' x='", "javascript:alert(1)", "a+b & c", "%41%zz", "\x00", "é\u2028", "\xff\xfe", "<!--", "]]>", "&amp;", hostileModel, hostileLabel, hostileText}
	word := func() string {
		switch r.IntN(4) {
		case 0:
			return ""
		case 1:
			return hostile[r.IntN(len(hostile))]
		}
		b := make([]byte, r.IntN(4))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return string(b)
	}
	cell := func() Cell {
		c := Cell{Text: word(), Sub: word(), Class: word(), Raw: word(), Lo: word(), Hi: word(), Mark: word(), MarkText: word(), Pill: word(), Link: word(), Code: r.IntN(4) == 0}
		if r.IntN(2) == 0 {
			c.Pill = ""
		}
		if r.IntN(3) == 0 {
			c.Doubt = &Doubt{Link: word(), Text: word()}
		}
		return c
	}
	for range 2000 {
		check([]Row{{ID: word(), Class: word(), Cells: []Cell{cell(), cell(), cell()}}, {Cells: []Cell{cell()}}})
	}
	for c := range 256 {
		s := string([]byte{byte(c)})
		check([]Row{{ID: s, Class: s, Cells: []Cell{{Text: s, Link: s}, {Text: s, Sub: s, Class: s, Raw: s, Lo: s, Hi: s, Mark: s, MarkText: s, Doubt: &Doubt{s, s}}, {Pill: s}, {Text: strings.Repeat(s, 3), Code: true}}}})
	}
	check(nil)
}
