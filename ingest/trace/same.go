package trace

import (
	"fmt"
	"strings"
)

// Schema returns a text that is equal for files of the same columns and types,
// in any encoding. An error is the one that Open would give.
func Schema(f File) (string, error) {
	o, err := openFile(f)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, l := range o.leaves {
		fmt.Fprintf(&b, "%s %s %d %v\n", l.name, l.family(), l.maxRep, l.unit)
	}
	return b.String(), nil
}
