//! Two peers of ours over the host's loopback, and the kernel's WireGuard where it is there.

use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519::PublicKey;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;
use tokio::net::UdpSocket;
use wireguard::config::{Config, new_key, to_text};
use wireguard::{Peer, http};

const PATIENCE: Duration = Duration::from_secs(60);

/// The files of two peers; the second one begins, and knows where the first is.
fn files() -> (String, impl Fn(SocketAddr) -> String) {
    let (server, client) = (new_key().expect("chance"), new_key().expect("chance"));
    let text = |key: &[u8; 32]| to_text(key);
    let (server_public, client_public) = (PublicKey::from(&server), PublicKey::from(&client));
    let first = format!(
        "[Interface]\nPrivateKey = {}\nAddress = 10.66.0.1/24, fd66::1/64\n\
         [Peer]\nPublicKey = {}\nAllowedIPs = 10.66.0.2/32, fd66::2\n",
        text(&server.to_bytes()),
        text(client_public.as_bytes()),
    );
    let second = move |at: SocketAddr| {
        format!(
            "[Interface]\nPrivateKey = {}\nAddress = 10.66.0.2/24, fd66::2/64\n\
             [Peer]\nPublicKey = {}\nAllowedIPs = 10.66.0.0/24, fd66::/64\nEndpoint = {at}\n",
            to_text(&client.to_bytes()),
            to_text(server_public.as_bytes()),
        )
    };
    (first, second)
}

fn parse(text: &str) -> Config {
    text.parse().expect("a configuration")
}

