// RFC 6298 as a child of `recoup drill --stack … FILE.json`: answers the steps of test vectors (docs/conformance.md).
//
//	recoup drill --stack "go run docs/conformance/vectors.go" crates/recovery/vectors/rtt-and-rto.json
//
// Replace the type rto by calls of your own estimator and timer.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

type settings struct {
	FirstRTT    *float64 `json:"first_rtt_ns"`
	RTTVarFloor float64  `json:"rttvar_floor_ns"`
	MinRTO      float64  `json:"min_rto_ns"`
	MaxRTO      float64  `json:"max_rto_ns"`
}

// A line of the caller: the beginning of a case, or a step.
type question struct {
	Version   int      `json:"recoup-vectors"`
	Mechanism string   `json:"mechanism"`
	Settings  settings `json:"settings"`
	At        float64  `json:"at_ns"`
	Input     struct {
		Sent *struct {
			Range [2]float64 `json:"range"`
		} `json:"sent"`
		Ack *struct {
			To float64 `json:"to"`
		} `json:"ack"`
		Timer *string `json:"timer"`
	} `json:"input"`
	// Names where a case begins, values in a step.
	Given json.RawMessage `json:"given"`
}

// sample is the RTT sample of a step, or nil.
func (q *question) sample() *float64 {
	var given struct {
		Sample *float64 `json:"rtt_sample_ns"`
	}
	if json.Unmarshal(q.Given, &given) != nil {
		return nil
	}
	return given.Sample
}

// rto has the estimator, the RTO, its backoff and the retransmission timer. Times are nanoseconds.
type rto struct {
	settings
	srtt, deadline *float64
	rttvar         float64
	backoff        int
	una, nxt       float64
}

func (r *rto) sample(rtt float64) {
	r.backoff = 0
	if r.srtt == nil { // §2.2
		r.srtt, r.rttvar = &rtt, rtt/2
	} else { // §2.3: RTTVAR before SRTT
		r.rttvar += (math.Abs(*r.srtt-rtt) - r.rttvar) / 4
		srtt := *r.srtt + (rtt-*r.srtt)/8
		r.srtt = &srtt
	}
	r.rttvar = math.Max(r.rttvar, r.RTTVarFloor/4)
}

func (r *rto) value() float64 {
	value := 3e9 // §5.7
	if r.srtt != nil {
		value = *r.srtt + 4*r.rttvar
	}
	return math.Min(math.Max(value, r.MinRTO)*math.Pow(2, float64(r.backoff)), r.MaxRTO)
}

func (r *rto) start(now float64) {
	deadline := now + r.value()
	r.deadline = &deadline
}

func (r *rto) step(q *question) map[string]any {
	switch {
	case q.Input.Sent != nil: // §5.1
		r.nxt = math.Max(r.nxt, q.Input.Sent.Range[1])
		if r.deadline == nil {
			r.start(q.At)
		}
	case q.Input.Timer != nil: // §5.5, §5.6
		r.backoff++
		r.start(q.At)
	case q.Input.Ack != nil:
		if sample := q.sample(); sample != nil {
			r.sample(*sample)
		}
		if q.Input.Ack.To > r.una { // §5.2, §5.3
			r.una = q.Input.Ack.To
			r.deadline = nil
			if r.una < r.nxt {
				r.start(q.At)
			}
		}
	}
	whole := func(value *float64) any {
		if value == nil {
			return nil
		}
		return int64(*value)
	}
	value := r.value()
	return map[string]any{"srtt_ns": whole(r.srtt), "rttvar_ns": whole(&r.rttvar), "rto_ns": whole(&value),
		"rto_at_ns": whole(r.deadline), "backoff": r.backoff}
}

func main() {
	var current *rto
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var q question
		var answer map[string]any
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			answer = map[string]any{"error": err.Error()}
		} else if q.Version != 0 && q.Mechanism != "rtt-and-rto" && q.Mechanism != "rto-backoff" {
			answer = map[string]any{"lacks": "no " + q.Mechanism + " here"}
		} else if q.Version != 0 { // a case begins
			current = &rto{settings: q.Settings}
			if q.Settings.FirstRTT != nil {
				current.sample(*q.Settings.FirstRTT)
			}
			answer = map[string]any{"name": "go", "version": "1"}
		} else if current == nil {
			answer = map[string]any{"error": "a step before a case"}
		} else {
			answer = current.step(&q)
		}
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
}
