// Package stat holds the statistics of the reports: quantiles with intervals
// that need no distribution, labels that say how far they can be trusted,
// shares, frontiers and knees.
//
// Every function works on plain numbers and knows nothing of serving. Each
// names the source of its formula, and each is held against reference values in
// testdata/vectors.json, computed with numpy, scipy and R.
package stat
