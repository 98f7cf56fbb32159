// netstack as a guest: a host with one connection in virtual time, which answers JSON lines (docs/conformance.md).
//
// Segments are processed by a goroutine of netstack. After each input this program pauses and resumes the protocol, which
// returns only when no segment waits, so nothing depends on how goroutines are scheduled. All else runs in one goroutine.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// The version of the protocol.
	protocolVersion = 1
	// The packets that one input can cause.
	mostPackets = 1 << 16
	// The connections that may wait to be accepted. With a backlog of 1 netstack answers even the first SYN with a SYN
	// cookie, which carries neither SACK nor window scaling.
	backlog = 16
	// The module whose version a guest tells.
	module = "gvisor.dev/gvisor"
)

// beginLine is the caller's first line.
type beginLine struct {
	Version int               `json:"recoup-guest"`
	Seed    uint64            `json:"seed"`
	MTU     uint32            `json:"mtu"`
	Local   netip.AddrPort    `json:"local"`
	Peer    netip.AddrPort    `json:"peer"`
	Options map[string]string `json:"options"`
}

// aboutLine is the answer to it.
type aboutLine struct {
	Name          string `json:"name"`
	Version       string `json:"version"`
	Transport     string `json:"transport"`
	Configuration string `json:"configuration"`
	Repeatable    bool   `json:"repeatable"`
}

// inputLine is each later line of the caller.
type inputLine struct {
	Now   uint64 `json:"now"`
	Do    string `json:"do"`
	Data  []byte `json:"data"`
	Bytes uint64 `json:"bytes"`
}

// statusLine is the answer to it.
type statusLine struct {
	Packets  [][]byte `json:"packets,omitempty"`
	Wake     *uint64  `json:"wake,omitempty"`
	Open     bool     `json:"open"`
	Readable uint64   `json:"readable"`
	Writable uint64   `json:"writable"`
	Finished bool     `json:"finished"`
	Ended    string   `json:"ended,omitempty"`
	Taken    uint64   `json:"taken"`
}

// guest is a host with one connection.
type guest struct {
	clock    *virtualClock
	link     *channel.Endpoint
	tcp      stack.TransportProtocol
	stack    *stack.Stack
	local    tcpip.FullAddress
	peer     tcpip.FullAddress
	listener tcpip.Endpoint
	socket   tcpip.Endpoint
	status   statusLine
}

// runGuest answers lines until the input ends.
func runGuest(input io.Reader, output io.Writer, congestion string, coarse bool) error {
	// One processor of segments.
	runtime.GOMAXPROCS(1)
	lines, answers := bufio.NewReader(input), json.NewEncoder(output)
	tell := func(err error) error {
		return errors.Join(err, answers.Encode(map[string]string{"error": err.Error()}))
	}
	var begin beginLine
	if err := readLine(lines, &begin); err == io.EOF {
		return nil
	} else if err != nil {
		return tell(err)
	}
	host, err := newGuest(&begin, congestion, coarse)
	if err != nil {
		return tell(err)
	}
	about := aboutLine{
		Name:          "gvisor",
		Version:       moduleVersion(),
		Transport:     "tcp",
		Configuration: controlName(congestion) + clockName(coarse) + "; SACK, RACK with tail loss probes, a moderated receive buffer: netstack's defaults",
		Repeatable:    true,
	}
	if err := answers.Encode(about); err != nil {
		return err
	}
	for {
		var line inputLine
		if err := readLine(lines, &line); err == io.EOF {
			return nil
		} else if err != nil {
			return tell(err)
		}
		if err := host.step(&line); err != nil {
			return tell(err)
		}
		if err := answers.Encode(&host.status); err != nil {
			return err
		}
	}
}

func readLine(lines *bufio.Reader, value any) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, value); err != nil {
		return fmt.Errorf("a line of the caller: %w", err)
	}
	return nil
}

func clockName(coarse bool) string {
	if coarse {
		return "; a coarse clock"
	}
	return ""
}

func controlName(congestion string) string {
	if congestion == "reno" {
		return "Reno, its default"
	}
	return "CUBIC"
}

// moduleVersion returns the version of netstack that this program is built with.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}

func newGuest(begin *beginLine, congestion string, coarse bool) (*guest, error) {
	if begin.Version != protocolVersion {
		return nil, fmt.Errorf("version %d of the protocol: expected %d", begin.Version, protocolVersion)
	}
	control := tcpip.CongestionControlOption(congestion)
	settings := []tcpip.SettableTransportProtocolOption{&control}
	for name, value := range begin.Options {
		if name != "no-delay" {
			return nil, fmt.Errorf("unknown option `%s`; known are no-delay", name)
		}
		// Netstack's default is no delay.
		delay := tcpip.TCPDelayEnabled(value != "true")
		settings = append(settings, &delay)
	}
	if !begin.Local.Addr().Is4() || !begin.Peer.Addr().Is4() {
		return nil, fmt.Errorf("addresses %v and %v: expected IPv4", begin.Local, begin.Peer)
	}
	clock := &virtualClock{coarse: coarse}
	link := channel.New(mostPackets, begin.MTU, "")
	// The two hosts of a connection have the same seed.
	random := rand.NewSource(int64(begin.Seed) ^ int64(begin.Local.Port())<<32).(rand.Source64)
	options := stack.Options{Clock: clock, RandSource: random, SecureRNG: rand.New(random)}
	network, err := newStack(link, begin.Local.Addr(), options, stack.NICOptions{}, settings...)
	if err != nil {
		return nil, err
	}
	return &guest{
		clock: clock,
		link:  link,
		tcp:   network.TransportProtocolInstance(tcp.ProtocolNumber),
		stack: network,
		local: fullAddress(begin.Local),
		peer:  fullAddress(begin.Peer),
	}, nil
}

