package serving

// An EventKind says what a log line tells of.
type EventKind string

// The kinds of events.
const (
	EventOOM     EventKind = "oom"     // memory of a GPU, the KV cache or the host ran out
	EventTimeout EventKind = "timeout" // a call, a request or a watchdog timed out
	EventError   EventKind = "5xx"     // a request was answered with a server's error
	EventDied    EventKind = "died"    // an engine, a worker or a GPU failed
	EventRestart EventKind = "restart" // a process was started again
)

// An Event is one log line that tells of a failure, or several of one kind that
// stand close together. It holds no text of the log: what a log quotes may be a
// user's.
type Event struct {
	At, To  int64 // ns, of the first line and of the last; 0 of a log without times
	Kind    EventKind
	What    string // what happened, a phrase of ours
	Replica string // pod, container or host, where the log says
	Source  Pos    // the first line
	Count   int64  // lines
}

// Answers counts the answers to requests over a stretch of an access log.
type Answers struct {
	At, To        int64 // ns
	Count, Errors int64 // all, and those with a status from 500 on
}

// An EventLog is what one log tells beside its series.
type EventLog struct {
	Path     string
	From, To int64     // ns: the times of its first and its last line
	Timed    bool      // false: the log says no times, and its events have none
	Yearless bool      // the times count from 1 January of a leap year: the log does not say the year
	Assumed  string    // what was assumed of the times, which name no zone or no year; "" for nothing
	Events   []Event   // in order of time
	Answers  []Answers // in order of time
}
