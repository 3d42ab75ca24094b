// Scenarios of UDP, for whichever `Net` they are included beside.

mod datagrams {
    use super::{Net, UdpSocket};
    use crate::{MOMENT, PATIENCE, said};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;

    const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    fn socket(net: &Net) -> UdpSocket {
        let socket = net.bind(ANY).expect("bind");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        socket
    }

    fn address(socket: &UdpSocket) -> SocketAddr {
        socket.local_addr().expect("bound")
    }

    /// Two sockets, each connected to the other.
    fn pair(net: &Net) -> (UdpSocket, UdpSocket) {
        let (one, other) = (socket(net), socket(net));
        one.connect(address(&other)).expect("connect");
        other.connect(address(&one)).expect("connect");
        (one, other)
    }

    type Scenario = (&'static str, fn(&Net) -> String);

    pub const ALL: &[Scenario] = &[
        ("a datagram is received whole, with its source", |net| {
            let (one, other) = (socket(net), socket(net));
            let sent = said(one.send_to(b"abc", address(&other)));
            let got = other.recv_from(&mut [0; 9]);
            sent + &said(got.map(|(n, from)| (n, from == address(&one))))
        }),
        ("a datagram that is longer than the buffer", |net| {
            let (one, other) = (socket(net), socket(net));
            one.send_to(b"abcdef", address(&other)).expect("send");
            one.send_to(b"gh", address(&other)).expect("send");
            let got = |len| said(other.recv_from(&mut vec![0; len]).map(|(n, _)| n));
            got(4) + &got(9)
        }),
        ("an empty datagram", |net| {
            let (one, other) = (socket(net), socket(net));
            let sent = said(one.send_to(b"", address(&other)));
            sent + &said(other.recv_from(&mut [0; 9]).map(|(n, _)| n))
        }),
        ("the largest datagram", |net| {
            let (one, other) = (socket(net), socket(net));
            let sent = said(one.send_to(&[7; 65_507], address(&other)));
            sent + &said(other.recv_from(&mut vec![0; 70_000]).map(|(n, _)| n))
        }),
        ("a datagram that is too large", |net| {
            let (one, other) = (socket(net), socket(net));
            said(one.send_to(&[7; 65_508], address(&other)))
        }),
        ("send and receive when connected", |net| {
            let (one, other) = pair(net);
            said(one.send(b"abc")) + &said(other.recv(&mut [0; 9]))
        }),
        ("who is connected hears only its peer", |net| {
            let ((one, other), third) = (pair(net), socket(net));
            third.send_to(b"third", address(&other)).expect("send");
            one.send(b"one").expect("send");
            said(other.recv(&mut [0; 9]))
        }),
        ("send without being connected", |net| said(socket(net).send(b"abc"))),
        ("receive by recv without being connected", |net| {
            let (one, other) = (socket(net), socket(net));
            one.send_to(b"abc", address(&other)).expect("send");
            said(other.recv(&mut [0; 9]))
        }),
        ("peer_addr without being connected", |net| said(socket(net).peer_addr())),
        ("peer_addr when connected", |net| {
            let (one, other) = pair(net);
            said(one.peer_addr().map(|peer| peer == address(&other)))
        }),
        ("send_to another than whom one is connected to", |net| {
            let ((one, _other), third) = (pair(net), socket(net));
            let sent = said(one.send_to(b"abc", address(&third)));
            sent + &said(third.recv_from(&mut [0; 9]).map(|(n, _)| n))
        }),
        ("connected to a closed port", |net| {
            let (one, closed) = (socket(net), address(&socket(net)));
            one.connect(closed).expect("connect");
            one.send(b"abc").expect("send");
            said(one.recv(&mut [0; 9]))
        }),
        ("send_to a closed port", |net| {
            let (one, closed) = (socket(net), address(&socket(net)));
            one.set_read_timeout(Some(MOMENT)).expect("set");
            let sent = said(one.send_to(b"abc", closed));
            sent + &said(one.recv_from(&mut [0; 9]).map(drop))
        }),
        ("send_to port 0", |net| said(socket(net).send_to(b"abc", ANY))),
        ("send_to 0.0.0.0", |net| {
            let socket = net.bind((Ipv4Addr::UNSPECIFIED, 0)).expect("bind");
            socket.set_read_timeout(Some(PATIENCE)).expect("set");
            let sent = said(socket.send_to(b"abc", (Ipv4Addr::UNSPECIFIED, address(&socket).port())));
            sent + &said(socket.recv_from(&mut [0; 9]).map(|(n, from)| (n, from.ip())))
        }),
        ("connected to 0.0.0.0", |net| {
            let socket = net.bind((Ipv4Addr::UNSPECIFIED, 0)).expect("bind");
            socket.set_read_timeout(Some(PATIENCE)).expect("set");
            socket.connect((Ipv4Addr::UNSPECIFIED, address(&socket).port())).expect("connect");
            let peer = said(socket.peer_addr().map(|peer| peer.ip()));
            peer + &said(socket.send(b"abc")) + &said(socket.recv(&mut [0; 9]))
        }),
        ("local_addr of a socket on 0.0.0.0 that is connected", |net| {
            let socket = net.bind((Ipv4Addr::UNSPECIFIED, 0)).expect("bind");
            socket.connect((Ipv4Addr::LOCALHOST, 9)).expect("connect");
            said(socket.local_addr().map(|address| address.ip()))
        }),
        ("send_to no address", |net| said(socket(net).send_to(b"abc", &[][..]))),
        ("broadcast without leave", |net| {
            said(net.bind((Ipv4Addr::UNSPECIFIED, 0)).expect("bind").send_to(
                b"abc",
                (Ipv4Addr::new(127, 255, 255, 255), 9),
            ))
        }),
        ("peek, then receive", |net| {
            let (one, other) = (socket(net), socket(net));
            one.send_to(b"abc", address(&other)).expect("send");
            let peeked = said(other.peek_from(&mut [0; 2]).map(|(n, _)| n));
            peeked + &said(other.recv_from(&mut [0; 9]).map(|(n, _)| n))
        }),
        ("non-blocking receive of nothing", |net| {
            let one = socket(net);
            one.set_nonblocking(true).expect("set");
            said(one.recv_from(&mut [0; 9]))
        }),
        ("receive with a time-out", |net| {
            let one = socket(net);
            one.set_read_timeout(Some(MOMENT)).expect("set");
            said(one.recv_from(&mut [0; 9]))
        }),
        ("time-outs of a socket", |net| {
            let one = socket(net);
            let zero = said(one.set_read_timeout(Some(Duration::ZERO)));
            one.set_write_timeout(Some(Duration::from_secs(3))).expect("set");
            zero + &said(one.read_timeout()) + &said(one.write_timeout())
        }),
        ("bind twice at one port", |net| {
            let one = socket(net);
            said(net.bind(address(&one)).map(drop))
        }),
        ("bind to another host's address", |net| {
            said(net.bind((Ipv4Addr::new(192, 0, 2, 1), 0)).map(drop))
        }),
        ("a clone is the same socket", |net| {
            let (one, other) = (socket(net), socket(net));
            let clone = other.try_clone().expect("clone");
            drop(other);
            one.send_to(b"abc", address(&clone)).expect("send");
            said(clone.recv_from(&mut [0; 9]).map(|(n, _)| n))
        }),
        ("ttl of a socket", |net| {
            let one = socket(net);
            let before = said(one.ttl());
            one.set_ttl(9).expect("set");
            before + &said(one.ttl()) + &said(one.set_ttl(0))
        }),
        ("take_error of a socket without one", |net| {
            said(socket(net).take_error().map(|error| error.map(|error| error.kind())))
        }),
    ];
}
pub use datagrams::ALL as DATAGRAMS;
