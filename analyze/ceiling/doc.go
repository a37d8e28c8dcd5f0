// Package ceiling computes what hardware allows a served model: how fast memory
// lets one request stream, how a step grows with the batch, where compute takes
// over, and how many tokens of KV cache fit.
//
// It knows hardware by a catalogue of data sheets (hardware.json) and models by
// their Hugging Face config.json, of which it has some (models.json). A figure
// that cannot be told from a configuration is missing, with the reason; it is
// never filled in from a similar model.
//
// Bytes are bytes, bandwidth bytes/s, compute FLOP/s, time seconds. A data
// sheet's GB are 10⁹ bytes.
package ceiling
