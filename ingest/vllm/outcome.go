package vllm

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// classify says what kind of failure an error text tells of, and the line of it
// that says why. A traceback's last line is its reason; the chained exceptions
// above are looked at only where that line is of no known kind: a timeout of
// asyncio has a CancelledError inside.
func classify(text string) (serving.Outcome, string) {
	reason := reasonLine(text)
	o := kindOf(reason)
	for line := range strings.Lines(text) {
		if o != serving.Failed {
			break
		}
		if line[0] != ' ' && line[0] != '\t' { // indented lines are source code
			o = kindOf(line)
		}
	}
	return o, cutReason(reason)
}

func kindOf(text string) serving.Outcome {
	t := strings.ToLower(text)
	for _, w := range []string{"timeout", "timed out", "time-out", "deadline exceeded"} {
		if strings.Contains(t, w) {
			return serving.Timeout
		}
	}
	for _, w := range []string{"cancelled", "canceled", "aborted by client", "client disconnected", "client closed request"} {
		if strings.Contains(t, w) {
			return serving.Cancelled
		}
	}
	return serving.Failed
}

// reasonLine returns the last line of a traceback, else the first line.
func reasonLine(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "Traceback (most recent call last)") {
		if i := strings.LastIndexByte(text, '\n'); i >= 0 {
			return strings.TrimSpace(text[i+1:])
		}
	}
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first)
}
