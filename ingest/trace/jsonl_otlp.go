package trace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// OpenTelemetry's JSON: {"resourceSpans": [{"resource", "scopeSpans": [{"spans":
// [{"name", "startTimeUnixNano", "attributes": [{"key", "value": {"intValue":
// "12"}}]}]}]}]}, one such object a line (a collector's file exporter) or one a
// file. 64-bit numbers are strings.

// isOTLP reports whether JSON starts with a collection of spans.
func isOTLP(head []byte) bool {
	n := min(len(head), 4<<10)
	return bytes.Contains(head[:n], []byte(`"resourceSpans"`))
}

// otlpSearch bounds how far a file is searched for a span of an LLM request.
const otlpSearch = 16 << 20

// sniffOTLP looks for a span of an LLM request.
func sniffOTLP(head []byte, open func() (io.ReadCloser, error)) (bool, string) {
	if hasLLM(head) {
		return true, ""
	}
	const no = "OpenTelemetry spans, but none of an LLM request (no gen_ai attribute) in the first 16 MiB"
	if open == nil {
		return false, no
	}
	r, err := open()
	if err != nil {
		return false, err.Error()
	}
	defer r.Close()
	const overlap = 16
	buf := make([]byte, 256<<10)
	kept := 0
	for read := 0; read < otlpSearch; {
		n, err := io.ReadFull(r, buf[kept:])
		if hasLLM(buf[:kept+n]) {
			return true, ""
		}
		if err != nil {
			break
		}
		read += n
		kept = copy(buf, buf[len(buf)-overlap:])
	}
	return false, no
}

func hasLLM(b []byte) bool {
	return bytes.Contains(b, []byte(`"llm_request"`)) || bytes.Contains(b, []byte(`"gen_ai.`))
}

// An otlpTable is the shape of a file of spans: the names of attributes.
type otlpTable struct {
	path    string
	columns []*guess
	index   map[string]int // by name
	engine  bool           // vLLM's spans are among them: others are of the same requests
}

// Names of what a span has beside its attributes. The status is called as the
// semantic conventions call it.
const (
	spanName   = "name"
	spanStart  = "startTimeUnixNano"
	spanEnd    = "endTimeUnixNano"
	spanStatus = "otel.status_code"
	spanError  = "status_message"
)

// vLLM's name of a request's span.
const engineSpan = "llm_request"

// A pair is a name and the text of its value.
type pair struct{ name, text string }

// A span is what one span says, its resource's attributes first.
type span struct {
	resource []pair
	pairs    []pair
	name     string
	op       string // gen_ai.operation.name
	llm      bool   // it has a gen_ai attribute
}

// learn implements source.
func (o *otlpTable) learn(ctx context.Context, in io.Reader) (l learned, err error) {
	o.index = map[string]int{}
	var problems serving.Problems
	var read int64
	var spans []span // until it is known which count
	r := jsonscan.NewReader(o.path, in)
	err = o.walk(r, &problems, func(s *span) error {
		if s.name == engineSpan && !o.engine {
			o.engine = true
			spans = nil
		}
		if o.counts(s) {
			c := *s
			c.resource, c.pairs = append([]pair(nil), s.resource...), append([]pair(nil), s.pairs...)
			spans = append(spans, c)
		}
		if read++; read&63 == 0 && (r.Offset() > sampleBytes || len(spans) > sampleLines) {
			return errStop
		}
		return nil
	})
	l.whole = err == nil
	var fe *serving.FormatError
	if errors.As(err, &fe) && len(spans) > 0 || err == errStop {
		err = nil
	}
	for i := range spans {
		for _, list := range [][]pair{spans[i].resource, spans[i].pairs} {
			for _, p := range list {
				o.column(p.name).add([]byte(p.text))
			}
		}
	}
	l.columns, l.rows = o.columns, int64(len(spans))
	if o.engine {
		l.notes = append(l.notes, "only spans called llm_request are requests")
	}
	if err == nil {
		err = ctx.Err()
	}
	return l, err
}

func (o *otlpTable) column(name string) *guess {
	i, ok := o.index[name]
	if !ok {
		i = len(o.columns)
		o.index[name] = i
		o.columns = append(o.columns, newGuess(name, false))
	}
	return o.columns[i]
}

// counts reports whether a span is a request: the engine's own where there are
// any, else those that call a model.
func (o *otlpTable) counts(s *span) bool {
	if o.engine {
		return s.name == engineSpan
	}
	switch s.op {
	case "", "chat", "text_completion", "generate_content", "completion":
		return s.llm
	}
	return false // invoke_agent, execute_tool, embeddings
}

