//! hyper and rustls, unchanged, in the tasks of units.

use super::*;
use anabranch::SharedBytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Answers with what the request says.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    Ok(Response::new(format!("{path} {}", body.len()).into()))
}

/// A client of hyper, whose requests go out by the sender.
async fn asks(client: &Stack) -> (SendRequest<Full<Bytes>>, JoinHandle<hyper::Result<()>>) {
    let stream = TcpStream::connect(client, SERVER).await.expect("a connection");
    let http = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = http.expect("a handshake");
    (sender, tokio::spawn(connection))
}

#[test]
fn hyper_serves_with_timers_of_the_unit() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let handler = |stream, _| async {
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(unit::rt::Timer).header_read_timeout(Duration::from_secs(50));
            let served = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            served.expect("good requests");
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let (mut sender, driver) = asks(&client).await;
            for n in 0..50 {
                let body = Full::new(Bytes::from(vec![0; n * 3000]));
                let request = Request::post(format!("/{n}")).header("host", "a").body(body);
                let response = sender.send_request(request.expect("a request")).await;
                let body = response.expect("a response").into_body().collect().await;
                assert_eq!(body.expect("a body").to_bytes(), format!("/{n} {}", n * 3000));
            }
            drop(sender);
            driver.await.expect("it goes on").expect("a good end");
        });
        assert_eq!(wait_for(&server, |tasks| tasks.finished == 1).panicked, 0);
    }
}

/// A file that is shared comes whole through hyper, as do parts of it; and without a copy, by devices that
/// cut and sum segments.
#[test]
fn hyper_serves_what_is_shared() {
    let bytes: Vec<u8> = (0..50_000).map(|at| (at % 253) as u8).collect();
    let shared = SharedBytes::copy_of(&bytes).expect("short enough");
    let offloads = memory::Config::default().with_segmentation(65_000).with_transmit_checksum(true);
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair_of(offloads.clone(), organization, processors);
        let file = Bytes::from_owner(shared.clone());
        let handler = move |stream, _| {
            let file = file.clone();
            let answer = move |request: Request<Incoming>| {
                let from = request.uri().path()[1..].parse::<usize>().expect("a number");
                std::future::ready(Ok::<_, Infallible>(Response::new(Full::new(
                    file.slice(from..),
                ))))
            };
            async move {
                let http = hyper::server::conn::http1::Builder::new();
                let served = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
                served.expect("good requests");
            }
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let (mut sender, driver) = asks(&client).await;
            for from in [0, 1, 777, 0, 25_000, 49_999, 0, 50_000] {
                let request = Request::get(format!("/{from}")).header("host", "a");
                let request = request.body(Full::new(Bytes::new())).expect("a request");
                let response = sender.send_request(request).await.expect("a response");
                let body = response.into_body().collect().await.expect("a body").to_bytes();
                assert!(body == bytes[from..], "{organization} {from}");
            }
            drop(sender);
            driver.await.expect("it goes on").expect("a good end");
            // It is held for us, who have not read it, since nobody has copied it.
            let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            stream.write_all(b"GET /1 HTTP/1.0\r\n\r\n").await.expect("room");
            while !shared.is_on_its_way() {
                tokio::task::yield_now().await;
            }
            let mut got = Vec::new();
            stream.read_to_end(&mut got).await.expect("all of it");
            assert!(got.ends_with(&bytes[1..]), "{organization}");
        });
    }
}

#[test]
fn a_silent_client_of_hyper_is_given_up_by_the_units_timer() {
    let (server, client) = pair("uniprocessor", 1);
    let handler = |stream, _| async {
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(unit::rt::Timer).header_read_timeout(Duration::from_millis(50));
        let served = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        assert!(served.expect_err("nothing came").is_timeout());
    };
    let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
    block_on(async {
        let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
        stream.read_to_end(&mut Vec::new()).await.expect("the server closes");
    });
    assert_eq!(wait_for(&server, |tasks| tasks.finished == 1).panicked, 0);
}

#[test]
fn hypers_own_tasks_run_on_the_unit() {
    let (server, client) = pair("uniprocessor", 1);
    let handler = |mut stream: TcpStream, _| async move {
        let (to, from) = tokio::sync::oneshot::channel();
        let task = async move { to.send(std::thread::current().id()).expect("one waits") };
        hyper::rt::Executor::execute(&unit::rt::Executor, task);
        assert_eq!(from.await.expect("it runs"), std::thread::current().id());
        stream.write_all(b"here").await.expect("it is sent");
    };
    let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
    let mut bytes = Vec::new();
    block_on(async {
        let mut stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
        stream.read_to_end(&mut bytes).await.expect("the end");
    });
    assert_eq!(bytes, b"here");
}

/// The certificate of the example, which is for this name.
const NAME: &str = "anabranch.test";
const CERTIFICATE: &[u8] = include_bytes!("../../examples/tls/cert.pem");
const KEY: &[u8] = include_bytes!("../../examples/tls/key.pem");

fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
    let config = ServerConfig::builder_with_provider(rustls_graviola::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    Arc::new(config.expect("a configuration")).into()
}

fn connector() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERTIFICATE).expect("one")).expect("a root");
    let config = ClientConfig::builder_with_provider(rustls_graviola::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config).into()
}

#[test]
fn rustls_serves_in_a_unit() {
    for (organization, processors) in WITH_THREADS {
        let (server, client) = pair(organization, processors);
        let acceptor = acceptor();
        let handler = move |stream, _| {
            let acceptor = acceptor.clone();
            async move {
                let mut stream = acceptor.accept(stream).await.expect("a handshake");
                let (mut read, mut write) = tokio::io::split(&mut stream);
                tokio::io::copy(&mut read, &mut write).await.expect("what comes goes back");
                stream.shutdown().await.expect("a good end");
            }
        };
        let _listening = unit::serve(&server, SERVER, handler).expect("it serves");
        block_on(async {
            let stream = TcpStream::connect(&client, SERVER).await.expect("a connection");
            let name = ServerName::try_from(NAME).expect("a name");
            let mut stream = connector().connect(name, stream).await.expect("a handshake");
            stream.write_all(b"a secret").await.expect("it is sent");
            stream.shutdown().await.expect("a good end");
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.expect("a good end");
            assert_eq!(bytes, b"a secret");
        });
        assert_eq!(wait_for(&server, |tasks| tasks.finished == 1).panicked, 0);
    }
}
