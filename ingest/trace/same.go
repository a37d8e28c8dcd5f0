package trace

import "fmt"

// A Schema is the columns of a file by name, with a text of their type that is
// equal where values may stand in one column.
type Schema map[string]string

// SchemaOf returns the schema of a file. An error is the one that Open would
// give.
func SchemaOf(f File) (Schema, error) {
	o, err := openFile(f)
	if err != nil {
		return nil, err
	}
	s := Schema{}
	for _, l := range o.byName {
		s[l.name] = fmt.Sprint(l.family(), " ", l.maxRep)
	}
	return s, nil
}

// Fits reports whether a file of schema o can be a part of a table of schema s:
// at least half of the columns of the one are in the other, and those are of one
// type. A release that adds a column does not end a table; a file of other things
// is none of its parts.
func (s Schema) Fits(o Schema) bool {
	shared := 0
	for name, typ := range o {
		if have, ok := s[name]; ok {
			if have != typ {
				return false
			}
			shared++
		}
	}
	return 2*shared >= min(len(s), len(o)) && shared > 0
}

// Add makes s the schema of the table with a file of schema o in it.
func (s Schema) Add(o Schema) {
	for name, typ := range o {
		s[name] = typ
	}
}

// Names returns the names of a file's columns.
func Names(f File) ([]string, error) {
	o, err := openFile(f)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range o.leaves {
		out = append(out, l.name)
	}
	return out, nil
}
