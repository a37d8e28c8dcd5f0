package serving

// Outcome is how a request ended.
type Outcome uint8

// The outcomes. Latencies cover OK requests only; all others are counted beside
// them and count as misses of every objective.
const (
	OK         Outcome = iota
	Failed             // an error of any kind that is none of the others
	Timeout            // ran into a time limit
	Cancelled          // given up by the client
	Incomplete         // still running when the measurement ended
	numOutcomes
)

// NumOutcomes is the number of outcomes.
const NumOutcomes = int(numOutcomes)

var outcomeNames = [NumOutcomes]string{"ok", "error", "timeout", "cancelled", "incomplete"}

// String returns the outcome's name in the JSON.
func (o Outcome) String() string {
	if int(o) < NumOutcomes {
		return outcomeNames[o]
	}
	return "error"
}

// OutcomeNames returns the names in the order of the constants, so that an
// Outcome is an index into them and a code of OutcomeDict.
func OutcomeNames() []string { return outcomeNames[:] }
