package column

// A Kind is what a file's column holds, as far as its own types tell.
type Kind uint8

// The kinds of raw columns.
const (
	Opaque   Kind = iota // nothing that can be used
	Int                  // whole numbers of any width
	Float                // numbers, decimals too
	Bool                 //
	Text                 //
	Instant              // a timestamp or date, with its unit
	Span                 // a duration, with its unit
	List                 // a list of numbers a row
	TextList             // a list of texts a row
)

var kindNames = [...]string{"an unreadable type", "whole numbers", "numbers", "booleans", "text", "timestamps", "durations", "lists of numbers", "lists of text"}

// String names the kind for a message.
func (k Kind) String() string { return kindNames[k] }

// A Raw describes one column of a file.
type Raw struct {
	Name    string // as the file has it; nested fields joined by dots
	Kind    Kind
	Unit    Unit     // of Instant and Span: what the type says
	Local   bool     // an Instant without a zone
	Dir     bool     // a partition: the names of directories give it, not the files
	Path    []string // the steps of a nested field; nil where Name is a name of the table's own
	Sibling string   // the unit that a companion column states, as written
	// Range returns the least and the greatest of some values near the start
	// of the file, but for a few at either end (see Middle), for telling dates from offsets; ok is false where there are
	// none. It may be nil.
	Range func() (lo, hi float64, ok bool)
	// Label reports whether the values name few things again and again, as
	// those of a region or a tier do, and ids do not. It may be nil.
	Label func() bool
}
