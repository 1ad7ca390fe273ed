// The text/template package of the Go at hand, asked in lines of JSON: what a template writes over some data, or at
// which stage it fails. Built with the tag "sprig" it has sprig's functions, and those that Helm adds to them.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"text/template"

	"compared/config"
	"compared/models"
)

// A question; Request says that the data is that of a request, as s3-proxy hands it to its templates.
type question struct {
	Template string
	Request  bool
	Data     json.RawMessage
}

// An answer; what was written is bytes, base64 in JSON, since it need not be valid UTF-8.
type answer struct {
	Stage   string `json:"stage"`
	Error   string `json:"error"`
	Written []byte `json:"written"`
}

func main() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.More() {
		var asked question
		if err := in.Decode(&asked); err != nil {
			panic(err)
		}
		if err := encoder.Encode(respond(asked)); err != nil {
			panic(err)
		}
	}
}

func respond(asked question) answer {
	parsed := template.New("asked")
	addFunctions(parsed)
	if _, err := parsed.Parse(asked.Template); err != nil {
		return answer{Stage: "parse", Error: err.Error()}
	}
	var written bytes.Buffer
	if err := parsed.Execute(&written, dataOf(asked)); err != nil {
		return answer{Stage: "exec", Error: err.Error()}
	}
	return answer{Written: written.Bytes()}
}

func dataOf(asked question) any {
	if asked.Request {
		return requestOf(asked.Data)
	}
	decoder := json.NewDecoder(bytes.NewReader(asked.Data))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		panic(err)
	}
	return withNumbers(data)
}

// withNumbers makes ints of the numbers that have neither point nor exponent, floats of the others.
func withNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return int(whole)
		}
		number, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return number
	case []any:
		made := make([]any, len(value))
		for i, element := range value {
			made[i] = withNumbers(element)
		}
		return made
	case map[string]any:
		for key, element := range value {
			value[key] = withNumbers(element)
		}
	}
	return value
}

type rewriteData struct {
	Request *http.Request
	User    models.GenericUser
	Target  *config.TargetConfig
	Key     string
}

func requestOf(data json.RawMessage) *rewriteData {
	var recorded struct {
		Key     string
		User    *models.Recorded
		Target  *config.TargetConfig
		Request struct {
			Method, Host, URL, RequestURI, RemoteAddr string
			Header                                    map[string][]string
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		panic(err)
	}
	parsed, err := url.Parse(recorded.Request.URL)
	if err != nil {
		panic(err)
	}
	request := &http.Request{
		Method: recorded.Request.Method, Host: recorded.Request.Host, URL: parsed, Header: http.Header{},
		RequestURI: recorded.Request.RequestURI, RemoteAddr: recorded.Request.RemoteAddr,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	for name, values := range recorded.Request.Header {
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	return &rewriteData{request, recorded.User.Generic(), recorded.Target, recorded.Key}
}
