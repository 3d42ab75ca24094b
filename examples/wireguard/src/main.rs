//! A WireGuard peer in user space.
//!
//! ```sh
//! cargo run --release -- keys                       # a key of one's own, and what others need
//! cargo run --release -- serve server.conf          # HTTP on port 80, inside the tunnel
//! cargo run --release -- get client.conf http://10.66.0.1/
//! ```
//!
//! The files are those of `wg` and `wg-quick`, with one peer:
//!
//! ```text
//! [Interface]
//! PrivateKey = …
//! ListenPort = 51820
//! Address = 10.66.0.1/24
//! [Peer]
//! PublicKey = …
//! AllowedIPs = 10.66.0.2/32
//! Endpoint = 192.0.2.2:51820        # of the one that begins
//! ```

use boringtun::x25519::PublicKey;
use std::error::Error;
use std::io::Write;
use wireguard::config::{Config, new_key, to_text};
use wireguard::{Peer, http};

const USAGE: &str = "usage: wireguard keys | serve FILE | get FILE http://ADDRESS/PATH";

fn config(file: &str) -> Result<Config, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    Ok(text.parse().map_err(|e| format!("{file}: {e}"))?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["keys"] => {
            let private = new_key()?;
            let public = PublicKey::from(&private);
            println!("PrivateKey = {}", to_text(&private.to_bytes()));
            println!("PublicKey = {}", to_text(public.as_bytes()));
        }
        ["serve", file] => {
            let peer = Peer::start(&config(file)?).await?;
            println!("ready: {}", peer.listens);
            http::serve(&peer.stack).await?;
        }
        ["get", file, url] => {
            let rest = url.strip_prefix("http://").ok_or(USAGE)?;
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let peer = Peer::start(&config(file)?).await?;
            let path = if path.is_empty() { "/" } else { path };
            std::io::stdout().write_all(&http::get(&peer.stack, host, path).await?)?;
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}