async fn served(config: &Config) -> (Peer, SocketAddr) {
    let peer = Peer::start(config).await.expect("a peer");
    let stack = peer.stack.clone();
    tokio::spawn(async move { http::serve(&stack).await });
    let at = ([127, 0, 0, 1], peer.listens.port()).into();
    (peer, at)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_peers_speak_http_inside() {
    let all = async {
        let (first, second) = files();
        let (server, at) = served(&parse(&first)).await;
        let client = Peer::start(&parse(&second(at))).await.expect("a peer");
        for host in ["10.66.0.1", "[fd66::1]"] {
            let page = http::get(&client.stack, host, "/index").await.expect("a page");
            assert_eq!(&page[..], b"Hello from inside the tunnel: /index\n");
            let page = http::get(&client.stack, host, "/3000000").await.expect("a page");
            assert!(page.len() == 3_000_000 && page.iter().all(|b| *b == b'w'));
        }
        // Another begins with the same keys, from another port: the server follows.
        drop(client);
        let client = Peer::start(&parse(&second(at))).await.expect("a peer");
        http::get(&client.stack, "10.66.0.1", "/").await.expect("a page");
        drop(server);
    };
    tokio::time::timeout(PATIENCE, all).await.expect("it hangs");
}

/// Who has said nothing but that it is there is found, wherever it is now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_keeps_alive_is_spoken_to_first() {
    let all = async {
        let (first, second) = files();
        let (server, at) = served(&parse(&first)).await;
        let text = second(at) + "PersistentKeepalive = 1\n";
        for _ in 0..2 {
            // The second time from another port.
            let (client, _) = served(&parse(&text)).await;
            let page = http::get(&server.stack, "10.66.0.2", "/").await.expect("a page");
            assert_eq!(&page[..], b"Hello from inside the tunnel: /\n");
            drop(client);
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("it hangs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_another_key_gets_nothing() {
    let (first, _) = files();
    let (_, stranger) = files();
    let (server, at) = served(&parse(&first)).await;
    let client = Peer::start(&parse(&stranger(at))).await.expect("a peer");
    let asked = http::get(&client.stack, "10.66.0.1", "/");
    assert!(tokio::time::timeout(Duration::from_secs(2), asked).await.is_err());
    assert_eq!(server.stack.counters().packets_in, 0);
}

/// An empty datagram is no message of WireGuard's, and what waits for the peer is not sent to whoever
/// sends one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_sends_nothing_gets_nothing() {
    let all = async {
        let (first, second) = files();
        let (server, at) = served(&parse(&first)).await;
        // What this sends waits in the tunnel: nobody knows yet where the peer is.
        let stack = server.stack.clone();
        tokio::spawn(async move { http::get(&stack, "10.66.0.2", "/").await.map(drop).is_ok() });
        while server.stack.counters().packets_out == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let config = parse(&second(at));
        let mut noise = Tunn::new(config.private_key, config.public_key, None, None, 1, None);
        let outside = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        let (mut datagram, mut scratch) = (vec![0; 65_536], vec![0; 65_536]);
        let TunnResult::WriteToNetwork(bytes) =
            noise.format_handshake_initiation(&mut scratch, false)
        else {
            panic!("it begins")
        };
        outside.send_to(bytes, at).await.expect("sent");
        // It has keys by its answer. What it asks itself beside that stays without one for now.
        let n = outside.recv(&mut datagram).await.expect("an answer");
        let TunnResult::WriteToNetwork(bytes) =
            noise.decapsulate(None, &datagram[..n], &mut scratch)
        else {
            panic!("keys")
        };
        outside.send_to(bytes, at).await.expect("sent");
        let stranger = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        for _ in 0..20 {
            stranger.send_to(&[], at).await.expect("sent");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let got = stranger.try_recv(&mut datagram);
        assert!(got.is_err(), "{got:?}");
    };
    tokio::time::timeout(PATIENCE, all).await.expect("it hangs");
}

/// boringtun gives a peer up that has not answered for 90 s; who keeps alive goes on asking. Its clock is
/// the system's, so this takes as long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_keeps_alive_asks_on() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let (_, second) = files();
    let text = second(silent.local_addr().expect("bound")) + "PersistentKeepalive = 1\n";
    let _client = Peer::start(&parse(&text)).await.expect("a peer");
    let (start, mut bytes) = (std::time::Instant::now(), [0; 2048]);
    while start.elapsed() < Duration::from_secs(95) {
        let asked = tokio::time::timeout(Duration::from_secs(30), silent.recv(&mut bytes)).await;
        asked.expect("it asks on").expect("a datagram");
    }
}

#[test]
fn files_that_make_no_sense() {
    let (first, _) = files();
    for (from, to) in [
        ("PrivateKey", "Privatekeys"),
        ("10.66.0.2/32", "here"),
        ("[Peer]\nPublicKey", "[Peer]\n#"),
        ("10.66.0.2/32", "10.66.0.2/33"),
        ("fd66::2\n", "fd66::2/129\n"),
        // Its networks would be the other one's.
        ("AllowedIPs", "AllowedIPs = 10.66.0.3/32\n[Peer]\nAllowedIPs"),
    ] {
        let text = first.replacen(from, to, 1);
        let error = text.parse::<Config>().map(drop).expect_err(from);
        assert!(!error.contains('\n'), "{error}");
    }
}

fn sh(script: &str) -> bool {
    let done = Command::new("sh").args(["-ec", script]).output();
    done.is_ok_and(|output| output.status.success())
}

/// The kernel's WireGuard asks ours, in a namespace of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kernel_is_a_peer() {
    let space = format!("ana-wg-{}", std::process::id());
    let clean = format!("ip netns del {space}; ip link del ana-wgk; true");
    if !sh("wg --version && curl --version")
        || !sh(&format!("ip netns add {space} && ip link add ana-wgk type wireguard"))
    {
        sh(&clean);
        return println!("skipped: no kernel module wireguard, no `wg`, no curl, or no right");
    }
    let (first, second) = files();
    let (_server, at) = served(&parse(&first)).await;
    let file = std::env::temp_dir().join(format!("{space}.conf"));
    let text = second(at);
    let plain: Vec<&str> = text.lines().filter(|line| !line.starts_with("Address")).collect();
    std::fs::write(&file, plain.join("\n")).expect("a file");
    // Its UDP socket stays in the namespace where the interface was made.
    let up = sh(&format!(
        "wg setconf ana-wgk {} && ip link set ana-wgk netns {space}
         ip -n {space} address add 10.66.0.2/24 dev ana-wgk && ip -n {space} link set ana-wgk up",
        file.display()
    ));
    let got = Command::new("ip")
        .args(["netns", "exec", &space, "curl", "-s", "--max-time", "20"])
        .arg("http://10.66.0.1/3000000")
        .output();
    sh(&clean);
    std::fs::remove_file(&file).expect("it was there");
    let got = got.expect("curl");
    assert!(up && got.status.success() && got.stdout.len() == 3_000_000, "{:?}", got.status);
}
