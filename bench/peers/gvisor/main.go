// Package main serves what the other stacks of this bench serve, by gVisor's netstack: go build,
// and it is in the table.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	discard = 9
	chargen = 19
	http    = 80
	page    = 32 << 10
	head    = "HTTP/1.1 200 OK\r\nContent-Length: 32768\r\n\r\n"
)

func device(name string) int {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		log.Fatal(err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		log.Fatal(err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		log.Fatal(err)
	}
	return fd
}

// Windows, SACK and congestion control as the tunnels that use this stack have them.
func options(s *stack.Stack) {
	sack := tcpip.TCPSACKEnabled(true)
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	congestion := tcpip.CongestionControlOption("cubic")
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: 1 << 20, Max: 4 << 20}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: 1 << 20, Max: 4 << 20}
	all := []tcpip.SettableTransportProtocolOption{&sack, &moderate, &congestion, &receive, &send}
	for _, option := range all {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			log.Fatal(err)
		}
	}
}

func main() {
	mtu, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	link, err := fdbased.New(&fdbased.Options{
		FDs:                []int{device(os.Args[1])},
		MTU:                uint32(mtu),
		PacketDispatchMode: fdbased.Readv,
	})
	if err != nil {
		log.Fatal(err)
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	options(s)
	const nic = tcpip.NICID(1)
	if err := s.CreateNIC(nic, link); err != nil {
		log.Fatal(err)
	}
	s.SetPromiscuousMode(nic, true)
	s.SetSpoofing(nic, true)
	s.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: nic},
		{Destination: header.IPv6EmptySubnet, NIC: nic},
	})
	streams := tcp.NewForwarder(s, 0, 16384, func(request *tcp.ForwarderRequest) {
		var queue waiter.Queue
		port := request.ID().LocalPort
		endpoint, err := request.CreateEndpoint(&queue)
		request.Complete(err != nil)
		if err == nil {
			go serve(gonet.NewTCPConn(&queue, endpoint), port)
		}
	})
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, streams.HandlePacket)
	datagrams := udp.NewForwarder(s, func(request *udp.ForwarderRequest) {
		var queue waiter.Queue
		if endpoint, err := request.CreateEndpoint(&queue); err == nil {
			go echo(gonet.NewUDPConn(&queue, endpoint))
		}
	})
	s.SetTransportProtocolHandler(udp.ProtocolNumber, datagrams.HandlePacket)
	fmt.Println("ready")
	select {}
}

func echo(stream io.ReadWriteCloser) {
	defer stream.Close()
	bytes := make([]byte, 2048)
	for {
		n, err := stream.Read(bytes)
		if err != nil {
			return
		}
		if _, err := stream.Write(bytes[:n]); err != nil {
			return
		}
	}
}

func serve(stream io.ReadWriteCloser, port uint16) {
	switch port {
	case discard:
		buffer := make([]byte, 65536)
		for {
			if _, err := stream.Read(buffer); err != nil {
				stream.Close()
				return
			}
		}
	case chargen:
		for buffer := bytes.Repeat([]byte("c"), 65536); ; {
			if _, err := stream.Write(buffer); err != nil {
				stream.Close()
				return
			}
		}
	case http:
		pages(stream)
	default:
		echo(stream)
	}
}

func pages(stream io.ReadWriteCloser) {
	defer stream.Close()
	answer := append([]byte(head), bytes.Repeat([]byte("h"), page)...)
	buffer, asked := make([]byte, 2048), []byte{}
	for {
		n, err := stream.Read(buffer)
		if err != nil {
			return
		}
		asked = append(asked, buffer[:n]...)
		if bytes.HasSuffix(asked, []byte("\r\n\r\n")) {
			asked = asked[:0]
			if _, err := stream.Write(answer); err != nil {
				return
			}
		}
	}
}
