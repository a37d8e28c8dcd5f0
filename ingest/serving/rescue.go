package serving

import (
	"fmt"
	"runtime"
	"strings"
)

// Bug is what the message of each error holds that stands for a panic.
const Bug = "this is a bug in vreport"

// Rescue, deferred, turns a panic into an error about a file: a record that nobody
// has foreseen must not take the other files with it.
func Rescue(path string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: %s: %v at %s; please report it, with some lines of the file", path, Bug, r, panicked())
	}
}

// panicked names the first function of ours below the panic, and its line.
func panicked() string {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)]) // not this one, nor Rescue
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if _, in, ok := strings.Cut(f.Function, "/vreport/vreport/"); ok {
			return fmt.Sprintf("%s:%d", in, f.Line)
		}
	}
	return "an unknown place"
}
