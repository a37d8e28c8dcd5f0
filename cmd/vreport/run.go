package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit statuses. Scripts depend on them.
const (
	statusDone      = 0 // done; gates, if any, passed
	statusFailed    = 1 // a gate failed
	statusError     = 2 // usage error, unreadable input, nothing recognized, problems under --strict
	statusUndecided = 3 // a gate could not be decided
)

// An env is what a command may touch of the world outside.
type env struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// A command is a subcommand with its flags filled in. Its status counts only
// where the error is nil.
type command interface {
	run(e *env, typed layer) (status int, err error)
}

type cli struct {
	Report  reportCmd  `cmd:"" help:"Read everything under the paths and write the report."`
	Compare compareCmd `cmd:"" help:"Compare two sides: better, worse, mixed, equivalent or undecided, and for whom."`
	Inspect inspectCmd `cmd:"" help:"Say what each file was recognized as, its fields and units as mapped, its records and problems."`
	Rollup  rollupCmd  `cmd:"" help:"Aggregate requests once, to make reports of the result."`
	SQL     sqlCmd     `cmd:"" name:"sql" help:"Print the query that aggregates requests inside DuckDB, ClickHouse, Trino or Spark."`
	Samples samplesCmd `cmd:"" help:"Write the sample data set, to try every command on."`
	Version versionCmd `cmd:"" help:"Print the version, the build, and whether the chart library is inside."`
}

// run is the whole program: it parses the arguments, runs one command and
// returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A reader that has seen enough (head, less) is no error: with the signal
	// ignored a write says EPIPE instead, and pipeWriter drops that.
	signal.Ignore(syscall.SIGPIPE)
	stdout, stderr = &pipeWriter{w: stdout}, &pipeWriter{w: stderr}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first Ctrl-C asks the work to stop; a second one ends the process.
	context.AfterFunc(ctx, stop)

	cmd, typed, err := parse(args, stdout, stderr)
	if err != nil {
		return finish(stderr, statusDone, err)
	}
	if cmd == nil {
		return statusDone // --help
	}
	status, err := cmd.run(&env{ctx, interruptible(ctx, stdin), stdout, stderr}, typed)
	return finish(stderr, status, err)
}

// interruptible returns a reader that ends when ctx does. A read of a terminal
// or a pipe cannot be called off, so it is left behind instead.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	pr, pw := io.Pipe()
	context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) })
	return &lazyReader{start: func() io.Reader {
		go func() {
			_, err := io.Copy(pw, r)
			pw.CloseWithError(err)
		}()
		return pr
	}}
}

// A lazyReader opens its source with the first read: who reads no standard
// input must not take it from whoever comes after.
type lazyReader struct {
	start func() io.Reader
	r     io.Reader
}

// Read implements io.Reader.
func (l *lazyReader) Read(b []byte) (int, error) {
	if l.r == nil {
		l.r = l.start()
	}
	return l.r.Read(b)
}

// parse returns the command that the arguments ask for and the flags that were
// typed, or no command where they ask for help.
func parse(args []string, stdout, stderr io.Writer) (command, layer, error) {
	var c cli
	help := false
	k, err := kong.New(&c,
		kong.Name("vreport"),
		kong.Description("Reads what LLM serving benchmarks, servers and traces left behind and writes one HTML report: percentiles, goodput, throughput against latency, for whom it is slow. Offline: it sends nothing anywhere."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { help = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		return nil, nil, err
	}
	kctx, err := k.Parse(args)
	if help {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, &usageError{err}
	}
	return kctx.Selected().Target.Addr().Interface().(command), typedFlags(kctx), nil
}

// A usageError is a command line that says nothing that can be done.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() + "; see vreport --help" }
func (u *usageError) Unwrap() error { return u.err }

// errInterrupted is what a user sees after Ctrl-C.
var errInterrupted = errors.New("interrupted; nothing was written")

// finish prints an error, one line an error, and returns the exit status.
func finish(stderr io.Writer, status int, err error) int {
	if err == nil {
		return status
	}
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	for line := range strings.Lines(err.Error()) {
		say(stderr, "%s", strings.TrimRight(line, "\n"))
	}
	return statusError
}
