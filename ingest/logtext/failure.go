package logtext

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/vreport/vreport/ingest/serving"
)

// A failure is a kind of line that tells of one.
type failure struct {
	kind serving.EventKind
	what string
	// marks are looked for before the phrases are tried: one of them stands in
	// every line that fits.
	marks [][]byte
	say   *Phrases
	// loose words are common: they count in a line of a logger alone, which says
	// a time or a level, and not in what some other text may quote.
	loose bool
}

// failures are tried in this order; the first that fits is what a line tells.
// They are the words of vLLM V0 and V1, SGLang, TensorRT-LLM, TGI, PyTorch, the
// Linux kernel and Kubernetes.
var failures = []failure{
	{kind: serving.EventOOM, what: "a process was killed for lack of memory (OOM-killed)", marks: words("OOM", "oom-kill", "Kill", "Memory cgroup"),
		say: MustPhrases(`\bOOM(?:Killed|Killing)\b|\boom-kill:|(?i:out of memory): Kill(?:ed)? process|Memory cgroup out of memory`)},
	{kind: serving.EventOOM, what: "there was no memory for the KV cache", marks: words("emory", "free blocks", "stored in KV"),
		say: MustPhrases(`No available memory for the cache blocks|(?:Prefill|Decode) out of memory\. Try to lower|Not enough memory\. Please try to increase --mem-fraction-static|KV ?cache.{0,40}\bout of memory\b|insufficient (?:GPU memory|free blocks)|Not enough memory to handle \d+ prefill tokens|is larger than the (?:available KV cache memory|maximum number of tokens that can be stored in KV cache)`)},
	{kind: serving.EventOOM, what: "the GPU ran out of memory", marks: words("OutOfMemory", "ut of memory", "OUT_OF_MEMORY"),
		say: MustPhrases(`\bOutOfMemoryError\b|\b(?:CUDA|HIP|XPU|NPU)\b.{0,80}\bout of memory\b|CUDA_ERROR_OUT_OF_MEMORY|Error Code 2: OutOfMemory|Cuda(?:OutOfMemory| out of memory)`)},
	{kind: serving.EventDied, what: "the GPU or its driver failed", marks: words("Xid", "CUDA error", "GPU has", "ECC"),
		say: MustPhrases(`NVRM: Xid|CUDA error: (?:an illegal memory access|unspecified launch failure|device-side assert)|GPU has fallen off the bus|uncorrectable ECC error`)},
	{kind: serving.EventDied, what: "the engine died", marks: words("EngineDead", "EngineCore ", "Engine ", "died", "ackground loop", "Scheduler hit", "sigquit", "cheduler is", "Shard", "Crashed", "Executor worker", "Hang detected", "MPI_ABORT", "Fatal Python", "Segmentation"),
		say: MustPhrases(`\b(?:Async|MQ)?EngineDeadError\b|EngineCore (?:encountered a fatal error|failed to start)|Engine core proc(?:ess)? \S+ died unexpectedly|Engine (?:core|loop) (?:has )?died|Background loop (?:has errored|is stopped)|Worker proc(?:ess)? \S+ died unexpectedly|` +
			`Scheduler hit an exception|Received sigquit from a child proces|(?:Rank \d+ )?scheduler is dead|` +
			`Shard process was signaled to shutdown|Shard \d+ (?:crashed|failed)|Webserver Crashed|\bShardFailed\b|` +
			`Executor worker (?:returned error|died)|Hang detected on rank|MPI_ABORT was invoked|Fatal Python error|Segmentation fault`)},
	{kind: serving.EventRestart, what: "Kubernetes waits to restart a container that keeps failing", marks: words("ack-off", "ackOff", "ack-Off"),
		say: MustPhrases(`[Bb]ack-?[Oo]ff .{0,20}restarting failed container|\bCrashLoopBackOff\b`)},
	{kind: serving.EventRestart, what: "a failed health check made Kubernetes restart the container", marks: words("probe, will"),
		say: MustPhrases(`Container \S+ failed (?:liveness|startup) probe, will be restarted`)},
	{kind: serving.EventTimeout, what: "the watchdog saw no progress", marks: words("atchdog "),
		say: MustPhrases(`\b[Ww]atchdog (?:caught collective operation )?timeout\b`)},
	{kind: serving.EventTimeout, what: "a call between processes timed out", marks: words("RPC call", "ZMQ", "shared memory broadcast"),
		say: MustPhrases(`RPC call to \S+ timed out|ZMQ.{0,40}timed out|No available shared memory broadcast block found in \d+ sec`), loose: true},
	{kind: serving.EventTimeout, what: "something timed out", marks: words("imeoutError", "imed out", "eadline", "DEADLINE"),
		say: MustPhrases(`\bTimeoutError\b|\b[Tt]imed out\b|\bDeadline ?[Ee]xceeded\b|\bDEADLINE_EXCEEDED\b`), loose: true},
}

