package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// An output is one thing a command writes: to a file, or to standard output
// where its path is "-".
type output struct {
	flag   string // that asked for it, for error messages
	path   string
	render func(io.Writer) error
	size   int64 // bytes, once it was written
}

// checkOutputs says whether outputs could be written, before the work that they
// would be the end of.
func checkOutputs(outs []*output) error {
	var errs []error
	for i, o := range outs {
		for _, p := range outs[:i] {
			if samePath(o.path, p.path) {
				errs = append(errs, fmt.Errorf("%s and %s both write to %s, want different files", p.flag, o.flag, pathName(o.path)))
			}
		}
		if o.path != "-" {
			errs = append(errs, o.checkFile())
		}
	}
	return errors.Join(errs...)
}

func pathName(path string) string {
	if path == "-" {
		return "standard output"
	}
	return path
}

func samePath(a, b string) bool {
	if a == "-" || b == "-" {
		return a == b
	}
	return realPath(a) == realPath(b)
}

// realPath follows links, so that a report written through a link changes the
// file behind it and leaves the link. The file itself need not exist yet.
func realPath(path string) string {
	for range 40 { // as many links as Linux follows
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (o *output) checkFile() error {
	st, err := os.Stat(o.path)
	switch {
	case err == nil && st.IsDir():
		return fmt.Errorf("%s: %s is a directory, want a file name", o.flag, o.path)
	case err == nil && !st.Mode().IsRegular():
		return nil // a device or a pipe is written to as it is
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", o.flag, err)
	}
	dir := filepath.Dir(realPath(o.path))
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return fmt.Errorf("%s: there is no directory %s to write %s to", o.flag, filepath.Dir(o.path), o.path)
	}
	f, err := createBeside(realPath(o.path))
	if err != nil {
		return fmt.Errorf("%s: %w", o.flag, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeOutputs makes all outputs in full and only then lets them appear:
// standard output first, because a full disk behind it shows late, then files by
// renaming, which replaces a file whole. Where one of them cannot be made, or
// written to standard output, and when ctx is cancelled until then, no file has
// appeared or changed. Files are renamed one after the other: where that fails,
// those before it are the new ones, and the others as they were.
func writeOutputs(ctx context.Context, stdout io.Writer, outs []*output) error {
	made, err := prepareAll(stdout, outs)
	defer func() {
		for _, p := range made {
			p.discard()
		}
	}()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	for _, p := range made {
		if err := p.stream(); err != nil {
			return fmt.Errorf("%s: %w", p.out.flag, err)
		}
	}
	for _, p := range made {
		if err := p.commit(); err != nil {
			return fmt.Errorf("%s: %w", p.out.flag, err)
		}
	}
	return nil
}

// prepareAll makes outputs side by side. It returns those that were made, whether
// or not all of them were.
func prepareAll(stdout io.Writer, outs []*output) ([]*prepared, error) {
	all, errs := make([]*prepared, len(outs)), make([]error, len(outs))
	var wg sync.WaitGroup
	for i, o := range outs {
		wg.Go(func() { all[i], errs[i] = o.prepare(stdout) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			made := slices.DeleteFunc(all, func(p *prepared) bool { return p == nil })
			return made, fmt.Errorf("%s: %w", outs[i].flag, err)
		}
	}
	return all, nil
}

// prepared is an output that was made and waits to appear: in a temporary file
// beside its place, or in memory where its place is a stream.
type prepared struct {
	out   *output
	tmp   string
	final string
	data  bytes.Buffer
	to    io.Writer // standard output; nil: open final
}

func (o *output) prepare(stdout io.Writer) (*prepared, error) {
	p := &prepared{out: o, final: o.path}
	if o.path == "-" {
		p.to = stdout
		return p, p.fill(&p.data)
	}
	if st, err := os.Stat(o.path); err == nil && !st.Mode().IsRegular() {
		return p, p.fill(&p.data)
	}
	p.final = realPath(o.path)
	f, err := createBeside(p.final)
	if err != nil {
		return nil, err
	}
	p.tmp = f.Name()
	if st, err := os.Stat(p.final); err == nil {
		f.Chmod(st.Mode().Perm()) // keep what the owner chose; a failure leaves the usual mode
	}
	w := bufio.NewWriterSize(f, 256<<10)
	err = errors.Join(p.fill(w), w.Flush(), f.Close())
	if err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

func (p *prepared) fill(w io.Writer) error {
	c := &countingWriter{w: w}
	err := p.out.render(c)
	p.out.size = c.n
	return err
}

func (p *prepared) commit() error {
	if p.tmp == "" {
		return nil
	}
	if err := os.Rename(p.tmp, p.final); err != nil {
		return err
	}
	p.tmp = ""
	return nil
}

func (p *prepared) stream() error {
	if p.data.Len() == 0 {
		return nil
	}
	if p.to != nil {
		_, err := p.data.WriteTo(p.to)
		return err
	}
	f, err := os.OpenFile(p.final, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = p.data.WriteTo(&pipeWriter{w: f})
	return errors.Join(err, f.Close())
}

func (p *prepared) discard() {
	if p.tmp != "" {
		os.Remove(p.tmp)
	}
}

// createBeside creates a new file in the directory of path, where a rename to
// path cannot cross file systems. It has the mode of any new file, which
// os.CreateTemp would narrow to the owner.
func createBeside(path string) (*os.File, error) {
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d-%d.tmp", filepath.Base(path), os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && i < 100 {
			continue
		}
		return f, err
	}
}

type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
