package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// configName is the config file that is taken from the working directory
// without being named.
const configName = "vreport.yaml"

// maxBrackets bounds the lists and mappings in one line that a config file holds.
const maxBrackets = 2000

// maxConfig bounds the size of a config file. A file above it is a mistake.
const maxConfig = 1 << 20

// configLayer returns the settings of the config file: the one named with
// --config, or vreport.yaml where the working directory has one.
func configLayer(typed layer) (layer, error) {
	if c, ok := typed["config"]; ok {
		return readConfig(c[0].text)
	}
	l, err := readConfig(configName)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return l, err
}

func readConfig(path string) (layer, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("config: %s: is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("%s: is larger than 1 MiB, want a config file of a few lines", path)
	}
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{"))+listsInLists(data) > maxBrackets {
		// The parser's time grows with the square of the nesting.
		return nil, fmt.Errorf("%s: has more than %d brackets or lists within lists, want a config file of a few lines", path, maxBrackets)
	}
	return decodeConfig(path, data)
}

// listsInLists counts the lists (and keys of the form `? `) that lines open
// beyond their first: `- - - a` nests without a bracket. Nesting line by line
// needs indentation, which the size of the file bounds.
func listsInLists(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		opened := 0
		for i, c := range line {
			if c == '-' || c == '?' {
				if i+1 == len(line) || bytes.IndexByte([]byte(" \t\r\n"), line[i+1]) >= 0 {
					opened++
				}
				continue
			}
			if c != ' ' && c != '\t' {
				break
			}
		}
		n += max(0, opened-1)
	}
	return n
}

// decodeConfig reads the settings of a config file. Each value keeps its line
// and column, and everything that is wrong is reported at once.
//
// The tree is walked by hand rather than decoded into a struct: a struct keeps
// no positions, and a value has to be traced to its place long after the file
// was read, when it turns out that an objective has no percentile.
func decodeConfig(path string, data []byte) (_ layer, err error) {
	// The parser has crashed on malformed documents before; a config file that
	// it cannot take must not look like a fault of vreport.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: is no YAML that can be read (%v)", path, r)
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlError(path, err)
	}
	d := configDecoder{path: path, out: layer{}}
	docs := 0
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		if docs++; docs > 1 {
			d.fail(doc.Body, "a second document, want one")
			break
		}
		d.settings(doc.Body)
	}
	return d.out, errors.Join(d.errs...)
}

// yamlError puts a parser's complaint into the form of all others. The parser
// prints a picture of the source, which does not fit on one line.
func yamlError(path string, err error) error {
	var y yaml.Error
	if errors.As(err, &y) {
		return fmt.Errorf("%s%s", at(path, y.GetToken()), y.GetMessage())
	}
	return fmt.Errorf("%s: %w", path, err)
}

type configDecoder struct {
	path string
	out  layer
	errs []error
}

// at formats a place as `vreport.yaml:3:5: `.
func at(path string, tk *token.Token) string {
	if tk == nil || tk.Position == nil {
		return path + ": "
	}
	return fmt.Sprintf("%s:%d:%d: ", path, tk.Position.Line, tk.Position.Column)
}

func (d *configDecoder) fail(n ast.Node, format string, a ...any) {
	d.errs = append(d.errs, errors.New(at(d.path, start(n))+fmt.Sprintf(format, a...)))
}

// start returns the token a node starts with. That of a block mapping is its
// first key: the node itself says the colon behind it.
func start(n ast.Node) *token.Token {
	if kvs, ok := mapping(n); ok && len(kvs) > 0 {
		if m, ok := n.(*ast.MappingNode); !ok || !m.IsFlowStyle {
			return kvs[0].Key.GetToken()
		}
	}
	return n.GetToken()
}

func (d *configDecoder) settings(body ast.Node) {
	pairs, ok := mapping(body)
	if !ok {
		d.fail(body, "%s, want settings such as `slo: ttft:p99<500ms`", describe(body))
		return
	}
	for _, kv := range pairs {
		key := kv.Key.GetToken().Value
		if key == experimentKey {
			d.experiment(kv.Value)
			continue
		}
		s, ok := settingOf(key)
		if !ok {
			d.fail(kv.Key, "unknown key %q, did you mean %q? (keys are %s)", key, nearest(key, settingNames()), strings.Join(settingNames(), ", "))
			continue
		}
		if kvs, ok := mapping(kv.Value); ok && s.name == "hardware" {
			d.hardware(kvs)
			continue
		}
		d.out[s.name] = d.values(s, kv.Value)
	}
}

// values flattens a setting's value to what its flags would say: a list is the
// flag repeated, `a: [1, 2]` below a setting of pairs is a=1,2 (or a:1,2, see glue).
func (d *configDecoder) values(s *setting, n ast.Node) []given {
	at := at(d.path, start(n)) + s.name
	if seq, ok := n.(*ast.SequenceNode); ok && (s.shape == list || s.shape == pairs) {
		var out []given
		for _, v := range seq.Values {
			out = append(out, d.values(s, v)...)
		}
		return out
	}
	if kvs, ok := mapping(n); ok && s.shape == pairs {
		return d.pairs(s, kvs)
	}
	text, ok := scalar(n)
	if !ok {
		d.fail(n, "%s: %s, want %s", s.name, describe(n), s.shape.want())
		return nil
	}
	return []given{{text, at}}
}

func (d *configDecoder) pairs(s *setting, kvs []*ast.MappingValueNode) []given {
	var out []given
	for _, kv := range kvs {
		key := kv.Key.GetToken().Value
		items := []ast.Node{kv.Value}
		if seq, ok := kv.Value.(*ast.SequenceNode); ok {
			items = seq.Values
		}
		var texts []string
		for _, it := range items {
			text, ok := scalar(it)
			if !ok {
				d.fail(it, "%s: %s: %s, want a value or a list of values", s.name, key, describe(it))
			}
			texts = append(texts, text)
		}
		out = append(out, given{key + cmp.Or(s.glue, "=") + strings.Join(texts, ","), at(d.path, kv.Key.GetToken()) + s.name})
	}
	return out
}

func mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// scalar returns a scalar as it was written: 1e3 stays 1e3, so that a setting's
// own parser sees what the user wrote.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return strings.TrimSpace(n.GetToken().Value), true
	}
	return "", false
}

// describe names what a node is, for an error message.
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "is a mapping"
	case *ast.SequenceNode:
		return "is a list"
	case *ast.NullNode:
		return "has no value"
	case *ast.AnchorNode, *ast.AliasNode:
		return "is an anchor or alias"
	case *ast.TagNode:
		return "has a tag"
	}
	return fmt.Sprintf("is %q", n.String())
}
