package render

import (
	"html/template"
	"strings"
)

// The rows of tables are written here, and all else of the page by templates: a
// page has thousands of cells, and a template takes ten microseconds for one. The
// escaping is that of html/template, byte for byte; a test holds the two together.

// Body is the rows of a table.
func (t *Table) Body() template.HTML {
	var m markup
	for _, r := range t.Rows {
		m.row(r)
	}
	return template.HTML(m.String())
}

// markup is a text of HTML. What stands in the data gets into it through text,
// attr and link alone.
type markup struct{ strings.Builder }

func (m *markup) row(r Row) {
	m.WriteString("\n<tr")
	m.attr("id", r.ID)
	m.attr("class", r.Class)
	m.WriteString(">")
	for i := range r.Cells {
		c, tag := &r.Cells[i], "td"
		if i == 0 {
			tag = "th"
			m.WriteString(`<th scope="row"`)
		} else {
			m.WriteString("<td")
		}
		m.attr("class", c.Class)
		m.attr("data-v", c.Raw)
		if i > 0 {
			m.attr("data-lo", c.Lo)
			m.attr("data-hi", c.Hi)
		}
		m.WriteString(">")
		m.cell(c)
		m.WriteString("</" + tag + ">")
	}
	m.WriteString("</tr>")
}

func (m *markup) cell(c *Cell) {
	switch {
	case c.Pill != "":
		m.WriteString("<span")
		m.attr("class", "pill "+c.Pill)
		m.element(c.Text, "span")
	case c.Code:
		m.WriteString("<code")
		m.element(c.Text, "code")
	case c.Link != "":
		m.WriteString("<a")
		m.link(c.Link)
		m.element(c.Text, "a")
	default:
		m.text(c.Text)
	}
	if c.Mark != "" {
		m.WriteString(`<span class="mark" title="`)
		m.text(c.MarkText)
		m.WriteString(`"`)
		m.element(c.Mark, "span")
	}
	if d := c.Doubt; d != nil {
		m.WriteString(`<a class="doubt"`)
		m.link(d.Link)
		m.WriteString(` title="`)
		m.text(d.Text)
		m.WriteString(`" aria-label="`)
		m.text(d.Text)
		m.WriteString(`"`)
		m.element("", "a")
	}
	if c.Sub != "" {
		m.WriteString(" <small")
		m.element(c.Sub, "small")
	}
}

// element ends a tag that was begun, and gives it a text and its end.
func (m *markup) element(text, tag string) {
	m.WriteString(">")
	m.text(text)
	m.WriteString("</" + tag + ">")
}

// attr writes an attribute, unless it would be empty.
func (m *markup) attr(name, value string) {
	if value != "" {
		m.WriteString(" " + name + `="`)
		m.text(value)
		m.WriteString(`"`)
	}
}

// link writes a reference to a place in the page.
func (m *markup) link(id string) {
	const digits = "0123456789abcdef"
	m.WriteString(` href="#`)
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0:
			m.WriteByte(c)
		default:
			m.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	m.WriteString(`"`)
}

// text writes text, or the value of an attribute in double quotes.
func (m *markup) text(s string) {
	done := 0
	for i := range len(s) {
		if e := escapeOf(s[i]); e != "" {
			m.WriteString(s[done:i])
			m.WriteString(e)
			done = i + 1
		}
	}
	m.WriteString(s[done:])
}

// escapeOf is what stands for a character that HTML could take for something
// else, and "" for any other.
func escapeOf(c byte) string {
	switch c {
	case 0:
		return "\uFFFD"
	case '"':
		return "&#34;"
	case '&':
		return "&amp;"
	case '\'':
		return "&#39;"
	case '+':
		return "&#43;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	}
	return ""
}
