// Command requests reads lines of JSON, each with the bytes of a connection, and answers each with the requests that
// Go's net/http reads of them, as its server does, but for empty lines between requests, which RFC 9112 2.2 allows.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
)

type question struct {
	Data string `json:"data"`
}

type read struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
}

func requests(data []byte) []read {
	reads := []read{}
	rest := bufio.NewReader(bytes.NewReader(data))
	for {
		for next, _ := rest.Peek(2); string(next) == "\r\n"; next, _ = rest.Peek(2) {
			_, _ = rest.Discard(2)
		}
		request, err := http.ReadRequest(rest)
		if err != nil {
			return reads
		}
		body, err := io.ReadAll(request.Body)
		reads = append(reads, read{request.Method, request.RequestURI, base64.StdEncoding.EncodeToString(body)})
		if err != nil || request.Close {
			return reads
		}
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		data, err := base64.StdEncoding.DecodeString(asked.Data)
		if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(requests(data)); err != nil {
			log.Fatal(err)
		}
	}
}
