package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/prom"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/trace"
)

// openTraces joins Parquet files into tables and opens them. Files are parts of
// one table where they are of one label, one Hive-partitioned tree, or of one
// directory with names that differ in numbers only (part-0001, part-0002) and
// schemas that fit each other: before.parquet and after.parquet are two tables.
func openTraces(ctx context.Context, ds *serving.Dataset, files []found, all []loaded, opt Options) error {
	groups := map[string][]int{}
	var order []string
	known := schemas{}
	for i := range all {
		if all[i].parquet == nil {
			continue
		}
		k, ok := tableKey(files[i]), true
		if strings.HasSuffix(k, numbered) {
			k, ok = known.place(k, ds.Inputs[i], all[i].parquet)
		}
		if !ok {
			continue
		}
		if len(groups[k]) == 0 {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	prefix := commonTableDir(order)
	for _, k := range order {
		var parts []trace.File
		for _, i := range groups[k] {
			parts = append(parts, *all[i].parquet)
		}
		name := tableName(files[groups[k][0]], k, prefix)
		if err := openTrace(ctx, ds, name, parts, opt); err != nil {
			return err
		}
	}
	return nil
}

// openTrace opens a table. Files that cannot be read become problems and the
// others are tried without them.
func openTrace(ctx context.Context, ds *serving.Dataset, name string, parts []trace.File, opt Options) error {
	for len(parts) > 0 {
		src, err := trace.Open(ctx, parts, trace.Options{Name: name, Map: opt.Map, Side: opt.Side, MaxMemory: opt.MaxMemory / 4})
		if err == nil {
			if n := len(parts); n > 1 {
				for _, p := range parts {
					addNote(p.In, fmt.Sprintf("one of the %d files of table %s", n, name))
				}
			}
			ds.Traces = append(ds.Traces, src)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		i := culprit(parts, err)
		parts[i].In.Problems.Add(problemOf(parts[i].Path, err))
		addNote(parts[i].In, "could not be read")
		parts = append(parts[:i:i], parts[i+1:]...)
	}
	return nil
}

// schemas are those of the tables under one key: names that look alike are not
// enough to make tables one.
type schemas map[string][]trace.Schema

// place adds to a file's key which table it is a part of: the first that its
// schema fits. A file that cannot be opened is a problem of its own.
func (s schemas) place(key string, in *serving.Input, f *trace.File) (string, bool) {
	schema, err := trace.SchemaOf(*f)
	if err != nil {
		in.Problems.Add(problemOf(f.Path, err))
		addNote(in, "could not be read")
		return "", false
	}
	for i, t := range s[key] {
		if t.Fits(schema) {
			t.Add(schema)
			return key + strconv.Itoa(i), true
		}
	}
	s[key] = append(s[key], schema)
	return key + strconv.Itoa(len(s[key])-1), true
}

// culprit finds the file an error is about: the first where it does not say.
func culprit(parts []trace.File, err error) int {
	var fe *serving.FormatError
	for i, p := range parts {
		if errors.As(err, &fe) && fe.At.Path == p.Path || strings.HasPrefix(err.Error(), p.Path+":") {
			return i
		}
	}
	return 0
}

// tableKey is equal for the files of one table.
func tableKey(f found) string {
	if f.label != "" {
		return "\x00" + f.label
	}
	if f.stdin {
		return "stdin"
	}
	dir, base := filepath.Split(filepath.ToSlash(f.path))
	if root, ok := hiveRoot(dir); ok {
		return root
	}
	return dir + withoutNumbers(base) + numbered
}

// numbered ends the key of a file that is joined with others by its name.
const numbered = "\x00numbered"

// hiveRoot cuts the key=value directories off a path.
func hiveRoot(dir string) (string, bool) {
	segs := strings.Split(strings.TrimSuffix(dir, "/"), "/")
	n := len(segs)
	for n > 0 && isHive(segs[n-1]) {
		n--
	}
	if n == len(segs) {
		return dir, false
	}
	return strings.Join(segs[:n], "/") + "/", true
}

func isHive(seg string) bool {
	k, _, ok := strings.Cut(seg, "=")
	return ok && k != ""
}

// uuids are in the names that Spark, DuckDB and Ray give their parts.
var uuids = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

// withoutNumbers replaces each UUID and each run of digits by a #.
func withoutNumbers(s string) string {
	s = uuids.ReplaceAllString(s, "#")
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := digits(s[i:]); n > 0 {
			b.WriteByte('#')
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func commonTableDir(keys []string) string {
	var dirs []string
	for _, k := range keys {
		if k, _, _ = strings.Cut(k, numbered); !strings.HasPrefix(k, "\x00") && k != "stdin" {
			dirs = append(dirs, strings.TrimSuffix(k, "/"))
		}
	}
	return commonDir(dirs)
}

// tableName is what a table is called in a report.
func tableName(f found, key, prefix string) string {
	switch {
	case strings.HasPrefix(key, "\x00"):
		return key[1:]
	case f.stdin:
		return "stdin"
	}
	name := strings.TrimSuffix(key, "/")
	if !strings.HasSuffix(key, "/") {
		name = filepath.ToSlash(f.path)
	}
	return trimExt(strings.TrimPrefix(strings.TrimPrefix(name, prefix), "/"))
}

// assembleServers orders scrapes in time and folds them into servers: those
// under one label by themselves, since a user who labels means it.
func assembleServers(ds *serving.Dataset, files []found, all []loaded, opt Options) {
	byLabel := map[string][]*prom.Scrape{}
	var labels []string
	for i := range all {
		if l := files[i].label; len(all[i].scrapes) > 0 {
			if byLabel[l] == nil {
				labels = append(labels, l)
			}
			byLabel[l] = append(byLabel[l], all[i].scrapes...)
		}
	}
	used := map[string]int{}
	add := func(servers []*serving.Server, label string) {
		for _, s := range servers {
			if label != "" {
				s.Label = strings.TrimSuffix(label+" "+s.Label, " ")
			}
			if used[s.Label] > 0 && len(s.Sources) == 1 {
				// Two logs of one model: the file tells them apart.
				s.Label += " · " + trimExt(filepath.Base(s.Sources[0]))
			}
			used[s.Label]++
			if n := used[s.Label]; n > 1 {
				s.Label = fmt.Sprintf("%s (%d)", s.Label, n)
			}
			s.ID = s.Label
		}
		for _, s := range servers {
			dropNegatives(ds, s)
		}
		ds.Servers = append(ds.Servers, servers...)
	}
	for i := range all {
		add(all[i].servers, files[i].label)
	}
	if opt.KeepRaw {
		var scrapes []*prom.Scrape
		for i := range all {
			scrapes = append(append(scrapes, all[i].scrapes...), all[i].raw...)
		}
		// Its problems are those of the servers below.
		ds.Raw, _ = prom.RawSeries(scrapes, prom.AssembleOptions{UseMTime: opt.UseMTime})
	}
	for _, l := range labels {
		servers, problems := prom.Assemble(byLabel[l], prom.AssembleOptions{UseMTime: opt.UseMTime})
		add(servers, l)
		for _, p := range problems {
			for _, in := range ds.Inputs {
				if in.Path == p.At.Path && in.Label == l {
					in.Problems.Add(p)
				}
			}
		}
	}
}

// dropNegatives takes out levels and counts below zero, which nothing measures.
func dropNegatives(ds *serving.Dataset, s *serving.Server) {
	bad := map[string]int{}
	clean := func(from string, values []float64) {
		for i, v := range values {
			if v < 0 {
				values[i] = math.NaN()
				bad[from]++
			}
		}
	}
	for _, g := range s.Gauges {
		clean(g.From, g.Values)
	}
	for _, c := range s.Counters {
		clean(c.From, c.Values)
	}
	for _, from := range slices.Sorted(maps.Keys(bad)) {
		for _, in := range ds.Inputs {
			if len(s.Sources) > 0 && in.Path == s.Sources[0] {
				in.Problems.Add(serving.Problem{At: serving.Pos{Path: in.Path, Field: from}, Count: bad[from],
					Message: "a negative level or count, want 0 or more: left out"})
			}
		}
	}
}
