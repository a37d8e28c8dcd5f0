package trace

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A File is one Parquet file of a table.
type File struct {
	Path      string
	R         io.ReaderAt // safe for concurrent use
	Size      int64
	Partition []serving.Term // columns that the directories give: see Hive
	In        *serving.Input // filled in, if not nil
}

// hiveNull is how Hive and Spark write a partition value that is null.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// Hive returns the partition columns in a path's directories, in the notation
// of Hive, Spark and DuckDB: `hour=2023-11-16%2018%3A00%3A00/data.parquet`.
func Hive(path string) []serving.Term {
	var out []serving.Term
	dirs := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
	for _, d := range dirs {
		k, v, ok := strings.Cut(d, "=")
		if !ok || k == "" {
			continue
		}
		if u, err := url.PathUnescape(v); err == nil {
			v = u
		}
		if u, err := url.PathUnescape(k); err == nil {
			k = u
		}
		out = append(out, serving.Term{Dim: k, Value: v})
	}
	return out
}

// An opened file is its metadata and its columns.
type opened struct {
	File
	meta   *format.FileMetaData
	leaves []leaf
	byName map[string]*leaf
	notes  []string
}

func openFile(f File) (*opened, error) {
	meta, err := readFooter(f.R, f.Size, f.Path)
	if err != nil {
		return nil, err
	}
	leaves, err := leavesOf(meta, f.Path)
	if err != nil {
		return nil, err
	}
	o := &opened{File: f, meta: meta, leaves: leaves, byName: map[string]*leaf{}}
	for i := range leaves {
		l := &leaves[i]
		if have := o.byName[l.name]; have != nil {
			if !l.opaque && !have.opaque {
				o.notes = append(o.notes, fmt.Sprintf("two columns are called %s: the first is used", l.name))
			}
			if !have.opaque || l.opaque {
				continue
			}
		}
		o.byName[l.name] = l
	}
	for i, g := range meta.RowGroups {
		if len(g.Columns) != len(leaves) {
			return nil, refuse(f.Path, "", fmt.Sprintf("row group %d has %d columns, the schema %d", i+1, len(g.Columns), len(leaves)), "the same", rewrite)
		}
	}
	return o, nil
}

// checkColumn looks over a column's chunks before anything of it is read.
func (o *opened) checkColumn(l *leaf) error {
	for i := range o.meta.RowGroups {
		g := &o.meta.RowGroups[i]
		ch := &g.Columns[l.index]
		m := &ch.MetaData
		switch {
		case ch.CryptoMetadata.Value != nil:
			return refuse(o.Path, l.name, "an encrypted column", "a file without encryption", decrypt)
		case ch.FilePath != "":
			return refuse(o.Path, l.name, "a column in another file ("+ch.FilePath+")", "a whole file", rewrite)
		case g.NumRows == 0:
			continue
		case !readable(m.Codec):
			return refuse(o.Path, l.name, "codec "+m.Codec.String(), "zstd, snappy, gzip, brotli, LZ4_RAW or none", rewrite)
		case m.Type != l.physical:
			return refuse(o.Path, l.name, fmt.Sprintf("%s in row group %d, %s in the schema", m.Type, i+1, l.physical), "the same", rewrite)
		case l.maxRep == 0 && m.NumValues != g.NumRows:
			return refuse(o.Path, l.name, fmt.Sprintf("%d values in row group %d, which has %d rows", m.NumValues, i+1, g.NumRows), "the same", rewrite)
		case l.maxRep > 0 && m.NumValues < g.NumRows:
			return refuse(o.Path, l.name, fmt.Sprintf("%d list levels in row group %d, which has %d rows", m.NumValues, i+1, g.NumRows), "one a row at least", rewrite)
		}
	}
	return nil
}

// raws describes the columns of all files of the table as one list. A column that
// is missing in a file is null there; one that changes its type is an error.
func (t *Table) raws() ([]column.Raw, error) {
	var out []column.Raw
	at := map[string]int{}
	from := map[string]*leaf{}
	owner := map[string]*opened{}
	for _, f := range t.files {
		for i := range f.leaves {
			l := &f.leaves[i]
			if f.byName[l.name] != l {
				continue
			}
			if first := from[l.name]; first != nil {
				if first.family() != l.family() {
					return nil, refuse(f.Path, l.name, l.family(), fmt.Sprintf("%s, as in %s", first.family(), owner[l.name].Path), "give the files separately, or write them with one type")
				}
				if first.kind == column.Int && l.kind == column.Float {
					out[at[l.name]].Kind = column.Float
				}
				continue
			}
			at[l.name], from[l.name], owner[l.name] = len(out), l, f
			out = append(out, column.Raw{Name: l.name, Kind: l.kind, Unit: l.unit, Local: l.local, Path: f.steps(l),
				Range: func() (lo, hi float64, ok bool) { return t.sample(f, l) }})
			if name := l.name; mayLabel(l.kind) {
				out[len(out)-1].Label = func() bool { return t.isLabel(name) }
			}
		}
	}
	for _, f := range t.files {
		for _, p := range f.Partition {
			dim := p.Dim
			if _, ok := at[dim]; ok {
				continue // a column in a file wins
			}
			at[dim] = len(out)
			out = append(out, column.Raw{Name: dim, Kind: column.Text, Dir: true, Label: func() bool { return partitionLabel(t.files, dim) }})
		}
	}
	return out, nil
}

// partition returns a file's value of a partition column.
func (o *opened) partition(name string) (string, bool) {
	for _, t := range o.Partition {
		if t.Dim == name && t.Value != hiveNull {
			return t.Value, true
		}
	}
	return "", false
}

// overruled names the directories that the file has a column of the same name for.
func (o *opened) overruled() []string {
	var out []string
	for _, t := range o.Partition {
		if o.byName[t.Dim] != nil {
			out = append(out, fmt.Sprintf("%s is a column of the file: that of the directory %s is not used", jsonscan.Cut(t.Dim, 40), jsonscan.Cut(t.Dim+"="+t.Value, 80)))
		}
	}
	return out
}

// unread names the directories of a file of text: they give columns to Parquet files
// only.
func unread(path string) []string {
	var out []string
	for _, t := range Hive(path) {
		out = append(out, jsonscan.Cut(t.Dim+"="+t.Value, 80))
	}
	if len(out) == 0 {
		return nil
	}
	return []string{"of a text file the directories give no column: " + strings.Join(out, ", ") + " is not used"}
}

// steps returns the path of a field inside structs, nil for any other.
func (o *opened) steps(l *leaf) []string {
	if l.maxRep > 0 || len(o.meta.RowGroups) == 0 {
		return nil
	}
	if path := o.meta.RowGroups[0].Columns[l.index].MetaData.PathInSchema; len(path) > 1 {
		return path
	}
	return nil
}
