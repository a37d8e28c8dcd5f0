package tree

import (
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A Kind is what a node holds.
type Kind uint8

// The kinds. A missing node has the kind Missing.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	Text
	List
	Object
)

// A Node is a value of a document. The methods accept a nil node, which is a
// missing value, so that lookups chain.
type Node struct {
	Kind  Kind
	Line  int    // 1-based line on which the value starts
	Path  string // of keys and indices from the root: results.latency, stack[0].role
	Value string // of a scalar, as written; texts unquoted
	Names []string
	Items []*Node // of a list, or the values of Names
}

// Get returns the value under a path of names; nil where it is missing.
func (n *Node) Get(names ...string) *Node {
	for _, name := range names {
		if n == nil || n.Kind != Object {
			return nil
		}
		next := (*Node)(nil)
		for i, k := range n.Names {
			if k == name {
				next = n.Items[i] // of a repeated name the last counts
			}
		}
		n = next
	}
	return n
}

// Has reports whether an object has a name whose value is not null.
func (n *Node) Has(name string) bool {
	v := n.Get(name)
	return v != nil && v.Kind != Null
}

// List returns the elements of a list; none of anything else.
func (n *Node) List() []*Node {
	if n == nil || n.Kind != List {
		return nil
	}
	return n.Items
}

// Float returns a number, also one in a text ("inf", "12.5"). NaN and infinities
// are numbers here.
func (n *Node) Float() (float64, bool) {
	if n == nil || n.Kind != Number && n.Kind != Text {
		return 0, false
	}
	s := strings.ReplaceAll(strings.ToLower(n.Value), ".inf", "inf")
	s = strings.ReplaceAll(s, ".nan", "nan")
	if n.Kind == Number && strings.Contains(s, "_") {
		s = strings.ReplaceAll(s, "_", "")
	}
	if n.Kind == Number && strings.HasPrefix(strings.TrimLeft(s, "+-"), "0") {
		if v, err := strconv.ParseInt(s, 0, 64); err == nil { // 0x…, 0o… of YAML
			return float64(v), true
		}
	}
	return jsonscan.Scalar{Kind: '"', Text: s}.Float()
}

// Text returns a scalar as text; "" of null, lists and objects.
func (n *Node) Text() string {
	if n == nil || n.Kind == Null || n.Kind == List || n.Kind == Object {
		return ""
	}
	return n.Value
}

// Opt returns a scalar's text where there is one.
func (n *Node) Opt() serving.Opt[string] {
	if s := n.Text(); s != "" {
		return serving.Some(s)
	}
	return serving.None[string]()
}

// At is the position of the value in a file.
func (n *Node) At(path string) serving.Pos {
	if n == nil {
		return serving.Pos{Path: path}
	}
	return serving.Pos{Path: path, Line: n.Line, Field: jsonscan.Cut(n.Path, 160)}
}
