package serving

// A RawSeries is a time series as it was scraped, under the exporter's own name
// and labels: what users' PromQL expressions are about. Only what a figure of
// ours is made of gets into a Server.
type RawSeries struct {
	Labels map[string]string // __name__ is the name
	T      []int64           // ms since the epoch, ascending; shared between series, not to be changed
	V      []float64         // one a T; a stale NaN of Prometheus where the series ended
}

// Raw is the scraped series of all endpoints of a dataset.
type Raw struct {
	Series   []RawSeries
	Relative bool // no endpoint's times are known: T is made up, and rates per second mean nothing
}
