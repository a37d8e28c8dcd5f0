package trace

import (
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/column"
)

// A leaf is a column that has values in the file.
type leaf struct {
	name     string // dot path, without the wrappers of lists
	index    int    // of the column chunk in a row group
	physical format.Type
	length   int // of FIXED_LEN_BYTE_ARRAY
	maxDef   int
	maxRep   int
	listDef  int // definition level from which a list has an element
	opaque   bool

	kind     column.Kind // as package column sees it; of a list's elements: List or TextList
	unit     column.Unit
	local    bool // a timestamp without a zone
	scale    int  // of DECIMAL
	unsigned bool // UINT_32 and UINT_64
	days     bool // DATE
	float16  bool // FLOAT16
	decimal  bool // DECIMAL in bytes
	uuid     bool // UUID
	interval bool // INTERVAL: months, days, milliseconds
	defWidth uint // bits of a definition level
	repWidth uint // bits of a repetition level
}

// family groups types that may stand for each other from file to file.
func (l *leaf) family() string {
	switch l.kind {
	case column.Int, column.Float:
		return "numbers"
	}
	return l.kind.String()
}

// A treeWalk visits the schema, which is a tree flattened depth first.
type treeWalk struct {
	elems  []format.SchemaElement
	at     int
	leaves []leaf
}

// leavesOf lists the columns of a schema.
func leavesOf(meta *format.FileMetaData, path string) ([]leaf, error) {
	w := &treeWalk{elems: meta.Schema}
	if len(w.elems) == 0 {
		return nil, refuse(path, "", "Parquet without a schema", "", rewrite)
	}
	w.at = 1
	root := &w.elems[0]
	for range children(root) {
		if err := w.visit(nil, level{}, 0); err != nil {
			return nil, refuse(path, "", err.Error(), "", rewrite)
		}
	}
	return w.leaves, nil
}

// A level is what the ancestors of a column add up to.
type level struct {
	def, rep int
	listDef  int
	wide     bool // a repeated ancestor has several columns: a list of structs
	inMap    bool
	inList   bool // directly below a group that is annotated as a list
	elem     bool // below the repeated group of a list: names are no path
}

func children(e *format.SchemaElement) int {
	if e.NumChildren.Valid && e.NumChildren.V > 0 {
		return int(e.NumChildren.V)
	}
	return 0
}