// scan implements source.
func (o *otlpTable) scan(ctx context.Context, in io.Reader, b *batch) error {
	r := jsonscan.NewReader(o.path, in)
	var damage serving.Problems
	err := o.walk(r, &damage, func(s *span) error {
		if !o.counts(s) {
			return nil
		}
		b.begin(0)
		for _, list := range [][]pair{s.resource, s.pairs} {
			for _, p := range list {
				if i, ok := o.index[p.name]; ok && b.byRaw[i] != nil {
					b.set(b.byRaw[i], []byte(p.text))
				}
			}
		}
		return b.commit()
	})
	for _, p := range damage.List() { // by way of the batch, which keeps them for the next scan
		b.problem("span "+p.Message, p)
	}
	b.tell()
	var fe *serving.FormatError
	if errors.As(err, &fe) && b.row+int64(b.n) > 0 {
		return nil // the one object that is the whole file is damaged; its first spans are good, and the damage is told
	}
	return err
}

// walk calls each with every span. The span is valid until the next one.
func (o *otlpTable) walk(r *jsonscan.Reader, problems *serving.Problems, each func(*span) error) error {
	s := &span{}
	_, _, err := r.Records(FormatJSONL, problems, func(int) error {
		_, err := r.Object(func(name string) error {
			if name != "resourceSpans" {
				return r.Skip()
			}
			_, err := r.Array(func(int) error { return o.resource(r, s, each) })
			return err
		})
		return err
	})
	return err
}

func (o *otlpTable) resource(r *jsonscan.Reader, s *span, each func(*span) error) error {
	s.resource = s.resource[:0]
	_, err := r.Object(func(name string) error {
		switch name {
		case "resource":
			_, err := r.Object(func(name string) error {
				if name != "attributes" {
					return r.Skip()
				}
				return attributes(r, &s.resource)
			})
			return err
		case "scopeSpans", "instrumentationLibrarySpans":
			_, err := r.Array(func(int) error {
				_, err := r.Object(func(name string) error {
					if name != "spans" {
						return r.Skip()
					}
					_, err := r.Array(func(int) error {
						if err := s.read(r); err != nil {
							return err
						}
						return each(s)
					})
					return err
				})
				return err
			})
			return err
		}
		return r.Skip()
	})
	return err
}

// read reads one span.
func (s *span) read(r *jsonscan.Reader) error {
	s.pairs, s.name, s.op, s.llm = s.pairs[:0], "", "", false
	_, err := r.Object(func(name string) error {
		switch name {
		case spanName:
			t, ok, err := r.Text(maxText)
			if ok {
				s.name = t
				s.pairs = append(s.pairs, pair{spanName, t})
			}
			return err
		case spanStart, spanEnd:
			v, ok, err := r.Scalar(64)
			if ok && !v.IsNull() && v.Text != "0" { // 0 is what protobuf writes for no value
				s.pairs = append(s.pairs, pair{name, v.Text})
			}
			return err
		case "attributes":
			return attributes(r, &s.pairs)
		case "status":
			return s.status(r)
		}
		return r.Skip()
	})
	for _, p := range s.pairs {
		s.llm = s.llm || strings.HasPrefix(p.name, "gen_ai.")
		if p.name == "gen_ai.operation.name" {
			s.op = p.text
		}
	}
	return err
}

// status reads a span's status: a number or its name. A message of an error is
// one, of anything else it is not.
func (s *span) status(r *jsonscan.Reader) error {
	code, message := "", ""
	_, err := r.Object(func(name string) error {
		v, ok, err := r.Scalar(maxText)
		switch {
		case !ok || v.IsNull():
		case name == "code":
			code = v.Text
		case name == "message":
			message = v.Text
		}
		return err
	})
	switch code {
	case "1", "STATUS_CODE_OK":
		s.pairs = append(s.pairs, pair{spanStatus, "ok"})
	case "2", "STATUS_CODE_ERROR":
		s.pairs = append(s.pairs, pair{spanStatus, "error"})
		if message != "" {
			s.pairs = append(s.pairs, pair{spanError, message})
		}
	}
	return err
}

// attributes reads a list of names and typed values.
func attributes(r *jsonscan.Reader, into *[]pair) error {
	_, err := r.Array(func(int) error {
		var p pair
		_, err := r.Object(func(name string) error {
			switch name {
			case "key":
				t, _, err := r.Text(maxText)
				p.name = t
				return err
			case "value":
				t, err := anyValue(r)
				p.text = t
				return err
			}
			return r.Skip()
		})
		if p.name != "" && p.text != "" && len(*into) < maxColumns {
			*into = append(*into, p)
		}
		return err
	})
	return err
}

// anyValue reads a typed value as text; of a list its first element. Other
// values are "".
func anyValue(r *jsonscan.Reader) (text string, err error) {
	_, err = r.Object(func(name string) error {
		switch name {
		case "stringValue", "intValue", "doubleValue", "boolValue":
			v, ok, err := r.Scalar(maxText)
			if ok && !v.IsNull() {
				text = v.Text
			}
			return err
		case "arrayValue":
			_, err := r.Object(func(name string) error {
				if name != "values" {
					return r.Skip()
				}
				_, err := r.Array(func(i int) error {
					t, err := anyValue(r)
					if i == 0 {
						text = t
					}
					return err
				})
				return err
			})
			return err
		}
		return r.Skip()
	})
	return text, err
}
