package analyze

import (
	"slices"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// A Lack is a section that a dataset is not enough for, and what it needs.
type Lack struct{ Title, Needs string }

// Lacks tells without analysing anything which sections a report of the dataset
// would not have.
func Lacks(ds *serving.Dataset) []Lack {
	tables, timed, figures := len(ds.Traces) > 0, false, false
	for _, t := range ds.Traces {
		timed = timed || hasColumn(t, serving.ColArrival)
	}
	for _, r := range ds.Rollups {
		tables = true
		timed = timed || r.Spec.StepUS > 0
	}
	for _, r := range ds.Runs {
		timed, figures = timed || hasCourse(r), figures || len(r.Reported) > 0
		if r.Requests != nil {
			tables = true
			timed = timed || hasColumn(r.Requests, serving.ColArrival)
		}
	}
	series := slices.ContainsFunc(ds.Servers, func(s *serving.Server) bool { return len(s.Times) > 1 })
	have := map[string]bool{
		"summary": true, "inputs": true,
		"runs":     len(ds.Runs) > 0,
		"latency":  figures || tables,
		"sweeps":   len(sweep.Find(ds.Runs, "")) > 0 || mayGrid(ds.Runs),
		"slices":   tables,
		"ceilings": ceilingsNamed(ds),
		// Whether there is an experiment to advise, a price, or enough that changed to
		// be explained, is no question of
		// the files.
		"advice": true, "cost": true, "diagnosis": true, "incident": true,
		"servers":  len(ds.Servers) > 0,
		"timeline": timed || series || slices.ContainsFunc(ds.Logs, func(l *serving.EventLog) bool { return l.Timed && len(l.Events) > 0 }),
		"quality":  len(ds.Runs) > 0 || tables || len(ds.Servers) > 0,
	}
	var out []Lack
	for _, s := range Sections {
		if !have[s.Name] && !s.Sides {
			out = append(out, Lack{s.Title, s.Needs})
		}
	}
	return out
}

func hasColumn(t serving.Requests, name string) bool {
	return slices.ContainsFunc(t.Columns(), func(c serving.Column) bool { return c.Name == name })
}

// ceilingsNamed reports whether the files name a model or hardware that is known,
// or state a pool.
func ceilingsNamed(ds *serving.Dataset) bool {
	known := func(model serving.Opt[string], facts []serving.Setting) bool {
		if _, ok := ceiling.LookUp(model.Or("")); ok {
			return true
		}
		_, ok := ceiling.Recognize(settingsReader(facts).get(gpuKeys...), nil)
		return ok
	}
	for _, r := range ds.Runs {
		if known(r.Model, r.Settings) {
			return true
		}
	}
	for _, s := range ds.Servers {
		if tokens, _ := serverPool(s); s.Engine != "" && s.Model.OK && (tokens > 0 || known(s.Model, s.Info)) {
			return true
		}
	}
	return false
}
