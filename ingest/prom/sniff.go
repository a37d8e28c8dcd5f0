package prom

import "bytes"

// sniffLimit is how much of a file Sniff looks at.
const sniffLimit = 64 << 10

// Sniff reports whether a file that begins with head is a Prometheus text
// scrape. HELP and TYPE comments with samples among them are; a dump without
// them, as grep leaves it, must consist of samples nearly throughout and look
// like an exporter's: labels, or names as exporters make them. Configuration
// files and word lists are names and numbers too.
func Sniff(head []byte) bool {
	s := sniffer{whole: len(head) <= sniffLimit}
	head = bytes.TrimPrefix(head[:min(len(head), sniffLimit)], []byte("\xef\xbb\xbf"))
	for len(head) > 0 {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		head = rest
		if !ended && (s.good > 0 || s.meta > 0) {
			break // the head may end within it
		}
		if s.line(trimEnd(line)); s.hopeless() {
			return false
		}
	}
	return s.verdict()
}

type sniffer struct {
	whole    bool
	meta     int // HELP and TYPE comments
	good     int // samples
	labelled int // samples with labels
	familiar int // samples of a known exporter, or named as exporters name
	bad      int // other lines
	fences   int // of Markdown
	inHTTP   bool
}

func (s *sniffer) line(line []byte) {
	switch {
	case len(line) == 0:
		s.inHTTP = false
	case line[0] == '#':
		s.inHTTP = false
		if _, _, ok := metaComment(line); ok {
			s.meta++
		}
	case isHTTPStatus(line):
		s.inHTTP = true
	case s.inHTTP && isHTTPHeader(line):
	case isDressing(line):
		if line[0] == '`' {
			s.fences++
		}
	default:
		s.sample(line)
	}
}

func (s *sniffer) sample(line []byte) {
	n := seriesEnd(line)
	if n < 0 {
		if len(line) <= 40 {
			if _, ok := parseStamp(string(line)); ok {
				return
			}
		}
		s.bad++
		return
	}
	if _, err := parseReading(line[n:]); err != nil {
		s.bad++
		return
	}
	name, hasLabels := line[:n], false
	if i := bytes.IndexByte(line[:n], '{'); i >= 0 {
		// The labels decide most, so they are parsed for good.
		if _, _, err := parseSeries(line[:n]); err != nil || i == 0 {
			s.bad++
			return
		}
		name, hasLabels = bytes.TrimRight(line[:i], " \t"), bytes.IndexByte(line[i:n], '=') > 0
	}
	s.good++
	if hasLabels {
		s.labelled++
	}
	if exporterOf(string(name)) != "" || hasUnitSuffix(name) {
		s.familiar++
	}
}

// hasUnitSuffix reports whether a name ends as the naming rules of Prometheus
// want it.
func hasUnitSuffix(name []byte) bool {
	for _, s := range [...]string{"_total", "_bucket", "_sum", "_count", "_seconds", "_bytes", "_info", "_ratio", "_created"} {
		if len(name) > len(s) && string(name[len(name)-len(s):]) == s {
			return true
		}
	}
	return false
}

// hopeless ends the look at a long file of another kind early.
func (s *sniffer) hopeless() bool {
	return s.bad > 20 && s.bad > 4*(s.good+s.meta)
}

func (s *sniffer) verdict() bool {
	switch {
	case s.good == 0:
		return false
	case s.fences > 2, s.fences > 0 && s.bad > 2:
		return false // a document with examples in it
	case s.meta > 0:
		// Damaged lines are allowed for, but prose with an example is no scrape.
		return s.good+s.meta > 2*s.bad
	}
	few := s.good < 3
	switch {
	case s.bad*10 > s.good:
		return s.bad == 1 && s.familiar >= 2 // a cut line in a short dump
	case few:
		return s.familiar == s.good && s.bad == 0 // a poll of one or two series
	}
	return 2*s.labelled >= s.good || 2*s.familiar >= s.good
}
