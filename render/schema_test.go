package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

const (
	reportSchemaFile  = "vreport.report.v1.schema.json"
	inspectSchemaFile = "vreport.inspect.v1.schema.json"
)

func schemaDoc(t *testing.T, name string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "docs", "schema", name))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

func compileSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, schemaDoc(t, name)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(s *jsonschema.Schema, raw []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestReportsAreValid(t *testing.T) {
	s := compileSchema(t, reportSchemaFile)
	onlyQuality := &analyze.Report{Results: []analyze.Result{{Value: &analyze.QualityFindings{}}}}
	for name, rep := range map[string]*analyze.Report{
		"rich": richReport(), "empty": emptyReport(), "no sections": {}, "an empty list": onlyQuality,
	} {
		if err := validate(s, renderJSON(t, rep, Options{Version: "v1", Command: "vreport report x"})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInspectionsAreValid(t *testing.T) {
	s := compileSchema(t, inspectSchemaFile)
	for name, inputs := range map[string][]*serving.Input{"rich": fixtureInputs().Inputs, "none": nil, "bare": {{Path: "x"}}} {
		var b bytes.Buffer
		if err := InspectJSON(&b, inputs); err != nil {
			t.Fatal(err)
		}
		if err := validate(s, b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A schema that accepts everything would pass the tests above.
func TestSchemaRefuses(t *testing.T) {
	s := compileSchema(t, reportSchemaFile)
	good := string(renderJSON(t, richReport(), Options{Version: "v1"}))
	for _, c := range []struct{ what, old, new string }{
		{"another version", `"schema":"vreport.report/v1"`, `"schema":"vreport.report/v2"`},
		{"a result that is none", `"result":"undecided"`, `"result":"maybe"`},
		{"a share in percent", `"share":0.942`, `"share":94.2`},
		{"a negative count", `"sent":100`, `"sent":-1`},
		{"a latency as text", `"p99":`, `"p99":"12 ms","x":`},
		{"an interval with one end", `"interval":[0.92575,0.95487]`, `"interval":[0.92575]`},
		{"a field nobody knows", `"source":"results/c1.json"`, `"source":"x","sauce":"y"`},
		{"a field without its required one", `"source":"results/c1.json",`, ``},
		{"local time", `"from":"2026-01-31T12:00:00Z"`, `"from":"2026-01-31T21:00:00+09:00"`},
		{"seconds for a duration", `"unit":"ms"`, `"unit":"s"`},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Errorf("%s: the fixture has no %s", c.what, c.old)
			continue
		}
		if validate(s, []byte(bad)) == nil {
			t.Errorf("%s is accepted", c.what)
		}
	}
}

// The wire structs and the schemas say the same: every key, which of them are
// always there, and of what JSON type they are.
func TestSchemasMatchStructs(t *testing.T) {
	for _, c := range []struct {
		file string
		typ  reflect.Type
	}{
		{reportSchemaFile, reflect.TypeFor[wireReport]()},
		{inspectSchemaFile, reflect.TypeFor[[]wireInspected]()},
	} {
		w := &schemaWalk{t: t, file: c.file, doc: schemaDoc(t, c.file), done: map[string]bool{}}
		w.check(c.typ, w.doc, "")
		defs := w.doc["$defs"].(map[string]any)
		for name := range defs {
			if !w.done["#/$defs/"+name] {
				t.Errorf("%s: $defs/%s is not used by any struct", c.file, name)
			}
		}
	}
}

type schemaWalk struct {
	t    *testing.T
	file string
	doc  map[string]any
	done map[string]bool // $refs that were followed
}

func (w *schemaWalk) errorf(path, format string, a ...any) {
	w.t.Helper()
	w.t.Errorf("%s: %s: "+format, append([]any{w.file, path}, a...)...)
}

// follow resolves a $ref.
func (w *schemaWalk) follow(s map[string]any) map[string]any {
	ref, ok := s["$ref"].(string)
	if !ok {
		return s
	}
	w.done[ref] = true
	def, _ := w.doc["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	if def == nil {
		w.errorf(ref, "no such definition")
		return map[string]any{}
	}
	return w.follow(def)
}

func (w *schemaWalk) check(t reflect.Type, node map[string]any, path string) {
	s := w.follow(node)
	if node["description"] == nil && s["description"] == nil && strings.Contains(path, ".") && !strings.HasSuffix(path, "[]") && !strings.HasSuffix(path, "{}") {
		w.errorf(path, "no description")
	}
	nullable := false
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		nullable = strings.HasSuffix(path, "[]") || slices.Contains([]string{"file", "ours"}, path[strings.LastIndex(path, ".")+1:])
	}
	if strings.HasPrefix(t.Name(), "wireByName[") {
		t = reflect.MapOf(reflect.TypeFor[string](), t.Elem().Field(1).Type)
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number",
		reflect.Slice: "array", reflect.Struct: "object", reflect.Map: "object",
	}[t.Kind()]
	w.checkType(s, want, nullable, path)
	switch t.Kind() {
	case reflect.Slice:
		items, _ := s["items"].(map[string]any)
		w.check(t.Elem(), items, path+"[]")
	case reflect.Map:
		w.check(t.Elem(), mapValues(s), path+"{}")
	case reflect.Struct:
		w.checkStruct(t, s, path)
	}
}

func (w *schemaWalk) checkType(s map[string]any, want string, nullable bool, path string) {
	switch typ := s["type"].(type) {
	case string:
		if typ != want || nullable {
			w.errorf(path, "type is %s, the struct has %s (nullable: %v)", typ, want, nullable)
		}
	case []any:
		if !nullable || len(typ) != 2 || typ[0] != want || typ[1] != "null" {
			w.errorf(path, "type is %v, the struct has %s (nullable: %v)", typ, want, nullable)
		}
	default:
		// A constant or an enumeration is of the type of its values.
		if s["const"] == nil && s["enum"] == nil || want != "string" {
			w.errorf(path, "no type, the struct has %s", want)
		}
	}
}

// mapValues is the schema of an object's values under any name.
func mapValues(s map[string]any) map[string]any {
	if v, ok := s["additionalProperties"].(map[string]any); ok {
		return v
	}
	if p, ok := s["patternProperties"].(map[string]any); ok {
		for _, v := range p {
			return v.(map[string]any)
		}
	}
	return map[string]any{}
}

var quantileKey = regexp.MustCompile(`^p[0-9]`)

func (w *schemaWalk) checkStruct(t reflect.Type, s map[string]any, path string) {
	props, _ := s["properties"].(map[string]any)
	fields := jsonFields(t)
	for name, f := range fields {
		p, ok := props[name].(map[string]any)
		if !ok {
			w.errorf(path+"."+name, "in struct %s, not in the schema", t.Name())
			continue
		}
		w.check(f.typ, p, path+"."+name)
	}
	for name := range props {
		if _, ok := fields[name]; !ok && !(t == reflect.TypeFor[wireDist]() && quantileKey.MatchString(name)) {
			w.errorf(path+"."+name, "in the schema, not in struct %s", t.Name())
		}
	}
	var required, always []string
	for _, r := range asList(s["required"]) {
		required = append(required, r.(string))
	}
	for name, f := range fields {
		if f.always {
			always = append(always, name)
		}
	}
	slices.Sort(required)
	slices.Sort(always)
	if !slices.Equal(required, always) {
		w.errorf(path, "required is %v, struct %s always has %v", required, t.Name(), always)
	}
	if closed := s["additionalProperties"] == false; closed == (path == "") {
		w.errorf(path, "additionalProperties must be open at the top and closed below")
	}
}

type jsonField struct {
	typ    reflect.Type
	always bool
}

// jsonFields lists the JSON keys of a struct, those of embedded structs too.
func jsonFields(t reflect.Type) map[string]jsonField {
	out := map[string]jsonField{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			for n, v := range jsonFields(f.Type) {
				out[n] = v
			}
		case name != "-":
			out[name] = jsonField{f.Type, !strings.Contains(opts, "omit")}
		}
	}
	return out
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}
