package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest"
)

func (o *options) setClockOffset(vs []given) error {
	var errs []error
	for _, v := range vs {
		c, err := ingest.ParseClockOffset(v.text)
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		o.ingest.Clocks = append(o.ingest.Clocks, c)
	}
	return errors.Join(errs...)
}

func (o *options) setAnnotationFiles(vs []given) error {
	var errs []error
	for _, v := range vs {
		events, err := readAnnotations(v.text)
		if err != nil {
			errs = append(errs, wrong(v, "%w", err))
			continue
		}
		o.analyze.Annotations = append(o.analyze.Annotations, events...)
	}
	return errors.Join(errs...)
}

// Limits of a file of annotations: people write them.
const (
	maxAnnotations     = 10_000
	maxAnnotationBytes = 8 << 20
	maxAnnotationText  = 500
)

func readAnnotations(name string) ([]analyze.Event, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch st, err := f.Stat(); {
	case err != nil || !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file, want a CSV file with the columns time and text", name)
	case st.Size() > maxAnnotationBytes:
		return nil, fmt.Errorf("%s has %d bytes, want at most %d: the annotations of the measured time", name, st.Size(), maxAnnotationBytes)
	}
	return decodeAnnotations(name, io.LimitReader(f, maxAnnotationBytes))
}

// annotationColumns are the columns of a file of annotations with the names that
// tools write; end and kind may be missing.
var annotationColumns = map[string][]string{
	"time": {"time", "timestamp", "at", "start", "date", "when"},
	"text": {"text", "what", "title", "message", "description", "event", "annotation"},
	"end":  {"end", "to", "until", "time_end", "timeend"},
	"kind": {"kind", "type", "tags", "tag"},
}

// decodeAnnotations reads CSV with a header. A damaged row is an error with its
// line: a deploy that silently is not there would lead to a wrong conclusion.
func decodeAnnotations(name string, r io.Reader) ([]analyze.Event, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord, c.TrimLeadingSpace = -1, true
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: has no header, want the columns time and text: %w", name, err)
	}
	at := map[string]int{}
	for i, h := range head {
		h = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))
		for col, names := range annotationColumns {
			if _, ok := at[col]; !ok && slices.Contains(names, h) {
				at[col] = i
			}
		}
	}
	for _, col := range []string{"time", "text"} {
		if _, ok := at[col]; !ok {
			return nil, fmt.Errorf("%s:1: no column %q among %s, want a header such as time,text", name, col, strings.Join(head, ","))
		}
	}
	var out []analyze.Event
	for {
		rec, err := c.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := c.FieldPos(0)
		if len(rec) == 1 && strings.TrimSpace(rec[0]) == "" {
			continue
		}
		e, err := annotationOf(rec, at, name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		case len(out) == maxAnnotations:
			return nil, fmt.Errorf("%s:%d: more than %d annotations, want those of the measured time", name, line, maxAnnotations)
		}
		out = append(out, e)
	}
}

func annotationOf(rec []string, at map[string]int, name string) (analyze.Event, error) {
	field := func(col string) string {
		if i, ok := at[col]; ok && i < len(rec) {
			return strings.TrimSpace(rec[i])
		}
		return ""
	}
	e := analyze.Event{Kind: kindOfAnnotation(field("kind")), Text: clipped(field("text"), maxAnnotationText), Source: name}
	if e.Text == "" {
		return e, errors.New("no text, want what happened")
	}
	var err error
	if e.At, err = parseInstant(field("time")); err != nil {
		return e, fmt.Errorf("time: %w, want e.g. 2026-11-03T10:00:00Z", err)
	}
	if end := field("end"); end != "" {
		if e.To, err = parseInstant(end); err != nil {
			return e, fmt.Errorf("end: %w, want e.g. 2026-11-03T10:00:00Z", err)
		}
		if e.To < e.At {
			return e, fmt.Errorf("ends at %s, before it begins", end)
		}
	}
	return e, nil
}

// kindOfAnnotation is one of our own kinds, which charts print: a change, unless
// it is said to be something else.
func kindOfAnnotation(s string) string {
	switch strings.ToLower(s) {
	case "restart":
		return "restart"
	case "note", "other", "incident", "alert":
		return "note"
	}
	return "deploy"
}

func clipped(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
