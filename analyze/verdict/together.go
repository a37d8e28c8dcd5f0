package verdict

// Slices of one run share its noise: where all of them are slow in the same runs,
// ten slices know no more of that noise than one does, and are hardly ten chances
// to be wrong.

// independent is how many independent estimates of the noise between runs these
// rows are: 1 where the noise of all is the same, their number where it has nothing
// in common. It is the participation ratio of the eigenvalues of the rows'
// correlation matrix, m²/Σr².
func independent(rows []*Row) float64 {
	m := float64(len(rows))
	return 1 / (1/m + (1-1/m)*meanSharedNoise(rows))
}

// tests is how many independent tests these rows are, for adjusting their p values.
// It takes more of correlation to make two tests one than to make two estimates
// one.
//
// Source: Nyholt, A simple correction for multiple testing for single-nucleotide
// polymorphisms in linkage disequilibrium with each other (2004).
func tests(rows []*Row) float64 {
	m := float64(len(rows))
	return 1 + (m-1)*(1-meanSharedNoise(rows))
}

// meanSharedNoise is the mean squared correlation between the noise of two rows,
// 0…1; 0 where it is not known.
func meanSharedNoise(rows []*Row) float64 {
	sum, pairs := 0.0, 0
	for i, a := range rows {
		for _, b := range rows[:i] {
			if r2, ok := sharedNoise(a, b); ok {
				sum, pairs = sum+r2, pairs+1
			}
		}
	}
	if pairs == 0 {
		return 0
	}
	return max(0, sum/float64(pairs)) // never above 1
}

// sharedNoise is the squared correlation of two rows' noise. Few runs correlate by
// chance: of d degrees of freedom the square is 1/d on average, which is taken off.
// ok is false where the rows are not of the same runs, or have no noise.
func sharedNoise(a, b *Row) (r2 float64, ok bool) {
	d := float64(len(a.noise) - 2*a.Levels)
	if len(a.noise) != len(b.noise) || d <= 1 {
		return 0, false
	}
	var aa, bb, ab float64
	for i, x := range a.noise {
		y := b.noise[i]
		aa, bb, ab = aa+x*x, bb+y*y, ab+x*y
	}
	if aa == 0 || bb == 0 {
		return 0, false
	}
	return (ab*ab/(aa*bb) - 1/d) / (1 - 1/d), true
}
