// Command forms reads lines of JSON, each with a form, and answers each with the parts that Go's mime/multipart reads of
// it, or with null if Go refuses it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"os"
)

type form struct {
	Type string `json:"type"`
	Body []byte `json:"body"`
}

type part struct {
	Name     string `json:"name"`
	Filename string `json:"filename"`
	Content  []byte `json:"content"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var sent form
		if err := json.Unmarshal(lines.Bytes(), &sent); err != nil {
			panic(err)
		}
		parts, err := read(sent)
		if err != nil {
			parts = nil
		}
		if err := out.Encode(parts); err != nil {
			panic(err)
		}
	}
}

func read(sent form) ([]part, error) {
	_, parameters, err := mime.ParseMediaType(sent.Type)
	if err != nil {
		return nil, err
	}
	reader, parts := multipart.NewReader(bytes.NewReader(sent.Body), parameters["boundary"]), []part{}
	for {
		next, err := reader.NextPart()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(next)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{next.FormName(), next.FileName(), content})
	}
}
