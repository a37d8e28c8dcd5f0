package rollup

import (
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Format is the format's name.
const Format = "rollup"

// Names of a rollup's columns. The dimensions are d1, d2, …; the spec names them.
const (
	colKind    = "vreport_rollup" // spec or cell; the column that a rollup is recognized by
	colWindow  = "time_window"    // start in µs, unknown, or empty
	colMetric  = "metric"
	colBucket  = "bucket"
	colN       = "n"
	colTotal   = "total"
	colSquares = "squares"
	colLeast   = "least"
	colMost    = "most"
	colSpec    = "spec" // of a spec row: JSON
)

const (
	kindSpec = "spec"
	kindCell = "cell"
)

// Metrics of cells that are no distributions of a request metric.
const (
	mOutcome  = "@outcome" // bucket: the outcome
	mGood     = "@good"    // bucket 1: met every condition
	mSLO      = "@slo."    // with the number of the objective, from 1; bucket 1: within
	mWhole    = "@whole"
	mBrief    = "@brief"
	mInput    = "@input" // total
	mOutput   = "@output"
	mCached   = "@cached"
	mCachedOf = "@cached_of"
	mRows     = "@rows"
	mSkipped  = "@skipped." // with the reason
	mArrival  = "@arrival"  // least, most
	mEnd      = "@end"
)

// Reasons for which requests are not in any cell, as Rollup.Skipped has them.
const (
	SkippedWarmUp = "warmup"
	SkippedWindow = "window"
	SkippedNoTime = "no_time"
)

// maxDims bounds the dimensions of a rollup.
const maxDims = 64

// A Row is one row of a rollup.
type Row struct {
	Kind        string
	Dims        []string // d1, d2, …
	Window      string
	Metric      string
	Bucket      int64
	N           int64
	Total       int64
	Squares     float64
	Least, Most int64
	Spec        string
}

// KindOf returns as what a column is read, and whether it is one of a rollup.
func KindOf(name string) (serving.ColumnKind, bool) {
	switch name {
	case colKind, colWindow, colMetric, colSpec:
		return serving.KindText, true
	case colBucket, colN, colTotal, colLeast, colMost:
		return serving.KindTime, true // whole numbers of any sign
	case colSquares:
		return serving.KindNumber, true
	}
	if _, ok := dimOf(name); ok {
		return serving.KindText, true
	}
	return 0, false
}

// dimOf returns the 0-based number of a dimension's column.
func dimOf(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "d")
	n, err := strconv.Atoi(digits)
	return n - 1, ok && err == nil && n >= 1 && n <= maxDims && digits[0] != '0' && digits[0] != '+'
}

// Sniff reports whether these are the columns of a rollup.
func Sniff(columns []string) (bool, string) {
	for _, c := range columns {
		if c == colKind {
			return true, ""
		}
	}
	return false, "no column " + colKind
}
