package render

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// inspectProblems is how many problems of one file InspectText lists; the JSON
// has them all.
const inspectProblems = 20

// InspectText explains each input to somebody who has never seen it: what it
// was recognized as, what its fields were taken for and what decided their
// units, what is wrong with it, and of an unknown file what was tried. The
// text is plain: no colour, and no control character of the data reaches the
// terminal.
func InspectText(w io.Writer, inputs []*serving.Input) error {
	var b strings.Builder
	known, problems := 0, 0
	for _, in := range inputs {
		inspectOne(&b, in)
		if wireFormat(in) != formatUnknown {
			known++
		}
		problems += in.Problems.Len()
	}
	fmt.Fprintf(&b, "%s: %d recognized, %d unknown; %s\n", countOf(len(inputs), "file"), known, len(inputs)-known, countOf(problems, "problem"))
	_, err := io.WriteString(w, b.String())
	return err
}

// InspectLacks says which sections a report of the inspected files would not
// have, and what each needs: the file to look for next.
func InspectLacks(w io.Writer, lacks []analyze.Lack) error {
	if len(lacks) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(lacks))
	for _, l := range lacks {
		rows = append(rows, []string{l.Title, "needs " + l.Needs})
	}
	var b strings.Builder
	b.WriteString("\na report of these files would lack\n")
	writeAligned(&b, "  ", rows)
	_, err := io.WriteString(w, b.String())
	return err
}

func inspectOne(b *strings.Builder, in *serving.Input) {
	b.WriteString(terminalText(in.Path) + "\n")
	rows := [][]string{{"format", wireFormat(in)}}
	add := func(key, value string) {
		if value != "" {
			rows = append(rows, []string{key, terminalText(value)})
		}
	}
	add("label", in.Label)
	if wireFormat(in) != formatUnknown {
		add("records", FormatCount(in.Records)+" "+recordName(in.Format, in.Records))
	}
	size := FormatBytes(float64(in.Bytes))
	if in.Bytes >= 1000 {
		size += " (" + FormatCount(in.Bytes) + " bytes)"
	}
	add("version", in.Version.Or(""))
	add("version?", in.Guess)
	if in.First.OK && in.Last.OK {
		add("time", FormatTime(in.First.V, false)+" to "+FormatTime(in.Last.V, false))
	}
	add("size", size)
	add("sha256", in.SHA256)
	add("fingerprint", in.Fingerprint)
	add("note", in.Note)
	writeAligned(b, "  ", rows)
	inspectFields(b, in.Fields)
	if len(in.Tried) > 0 {
		b.WriteString("\n  tried\n")
		for _, t := range in.Tried {
			b.WriteString("    " + terminalText(t) + "\n")
		}
	}
	inspectProblemList(b, &in.Problems)
	b.WriteString("\n")
}

// inspectFields shows the fields that are used as a table, and the names of the
// others in as many lines as they take.
func inspectFields(b *strings.Builder, fields []serving.Field) {
	rows := [][]string{{"field", "taken for", "unit", "decided by"}}
	var unused []string
	for _, f := range fields {
		if f.As == "" {
			unused = append(unused, terminalText(f.Name))
			continue
		}
		row := []string{f.Name, f.As, f.Unit, f.How}
		for i, c := range row {
			if row[i] = terminalText(c); c == "" {
				row[i] = Missing
			}
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		b.WriteString("\n")
		writeAligned(b, "  ", rows)
	}
	if len(unused) > 0 {
		b.WriteString("\n  not used\n")
		writeWrapped(b, "    ", unused)
	}
}

func inspectProblemList(b *strings.Builder, ps *serving.Problems) {
	list := ps.List()
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n  %s\n", countOf(ps.Len(), "problem"))
	for i, p := range list {
		if i == inspectProblems {
			fmt.Fprintf(b, "    … and %d more, all in --json\n", len(list)-i)
			return
		}
		b.WriteString("    " + terminalText(p.String()) + "\n")
	}
}

// recordName is what a format counts.
func recordName(format string, n int64) string {
	name := "record"
	switch {
	case strings.HasSuffix(format, "-log"):
		name = "line"
	case strings.HasPrefix(format, "prometheus-"), format == "openmetrics":
		name = "scrape"
	case strings.HasPrefix(format, "trace-"):
		name = "request"
	case strings.HasPrefix(format, "vllm-"), strings.HasPrefix(format, "sglang-"):
		name = "run"
	}
	if n != 1 {
		name += "s"
	}
	return name
}

func countOf(n int, name string) string {
	if n != 1 {
		name += "s"
	}
	return FormatCount(int64(n)) + " " + name
}

// maxAligned is the width beyond which a cell no longer widens its column.
const maxAligned = 48

func writeAligned(b *strings.Builder, indent string, rows [][]string) {
	var width []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], min(utf8.RuneCountInString(c), maxAligned))
		}
	}
	for _, r := range rows {
		b.WriteString(indent)
		for i, c := range r {
			b.WriteString(c)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", max(width[i]-utf8.RuneCountInString(c), 0)+2))
			}
		}
		b.WriteString("\n")
	}
}

func writeWrapped(b *strings.Builder, indent string, words []string) {
	const width = 96
	line := indent
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += w
	}
	b.WriteString(line + "\n")
}

// terminalText makes text of a file safe for a terminal and keeps it in one
// line: control and invisible characters appear as Go escapes.
func terminalText(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
