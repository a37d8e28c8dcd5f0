package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/serving"
)

// formatName is the contract's name of the format.
const formatName = "trace-parquet"

// SniffParquet reports whether a file that starts like head is Parquet,
// encrypted or not.
func SniffParquet(head []byte) bool {
	return len(head) >= 4 && (string(head[:4]) == "PAR1" || string(head[:4]) == "PARE")
}

// refuse makes the error for a file that is Parquet but cannot be read.
func refuse(path, field, found, want, remedy string) error {
	return &serving.FormatError{At: serving.Pos{Path: path, Field: field}, Format: formatName, Found: found, Want: want, Remedy: remedy}
}

const (
	rewrite = "write the file anew, e.g. with DuckDB: COPY (FROM 'old.parquet') TO 'new.parquet' (COMPRESSION zstd)"
	decrypt = "decrypt it first"
)

// readFooter reads and checks a file's metadata. Nothing in it is trusted
// before it was compared with the size of the file.
func readFooter(r io.ReaderAt, size int64, path string) (meta *format.FileMetaData, err error) {
	defer func() {
		if p := recover(); p != nil {
			meta, err = nil, refuse(path, "", "damaged Parquet metadata", "", rewrite)
		}
	}()
	b, err := footerBytes(r, size, path)
	if err != nil {
		return nil, err
	}
	n, err := structLen(b)
	if err != nil {
		return nil, refuse(path, "", "damaged Parquet metadata", "", "the file is cut or was changed; "+rewrite)
	}
	switch len(b) - n {
	case 0:
	case 28: // nonce and tag of an AES-GCM signature
		return nil, refuse(path, "", "encrypted Parquet (signed footer)", "a file without encryption", decrypt)
	default:
		return nil, refuse(path, "", fmt.Sprintf("damaged Parquet metadata: %d bytes behind its end", len(b)-n), "", rewrite)
	}
	meta, err = decodeFooter(b[:n])
	var missing *thrift.MissingField
	if errors.As(err, &missing) {
		meta, err = decodeFooter(completePairs(b[:n]))
	}
	if err != nil {
		return nil, refuse(path, "", "unreadable Parquet metadata ("+lastPart(err)+")", "", rewrite)
	}
	if meta.EncryptionAlgorithm.Value != nil {
		return nil, refuse(path, "", "encrypted Parquet", "a file without encryption", decrypt)
	}
	return meta, checkRows(meta, path)
}

func decodeFooter(b []byte) (*format.FileMetaData, error) {
	meta := new(format.FileMetaData)
	proto := new(thrift.CompactProtocol)
	return meta, thrift.NewDecoder(proto.NewReaderFromBytes(b)).Decode(meta)
}

func footerBytes(r io.ReaderAt, size int64, path string) ([]byte, error) {
	var head [4]byte
	var tail [8]byte
	if size < 12 {
		return nil, refuse(path, "", fmt.Sprintf("a file of %d bytes", size), "Parquet, which has 12 at least", "")
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if string(head[:]) == "PARE" || string(tail[4:]) == "PARE" {
		return nil, refuse(path, "", "encrypted Parquet (PARE)", "a file without encryption", decrypt)
	}
	if string(head[:]) != "PAR1" || string(tail[4:]) != "PAR1" {
		return nil, refuse(path, "", "no PAR1 at its start and end", "a whole Parquet file", "the file may be cut: copy it again")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > size-12 {
		return nil, refuse(path, "", fmt.Sprintf("metadata of %d bytes in a file of %d", n, size), "", "the file is cut or was changed: copy it again")
	}
	if n > maxFooter {
		return nil, refuse(path, "", fmt.Sprintf("metadata of %d MiB", n>>20), fmt.Sprintf("%d at most", maxFooter>>20), "write fewer row groups or columns")
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-8-n); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// lastPart is the innermost cause of a decoding error: the rest is the path
// through the metadata.
func lastPart(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, arrow); i >= 0 {
		return s[i+len(arrow):]
	}
	return s
}

// arrow stands between the steps of that path.
const arrow = "→ "

// checkRows compares the footer's row count with its row groups'.
func checkRows(meta *format.FileMetaData, path string) error {
	var n int64
	for i, g := range meta.RowGroups {
		if g.NumRows < 0 || n+g.NumRows < n {
			return refuse(path, "", fmt.Sprintf("row group %d has %d rows", i+1, g.NumRows), "", rewrite)
		}
		n += g.NumRows
	}
	if n != meta.NumRows {
		return refuse(path, "", fmt.Sprintf("the row groups hold %d rows, the footer says %d", n, meta.NumRows), "the same", rewrite)
	}
	return nil
}
