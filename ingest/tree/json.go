package tree

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// Bounds on a document.
const (
	maxDepth = 200
	maxNodes = 1 << 18
	maxText  = 4 << 10 // of a scalar; longer ones are cut
)

var errTooLarge = errors.New("the document has more than 262,144 values or is nested more than 200 deep")

// JSON reads every record of a JSON input: one value, the elements of an array,
// or values after each other. A damaged record is a problem; an error means that
// none could be read.
func JSON(ctx context.Context, path, format string, rd io.Reader, problems *serving.Problems) ([]*Node, error) {
	r := jsonscan.NewReader(path, rd)
	b := &builder{}
	var out []*Node
	_, layout, err := r.Records(format, problems, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := b.json(r, "", 0)
		if err == nil {
			out = append(out, n)
		}
		return err
	})
	if errors.Is(err, errTooLarge) {
		return nil, &serving.FormatError{At: r.Pos(), Format: format, Found: errTooLarge.Error(), Want: "a report"}
	}
	if err != nil {
		return nil, r.Describe(err, format)
	}
	if layout == jsonscan.Array {
		for i, n := range out {
			n.Path = fmt.Sprintf("[%d]", i)
		}
	}
	return out, nil
}

// A builder counts what it builds.
type builder struct{ nodes int }

func (b *builder) node(k Kind, line int, path string) (*Node, error) {
	if b.nodes++; b.nodes > maxNodes {
		return nil, errTooLarge
	}
	return &Node{Kind: k, Line: line, Path: path}, nil
}

var jsonKinds = map[jsonscan.Kind]Kind{'{': Object, '[': List, '"': Text, '0': Number, 't': Bool, 'f': Bool, 'n': Null}

func (b *builder) json(r *jsonscan.Reader, path string, depth int) (*Node, error) {
	n, err := b.node(jsonKinds[r.Peek()], r.NextLine(), path)
	if err != nil || depth > maxDepth {
		return nil, errors.Join(err, tooDeep(depth))
	}
	switch n.Kind {
	case Object:
		_, err = r.Object(func(name string) error {
			c, err := b.json(r, join(path, name), depth+1)
			n.Names, n.Items = append(n.Names, name), append(n.Items, c)
			return err
		})
	case List:
		_, err = r.Array(func(i int) error {
			c, err := b.json(r, fmt.Sprintf("%s[%d]", path, i), depth+1)
			n.Items = append(n.Items, c)
			return err
		})
	default:
		var s jsonscan.Scalar
		s, _, err = r.Scalar(maxText)
		n.Value = s.Text
		if s.Kind == '0' {
			n.Kind = Number // also NaN and Infinity
		}
	}
	return n, err
}

func tooDeep(depth int) error {
	if depth > maxDepth {
		return errTooLarge
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Next builds the node of a reader's next value, for a document of which only
// parts are wanted. path is what its fields are called below.
func Next(r *jsonscan.Reader, path string) (*Node, error) {
	return (&builder{}).json(r, path, 0)
}
