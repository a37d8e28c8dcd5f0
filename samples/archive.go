package samples

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/compress/zstd"
)

// committed is the compact set of DefaultSeed: one tar in one zstd frame, since
// the scrapes of a server differ little from each other and thirty of them
// compress to the size of a few. A test holds it against the generator.
//
//go:embed data/compact.tar.zst
var committed []byte

// unpack lists the files of an archive.
func unpack(archive []byte) ([]file, error) {
	c := &zstd.Codec{}
	data, err := c.Decode(nil, archive)
	if err != nil {
		return nil, fmt.Errorf("embedded samples: %w", err)
	}
	r := tar.NewReader(bytes.NewReader(data))
	var files []file
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("embedded samples: %w", err)
		}
		b := make([]byte, h.Size)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, fmt.Errorf("embedded samples: %s: %w", h.Name, err)
		}
		files = append(files, file{h.Name, b})
	}
}
