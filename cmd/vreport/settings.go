package main

import "strings"

// A setting is one thing a user can decide. Its name is the flag and the key in
// the config file alike; TestSettingsAreFlags holds the two together.
type setting struct {
	name  string
	shape shape
	// glue joins the two parts of a pair to what the flag would say: "=" where
	// it is empty.
	glue string
	// joins says that values given apart are the same as one with commas.
	joins bool
	// on says that a toggle is true unless it is said to be false.
	on bool
	// echo says that the report depends on it, so that the command printed in
	// the report has to carry it. Names of outputs and progress do not.
	echo bool
	// typed is what the flag would say of the setting, where that is not what
	// was written.
	typed func(o *options) string
	apply func(o *options, vs []given) error
}

// settings lists every setting, in the order in which they are applied and
// printed.
var settings = []*setting{
	{name: "output", shape: one, apply: (*options).setOutput},
	{name: "json", shape: one, apply: (*options).setJSON},
	{name: "markdown", shape: one, apply: (*options).setMarkdown},
	{name: "title", shape: one, echo: true, apply: (*options).setTitle},
	{name: "slo", shape: list, echo: true, apply: (*options).setSLO},
	{name: "goodput", shape: pairs, glue: ":", joins: true, echo: true, apply: (*options).setGoodput},
	{name: "window", shape: one, echo: true, apply: (*options).setWindow},
	{name: "incident", shape: one, echo: true, apply: (*options).setIncident},
	{name: "group-by", shape: list, joins: true, echo: true, apply: (*options).setGroupBy},
	{name: "buckets", shape: pairs, echo: true, apply: (*options).setBuckets},
	{name: "map", shape: pairs, echo: true, apply: (*options).setMap},
	{name: "workload", shape: pairs, echo: true, apply: (*options).setWorkload},
	{name: "promql", shape: pairs, echo: true, apply: (*options).setPromQL},
	{name: "diagnosis", shape: pairs, echo: true, apply: (*options).setDiagnosis},
	{name: "annotation", shape: list, echo: true, apply: (*options).setAnnotation},
	{name: "annotations", shape: list, echo: true, apply: (*options).setAnnotationFiles},
	{name: "clock-offset", shape: pairs, echo: true, apply: (*options).setClockOffset},
	{name: "side", shape: one, echo: true, apply: (*options).setSide},
	{name: "model", shape: one, echo: true, apply: (*options).setModel},
	{name: "hardware", shape: one, echo: true, typed: (*options).hardwareText, apply: (*options).setHardware},
	{name: "price", shape: one, echo: true, apply: (*options).setPrice},
	{name: "sweep-by", shape: one, echo: true, apply: (*options).setSweepBy},
	{name: "headline", shape: list, joins: true, echo: true, apply: (*options).setHeadline},
	{name: "threshold", shape: pairs, echo: true, apply: (*options).setThreshold},
	{name: "at", shape: one, echo: true, apply: (*options).setAt},
	{name: "target", shape: one, echo: true, apply: (*options).setTarget},
	{name: "gate", shape: list, joins: true, echo: true, apply: (*options).setGate},
	{name: "exact", shape: toggle, on: true, echo: true, apply: (*options).setExact},
	{name: "max-memory", shape: one, apply: (*options).setMaxMemory},
	{name: "strict", shape: toggle, apply: (*options).setStrict},
	{name: "checksums", shape: toggle, echo: true, apply: (*options).setChecksums},
	{name: "use-mtime", shape: toggle, echo: true, apply: (*options).setUseMTime},
	{name: "echarts-js", shape: one, echo: true, apply: (*options).setECharts},
	{name: "progress", shape: toggle, apply: (*options).setProgress},
}

// shape is what a setting's value may look like in the config file.
type shape uint8

const (
	one    shape = iota // a single value
	toggle              // true or false
	list                // a value or a list of values
	pairs               // texts of name and value, or a mapping
)

// want describes a shape for an error message.
func (s shape) want() string {
	switch s {
	case toggle:
		return "true or false"
	case list:
		return "a value or a list of values"
	case pairs:
		return "a mapping, or a list of texts as the flag takes them"
	}
	return "a single value"
}

func settingOf(name string) (*setting, bool) {
	for _, s := range settings {
		if s.name == name || s.name == strings.ReplaceAll(name, "_", "-") {
			return s, true
		}
	}
	return nil, false
}

func settingNames() []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}
