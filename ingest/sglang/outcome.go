package sglang

import (
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// classify says what kind of failure an error text tells of, and the line of it
// that says why: the last of a traceback, else the first.
func classify(text string) (serving.Outcome, string) {
	text = strings.TrimSpace(text)
	reason, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(text, "Traceback (most recent call last)") {
		reason = text[strings.LastIndexByte(text, '\n')+1:]
	}
	reason = strings.TrimSpace(reason)
	o, ok := column.OutcomeOfError(reason)
	if !ok || o == serving.OK {
		o = serving.Failed
	}
	return o, cut(reason)
}
