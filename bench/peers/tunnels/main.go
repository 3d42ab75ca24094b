// A SOCKS5 server that serves by the port that is asked for (discard, chargen, echo), and the
// client behind a tunnel to it. `./run` measures tunnels with both.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	warm     = 500 * time.Millisecond
	measured = 2 * time.Second
	question = 64
)

// RFC 1928, without a login: who connects wherever it be is served here.
func serve(stream net.Conn) {
	defer stream.Close()
	bytes := make([]byte, 65536)
	if _, err := io.ReadFull(stream, bytes[:2]); err != nil {
		return
	}
	if _, err := io.ReadFull(stream, bytes[:bytes[1]]); err != nil {
		return
	}
	stream.Write([]byte{5, 0})
	if _, err := io.ReadFull(stream, bytes[:4]); err != nil {
		return
	}
	length := 4
	if bytes[3] == 4 {
		length = 16
	}
	if _, err := io.ReadFull(stream, bytes[:length+2]); err != nil {
		return
	}
	port := binary.BigEndian.Uint16(bytes[length:])
	stream.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	switch port {
	case 9:
		io.Copy(io.Discard, stream)
	case 19:
		for {
			if _, err := stream.Write(bytes); err != nil {
				return
			}
		}
	default:
		io.Copy(stream, stream)
	}
}

// Connects to the n-th of 200 addresses behind the device.
func connect(n int, port string) (net.Conn, error) {
	return net.Dial("tcp", "10.200.1."+strconv.Itoa(n%200+1)+":"+port)
}

func ask(stream net.Conn, bytes []byte) error {
	if _, err := stream.Write(bytes[:question]); err != nil {
		return err
	}
	_, err := io.ReadFull(stream, bytes[:question])
	return err
}

// One worker, which counts what is done.
func work(load string, n int, done *atomic.Int64) error {
	bytes := make([]byte, 131072)
	if load == "connect" {
		for ; ; n += 16 {
			stream, err := connect(n, "7")
			if err != nil {
				return err
			}
			err = ask(stream, bytes)
			stream.Close()
			if err != nil {
				return err
			}
			done.Add(1)
		}
	}
	port := map[string]string{"down": "19", "up": "9", "echo": "7"}[load]
	stream, err := connect(n, port)
	for err == nil {
		count := 1
		switch load {
		case "down":
			count, err = stream.Read(bytes)
		case "up":
			count, err = stream.Write(bytes)
		default:
			err = ask(stream, bytes)
		}
		done.Add(int64(count))
	}
	return err
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "socks" {
		listener, err := net.Listen("tcp", "127.0.0.1:1080")
		if err != nil {
			panic(err)
		}
		for {
			stream, err := listener.Accept()
			if err != nil {
				panic(err)
			}
			go serve(stream)
		}
	}
	load := os.Args[1]
	workers, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	var done atomic.Int64
	for n := range make([]struct{}, workers) {
		go func(n int) { fmt.Fprintln(os.Stderr, load, work(load, n, &done)) }(n)
	}
	time.Sleep(warm)
	start, before := time.Now(), done.Load()
	time.Sleep(measured)
	figure := float64(done.Load()-before) / time.Since(start).Seconds()
	if load == "down" || load == "up" {
		figure *= 8 / 1e9
	}
	fmt.Printf("%.2f\n", figure)
}
