package stat

import "math/rand/v2"

// listedPairs is the number of pairs up to which all exchanges are listed; of more
// pairs as many are drawn as of these are listed.
const listedPairs = 12

// Exchanges lists ways to exchange the members of pairs, for a permutation test of
// paired differences: which pairs to exchange, none of them first.
func Exchanges(pairs int, seed uint64) [][]bool {
	rng := rand.New(rand.NewPCG(seed, 3))
	out := make([][]bool, 1<<min(pairs, listedPairs))
	for i := range out {
		out[i] = make([]bool, pairs)
		for k := range pairs {
			switch {
			case pairs <= listedPairs:
				out[i][k] = i>>k&1 == 1
			case i > 0:
				out[i][k] = rng.IntN(2) == 1
			}
		}
	}
	return out
}
