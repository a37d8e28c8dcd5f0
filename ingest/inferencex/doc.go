// Package inferencex reads the aggregates of InferenceX (formerly InferenceMAX):
// one flat object a benchmark point, or nested ones for its agentic scenarios,
// or an array of either as its CI collects them. All times are SECONDS.
//
// Two habits need care. Rates are divided by the number of GPUs. And
// "interactivity", tokens/s/user, has its percentiles upside down: p99_intvty is
// 1/p99_tpot, the rate of the slowest users, which is the first percentile of
// the rates; its mean is the harmonic one; and in the flat form std_intvty,
// 1/std_tpot, is no statistic of anything.
package inferencex
