package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// Ctrl-C ends the program with status 2, and nothing half-written stays behind.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signal can be sent to one process")
	}
	dir := t.TempDir()
	cmd := exec.Command("vreport", "report", "-", "--markdown", "r.md", "--json", "r.json")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() }).Stop()
	// More than a pipe holds: once it is written, the program is reading.
	if _, err := stdin.Write(bytes.Repeat([]byte(" "), 4<<20)); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != statusError {
		t.Errorf("ended with %v, want exit status %d", err, statusError)
	}
	if got := stderr.String(); got != "vreport: "+errInterrupted.Error()+"\n" {
		t.Errorf("standard error %q", got)
	}
	if got := listing(t, dir); got != "" {
		t.Errorf("the directory holds %q", got)
	}
}
