package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An arg is a PATH as typed, resolved: label=PATH is split unless a file of
// that whole name exists.
type arg struct {
	label string
	path  string
}

// parseArg splits `label=PATH`. An argument that exists is a path whatever it
// holds (Hive directories are called hour=12); a label holds no slash.
func parseArg(s string) arg {
	if s == "-" {
		return arg{path: s}
	}
	if _, err := os.Lstat(s); err == nil {
		return arg{path: s}
	}
	label, path, ok := strings.Cut(s, "=")
	if !ok || label == "" || path == "" || strings.ContainsAny(label, `/\`) {
		return arg{path: s}
	}
	return arg{label: label, path: path}
}

// SplitLabel splits `label=PATH` as Load does; label is "" where there is none.
func SplitLabel(s string) (label, path string) {
	a := parseArg(s)
	return a.label, a.path
}

// A found file is one to read: its path as the user would write it, and the
// argument it came from.
type found struct {
	path  string
	rel   string // below the argument; the base name where the argument is the file
	label string
	stdin bool
	// walked says that the file was found in a directory, not named. err is why it,
	// or a directory, cannot be looked at.
	walked bool
	err    error
}

// find expands arguments to files: a file, a directory (walked), a glob or "-".
// The result is sorted and free of duplicates, so that nothing downstream
// depends on the order of arguments. A path that does not exist is an error.
func find(args []string) ([]found, error) {
	var out []found
	for i, s := range args {
		if s == "-" && slices.Contains(args[:i], s) {
			return nil, errors.New("-: standard input is given twice, and can be read once")
		}
		fs, err := findArg(parseArg(s))
		if err != nil {
			return nil, err
		}
		out = append(out, fs...)
	}
	slices.SortStableFunc(out, func(a, b found) int {
		return cmp.Or(natural(a.path, b.path), strings.Compare(a.label, b.label))
	})
	return dropSame(out), nil
}

func findArg(a arg) ([]found, error) {
	if a.path == "-" {
		return []found{{path: "-", rel: "stdin", label: a.label, stdin: true}}, nil
	}
	st, err := os.Stat(a.path)
	switch {
	case err == nil && st.IsDir():
		return walk(a)
	case err == nil && !st.Mode().IsRegular() && st.Mode()&fs.ModeNamedPipe == 0:
		return nil, fmt.Errorf("%s: is no regular file (%s), want a file, a directory, a glob or -", a.path, st.Mode().Type())
	case err == nil:
		return []found{{path: a.path, rel: filepath.Base(a.path), label: a.label}}, nil
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(a.path, "*?["):
		return findGlob(a)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file or directory", a.path)
	}
	return nil, err
}

func findGlob(a arg) ([]found, error) {
	names, err := filepath.Glob(a.path)
	if err != nil {
		return nil, fmt.Errorf("%s: malformed glob: %w", a.path, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no file matches", a.path)
	}
	var out []found
	for _, n := range names {
		fs, err := findArg(arg{label: a.label, path: n})
		if err != nil {
			return nil, err
		}
		out = append(out, fs...)
	}
	return out, nil
}

// walk lists the regular files below a directory. Hidden files and those whose
// name starts with an underscore (_SUCCESS, _metadata) are not data.
func walk(a arg) ([]found, error) {
	var out []found
	err := filepath.WalkDir(a.path, func(p string, d fs.DirEntry, err error) error {
		if err != nil && p == a.path {
			return err
		}
		if err != nil { // the others are still worth a report
			out = append(out, found{path: p, rel: p, label: a.label, walked: true, err: err})
			return fs.SkipDir
		}
		if p != a.path && strings.HasPrefix(d.Name(), ".") || !d.IsDir() && strings.HasPrefix(d.Name(), "_") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			// A link to a file counts, a link to a directory could be a loop.
			if st, err := os.Stat(p); err != nil || !st.Mode().IsRegular() {
				return nil
			}
		} else if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(a.path, p)
		if err != nil {
			return err
		}
		out = append(out, found{path: p, rel: rel, label: a.label, walked: true})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the directory holds no files", a.path)
	}
	return out, nil
}

// dropSame removes a file that was named twice under one label.
func dropSame(in []found) []found {
	type key struct{ path, label string }
	seen := map[key]bool{}
	var out []found
	for _, f := range in {
		p := f.path
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		if k := (key{p, f.label}); !seen[k] {
			seen[k] = true
			out = append(out, f)
		}
	}
	return out
}

// natural compares strings with runs of digits as numbers: c2 before c16.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			na, nb := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if c := cmp.Or(cmp.Compare(len(na), len(nb)), strings.Compare(na, nb), cmp.Compare(da, db)); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
