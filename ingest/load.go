package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// Options say how files are read.
type Options struct {
	Map       []column.Mapping      // canonical = column : unit, of traces
	Workloads []column.WorkloadRule // names for workloads that no column says
	Clocks    []ClockOffset         // what to add to the times of sources whose clock is off
	Side      serving.Side          // where a trace's times were measured; "" to find out
	UseMTime  bool                  // file times may date scrapes
	KeepRaw   bool                  // keep every scraped series as it is, for the user's own PromQL
	Checksums bool                  // hash whole files of any size
	MaxMemory int64                 // bytes of all; a share of it is for pages of Parquet files. 0: their default
	Stdin     io.Reader
	Workers   int            // files read at once; 0: GOMAXPROCS
	Progress  func(Progress) // called from several goroutines; nil for none
}

// Progress tells that a file is done.
type Progress struct {
	Path        string
	Done, Total int // files
}

// Load reads everything below the arguments. A path that does not exist is an
// error; a file that cannot be recognized or read as a whole is an input with
// the format it was taken for (or unknown) and a problem, so that the caller
// decides whether the rest is worth a report: see Usable.
//
// Close the dataset when its requests are no longer needed.
func Load(ctx context.Context, args []string, opt Options) (*serving.Dataset, error) {
	files, err := find(args)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("no input: name a file, a directory, a glob or -")
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	hashing, stop := context.WithCancel(ctx)
	defer stop()
	ds := &serving.Dataset{}
	all, err := readAll(ctx, ds, files, opt, &summer{hashing, opt.Checksums, make(chan struct{}, opt.Workers)})
	if err == nil {
		err = join(ctx, ds, files, all, opt)
	}
	for i := range all {
		if c := all[i].sum; c != nil && err == nil {
			err = c.into(ds.Inputs[i])
		}
	}
	if err != nil {
		ds.Close()
		return nil, err
	}
	return ds, nil
}

// readAll decodes the files, several at once, and returns what each gave in the
// order of the files.
func readAll(ctx context.Context, ds *serving.Dataset, files []found, opt Options, sums *summer) ([]loaded, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]loaded, len(files))
	ds.Inputs = make([]*serving.Input, len(files))
	var mu sync.Mutex // guards ds.OnClose and done
	done := 0
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(opt.Workers, len(files)) {
		wg.Go(func() {
			for i := range next {
				in, closer, err := readOne(ctx, files[i], &out[i], opt, sums)
				if err != nil {
					cancel(err)
					continue
				}
				mu.Lock()
				ds.Inputs[i] = in
				if closer != nil {
					ds.OnClose(closer)
				}
				done++
				if opt.Progress != nil {
					opt.Progress(Progress{Path: files[i].path, Done: done, Total: len(files)})
				}
				mu.Unlock()
			}
		})
	}
feed:
	for i := range files {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return out, context.Cause(ctx)
}

// readOne recognizes and decodes a file. The closer is not nil where the file
// is read from later on.
func readOne(ctx context.Context, f found, l *loaded, opt Options, sums *summer) (*serving.Input, io.Closer, error) {
	in := &serving.Input{Path: f.path, Label: f.label, Format: unknown}
	file, err := openFile(ctx, f, opt.Stdin)
	var damaged *serving.FormatError
	ofItsOwn := errors.As(err, &damaged)
	var access *fs.PathError
	if f.walked && errors.As(err, &access) && ctx.Err() == nil { // the others of the directory are still worth a report
		err, ofItsOwn = fmt.Errorf("%s: cannot be read: %w", f.path, access.Err), true
	}
	if ofItsOwn {
		in.Problems.Add(problemOf(f.path, err))
		in.Tried = []string{err.Error()}
		return in, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	in.Bytes = file.size
	sum := sums.start(file)
	err = decode(ctx, &probe{file: file, in: in, opt: opt}, l)
	if err == nil && (l.parquet != nil || l.keep) {
		l.sum = sum
		return in, file.raw, nil
	}
	if err == nil {
		err = sum.into(in)
	}
	return in, nil, errors.Join(err, file.raw.Close())
}

// unknown is the format name of a file that nothing recognized.
const unknown = "unknown"

// decode finds the format and decodes. Only a cancelled context is an error;
// one of the file becomes a problem of its input.
func decode(ctx context.Context, p *probe, l *loaded) error {
	for _, f := range Formats {
		ok, why := f.sniff(p)
		if !ok {
			p.in.Tried = append(p.in.Tried, f.Name+": "+why)
			continue
		}
		p.in.Format, p.in.Tried = f.Name, nil
		err := f.try(ctx, p, l)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			*l = loaded{}
			addProblem(p.in, problemOf(p.path, err))
			addNote(p.in, "could not be read")
		}
		noteTimes(p.in, l)
		checkRuns(l.runs, p.in)
		return nil
	}
	if len(p.head) == 0 {
		p.in.Tried = []string{"the file is empty"}
	}
	msg := "is nothing we know"
	if h := encodingHint(p.head); h != "" {
		msg += ": " + h
	}
	at := serving.Pos{Path: p.path}
	var damage *serving.FormatError
	if p.shape != nil && p.shape.Kind == '{' && errors.As(p.shape.Damage, &damage) {
		at = damage.At
		msg += "; its JSON is damaged here: " + damage.Found
	}
	p.in.Problems.Add(serving.Problem{At: at, Message: msg})
	return nil
}

// try decodes a file as one of the format.
func (f *Format) try(ctx context.Context, p *probe, l *loaded) (err error) {
	defer serving.Rescue(p.path, &err)
	return f.decode(ctx, p, l)
}

