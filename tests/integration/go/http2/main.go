// Command http2 reads lines of JSON, each with a URL and a number, and makes so many pairs of requests side by side on
// one connection: a PUT of a body of its own, and a GET of it. It answers with what did not go well, and the protocol.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
)

type question struct {
	URL  string `json:"url"`
	Many int    `json:"many"`
	Size int    `json:"size"`
}

type answer struct {
	Protocol string   `json:"protocol"`
	Mistakes []string `json:"mistakes"`
}

func do(client *http.Client, method, url string, body []byte) ([]byte, string, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return received, response.Proto, err
}

func ask(asked question) answer {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	client := &http.Client{Transport: transport}
	defer transport.CloseIdleConnections()
	found := answer{Mistakes: []string{}}
	var all sync.WaitGroup
	var one sync.Mutex
	for number := range asked.Many {
		all.Go(func() {
			url, body := fmt.Sprintf("%s/%d", asked.URL, number), make([]byte, asked.Size)
			for at := range body {
				body[at] = byte(rand.IntN(256))
			}
			_, _, err := do(client, "PUT", url, body)
			received, protocol, wrong := do(client, "GET", url, nil)
			one.Lock()
			defer one.Unlock()
			found.Protocol = protocol
			for _, mistake := range []error{err, wrong} {
				if mistake != nil {
					found.Mistakes = append(found.Mistakes, mistake.Error())
				}
			}
			if !bytes.Equal(received, body) {
				found.Mistakes = append(found.Mistakes, url+" is another file")
			}
		})
	}
	all.Wait()
	return found
}

func main() {
	lines, answers := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(ask(asked)); err != nil {
			log.Fatal(err)
		}
	}
}
