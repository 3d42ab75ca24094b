// Scenarios of TCP, for whichever `Net` they are included beside.

mod streams {
    use super::{Net, TcpListener, TcpStream};
    use crate::{MOMENT, PATIENCE, said};
    use std::io::{IoSlice, Read, Write};
    use std::net::{Ipv4Addr, Shutdown, SocketAddr};
    use std::time::Duration;

    const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    /// A listener, the client's stream and the server's.
    fn pair(net: &Net) -> (TcpListener, TcpStream, TcpStream) {
        let listener = net.listen(ANY).expect("listen");
        let client = net.connect(listener.local_addr().expect("bound")).expect("connect");
        let (server, _) = listener.accept().expect("accept");
        for stream in [&client, &server] {
            stream.set_read_timeout(Some(PATIENCE)).expect("set");
            stream.set_write_timeout(Some(PATIENCE)).expect("set");
        }
        (listener, client, server)
    }

    /// A port at which nobody listens.
    fn closed(net: &Net) -> SocketAddr {
        net.listen(ANY).expect("listen").local_addr().expect("bound")
    }

    /// A stream whose peer has reset it, which nobody has noticed yet.
    fn reset(net: &Net) -> (TcpListener, TcpStream) {
        let (listener, mut client, server) = pair(net);
        client.write_all(b"unread").expect("write");
        server.peek(&mut [0]).expect("it has come");
        drop(server);
        (listener, client)
    }

    /// The same, and a read has said so.
    fn noticed(net: &Net) -> (TcpListener, TcpStream) {
        let (listener, mut client) = reset(net);
        client.read(&mut [0]).expect_err("reset");
        (listener, client)
    }

