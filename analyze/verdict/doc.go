// Package verdict decides what two sides of a comparison may be said to be:
// faster, slower, equivalent, or undecided.
//
// The unit is the run. Requests of one run shared a server, a queue and a batch,
// so that a test over them would call any two runs different. What can be said
// depends on how many runs each side has:
//
//	four or more    Mann-Whitney U test, interval of Hodges and Lehmann on logarithms
//	two or three    Welch's t test on logarithms
//	one             six or more levels: their signs; else no test: a block bootstrap of
//	                its requests, or the interval the figure came with: noise within
//	                the run, nothing of the noise between runs, which has to be assumed
//	aggregates      a ratio
//
// Levels of load that both sides have are strata: their effects are averaged, and
// so is the evidence. A call needs three things at once: an adjusted p value, an
// effect above a threshold that matters, and an interval that keeps away from no
// change. An interval inside the threshold on both sides is equivalence. All else
// is undecided, which is an answer.
package verdict
