package main

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/rawfile"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// plainDevice is gVisor's own endpoint for a TUN device without offloads. It lets TCP hand over large segments, which
// netstack cuts into packets just before it writes them. fdbased offers this for sockets only.
type plainDevice struct {
	stack.LinkEndpoint
}

func newPlainDevice(fd int, mtu uint32) (stack.LinkEndpoint, error) {
	endpoint, err := fdbased.New(&fdbased.Options{
		FDs: []int{fd},
		MTU: mtu,
		// The only mode for descriptors that are not sockets.
		PacketDispatchMode: fdbased.Readv,
		// The reader delivers packets itself: with a goroutine per processor a connection was slower.
		ProcessorsPerChannel: 1,
	})
	if err != nil {
		return nil, err
	}
	return &plainDevice{endpoint}, nil
}

// GSOMaxSize implements stack.GSOEndpoint.
func (*plainDevice) GSOMaxSize() uint32 { return stack.GVisorGSOMaxSize }

// SupportedGSO implements stack.GSOEndpoint.
func (*plainDevice) SupportedGSO() stack.SupportedGSO { return stack.GVisorGSOSupported }

// virtioNetHeader is struct virtio_net_hdr of linux/virtio_net.h, in the byte order of the machine.
type virtioNetHeader struct {
	flags          uint8
	gsoType        uint8
	headerLength   uint16
	gsoSize        uint16
	checksumStart  uint16
	checksumOffset uint16
}

const (
	needsChecksum = 1 // VIRTIO_NET_HDR_F_NEEDS_CSUM
	gsoTCPv4      = 1 // VIRTIO_NET_HDR_GSO_TCPV4

	longestPacket         = 65535
	virtioNetHeaderLength = int(unsafe.Sizeof(virtioNetHeader{}))
)

// offloadDevice is an endpoint for a TUN device with offloads. It does what fdbased does for sockets: a super-packet and
// the virtio_net_hdr in front of it are one writev. fdbased writes that header to sockets only, and counts an Ethernet
// header that a TUN device does not have.
type offloadDevice struct {
	fd int

	mu         sync.RWMutex
	mtu        uint32
	dispatcher stack.NetworkDispatcher
}

func newOffloadDevice(fd int, mtu uint32) *offloadDevice {
	return &offloadDevice{fd: fd, mtu: mtu}
}

// GSOMaxSize implements stack.GSOEndpoint.
func (*offloadDevice) GSOMaxSize() uint32 { return stack.GVisorGSOMaxSize }

// SupportedGSO implements stack.GSOEndpoint.
func (*offloadDevice) SupportedGSO() stack.SupportedGSO { return stack.HostGSOSupported }

// Capabilities implements stack.LinkEndpoint. The kernel leaves checksums of packets that never left the machine
// incomplete. A packet that TCP does not mark for the kernel, such as a SYN, gets its checksum from netstack.
func (*offloadDevice) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload
}

// WritePackets implements stack.LinkEndpoint.
func (d *offloadDevice) WritePackets(packets stack.PacketBufferList) (int, tcpip.Error) {
	for written, packet := range packets.AsSlice() {
		if errno := d.write(packet); errno != 0 {
			return written, tcpip.TranslateErrno(errno)
		}
	}
	return packets.Len(), nil
}

func (d *offloadDevice) write(packet *stack.PacketBuffer) unix.Errno {
	var virtio virtioNetHeader
	if gso := packet.GSOOptions; gso.Type == stack.GSOTCPv4 {
		virtio.flags = needsChecksum
		virtio.headerLength = uint16(packet.HeaderSize())
		virtio.checksumStart = gso.L3HdrLen
		virtio.checksumOffset = gso.CsumOffset
		if packet.Data().Size() > int(gso.MSS) {
			virtio.gsoType = gsoTCPv4
			virtio.gsoSize = gso.MSS
		}
	}
	var space [8]unix.Iovec
	parts := append(space[:0], unix.Iovec{
		Base: (*byte)(unsafe.Pointer(&virtio)),
		Len:  uint64(virtioNetHeaderLength),
	})
	for _, view := range packet.AsSlices() {
		parts = rawfile.AppendIovecFromBytes(parts, view, rawfile.MaxIovs)
	}
	return rawfile.NonBlockingWriteIovec(d.fd, parts)
}

// Attach implements stack.LinkEndpoint. The first dispatcher gets all packets that the kernel sends.
func (d *offloadDevice) Attach(dispatcher stack.NetworkDispatcher) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dispatcher != nil && d.dispatcher == nil {
		go d.read(dispatcher)
	}
	d.dispatcher = dispatcher
}

func (d *offloadDevice) read(dispatcher stack.NetworkDispatcher) {
	frame := make([]byte, virtioNetHeaderLength+longestPacket)
	for {
		length, errno := rawfile.BlockingRead(d.fd, frame)
		if errno != 0 {
			fail(fmt.Errorf("read the TUN device: %w", errno))
		}
		// An ACK is short: to copy it costs less than a buffer as long as the longest packet.
		packet := stack.NewPacketBuffer(stack.PacketBufferOptions{
			Payload: buffer.MakeWithData(frame[virtioNetHeaderLength:length]),
		})
		dispatcher.DeliverNetworkPacket(header.IPv4ProtocolNumber, packet)
		packet.DecRef()
	}
}

// IsAttached implements stack.LinkEndpoint.
func (d *offloadDevice) IsAttached() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.dispatcher != nil
}

// MTU implements stack.LinkEndpoint.
func (d *offloadDevice) MTU() uint32 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mtu
}

// SetMTU implements stack.LinkEndpoint.
func (d *offloadDevice) SetMTU(mtu uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mtu = mtu
}

// A TUN device has no link layer, and this one lives as long as the process.

func (*offloadDevice) AddHeader(*stack.PacketBuffer)           {}
func (*offloadDevice) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }
func (*offloadDevice) Close()                                  {}
func (*offloadDevice) LinkAddress() tcpip.LinkAddress          { return "" }
func (*offloadDevice) MaxHeaderLength() uint16                 { return 0 }
func (*offloadDevice) ParseHeader(*stack.PacketBuffer) bool    { return true }
func (*offloadDevice) SetLinkAddress(tcpip.LinkAddress)        {}
func (*offloadDevice) SetOnCloseAction(func())                 {}
func (*offloadDevice) Wait()                                   {}
