package main

import (
	"maps"

	"github.com/alecthomas/kong"
)

// A given is one value as the user wrote it, and where: `--slo`, or
// `vreport.yaml:3:5: slo`. Every complaint about a value starts with its place.
type given struct{ text, at string }

// A layer is what one source of settings says, by setting name: the config
// file, or the command line. A setting that is absent was not given, which is
// not the same as a default.
type layer map[string][]given

// over lays one layer over another. A setting is replaced as a whole: --slo on
// the command line replaces all objectives of the file.
func (l layer) over(below layer) layer {
	out := maps.Clone(below)
	if out == nil {
		out = layer{}
	}
	maps.Copy(out, l)
	return out
}

// only returns the named settings of a layer.
func (l layer) only(names ...string) layer {
	out := layer{}
	for _, n := range names {
		if v, ok := l[n]; ok {
			out[n] = v
		}
	}
	return out
}

// typedFlags returns the flags that were typed. No flag has a default in kong,
// so the ones kong marks as set are exactly those.
func typedFlags(ctx *kong.Context) layer {
	l := layer{}
	for _, f := range ctx.Flags() {
		if !f.Set {
			continue
		}
		at := "--" + f.Name
		switch v := f.Target.Interface().(type) {
		case *string:
			l[f.Name] = []given{{*v, at}}
		case []string:
			for _, s := range v {
				l[f.Name] = append(l[f.Name], given{s, at})
			}
		case *bool:
			l[f.Name] = []given{{boolText(*v), at}}
		}
	}
	return l
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
