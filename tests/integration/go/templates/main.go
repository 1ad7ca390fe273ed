// Answers questions about Go's text/template package, as lines of JSON: the output of a template for some data, or the
// stage at which it fails. With the build tag "sprig" it has sprig's functions, and those that Helm adds to them.
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

// A question; if Request is true, the data describes a request, as s3-proxy passes it to templates.
type question struct {
	Template string
	Request  bool
	Data     json.RawMessage
}

// An answer; the output is bytes, base64 in JSON, since it need not be valid UTF-8.
type answer struct {
	Stage   string `json:"stage"`
	Error   string `json:"error"`
	Output  []byte `json:"output"`
}

func main() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.More() {
		var input question
		if err := in.Decode(&input); err != nil {
			panic(err)
		}
		if err := encoder.Encode(respond(input)); err != nil {
			panic(err)
		}
	}
}

func respond(input question) answer {
	parsed := template.New("asked")
	addFunctions(parsed)
	if _, err := parsed.Parse(input.Template); err != nil {
		return answer{Stage: "parse", Error: err.Error()}
	}
	var output bytes.Buffer
	if err := parsed.Execute(&output, dataOf(input)); err != nil {
		return answer{Stage: "exec", Error: err.Error()}
	}
	return answer{Output: output.Bytes()}
}

func dataOf(input question) any {
	if input.Request {
		return requestOf(input.Data)
	}
	decoder := json.NewDecoder(bytes.NewReader(input.Data))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		panic(err)
	}
	return withNumbers(data)
}

// withNumbers turns numbers without point and exponent into ints, and the others into floats.
func withNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if integer, err := value.Int64(); err == nil {
			return int(integer)
		}
		number, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return number
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			list[i] = withNumbers(element)
		}
		return list
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
