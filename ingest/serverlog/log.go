package serverlog

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/vreport/vreport/ingest/logtext"
	"github.com/vreport/vreport/ingest/serving"
)

// Format is the format name.
const Format = "server-log"

const (
	maxLine    = 64 << 10
	checkEvery = 1<<12 - 1
)

// Sniff says whether a text is a log that may tell of failures: one line that
// does, or one by which a server or Kubernetes is known.
func Sniff(head []byte) bool {
	var e logtext.Events
	for raw := range bytes.Lines(head) {
		raw = bytes.TrimRight(raw, "\r\n")
		_, text := logtext.Unwrap(raw)
		if known(text) || e.Tells(raw, text) {
			return true
		}
	}
	return false
}

// knownBy are words that stand at the front of lines of servers.
var knownBy = [][]byte{[]byte("text_generation_launcher: "), []byte("text_generation_router"), []byte("[TRT-LLM] ["), []byte("[TensorRT-LLM]["),
	[]byte("INFO:     Uvicorn running on "), []byte("INFO:     Started server process [")}

func known(text []byte) bool {
	text = text[:min(len(text), 200)]
	for _, w := range knownBy {
		if bytes.Contains(text, w) && !bytes.ContainsAny(text[:bytes.Index(text, w)], "`'\"|>") {
			return true
		}
	}
	return false
}

// Decode reads a log. Records counts its lines.
func Decode(ctx context.Context, path string, r io.Reader, in *serving.Input) (*serving.EventLog, error) {
	cal := &logtext.Calendar{Path: path}
	events := logtext.Events{Path: path, Cal: cal}
	br := bufio.NewReaderSize(r, maxLine)
	for no := 1; ; no++ {
		if no&checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line, err := br.ReadSlice('\n')
		if len(line) > 0 {
			in.Records++
			raw := bytes.TrimRight(line, "\r\n")
			cal.See(raw)
			name, text := logtext.Unwrap(raw)
			events.Line(no, name, raw, text)
		}
		for err == bufio.ErrBufferFull {
			_, err = br.ReadSlice('\n')
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			in.Problems.Add(serving.Problem{At: serving.Pos{Path: path, Line: no}, Message: "reading ends here: " + err.Error() + "; what stands before it is kept"})
			break
		}
	}
	log := events.Log(nil)
	lines := int64(0)
	if log != nil {
		for _, e := range log.Events {
			lines += e.Count
		}
		if lines > 0 && !log.Timed {
			in.Problems.Add(serving.Problem{At: log.Events[0].Source, Message: "the log says no times: its failures are counted and stand on no time axis; log with times (kubectl logs --timestamps)"})
		}
	}
	in.Note = fmt.Sprintf("a server's log, of which failures alone are read: %d lines tell of one", lines)
	return log, nil
}
