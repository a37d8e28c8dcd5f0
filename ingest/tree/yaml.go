package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// MaxYAML is the size of a YAML document up to which it is read: the parser
// holds hundreds of bytes for each byte of it.
const MaxYAML = 1 << 20

// YAML reads the documents of a YAML input. Any damage is an error: what stands
// where in YAML depends on all that precedes it.
func YAML(ctx context.Context, path, format string, rd io.Reader) (docs []*Node, err error) {
	text, err := io.ReadAll(io.LimitReader(rd, MaxYAML+1))
	fail := func(line int, found, want, remedy string) ([]*Node, error) {
		return nil, &serving.FormatError{At: serving.Pos{Path: path, Line: line}, Format: format, Found: found, Want: want, Remedy: remedy}
	}
	switch {
	case err != nil:
		return fail(0, "reading fails: "+err.Error(), "a whole file", "copy or unpack the file again")
	case len(text) > MaxYAML:
		return fail(0, "a YAML document of more than 1 MiB", "a report", "write it as JSON, which is read as a stream")
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if line, deep := nesting(text); deep {
		return fail(line, "a document nested more than 200 deep", "a report", "")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The parser is known to panic on some malformed documents.
	defer func() {
		if p := recover(); p != nil {
			docs, err = fail(0, "damaged YAML", "a YAML document", "write the file again")
		}
	}()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		line, found := syntax(err)
		return fail(line, found, "YAML", "")
	}
	b := &yamlBuilder{anchors: map[string]ast.Node{}}
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		n, err := b.build(d.Body, "", 0)
		if err != nil {
			return fail(0, err.Error(), "a report", "")
		}
		docs = append(docs, n)
	}
	return docs, nil
}

// syntax takes a parser's error apart: the line, and what is wrong in one line.
func syntax(err error) (int, string) {
	line, found := 0, err.Error()
	var e yaml.Error
	if errors.As(err, &e) {
		found = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
	}
	if i := bytes.IndexByte([]byte(found), '\n'); i >= 0 {
		found = found[:i]
	}
	return line, jsonscan.Cut(found, 200)
}

// nesting finds a document that nests deeper than a report does, before a
// recursive parser sees it. It is coarse: brackets inside texts count too.
func nesting(text []byte) (line int, deep bool) {
	line = 1
	flow, indent, start := 0, 0, true
	for _, c := range text {
		switch c {
		case '\n':
			line++
			indent, start = 0, true
			continue
		case '[', '{':
			flow++
		case ']', '}':
			flow = max(flow-1, 0)
		}
		switch {
		case start && (c == ' ' || c == '-' || c == '?' || c == '\t' || c == ':'):
			indent++
		default:
			start = false
		}
		if flow > maxDepth || indent > 2*maxDepth {
			return line, true
		}
	}
	return 0, false
}

type yamlBuilder struct {
	builder
	anchors map[string]ast.Node
}

func (b *yamlBuilder) build(n ast.Node, path string, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, errTooLarge
	}
	line := 0
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	scalar := func(k Kind, value string) (*Node, error) {
		out, err := b.node(k, line, path)
		if err == nil {
			out.Value = jsonscan.Cut(value, maxText)
		}
		return out, err
	}
	switch v := n.(type) {
	case *ast.AnchorNode:
		b.anchors[v.Name.GetToken().Value] = v.Value
		return b.build(v.Value, path, depth+1)
	case *ast.AliasNode:
		to := b.anchors[v.Value.GetToken().Value]
		if to == nil {
			return nil, fmt.Errorf("line %d: an alias of nothing", line)
		}
		return b.build(to, path, depth+1)
	case *ast.TagNode:
		return b.build(v.Value, path, depth+1)
	case *ast.MappingNode:
		return b.object(v.Values, line, path, depth)
	case *ast.MappingValueNode:
		return b.object([]*ast.MappingValueNode{v}, line, path, depth)
	case *ast.SequenceNode:
		return b.list(v.Values, line, path, depth)
	case *ast.NullNode:
		return scalar(Null, "")
	case *ast.BoolNode:
		return scalar(Bool, v.GetToken().Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(Number, v.GetToken().Value)
	case *ast.StringNode:
		return scalar(Text, v.Value)
	case *ast.LiteralNode:
		return scalar(Text, v.Value.Value)
	}
	return scalar(Null, "")
}

func (b *yamlBuilder) object(values []*ast.MappingValueNode, line int, path string, depth int) (*Node, error) {
	out, err := b.node(Object, line, path)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if v.Key == nil || v.Value == nil {
			continue
		}
		name := keyName(v.Key)
		c, err := b.build(v.Value, join(path, name), depth+1)
		if err != nil {
			return nil, err
		}
		if v.Key.IsMergeKey() {
			out.merge(c)
			continue
		}
		out.Names, out.Items = append(out.Names, name), append(out.Items, c)
	}
	return out, nil
}

// merge puts the members that n does not have yet before its own: "<<: *base".
func (n *Node) merge(base *Node) {
	if base.Kind == List {
		for _, c := range base.Items {
			n.merge(c)
		}
		return
	}
	for i, name := range base.Names {
		if n.Get(name) == nil {
			n.Names, n.Items = append([]string{name}, n.Names...), append([]*Node{base.Items[i]}, n.Items...)
		}
	}
}

func (b *yamlBuilder) list(values []ast.Node, line int, path string, depth int) (*Node, error) {
	out, err := b.node(List, line, path)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		c, err := b.build(v, fmt.Sprintf("%s[%d]", path, i), depth+1)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, c)
	}
	return out, nil
}

// keyName is the name of a member.
func keyName(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	if t := k.GetToken(); t != nil {
		return t.Value
	}
	return ""
}
