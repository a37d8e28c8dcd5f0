package prom

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vreport/vreport/ingest/serving"
)

// A Scrape is one reading of a /metrics page: the samples of the series the
// program has a use for, and what its surroundings say of when and where it was
// taken.
type Scrape struct {
	Path    string
	Line    int  // of its first line in the file, from 1
	Index   int  // which scrape of its file it is, from 0
	Samples int  // valid sample lines, those without a use too
	Damaged bool // a line of it could not be read

	Header serving.Opt[int64]  // ns: a comment or HTTP header above it
	Stamp  serving.Opt[int64]  // ns: the latest timestamp of its samples
	Zoned  bool                // the header says its zone; otherwise UTC was assumed
	Pod    serving.Opt[string] // a comment above it

	only    bool // its file holds no other scrape
	partial bool // it is a part of what was to be had at its time: other files may hold the rest
	elapsed bool // Stamp counts from a start that is not known
	series  []*series
	values  []float64 // one a series
}

// A series is a time series as it was first seen. It is shared by all scrapes
// that repeat it and never changes.
type series struct {
	row      *row
	part     part
	family   string  // the exporter's own family name
	bound    float64 // of a bucket
	by       string  // value of the label that splits the family
	byLabel  string  // and its name
	id       identity
	selector []serving.Term // the labels of its identity, as the file has them
	info     []serving.Setting
	labels   labels.Labels // all of them, where raw series are kept
}

// An identity tells the engines behind one endpoint apart. Parts that a series
// does not have are empty.
type identity struct {
	engine  string // vllm or sglang; "" for what belongs to the process
	replica string
	model   string
	rank    string // data-parallel rank
}
