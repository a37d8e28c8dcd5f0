package column

import (
	"fmt"
	"strings"
)

// MaxPrelude bounds the lines that may stand above the line of column names: a
// title, a date, comments, as spreadsheets and dashboards export them.
const MaxPrelude = 20

// commentMarks begin lines that are no part of a table.
var commentMarks = []string{"#", "//", "--", ";", "%"}

// IsPrelude reports whether a line can stand above a table of so many columns: it
// is empty or a comment, or at most half of the columns have something in it. cells
// are what the line is cut into at the table's delimiter.
func IsPrelude(line string, cells []string, columns int) bool {
	line = strings.TrimSpace(line)
	for _, m := range commentMarks {
		if strings.HasPrefix(line, m) {
			return true
		}
	}
	n := 0
	for _, c := range cells {
		if strings.Trim(c, " \t\r\"") != "" {
			n++
		}
	}
	return 2*n <= columns
}

// PreludeNote names the lines that were skipped above a table, "" for none.
func PreludeNote(lines []string) string {
	var named []string
	for _, l := range lines {
		l = strings.Trim(strings.TrimSpace(l), ",;|\t\"")
		if r := []rune(strings.ToValidUTF8(l, "\uFFFD")); len(r) > 60 {
			l = string(r[:59]) + "…"
		}
		if l != "" && len(named) < 3 {
			named = append(named, fmt.Sprintf("%q", l))
		}
	}
	switch {
	case len(lines) == 0:
		return ""
	case len(lines) == 1:
		return "the line above the column names is skipped: " + strings.Join(named, ", ")
	case len(named) == 0:
		return fmt.Sprintf("%d empty lines above the column names are skipped", len(lines))
	}
	more := ""
	if len(named) == 3 && len(lines) > 3 {
		more = ", …"
	}
	return fmt.Sprintf("%d lines above the column names are skipped: %s%s", len(lines), strings.Join(named, ", "), more)
}