func fullAddress(address netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(address.Addr().As4()), Port: address.Port()}
}

// step lets the input happen, and everything that is due because of it.
func (g *guest) step(line *inputLine) error {
	g.clock.set(time.Duration(line.Now))
	g.status.Taken, g.status.Packets = 0, nil
	if err := g.act(line); err != nil {
		return err
	}
	for g.settle(); g.clock.fire(); {
		g.settle()
	}
	for packet := g.link.Read(); packet != nil; packet = g.link.Read() {
		view := packet.ToView()
		g.status.Packets = append(g.status.Packets, bytes.Clone(view.AsSlice()))
		view.Release()
		packet.DecRef()
	}
	g.show()
	return nil
}

// settle waits until all segments that arrived are processed.
func (g *guest) settle() {
	g.tcp.Pause()
	g.tcp.Resume()
	if g.socket == nil && g.listener != nil {
		if socket, _, err := g.listener.Accept(nil); err == nil {
			g.socket = socket
		}
	}
}

func (g *guest) act(line *inputLine) error {
	switch line.Do {
	case "connect":
		socket, err := g.open()
		if err != nil {
			return err
		}
		g.socket = socket
		if err := socket.Connect(g.peer); err != nil {
			if _, started := err.(*tcpip.ErrConnectStarted); !started {
				return fmt.Errorf("connect: %s", err)
			}
		}
	case "listen":
		listener, err := g.open()
		if err != nil {
			return err
		}
		g.listener = listener
		if err := listener.Listen(backlog); err != nil {
			return fmt.Errorf("listen: %s", err)
		}
	case "packet":
		packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(line.Data)})
		g.link.InjectInbound(header.IPv4ProtocolNumber, packet)
		packet.DecRef()
	case "wake":
	case "write", "read", "close", "reset":
		if g.socket != nil {
			g.apply(line)
		}
	default:
		return fmt.Errorf("a line of the caller: unknown `do` `%s`", line.Do)
	}
	return nil
}

// open makes a socket with the host's port.
func (g *guest) open() (tcpip.Endpoint, error) {
	var queue waiter.Queue
	socket, err := g.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if err == nil {
		err = socket.Bind(g.local)
	}
	if err != nil {
		return nil, errors.New(err.String())
	}
	return socket, nil
}

// apply does what the application asks of the socket.
func (g *guest) apply(line *inputLine) {
	switch line.Do {
	case "write":
		data := make([]byte, chunk)
		for g.status.Taken < line.Bytes {
			payload := bytes.NewReader(data[:min(line.Bytes-g.status.Taken, chunk)])
			written, err := g.socket.Write(payload, tcpip.WriteOptions{})
			g.status.Taken += uint64(max(written, 0))
			if err != nil || written == 0 {
				return
			}
		}
	case "read":
		for g.status.Taken < line.Bytes {
			limit := &tcpip.LimitedWriter{W: io.Discard, N: int64(min(line.Bytes-g.status.Taken, chunk))}
			result, err := g.socket.Read(limit, tcpip.ReadOptions{})
			g.status.Taken += uint64(max(result.Count, 0))
			if err != nil || result.Count == 0 {
				return
			}
		}
	case "close":
		// It fails when the connection has ended, which the status shows.
		_ = g.socket.Shutdown(tcpip.ShutdownWrite)
	case "reset":
		g.socket.Abort()
		g.status.Ended = "reset"
	}
}

// show makes the status what the connection is now.
func (g *guest) show() {
	status := &g.status
	status.Wake = nil
	if at, armed := g.clock.next(); armed {
		wake := uint64(at)
		status.Wake = &wake
	}
	status.Readable, status.Writable = 0, 0
	if g.socket == nil {
		return
	}
	state := tcp.EndpointState(g.socket.State())
	status.Open = status.Open || g.listener != nil || isOpen(state)
	if readable, err := g.socket.GetSockOptInt(tcpip.ReceiveQueueSizeOption); err == nil {
		status.Readable = uint64(readable)
	}
	if mayWrite(state) && g.socket.Readiness(waiter.WritableEvents)&waiter.EventOut != 0 {
		// netstack does not say how many bytes it would take.
		status.Writable = chunk
	}
	if (peerClosed(state) || state == tcp.StateClose) && status.Readable == 0 {
		status.Finished = true
	}
	if status.Ended == "" {
		status.Ended = g.ended(state)
	}
}

func (g *guest) ended(state tcp.EndpointState) string {
	switch state {
	case tcp.StateClose:
		return "closed"
	case tcp.StateError:
		if _, timedOut := g.socket.LastError().(*tcpip.ErrTimeout); timedOut {
			return "timed-out"
		}
		return "reset"
	}
	return ""
}

func isOpen(state tcp.EndpointState) bool {
	return state == tcp.StateEstablished || state == tcp.StateFinWait1 || state == tcp.StateFinWait2 || peerClosed(state)
}

func mayWrite(state tcp.EndpointState) bool {
	return state == tcp.StateEstablished || state == tcp.StateCloseWait
}

func peerClosed(state tcp.EndpointState) bool {
	switch state {
	case tcp.StateCloseWait, tcp.StateLastAck, tcp.StateClosing, tcp.StateTimeWait:
		return true
	}
	return false
}

// guestMain is the program with -guest. An error was told to the caller: it stands in one line on standard error, too.
func guestMain(congestion string, coarse bool) {
	if err := runGuest(os.Stdin, os.Stdout, congestion, coarse); err != nil {
		fail(err)
	}
}
