package serving

// Opt is a value that may be missing. Its zero value is "missing", which is
// never the same as a measured zero.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some returns a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// None returns a missing value.
func None[T any]() Opt[T] { return Opt[T]{} }

// Or returns the value, or def where it is missing.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}

// Ptr returns a pointer to a copy of the value, or nil where it is missing: the
// form in which JSON encoders drop it.
func (o Opt[T]) Ptr() *T {
	if !o.OK {
		return nil
	}
	v := o.V
	return &v
}
