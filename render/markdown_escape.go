package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// zeroWidth breaks what GitHub would link by itself, without showing: a
// mention, a reference to an issue, an address. A backslash or an entity would
// not do: GitHub looks for these after the Markdown was resolved.
const zeroWidth = "\u200b"

// escapeMarkdown makes text of a file literal in GitHub Markdown, in a table
// cell, a list item or a paragraph: one line, no markup, no HTML, nothing that
// is linked or notifies anybody. Invisible and control characters are dropped,
// among them those that turn the direction of text around.
func escapeMarkdown(s string) string {
	rs := []rune(oneLine(s))
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i, r := range rs {
		prev, next := at(rs, i-1), at(rs, i+1)
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '|': // a backslash would do outside of code only
			b.WriteString("&#124;")
		case '`':
			b.WriteString("&#96;")
		case '\\':
			b.WriteString("&#92;")
		case '[', ']', '*', '~', '$':
			b.WriteString(`\` + string(r))
		case '_': // inside a word it is literal: max_num_seqs stays readable
			if !alnum(prev) || !alnum(next) {
				b.WriteByte('\\')
			}
			b.WriteByte('_')
		case '#':
			if prev == 0 {
				b.WriteByte('\\')
			}
			b.WriteByte('#')
			if unicode.IsDigit(next) {
				b.WriteString(zeroWidth)
			}
		case '@':
			b.WriteString("@" + zeroWidth)
		case ':':
			b.WriteByte(':')
			if next == '/' {
				b.WriteString(zeroWidth)
			}
		case '.', ')':
			switch {
			case listNumber(rs[:i]) && (next == ' ' || next == 0):
				b.WriteByte('\\')
			case r == '.' && endsWithFold(rs[:i], "www"):
				b.WriteString(zeroWidth)
			}
			b.WriteRune(r)
		case '-', '+', '=':
			if prev == 0 {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			if r == '-' && unicode.IsDigit(next) && endsWithFold(rs[:i], "gh") {
				b.WriteString(zeroWidth)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// oneLine folds white space, and drops what cannot be seen.
func oneLine(s string) string {
	line, _ := firstOfLine(s, len(s))
	return line
}

// firstOfLine is the first n characters of oneLine, and whether there are more.
func firstOfLine(s string, n int) (string, bool) {
	var b strings.Builder
	space := false
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			r = '\uFFFD'
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			continue
		}
		if space && b.Len() > 0 {
			if n == 0 {
				return b.String(), true
			}
			b.WriteByte(' ')
			n--
		}
		if n == 0 {
			return b.String(), true
		}
		space = false
		b.WriteRune(r)
		n--
	}
	return b.String(), false
}

// clip cuts text to n characters; it goes before escaping, which must not be
// cut in two.
func clip(s string, n int) string {
	line, more := firstOfLine(s, n)
	if !more {
		return line
	}
	rs := []rune(line)
	return string(rs[:max(len(rs)-1, 0)]) + "…"
}

func at(rs []rune, i int) rune {
	if i < 0 || i >= len(rs) {
		return 0
	}
	return rs[i]
}

func alnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// listNumber reports whether text starts as an item of a numbered list does.
func listNumber(rs []rune) bool {
	if len(rs) == 0 || len(rs) > 9 {
		return false
	}
	for _, r := range rs {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

func endsWithFold(rs []rune, word string) bool {
	n := len(rs) - len(word)
	return n >= 0 && strings.EqualFold(string(rs[n:]), word) && !alnum(at(rs, n-1))
}
