//! Two peers of ours over the host's loopback, and the kernel's WireGuard where it is there.

use boringtun::x25519::PublicKey;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;
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

#[test]
fn files_that_make_no_sense() {
    let (first, _) = files();
    for (from, to) in [
        ("PrivateKey", "Privatekeys"),
        ("10.66.0.2/32", "here"),
        ("[Peer]\nPublicKey", "[Peer]\n#"),
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