// requestMarks open lines that quote a request: anything may stand in them.
var requestMarks = [][]byte{[]byte("Received request "), []byte("Receive: obj="), []byte("Finish: obj="), []byte("Receive: "), []byte("GenerateReqInput("), []byte(`prompt: '`), []byte(`prompt: "`),
	[]byte(`"prompt"`), []byte(`"messages"`), []byte(`"inputs"`), []byte(`text='`), []byte(`prompt=`)}

// maxText bounds the part of a line that is looked at.
const maxText = 1024

// level matches what a logger writes of how grave a line is.
var level = regexp.MustCompile(`\b(?:ERROR|WARN(?:ING)?|CRITICAL|FATAL|Error|Warning)\b|\[[EWF]\]|^[EWF]\d{4} `)

// kubernetes matches lines of kubectl get events and kubectl describe.
var kubernetes = regexp.MustCompile(`^\s*(?:\S+\s+Warning\s+(?:BackOff|OOMKilling|Unhealthy)\s|Reason:\s+OOMKilled|Warning\s+(?:BackOff|OOMKilling)\s)`)

// failureIn returns what a line tells of, nil for nothing.
func failureIn(text []byte, timed bool) *failure {
	text = text[:min(len(text), maxText)]
	for i := range failures {
		f := &failures[i]
		if containsAny(text, f.marks) && f.say.Match(text) && (!f.loose || timed || level.Match(text)) {
			if containsAny(text, requestMarks) {
				return nil
			}
			return f
		}
	}
	return nil
}

func words(list ...string) [][]byte {
	var out [][]byte
	for _, w := range list {
		out = append(out, []byte(w))
	}
	return out
}

func containsAny(text []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(text, w) {
			return true
		}
	}
	return false
}

// accessMark is in every line about an answer.
var accessMark = []byte(`HTTP/`)

// postMark opens what a web server writes about the answer to a request:
// uvicorn's "POST /v1/completions HTTP/1.1" 200, nginx's and Envoy's alike.
var postMark = []byte(`"POST /`)

// maxTarget bounds the path of a request, in runes.
const maxTarget = 600

// answer reads an access line: the status of the answer. Probes and scrapers GET;
// what is posted is a user's.
func answer(text []byte) (status int, ok bool) {
	text = text[:min(len(text), maxText)]
	if !bytes.Contains(text, accessMark) || containsAny(text, requestMarks) {
		return 0, false
	}
	for {
		i := bytes.Index(text, postMark)
		if i < 0 {
			return 0, false
		}
		text = text[i+len(postMark):]
		if status, ok := posted(text); ok {
			return status, status >= 100 && status < 600
		}
	}
}

// posted reads the rest of an access line behind the slash of the path.
func posted(text []byte) (status int, ok bool) {
	n := bytes.IndexAny(text, " \t\"\n\f\r")
	if n < 0 || utf8.RuneCount(text[:n]) > maxTarget || !bytes.HasPrefix(text[n:], []byte(" HTTP/")) {
		return 0, false
	}
	text = text[n+len(" HTTP/"):]
	n = 0
	for n < len(text) && (text[n] == '.' || text[n] >= '0' && text[n] <= '9') {
		n++
	}
	if n == 0 || !bytes.HasPrefix(text[n:], []byte(`" `)) {
		return 0, false
	}
	text = text[n+len(`" `):]
	if run(text, digits) != 3 || wordAt(text, 3) {
		return 0, false
	}
	return int(text[0]-'0')*100 + int(text[1]-'0')*10 + int(text[2]-'0'), true
}
