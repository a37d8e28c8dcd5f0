package main

// nearest returns the word that takes the fewest edits to reach, the first of
// equals.
func nearest(s string, words []string) string {
	best, at := "", -1
	for _, w := range words {
		if d := editDistance(s, w); at < 0 || d < at {
			best, at = w, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours (optimal string alignment). Swaps are the commonest slip of a
// hand, so they must not cost two.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, prev, cur := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(s); i++ {
		cur[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(t)]
}
