package verdict

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// priorDF is how many degrees of freedom the other rows lend at most to a row's own
// variance: as many as three repeats a side give.
const priorDF = 4

// minModerated is the number of rows that make a typical variance.
const minModerated = 4

// Moderate lets rows of one figure share what they know of the noise between
// runs. Three runs a side estimate a variance badly, and of many slices some look
// far steadier than they are; but slices of the same runs ran on the same machine,
// so their typical variance is evidence for each. A row's variance becomes the
// average of its own and the typical one by degrees of freedom, as limma does for
// genes. What all slices have in common is known only once: the more their noise
// is the same, the less they lend. Both sides are taken to vary alike. Only rows tested by Welch's method change.
//
// Source: Smyth, Linear models and empirical Bayes methods for assessing
// differential expression in microarray experiments (2004), with the prior's
// degrees of freedom fixed.
func Moderate(rows []*Row) {
	byFigure := map[Figure][]*Row{}
	for _, r := range rows {
		if r.Method == ByWelch && r.se > 0 && !math.IsInf(r.df, 1) {
			byFigure[r.Figure] = append(byFigure[r.Figure], r)
		}
	}
	for _, list := range byFigure {
		if len(list) < minModerated {
			continue
		}
		var variances []float64
		for _, r := range list {
			variances = append(variances, r.se*r.se)
		}
		slices.Sort(variances)
		// The median of χ²(d)/d is below 1; with so few degrees of freedom that
		// matters, and a typical variance must not be too small.
		own := list[0].pooledDF()
		typical := stat.Quantile(variances, 0.5) / medianChi2(own)
		// What the others know beyond what this row knows itself.
		prior := min(priorDF, own*(independent(list)-1))
		for _, r := range list {
			r.moderate(typical, prior)
		}
	}
}

// medianChi2 is the median of a χ² variable over its degrees of freedom, by
// Wilson and Hilferty.
func medianChi2(df float64) float64 {
	v := 1 - 2/(9*max(df, 1))
	return v * v * v
}

// pooledDF is the degrees of freedom of the noise between runs where both sides
// have the same: of one level those of all its runs. Welch's are fewer, as he lets
// each side have a noise of its own, which three runs can hardly tell.
func (r *Row) pooledDF() float64 {
	if r.Levels == 1 && len(r.noise) > 2 {
		return float64(len(r.noise) - 2)
	}
	return r.df
}

func (r *Row) moderate(typical, prior float64) {
	own := r.pooledDF()
	v := (own*r.se*r.se + prior*typical) / (own + prior)
	r.se, r.df = math.Sqrt(v), own+prior
	half := studentQuantile((1+Confidence)/2, r.df) * r.se
	r.lo, r.hi = r.log-half, r.log+half
	r.Lo, r.Hi = serving.Some(math.Exp(r.lo)), serving.Some(math.Exp(r.hi))
	r.P = serving.Some(studentP(r.log, r.se, r.df))
	r.Floor = serving.Some(math.Expm1(half))
	e := effect{se: r.se, df: r.df}
	r.Detectable = serving.Some(math.Expm1(e.detectable()))
	r.Method = ByModerated
}
