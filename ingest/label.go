package ingest

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// labelRuns gives each run a label that tells it from the others and an id that
// is the same whatever the order of arguments: the part of its path that the
// others do not share, or the label the user gave, with the number of the
// record where a file holds several.
func labelRuns(ds *serving.Dataset, files []found, all []loaded) {
	var paths []string
	for i := range all {
		if len(all[i].runs) > 0 {
			paths = append(paths, files[i].path)
		}
	}
	prefix := commonDir(paths)
	used := map[string]int{}
	for i := range all {
		for k, r := range all[i].runs {
			l := stem(files[i], prefix)
			if len(all[i].runs) > 1 {
				l = fmt.Sprintf("%s#%d", l, k+1)
			}
			used[l]++
			if n := used[l]; n > 1 {
				l = fmt.Sprintf("%s (%d)", l, n)
			}
			r.ID = l
		}
	}
	var ids []string
	for _, r := range ds.Runs {
		ids = append(ids, r.ID)
	}
	for i, l := range shorten(ids) {
		ds.Runs[i].Label = l
	}
}

// labelWorkloads applies the user's rules to runs and tables.
func labelWorkloads(ds *serving.Dataset, rules []column.WorkloadRule) {
	if len(rules) == 0 {
		return
	}
	for _, r := range ds.Runs {
		if r.Requests != nil {
			r.Requests = column.Label(r.Requests, rules)
		}
		if w, ok := column.WorkloadOf(rules, r.ID, r.Label, r.Source.Path); ok {
			r.Workload = serving.Some(w)
		}
	}
	for i, t := range ds.Traces {
		ds.Traces[i] = column.Label(t, rules)
	}
}

// shorten drops from labels what does not tell them apart: words (between - _
// / and space) that all share, and dates. `openai-10qps-concurrency1-20250325`
// and `…concurrency16-20250326` become concurrency1 and concurrency16. Labels
// that would not differ any more stay as they are.
func shorten(labels []string) []string {
	if len(labels) < 2 {
		return labels
	}
	words := make([][]string, len(labels))
	for i, l := range labels {
		words[i] = strings.FieldsFunc(l, func(r rune) bool { return strings.ContainsRune("-_/ ", r) })
		if len(words[i]) != len(words[0]) {
			return labels
		}
	}
	keep := func(k int, dates bool) bool {
		same, date := true, true
		for _, w := range words {
			same = same && w[k] == words[0][k]
			date = date && len(w[k]) >= 6 && digits(w[k]) == len(w[k])
		}
		return !same && !(dates && date)
	}
	for _, dates := range []bool{true, false} {
		var out []string
		seen := map[string]bool{}
		for _, w := range words {
			var kept []string
			for k := range w {
				if keep(k, dates) {
					if k > 0 && digits(w[k]) == len(w[k]) && !keep(k-1, dates) {
						kept = append(kept, w[k-1]) // "stage 3", not "3"
					}
					kept = append(kept, w[k])
				}
			}
			l := strings.Join(kept, " ")
			out = append(out, l)
			seen[l] = true
		}
		if len(seen) == len(labels) && !seen[""] {
			return out
		}
	}
	return labels
}

// stem is what a file is called in a report.
func stem(f found, prefix string) string {
	switch {
	case f.stdin && f.label == "":
		return "stdin"
	case f.label != "" && (f.stdin || f.rel == filepath.Base(f.path)):
		return f.label
	case f.label != "":
		return f.label + "/" + trimExt(filepath.ToSlash(f.rel))
	}
	return trimExt(strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(f.path), prefix), "/"))
}

// trimExt drops the extensions of a data file, compressed or not; a version
// number's dot is no extension.
func trimExt(s string) string {
	for _, ext := range []string{".gz", ".zst", ".jsonl", ".json", ".csv", ".txt", ".log", ".parquet"} {
		if t := strings.TrimSuffix(s, ext); t != "" && !strings.HasSuffix(t, "/") {
			s = t
		}
	}
	return s
}

// commonDir is the directory that all paths share, with slashes.
func commonDir(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	dir := filepath.ToSlash(filepath.Dir(paths[0]))
	for _, p := range paths[1:] {
		d := filepath.ToSlash(filepath.Dir(p))
		for dir != d && !strings.HasPrefix(d, dir+"/") {
			up := filepath.ToSlash(filepath.Dir(dir))
			if up == dir || up == "." {
				return ""
			}
			dir = up
		}
	}
	if dir == "." {
		return ""
	}
	return dir
}
