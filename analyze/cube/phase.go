package cube

// IsWarmUp reports whether a row of this phase (serving.ColPhase) is left out of
// all figures.
func IsWarmUp(phase string) bool { return isWarmUp(phase) }
