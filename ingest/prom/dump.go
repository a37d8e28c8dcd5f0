package prom

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vreport/vreport/ingest/serving"
)

// FormatDump is the contract's name of what promtool tsdb dump prints.
const FormatDump = "prometheus-dump"

// SniffDump reports whether a file is what promtool tsdb dump or dump-openmetrics
// prints: series after series, each sample with its time. A scrape repeats a
// series only after all the others.
func SniffDump(head []byte) (ok bool, why string) {
	var prev []byte
	var prevAt int64
	lines, named, runs, bad := 0, 0, 0, 0
	for len(head) > 0 && lines < 2000 {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		head = rest
		if line = trimEnd(line); len(line) == 0 || line[0] == '#' || !ended && lines > 0 {
			continue
		}
		lines++
		s, ok := cutSample(line)
		if !ok || !s.hasStamp {
			if bad++; bad > 3 && bad*10 > lines {
				return false, "lines are no samples with a time"
			}
			prev = nil
			continue
		}
		if s.text[0] == '{' {
			named++
		}
		if bytes.Equal(prev, s.text) && s.stamp > prevAt {
			runs++
		}
		prev, prevAt = s.text, s.stamp
	}
	switch {
	case lines == 0 || bad*10 > lines && bad != 1 || bad == lines:
		return false, "no samples with a time at the start"
	case named > 0 && named >= lines-bad:
		return true, ""
	case runs > 0 && 2*runs >= lines-bad-1:
		return true, ""
	case runs >= 8 && 4*runs >= lines:
		return true, ""
	}
	return false, "the samples of a series do not follow each other"
}

// A dumpLine is a sample with the series as written.
type dumpLine struct {
	text []byte
	reading
}

// cutSample splits `name{labels} value time` or `{__name__="name", labels} value
// time`.
func cutSample(line []byte) (dumpLine, bool) {
	n := -1
	if line[0] == '{' {
		n = braceEnd(line, 0)
	} else {
		n = seriesEnd(line)
	}
	if n < 0 {
		return dumpLine{}, false
	}
	r, err := parseReading(line[n:])
	return dumpLine{text: line[:n], reading: r}, err == nil
}

// DecodeDump reads what promtool prints into scrapes for Assemble. A line that
// cannot be read, and the samples of native histograms, are problems. raw keeps every
// series: see ParseRaw.
func DecodeDump(ctx context.Context, path string, r io.Reader, in *serving.Input, raw bool) ([]*Scrape, error) {
	rec := newRecording(path, in, FormatDump)
	rec.raw = raw
	lines := lineReader{r: bufio.NewReaderSize(r, 128<<10)}
	var last *recorded
	var lastText []byte
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, lines.line+1, err)
		}
		if len(l.text) == 0 || l.text[0] == '#' {
			continue
		}
		at := serving.Pos{Path: path, Line: lines.line}
		s, ok := cutSample(l.text)
		switch {
		case l.tooLong || !ok && !bytes.Contains(l.text, []byte("} {count:")):
			in.Problems.AddKind("line", serving.Problem{At: at, Message: fmt.Sprintf("cannot read %q, want {__name__=\"name\", label=\"value\"} value time; the line is left out", excerpt(l.text))})
			continue
		case !ok:
			in.Problems.AddKind("native", serving.Problem{At: at, Message: "a native histogram is not read; the line is left out"})
			continue
		case !s.hasStamp:
			in.Problems.AddKind("time", serving.Problem{At: at, Message: "the sample has no time; the line is left out"})
			continue
		}
		if last == nil || !bytes.Equal(lastText, s.text) {
			if last, err = rec.find(s.text); err != nil {
				in.Problems.AddKind("series", serving.Problem{At: at, Message: fmt.Sprintf("cannot read the series %q: %s; the line is left out", excerpt(s.text), shortened(err))})
				last = nil
				continue
			}
			lastText = append(lastText[:0], s.text...)
		}
		rec.put(last, s.stamp, s.value)
	}
	return rec.finish(`lines such as {__name__="vllm:num_requests_running", instance="pod:8000"} 3 1760000000000`)
}

// find returns the series of a text.
func (r *recording) find(text []byte) (*recorded, error) {
	if t := r.series[string(text)]; t != nil {
		return t, nil
	}
	ls, err := parseLabels(text)
	if err != nil {
		return nil, err
	}
	name := ls.Get(nameLabel)
	s, err := newSeries(name, ls)
	if err != nil {
		return nil, err
	}
	return r.add(string(text), name, s, ls), nil
}

// parseLabels reads `name{a="b"}` and `{__name__="name", a="b"}`, in which Go's
// rules of quoting hold.
func parseLabels(text []byte) (labels.Labels, error) {
	open := bytes.IndexByte(text, '{')
	b := labels.NewBuilder(labels.EmptyLabels())
	if open < 0 {
		open = len(text)
	}
	if open > 0 {
		b.Set(nameLabel, string(bytes.TrimSpace(text[:open])))
	}
	rest := bytes.TrimSuffix(bytes.TrimPrefix(text[open:], []byte("{")), []byte("}"))
	for {
		rest = bytes.TrimLeft(rest, " \t,")
		if len(rest) == 0 {
			break
		}
		name, after, ok := bytes.Cut(rest, []byte("="))
		if rest[0] == '"' {
			end := quoteEnd(rest, 0)
			if end < 0 || end+1 >= len(rest) || rest[end+1] != '=' {
				return labels.EmptyLabels(), fmt.Errorf("a label name is not closed")
			}
			s, err := strconv.Unquote(string(rest[:end+1]))
			if err != nil {
				return labels.EmptyLabels(), fmt.Errorf("a label name is quoted wrongly")
			}
			name, after, ok = []byte(s), rest[end+2:], true
		}
		if !ok || len(after) == 0 || after[0] != '"' {
			return labels.EmptyLabels(), fmt.Errorf("a label has no value in quotes")
		}
		end := quoteEnd(after, 0)
		if end < 0 {
			return labels.EmptyLabels(), fmt.Errorf("a label value is not closed")
		}
		v, err := strconv.Unquote(string(after[:end+1]))
		if err != nil {
			return labels.EmptyLabels(), fmt.Errorf("a label value is quoted wrongly")
		}
		b.Set(string(bytes.TrimSpace(name)), v)
		rest = after[end+1:]
	}
	ls := b.Labels()
	if ls.Get(nameLabel) == "" {
		return ls, fmt.Errorf("it has no name")
	}
	return ls, nil
}