// encodingHint says how to make text readable that is encoded in a way no format
// has; "" where nothing points to it.
func encodingHint(head []byte) string {
	half := len(head) / 3 // in UTF-16, about half the bytes of plain text are 0
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")),
		len(head) >= 16 && !bytes.HasPrefix(head, []byte{0, 0, 0}) && bytes.Count(head, []byte{0}) > half && bytes.Count(head, []byte{0, 0}) == 0:
		return "it looks like UTF-16 text; convert it, e.g. iconv -f UTF-16 -t UTF-8"
	case bytes.Count(head, []byte("\r")) > 1 && !bytes.ContainsAny(head, "\n\x00"):
		return "its lines end with CR alone; convert it, e.g. tr '\\r' '\\n'"
	}
	return ""
}

// addProblem records a problem unless the decoder has told it already.
func addProblem(in *serving.Input, p serving.Problem) {
	for _, o := range in.Problems.List() {
		if o.At == p.At && o.Message == p.Message {
			return
		}
	}
	in.Problems.Add(p)
}

// problemOf turns an error of a file into a problem, with its position where it
// has one.
func problemOf(path string, err error) serving.Problem {
	var fe *serving.FormatError
	if errors.As(err, &fe) {
		at := fe.At
		bare := *fe
		bare.At = serving.Pos{}
		return serving.Problem{At: at, Message: bare.Error()}
	}
	return serving.Problem{At: serving.Pos{Path: path}, Message: strings.TrimPrefix(err.Error(), path+": ")}
}

// decodeRuns decodes a file of benchmark runs.
func (p *probe) decodeRuns(ctx context.Context, l *loaded, dec func(context.Context, string, io.Reader, *serving.Input) ([]*serving.Run, error)) error {
	r, err := p.open()
	if err != nil {
		return err
	}
	defer r.Close()
	l.runs, err = dec(ctx, p.path, r, p.in)
	for _, run := range l.runs {
		run.Format = p.in.Format
	}
	return err
}

// describe tells each input the version and the times of what was read from it.
func describe(ds *serving.Dataset) {
	inputs := map[string]*serving.Input{}
	for _, in := range ds.Inputs {
		inputs[in.Path] = in
	}
	for _, r := range ds.Runs {
		if in := inputs[r.Source.Path]; in != nil && r.Version.OK {
			in.Version = r.Version
		}
	}
	for _, s := range ds.Servers {
		for i, path := range s.Sources {
			in := inputs[path]
			if in == nil {
				continue
			}
			if s.Version.OK {
				in.Version = s.Version
			}
			switch {
			case s.Relative || len(s.Times) == 0:
			case len(s.Sources) == len(s.Times): // a scrape a file
				in.Span(s.Times[i], s.Times[i])
			case len(s.Sources) == 1:
				in.Span(s.Times[0], s.Times[len(s.Times)-1])
			}
		}
	}
	for _, r := range ds.Runs { // the tool's own version, where the engine's is not stated
		if in := inputs[r.Source.Path]; in != nil && !in.Version.OK {
			for _, tool := range []string{"guidellm", "aiperf"} {
				if v, ok := r.Setting(tool + "_version"); ok {
					in.Version = serving.Some(tool + " " + v)
				}
			}
		}
	}
	for _, in := range ds.Inputs {
		if !in.Version.OK {
			in.Guess = guessVersion(in)
		}
	}
}

// Usable returns an error where a dataset holds nothing to report on: what each
// file was taken for and what was wrong with it.
func Usable(ds *serving.Dataset) error {
	if len(ds.Runs)+len(ds.Traces)+len(ds.Rollups)+len(ds.Servers) > 0 || slices.ContainsFunc(ds.Logs, func(l *serving.EventLog) bool { return len(l.Events) > 0 }) {
		return nil
	}
	var lines []string
	for _, in := range ds.Inputs {
		for _, p := range in.Problems.List() {
			lines = append(lines, p.String())
		}
		if in.Format == unknown && len(in.Tried) == 1 { // empty, damaged
			lines = append(lines, "  "+in.Tried[0])
		}
		if in.Problems.Len() == 0 {
			lines = append(lines, in.Path+": holds no record")
		}
	}
	const most = 20
	if n := len(lines); n > most {
		lines = append(lines[:most], fmt.Sprintf("… and %d more", n-most))
	}
	return fmt.Errorf("nothing to report on (vreport inspect says of each file what was tried and why it was not that):\n  %s", strings.Join(lines, "\n  "))
}

// join puts the files' contents together: runs with labels, traces of one or
// several files, servers of one or several scrapes.
func join(ctx context.Context, ds *serving.Dataset, files []found, all []loaded, opt Options) error {
	countOnce(ds, files, all)
	for i := range all {
		ds.Runs = append(ds.Runs, all[i].runs...)
		ds.Traces = append(ds.Traces, all[i].tables...)
		if all[i].events != nil {
			ds.Logs = append(ds.Logs, all[i].events)
		}
		for _, t := range all[i].tables {
			if c, ok := t.(io.Closer); ok { // it keeps columns in a temporary file
				ds.OnClose(c)
			}
		}
	}
	labelRuns(ds, files, all)
	if err := openTraces(ctx, ds, files, all, opt); err != nil {
		return err
	}
	if err := joinRollups(ctx, ds, files, all); err != nil {
		return err
	}
	labelWorkloads(ds, opt.Workloads)
	assembleServers(ds, files, all, opt)
	describe(ds)
	return setClocks(ds, opt.Clocks)
}