func (w *treeWalk) visit(path []string, l level, depth int) error {
	if w.at >= len(w.elems) {
		return fmt.Errorf("damaged Parquet schema: it has fewer columns than it says")
	}
	if depth > maxDepth {
		return fmt.Errorf("damaged Parquet schema: nested deeper than %d", maxDepth)
	}
	e := &w.elems[w.at]
	w.at++
	switch rep := e.RepetitionType; {
	case rep.Valid && rep.V == format.Optional:
		l.def++
	case rep.Valid && rep.V == format.Repeated:
		l.def++
		l.rep++
		l.listDef = l.def
	}
	repeated := e.RepetitionType.Valid && e.RepetitionType.V == format.Repeated
	if !(l.elem || l.inList && repeated) { // inside a list the wrappers' names mean nothing
		path = append(path[:len(path):len(path)], e.Name)
	}
	if e.Type.Valid {
		w.leaves = append(w.leaves, newLeaf(e, strings.Join(path, "."), len(w.leaves), l))
		return nil
	}
	n := children(e)
	l.wide = l.wide || l.rep > 0 && n > 1
	l.elem = repeated && l.inList && n == 1
	l.inMap = l.inMap || isMap(e)
	l.inList = isList(e)
	for range n {
		if err := w.visit(path, l, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func isList(e *format.SchemaElement) bool {
	if _, ok := e.LogicalType.Value.(*format.ListType); ok {
		return true
	}
	return e.ConvertedType.Valid && e.ConvertedType.V == deprecated.List
}

func isMap(e *format.SchemaElement) bool {
	if _, ok := e.LogicalType.Value.(*format.MapType); ok {
		return true
	}
	return e.ConvertedType.Valid && (e.ConvertedType.V == deprecated.Map || e.ConvertedType.V == deprecated.MapKeyValue)
}

func newLeaf(e *format.SchemaElement, name string, index int, l level) leaf {
	out := leaf{name: name, index: index, physical: e.Type.V, maxDef: l.def, maxRep: l.rep, listDef: l.listDef}
	out.defWidth, out.repWidth = levelWidth(l.def), levelWidth(l.rep)
	if e.TypeLength.Valid {
		out.length = int(e.TypeLength.V)
	}
	out.kind = out.logical(e)
	if out.physical == format.FixedLenByteArray && (out.length <= 0 || out.length > 1<<16) {
		out.kind = column.Opaque
	}
	switch {
	case l.rep > 1 || l.wide || l.inMap || l.def > 255:
		out.kind = column.Opaque
	case l.rep == 1 && (out.kind == column.Int || out.kind == column.Float || out.kind == column.Span):
		out.kind = column.List
	case l.rep == 1 && out.kind == column.Text:
		out.kind = column.TextList
	case l.rep == 1:
		out.kind = column.Opaque
	}
	out.opaque = out.kind == column.Opaque
	return out
}

// logical reads the annotations of a column, new and legacy.
func (l *leaf) logical(e *format.SchemaElement) column.Kind {
	switch t := e.LogicalType.Value.(type) {
	case *format.TimestampType:
		return l.timestamp(timeUnit(t.Unit), !t.IsAdjustedToUTC)
	case *format.TimeType:
		return l.span(timeUnit(t.Unit))
	case *format.DateType:
		return l.date()
	case *format.DecimalType:
		return l.asDecimal(int(t.Scale))
	case *format.IntType:
		l.unsigned = !t.IsSigned
		return l.plain()
	case *format.UUIDType:
		if l.physical == format.FixedLenByteArray && l.length == 16 {
			l.uuid = true
			return column.Text
		}
		return column.Opaque
	case *format.Float16Type:
		return l.asFloat16()
	case *format.StringType, *format.EnumType, *format.JsonType:
		return l.text()
	case *format.BsonType, *format.NullType, *format.GeometryType, *format.GeographyType:
		return column.Opaque
	}
	if !e.ConvertedType.Valid {
		return l.plain()
	}
	switch e.ConvertedType.V {
	case deprecated.TimestampMillis:
		return l.timestamp(column.Millisecond, false)
	case deprecated.TimestampMicros:
		return l.timestamp(column.Microsecond, false)
	case deprecated.TimeMillis:
		return l.span(column.Millisecond)
	case deprecated.TimeMicros:
		return l.span(column.Microsecond)
	case deprecated.Date:
		return l.date()
	case deprecated.Decimal:
		if e.Scale.Valid {
			return l.asDecimal(int(e.Scale.V))
		}
		return l.asDecimal(0)
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		l.unsigned = true
	case deprecated.Interval:
		if l.physical == format.FixedLenByteArray && l.length == 12 {
			l.interval, l.unit = true, column.Millisecond
			return column.Span
		}
		return column.Opaque
	case deprecated.Bson:
		return column.Opaque
	}
	return l.plain()
}

func (l *leaf) plain() column.Kind {
	switch l.physical {
	case format.Boolean:
		return column.Bool
	case format.Int32, format.Int64:
		return column.Int
	case format.Int96: // nothing but timestamps was ever written with it
		l.unit = column.Nanosecond
		return column.Instant
	case format.Float, format.Double:
		return column.Float
	case format.ByteArray: // UTF8 or not: many writers leave the annotation out
		return column.Text
	}
	return column.Opaque
}

func (l *leaf) text() column.Kind {
	if l.physical == format.ByteArray {
		return column.Text
	}
	return column.Opaque
}

func (l *leaf) timestamp(u column.Unit, local bool) column.Kind {
	if l.physical != format.Int64 || u == column.NoUnit {
		return column.Opaque
	}
	l.unit, l.local = u, local
	return column.Instant
}

func (l *leaf) span(u column.Unit) column.Kind {
	if l.physical != format.Int64 && l.physical != format.Int32 || u == column.NoUnit {
		return column.Opaque
	}
	l.unit = u
	return column.Span
}

func (l *leaf) date() column.Kind {
	if l.physical != format.Int32 {
		return column.Opaque
	}
	l.days, l.unit, l.local = true, column.Nanosecond, true
	return column.Instant
}

func (l *leaf) asDecimal(scale int) column.Kind {
	if scale < 0 || scale > 38 {
		return column.Opaque
	}
	switch l.physical {
	case format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray:
		l.scale = scale
		l.decimal = true
		return column.Float
	}
	return column.Opaque
}

func (l *leaf) asFloat16() column.Kind {
	if l.physical != format.FixedLenByteArray || l.length != 2 {
		return column.Opaque
	}
	l.float16 = true
	return column.Float
}

func timeUnit(u format.TimeUnit) column.Unit {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return column.Millisecond
	case *format.MicroSeconds:
		return column.Microsecond
	case *format.NanoSeconds:
		return column.Nanosecond
	}
	return column.NoUnit
}
