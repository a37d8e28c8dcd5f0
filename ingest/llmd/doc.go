// Package llmd reads llm-d's benchmark reports, versions 0.1 and 0.2, as YAML or
// JSON. A report is one load level; each of its metrics states its own units,
// which are checked against what a model server can do.
package llmd
