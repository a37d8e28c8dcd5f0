package serving

// A Course is how a run went over time, as its file states it: one slice of time
// after the other, with the figures of the requests that started in each. It is
// held in columns, as a long run has thousands of slices.
type Course struct {
	Source Pos
	Step   Opt[float64] // the length of a slice, seconds; missing where nothing states it
	Slices []CourseSlice
	Series []CourseSeries
	Notes  []string // what is not known of its slices

	Rounded bool // its figures have two decimals
}

// A CourseSlice is one stretch of a course. Slices without a time have an order
// alone.
type CourseSlice struct {
	Index      int        // counted from 0; ascending
	Start, End Opt[int64] // ns since the epoch
	Incomplete bool       // the run ended within it
}

// A CourseSeries is one statistic of one metric, a value a slice in its base unit,
// NaN where missing.
type CourseSeries struct {
	Metric  MetricKey // or one of the keys of totals and counts
	Stat    string    // mean, p50, …; "" for totals
	PerBase float64   // how many of the file's units make one base unit: 1000 for ms
	Values  []float64
}

// Keys of what a course has beside request metrics and totals.
const (
	CompletedRequests MetricKey = "completed"
	FailedRequests    MetricKey = "failed"
	MeanConcurrent    MetricKey = "mean_concurrent_requests" // weighted by time
	RateDecoded       MetricKey = "decoded_tokens_per_s"     // at which tokens came, whenever their requests started
)

// Of returns the values of a statistic, nil where the course has none.
func (c *Course) Of(m MetricKey, stat string) []float64 {
	for i := range c.Series {
		if s := &c.Series[i]; s.Metric == m && s.Stat == stat {
			return s.Values
		}
	}
	return nil
}

// Span returns the first and the last moment of the slices that have a time, ns
// since the epoch; ok is false where none has.
func (c *Course) Span() (first, last int64, ok bool) {
	for _, s := range c.Slices {
		if !s.Start.OK {
			continue
		}
		if !ok || s.Start.V < first {
			first = s.Start.V
		}
		if !ok || s.End.V > last {
			last = s.End.V
		}
		ok = true
	}
	return first, last, ok
}
