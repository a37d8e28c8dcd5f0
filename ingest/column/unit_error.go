package column

import (
	"errors"
	"strings"
)

// A UnitError says that durations have no unit: the file does not say, and a guess
// would be a guess. It has all of them, so that one more try is enough.
type UnitError struct{ columns []unitless }

// unitless is a column of the file, and what it would be.
type unitless struct{ column, canonical string }

// take adds the columns of another UnitError, and reports whether it is one.
func (e *UnitError) take(err error) bool {
	var o *UnitError
	if !errors.As(err, &o) {
		return false
	}
	e.columns = append(e.columns, o.columns...)
	return true
}

// Error names the columns and the remedy.
func (e *UnitError) Error() string { return e.Found() + ": " + e.Remedy() }

// Found says what was found.
func (e *UnitError) Found() string {
	if len(e.columns) == 1 {
		return "column " + e.columns[0].column + " has no unit"
	}
	var names []string
	for _, c := range e.columns {
		names = append(names, c.column)
	}
	return "columns " + strings.Join(names, ", ") + " have no unit"
}

// Remedy says which flags to pass.
func (e *UnitError) Remedy() string {
	var flags []string
	for _, c := range e.columns {
		flags = append(flags, "--map "+c.canonical+"="+c.column+":ms")
	}
	return "pass " + strings.Join(flags, " ") + " (or s, us, ns)"
}
