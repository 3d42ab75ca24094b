//! TLS by rustls over the sockets for tasks.
//!
//! The cryptography is graviola's: it needs no C compiler and is kept by one of
//! rustls' maintainers. It runs on x86-64 (from Haswell or Zen on) and on 64-bit ARM;
//! elsewhere, take another provider of rustls, which may need a C compiler.
//!
//! The certificate is made for this example, and its key is in the repository: use
//! neither.
//!
//! ```sh
//! cargo run --release --example tls
//! ```

use anabranch::Stack;
use anabranch::device::memory;
use anabranch::tokio::{TcpListener, TcpStream};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::error::Error;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Whom the certificate is for.
const NAME: &str = "anabranch.test";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    in_memory().await
}

fn acceptor() -> Result<TlsAcceptor, Box<dyn Error>> {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/cert.pem"))?;
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/key.pem"))?;
    let provider = Arc::new(rustls_graviola::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Arc::new(config).into())
}

fn connector() -> Result<TlsConnector, Box<dyn Error>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(include_bytes!("tls/cert.pem"))?)?;
    let provider = Arc::new(rustls_graviola::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}

/// A server that sends back what comes, and a client that checks whom it talks to.
pub async fn in_memory() -> Result<(), Box<dyn Error>> {
    let (left, right) = memory::pair(memory::Config::default());
    let server = Stack::builder().device(left).address("10.99.0.2/24").start()?;
    let client = Stack::builder().device(right).address("10.99.0.1/24").start()?;
    let listener = TcpListener::bind(&server, "10.99.0.2:443").await?;
    let acceptor = acceptor()?;
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let mut stream = acceptor.accept(stream).await?;
        let (mut read, mut write) = tokio::io::split(&mut stream);
        tokio::io::copy(&mut read, &mut write).await?;
        stream.shutdown().await
    });

    let stream = TcpStream::connect(&client, "10.99.0.2:443").await?;
    let mut stream = connector()?.connect(ServerName::try_from(NAME)?, stream).await?;
    stream.write_all(b"a secret").await?;
    stream.shutdown().await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    serving.await??;
    println!("{NAME} sent back: {}", String::from_utf8_lossy(&bytes));
    assert_eq!(bytes, b"a secret");
    Ok(())
}
