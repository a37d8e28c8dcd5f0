package sglang

import (
	"regexp"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// facts are what a log says of the engine beside its series.
type facts struct {
	version serving.Opt[string]
	model   serving.Opt[string]
	info    []serving.Setting
}

var (
	banner = regexp.MustCompile(`SGLang Version:? (\d[0-9A-Za-z.+_-]{0,63})`)
	// server_args=ServerArgs(model_path='…', tp_size=1, …)
	argument = regexp.MustCompile(`\b([a-z_0-9]+)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,\s()\[\]{}]+)`)
	// max_total_num_tokens=674, chunked_prefill_size=8192, …
	poolLine = regexp.MustCompile(`\bmax_total_num_tokens=(\d{1,15})\b`)
)

// line looks for a fact on a line that is none of the series.
func (f *facts) line(line string) {
	if m := banner.FindStringSubmatch(line); m != nil {
		f.version = serving.Some(m[1])
	}
	if !strings.Contains(line, "max_total_num_tokens=") {
		return
	}
	if m := poolLine.FindStringSubmatch(line); m != nil {
		f.set("max_total_num_tokens", m[1])
	}
}

// args reads the engine's arguments: those that say how it serves, no path, port
// or key.
func (f *facts) args(line string) {
	_, text, _ := strings.Cut(line, serverArgs)
	for _, m := range argument.FindAllStringSubmatch(text, -1) {
		v := strings.Trim(m[2], `'"`)
		switch {
		case v == "None" || v == "" || len(v) > 256:
		case m[1] == "model_path":
			f.model = serving.Some(v)
		case engineSettings[m[1]]:
			f.set(m[1], v)
		}
	}
}

func (f *facts) set(key, value string) {
	for i := range f.info {
		if f.info[i].Key == key {
			f.info[i].Value = value
			return
		}
	}
	f.info = append(f.info, serving.Setting{Key: key, Value: value})
}