    type Scenario = (&'static str, fn(&Net) -> String);

    pub const ALL: &[Scenario] = &[
        ("connect to a closed port", |net| said(net.connect(closed(net)).map(drop))),
        ("addresses of both ends", |net| {
            let (listener, client, server) = pair(net);
            let ends = |stream: &TcpStream| {
                (stream.local_addr().expect("open"), stream.peer_addr().expect("open"))
            };
            let ((a, b), (c, d)) = (ends(&client), ends(&server));
            let listening = listener.local_addr().expect("bound");
            format!("{} {} {} {}", (a, b) == (d, c), b == listening, a.ip(), a.port() != 0)
        }),
        ("what is written is read", |net| {
            let (_, mut client, mut server) = pair(net);
            let n = client.write(b"hello").expect("write");
            let mut bytes = [0; 5];
            said(server.read_exact(&mut bytes).map(|()| (n, bytes)))
        }),
        ("a megabyte each way", |net| {
            let (_, client, server) = pair(net);
            let sent: Vec<u8> = (0..1 << 20).map(|n: u32| ((n * 7) >> 3) as u8).collect();
            let go = |mut stream: TcpStream| {
                let mut writer = stream.try_clone().expect("clone");
                let bytes = sent.clone();
                std::thread::spawn(move || {
                    let writing = std::thread::spawn(move || {
                        writer.write_all(&bytes).expect("write");
                        writer.shutdown(Shutdown::Write).expect("shutdown");
                    });
                    let mut back = Vec::new();
                    stream.read_to_end(&mut back).expect("read");
                    writing.join().expect("no panic");
                    back
                })
            };
            let both = [go(client), go(server)].map(|thread| thread.join().expect("no panic"));
            format!("{}", both.iter().all(|back| *back == sent))
        }),
        ("read after the peer's end", |net| {
            let (_, mut client, server) = pair(net);
            drop(server);
            said(client.read(&mut [0; 9]))
        }),
        ("read after the peer's shutdown for writing", |net| {
            let (_, mut client, server) = pair(net);
            server.shutdown(Shutdown::Write).expect("shutdown");
            said(client.read(&mut [0; 9])) + &said(client.read(&mut [0; 9]))
        }),
        ("write after the peer's shutdown for writing", |net| {
            let (_, mut client, mut server) = pair(net);
            server.shutdown(Shutdown::Write).expect("shutdown");
            assert_eq!(client.read(&mut [0; 9]).expect("its end"), 0);
            let wrote = said(client.write(b"abc"));
            wrote + &said(server.read(&mut [0; 9]))
        }),
        ("write after our shutdown for writing", |net| {
            let (_, mut client, _server) = pair(net);
            client.shutdown(Shutdown::Write).expect("shutdown");
            said(client.write(b"abc"))
        }),
        ("read after our shutdown for reading", |net| {
            let (_, mut client, _server) = pair(net);
            client.shutdown(Shutdown::Read).expect("shutdown");
            said(client.read(&mut [0; 9]))
        }),
        ("read what came before our shutdown for reading", |net| {
            let (_, mut client, mut server) = pair(net);
            server.write_all(b"abc").expect("write");
            client.peek(&mut [0]).expect("it has come");
            client.shutdown(Shutdown::Read).expect("shutdown");
            said(client.read(&mut [0; 9]))
        }),
        ("write after our shutdown for reading", |net| {
            let (_, mut client, mut server) = pair(net);
            client.shutdown(Shutdown::Read).expect("shutdown");
            said(client.write(b"abc")) + &said(server.read(&mut [0; 9]))
        }),
        ("shutdown for writing, twice", |net| {
            let (_, client, _server) = pair(net);
            said(client.shutdown(Shutdown::Write)) + &said(client.shutdown(Shutdown::Write))
        }),
        ("shutdown both ways, then read and write", |net| {
            let (_, mut client, _server) = pair(net);
            client.shutdown(Shutdown::Both).expect("shutdown");
            said(client.read(&mut [0; 9])) + &said(client.write(b"abc"))
        }),
        ("shutdown after the peer's reset was noticed", |net| {
            let (_listener, client) = noticed(net);
            said(client.shutdown(Shutdown::Write))
        }),
        ("read after the peer's reset", |net| {
            let (_listener, mut client) = reset(net);
            said(client.read(&mut [0; 9]))
        }),
        ("read again after the peer's reset", |net| {
            let (_listener, mut client) = noticed(net);
            said(client.read(&mut [0; 9]))
        }),
        ("read after a write has told of the peer's reset", |net| {
            let (_listener, mut client) = reset(net);
            while client.write(b"abc").is_ok() {}
            said(client.read(&mut [0; 9])) + &said(client.read(&mut [0; 9]))
        }),
        ("write after the peer's reset was noticed", |net| {
            let (_listener, mut client) = noticed(net);
            said(client.write(b"abc"))
        }),
        ("peer_addr after the peer's reset was noticed", |net| {
            let (_listener, client) = noticed(net);
            said(client.peer_addr().map(|address| address.ip()))
        }),
        ("local_addr after the peer's reset was noticed", |net| {
            let (_listener, client) = noticed(net);
            said(client.local_addr().map(|address| address.ip()))
        }),
        ("take_error of a stream without one", |net| {
            let (_, client, _server) = pair(net);
            said(client.take_error().map(|error| error.map(|error| error.kind())))
        }),
        ("take_error after the peer's reset was noticed", |net| {
            let (_listener, client) = noticed(net);
            said(client.take_error().map(|error| error.map(|error| error.kind())))
        }),
        ("non-blocking read of nothing", |net| {
            let (_, mut client, _server) = pair(net);
            client.set_nonblocking(true).expect("set");
            said(client.read(&mut [0; 9]))
        }),
        ("non-blocking peek of nothing", |net| {
            let (_, client, _server) = pair(net);
            client.set_nonblocking(true).expect("set");
            said(client.peek(&mut [0; 9]))
        }),
        ("non-blocking write, until there is no room", |net| {
            let (_, mut client, _server) = pair(net);
            client.set_nonblocking(true).expect("set");
            loop {
                if let Err(error) = client.write(&[0; 65536]) {
                    return format!("{:?}", error.kind());
                }
            }
        }),
        ("non-blocking accept of nothing", |net| {
            let listener = net.listen(ANY).expect("listen");
            listener.set_nonblocking(true).expect("set");
            said(listener.accept().map(drop))
        }),
        ("read with a time-out", |net| {
            let (_, mut client, _server) = pair(net);
            client.set_read_timeout(Some(MOMENT)).expect("set");
            said(client.read(&mut [0; 9])) + &said(client.read_timeout())
        }),
        ("write with a time-out", |net| {
            let (_, mut client, _server) = pair(net);
            client.set_write_timeout(Some(MOMENT)).expect("set");
            loop {
                if let Err(error) = client.write(&[0; 65536]) {
                    return format!("{:?}", error.kind());
                }
            }
        }),
        ("a time-out of zero", |net| {
            let (_, client, _server) = pair(net);
            let zero = Some(Duration::ZERO);
            said(client.set_read_timeout(zero)) + &said(client.set_write_timeout(zero))
        }),
        ("time-outs are told", |net| {
            let (_, client, _server) = pair(net);
            client.set_read_timeout(None).expect("set");
            client.set_write_timeout(Some(Duration::from_secs(3))).expect("set");
            said(client.read_timeout()) + &said(client.write_timeout())
        }),
        ("peek, then read", |net| {
            let (_, mut client, mut server) = pair(net);
            server.write_all(b"abc").expect("write");
            let mut bytes = [0; 2];
            let peeked = said(client.peek(&mut bytes));
            peeked + &said(client.read(&mut bytes)) + &format!("{bytes:?}")
        }),
        ("read into nothing", |net| {
            let (_, mut client, mut server) = pair(net);
            server.write_all(b"abc").expect("write");
            client.peek(&mut [0]).expect("it has come");
            said(client.read(&mut []))
        }),
        ("write nothing", |net| {
            let (_, mut client, _server) = pair(net);
            said(client.write(&[]))
        }),
        ("write from several buffers", |net| {
            let (_, mut client, mut server) = pair(net);
            let wrote = client.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"cde")]);
            let mut bytes = [0; 5];
            server.read_exact(&mut bytes).expect("read");
            said(wrote) + &format!("{bytes:?}")
        }),
        ("nodelay", |net| {
            let (_, client, _server) = pair(net);
            let before = said(client.nodelay());
            client.set_nodelay(true).expect("set");
            before + &said(client.nodelay())
        }),
        ("ttl", |net| {
            let (_, client, _server) = pair(net);
            let before = said(client.ttl());
            client.set_ttl(9).expect("set");
            before + &said(client.ttl())
        }),
        ("a ttl of zero", |net| {
            let (_, client, _server) = pair(net);
            said(client.set_ttl(0))
        }),
        ("a ttl of 256", |net| {
            let (_, client, _server) = pair(net);
            said(client.set_ttl(256))
        }),
        ("a clone is the same stream", |net| {
            let (_, client, mut server) = pair(net);
            let mut other = client.try_clone().expect("clone");
            drop(client);
            other.write_all(b"abc").expect("write");
            let got = said(server.read(&mut [0; 9]));
            drop(other);
            got + &said(server.read(&mut [0; 9]))
        }),
        ("listen twice at one port", |net| {
            let listener = net.listen(ANY).expect("listen");
            said(net.listen(listener.local_addr().expect("bound")).map(drop))
        }),
        ("listen at another host's address", |net| {
            said(net.listen((Ipv4Addr::new(192, 0, 2, 1), 0)).map(drop))
        }),
        ("listen again while connections of before are there", |net| {
            let (listener, _client, server) = pair(net);
            let address = listener.local_addr().expect("bound");
            drop((listener, server));
            said(net.listen(address).map(drop))
        }),
        ("five wait to be accepted", |net| {
            let listener = net.listen(ANY).expect("listen");
            let address = listener.local_addr().expect("bound");
            let streams: Vec<_> = (0..5).map(|_| net.connect(address).expect("connect")).collect();
            let mut ports: Vec<_> = (0..5)
                .map(|_| listener.accept().expect("accept").1.port())
                .collect();
            ports.sort_unstable();
            let port = |stream: &TcpStream| stream.local_addr().expect("open").port();
            let mut theirs: Vec<_> = streams.iter().map(port).collect();
            theirs.sort_unstable();
            format!("{}", ports == theirs)
        }),
        ("incoming connections", |net| {
            let listener = net.listen(ANY).expect("listen");
            let _client = net.connect(listener.local_addr().expect("bound")).expect("connect");
            said(listener.incoming().next().expect("one").map(drop))
        }),
        ("the listener ends before accept", |net| {
            let listener = net.listen(ANY).expect("listen");
            let mut client = net.connect(listener.local_addr().expect("bound")).expect("connect");
            client.set_read_timeout(Some(PATIENCE)).expect("set");
            drop(listener);
            said(client.read(&mut [0; 9]))
        }),
        ("connect to 0.0.0.0", |net| {
            let listener = net.listen(ANY).expect("listen");
            let port = listener.local_addr().expect("bound").port();
            said(net.connect((Ipv4Addr::UNSPECIFIED, port)).map(drop))
        }),
        ("connect to port 0", |net| said(net.connect(ANY).map(drop))),
        ("connect with a time-out of zero", |net| {
            said(net.connect_timeout(&closed(net), Duration::ZERO).map(drop))
        }),
        ("connect with a time-out, to a closed port", |net| {
            said(net.connect_timeout(&closed(net), PATIENCE).map(drop))
        }),
        ("connect to the second of two addresses", |net| {
            let listener = net.listen(ANY).expect("listen");
            let open = listener.local_addr().expect("bound");
            let stream = net.connect(&[closed(net), open][..]);
            said(stream.map(|stream| stream.peer_addr().expect("open") == open))
        }),
        ("connect to no address", |net| said(net.connect(&[][..]).map(drop))),
        ("ttl of a listener", |net| {
            let listener = net.listen(ANY).expect("listen");
            listener.set_ttl(9).expect("set");
            said(listener.ttl())
        }),
    ];
}
pub use streams::ALL as STREAMS;
