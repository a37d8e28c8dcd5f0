package logtext

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// maxBefore bounds what may stand before a line's own text.
const maxBefore = 512

// ansi matches colour codes and tmux leftovers of a terminal.
var ansi = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// What may stand before a line of a log that comes from a container or a pod.
var (
	composePrefix = regexp.MustCompile(`^([A-Za-z0-9][\w.-]{0,100})\s+\| ?`)
	podPrefix     = regexp.MustCompile(`^\[pod/([^/\]]{1,100})/([^\]]{1,100})\] ?`)
	sternPrefix   = regexp.MustCompile(`^([a-z0-9](?:[a-z0-9.-]{0,100})-[a-z0-9]{5}) ([a-z0-9-]{1,63}) `)
	syslogPrefix  = regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ([\w.-]{1,100}) [\w./-]{1,100}\[\d+\]: `)
)

// Unwrap takes off what a container runtime, kubectl or journald puts around a
// line, and colours. It returns which pod, container or host the line is of, ""
// where nothing says.
func Unwrap(line []byte) (name string, text []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(line) > 0 && line[0] == '{' {
		line = unwrapJSON(line)
	}
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = ansi.ReplaceAll(line, nil)
	}
	if len(line) == 0 || line[0] == '(' {
		return "", line
	}
	for _, p := range []*regexp.Regexp{podPrefix, composePrefix, syslogPrefix, sternPrefix} {
		if m := p.FindSubmatch(line[:min(len(line), maxBefore)]); m != nil {
			return string(m[1]), line[len(m[0]):]
		}
	}
	return "", line
}

// unwrapJSON takes the message out of a line as Docker keeps it on disk and JSON
// loggers write it, with its time before it. Another line stays as it is.
func unwrapJSON(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"log"`)) && !bytes.Contains(line, []byte(`"message"`)) && !bytes.Contains(line, []byte(`"msg"`)) {
		return line
	}
	var w struct{ Log, Message, Msg, Time, Timestamp string }
	if err := json.Unmarshal(line, &w); err != nil {
		return line
	}
	text := w.Log + w.Message + w.Msg
	if text == "" {
		return line
	}
	return []byte(w.Time + w.Timestamp + " " + strings.TrimRight(text, "\r\n"))
}
