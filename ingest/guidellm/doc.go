// Package guidellm reads GuideLLM's benchmarks.json in the layouts of 0.2 to 0.8:
// a list of benchmarks, each one load level with its figures and, unless it was
// told to sample, its requests. Times are seconds or, where a name ends in _ms,
// milliseconds.
//
// Three of its figures are not what their names say elsewhere: the time per
// output token, which has the first token inside from 0.4 on; the inter-token
// latency, which is one mean a request weighted by its tokens; and the rates,
// which are averages over moments of time.
package guidellm
