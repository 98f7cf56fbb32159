// The sender that uses gVisor's netstack. It answers requests as src/senders.rs describes, over a TUN device that it
// inherits as a descriptor.
//
// How netstack is configured:
//   - SACK, RACK with tail loss probes, a moderated receive buffer: netstack's defaults.
//   - CUBIC, as the kernel's TCP and Recoup, or Reno, netstack's default.
//   - A send buffer of 4 MiB from the start, the limit to which netstack would let it grow.
//   - The queueing discipline of runsc, gVisor's own program: a FIFO of 1,000 packets, which a goroutine writes. TCP works
//     while the kernel receives.
//   - Segmentation offload: TCP hands over segments of up to 64 KiB. The kernel cuts them on a device with offloads,
//     and netstack cuts them on others (see device.go).
//   - The garbage collector runs at five times the live memory, not at twice. Connections without traffic need no more
//     memory for it.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/qdisc/fifo"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	port = 5001
	// The length of a request in bytes.
	request = 8
	// The most bytes of one write.
	chunk = 256 << 10
	// The bytes that a connection may have written and not acknowledged.
	sendBuffer = 4 << 20
	// The packets that wait to be written: what runsc chooses.
	queueLength = 1000
	// The growth of the heap that starts the garbage collector, in percent.
	heapGrowth = 400

	nic = 1
)

func main() {
	fd := flag.Int("fd", -1, "descriptor of the TUN device")
	mtu := flag.Uint("mtu", 1500, "MTU of the TUN device in bytes")
	address := flag.String("address", "", "IPv4 address of the stack")
	congestion := flag.String("congestion", "cubic", "congestion control: cubic or reno")
	offloads := flag.Bool("offloads", false, "a virtio_net_hdr precedes each packet")
	asGuest := flag.Bool("guest", false, "be a guest in virtual time: answer JSON lines on standard input (see guest.go)")
	coarse := flag.Bool("coarse-clock", false, "as a guest: everything that happens at one instant has the same time")
	flag.Parse()
	if *asGuest {
		guestMain(*congestion, *coarse)
		return
	}
	debug.SetGCPercent(heapGrowth)
	fail(run(*fd, uint32(*mtu), *address, *congestion, *offloads))
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "gvisor: %v\n", err)
	os.Exit(2)
}

// run answers requests, and returns only when it fails.
func run(fd int, mtu uint32, address, congestion string, offloads bool) error {
	ip, err := netip.ParseAddr(address)
	if err != nil || !ip.Is4() {
		return fmt.Errorf("-address %q: expected an IPv4 address", address)
	}
	var device stack.LinkEndpoint
	if offloads {
		device = newOffloadDevice(fd, mtu)
	} else if device, err = newPlainDevice(fd, mtu); err != nil {
		return fmt.Errorf("-fd %d: %w", fd, err)
	}
	queue := fifo.New(device, runtime.GOMAXPROCS(0), queueLength)
	tcpStack, err := newStack(device, ip, stack.Options{}, stack.NICOptions{QDisc: queue}, settings(congestion)...)
	if err != nil {
		return err
	}
	listener, err := gonet.ListenTCP(tcpStack, tcpip.FullAddress{NIC: nic, Port: port}, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	fmt.Printf("listening %v\n", netip.AddrPortFrom(ip, port))
	data := bytes.Repeat([]byte{7}, chunk)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		// The peer's end reports what goes wrong with a connection.
		go func() { _ = answer(connection.(*gonet.TCPConn), data) }()
	}
}

// settings are those of the sender.
func settings(congestion string) []tcpip.SettableTransportProtocolOption {
	sack := tcpip.TCPSACKEnabled(true)
	recovery := tcpip.TCPRACKLossDetection
	control := tcpip.CongestionControlOption(congestion)
	moderation := tcpip.TCPModerateReceiveBufferOption(true)
	return []tcpip.SettableTransportProtocolOption{
		&sack, &recovery, &control, &moderation,
		&tcpip.TCPSendBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: sendBuffer, Max: sendBuffer},
	}
}

// newStack makes a stack with TCP over IPv4, one device and one address.
func newStack(
	device stack.LinkEndpoint,
	ip netip.Addr,
	options stack.Options,
	nicOptions stack.NICOptions,
	settings ...tcpip.SettableTransportProtocolOption,
) (*stack.Stack, error) {
	options.NetworkProtocols = []stack.NetworkProtocolFactory{ipv4.NewProtocol}
	options.TransportProtocols = []stack.TransportProtocolFactory{tcp.NewProtocol}
	tcpStack := stack.New(options)
	for _, setting := range settings {
		if err := tcpStack.SetTransportProtocolOption(tcp.ProtocolNumber, setting); err != nil {
			return nil, fmt.Errorf("set %T: %s", setting, err)
		}
	}
	if err := tcpStack.CreateNICWithOptions(nic, device, nicOptions); err != nil {
		return nil, errors.New(err.String())
	}
	address := tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddrFrom4(ip.As4()).WithPrefix(),
	}
	if err := tcpStack.AddProtocolAddress(nic, address, stack.AddressProperties{}); err != nil {
		return nil, errors.New(err.String())
	}
	tcpStack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	return tcpStack, nil
}

// answer sends what the connection's requests ask for, until the receiver closes its side.
func answer(connection *gonet.TCPConn, data []byte) error {
	defer connection.Close()
	var bytes [request]byte
	for {
		if _, err := io.ReadFull(connection, bytes[:]); err != nil {
			return err
		}
		for left := binary.BigEndian.Uint64(bytes[:]); left > 0; {
			written, err := connection.Write(data[:min(left, chunk)])
			if err != nil {
				return err
			}
			left -= uint64(written)
		}
	}
}
