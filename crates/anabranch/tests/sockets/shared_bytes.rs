//! What many connections send without a copy.

use super::*;
use anabranch::{SharedBytes, TcpListener, TcpStream};
use std::io::{Read, Write};
use std::thread;

/// Bytes of the file, and answers on a connection.
const LEN: usize = 40_000;
const ANSWERS: u8 = 12;

fn file(n: u8) -> SharedBytes {
    let bytes: Vec<u8> = (0..LEN).map(|at| (at % 251) as u8 ^ n).collect();
    SharedBytes::copy_of(&bytes).expect("short enough")
}

/// What a client is to read: a number and the file of this number, then a part of that.
fn wanted(n: u8) -> Vec<u8> {
    let file = file(n);
    [&[n; 9][..], &file, &file[n as usize * 1000..][..20_000]].concat()
}

/// Files that are gone as soon as they are written come whole to all who asked, though segments are
/// lost, come again and in another order, and other files take the places of those before. By devices
/// that cut and sum segments they go as they are, by others as copies.
#[test]
fn files_come_whole_though_they_are_gone() {
    files_come_whole(memory::Config::default());
    files_come_whole(offloads());
}

fn offloads() -> memory::Config {
    memory::Config::default().with_segmentation(65_000).with_transmit_checksum(true)
}

/// Who does not read what was written to it keeps it, and who does lets go of it.
#[test]
fn a_file_is_on_its_way_until_it_has_come() {
    let (server, client) = pair_of(offloads(), "");
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("free");
    let mut asks = TcpStream::connect(&client, (SERVER, 80)).expect("open");
    let (mut serves, _) = listener.accept().expect("a connection");
    asks.set_read_timeout(Some(PATIENCE)).expect("set");
    serves.set_write_timeout(Some(PATIENCE)).expect("set");
    let file = file(3);
    let until = |is: bool| {
        let start = std::time::Instant::now();
        while file.is_on_its_way() != is {
            assert!(start.elapsed() < PATIENCE, "it is to be {is}");
            thread::yield_now();
        }
    };
    for round in 0..5 {
        until(false);
        serves.write_all(&file).expect("room");
        until(true);
        let mut got = vec![0; LEN];
        asks.read_exact(&mut got).expect("all of it");
        assert!(got == *file, "{round}");
    }
    until(false);
}

fn files_come_whole(devices: memory::Config) {
    let (server, client) = pair_of(devices, "loss=2%,reorder=5%,duplicate=2%,corrupt=1%");
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("free");
    let serves = thread::spawn(move || {
        let each: Vec<_> = (0..6)
            .map(|_| {
                let (mut stream, _) = listener.accept().expect("a connection");
                thread::spawn(move || {
                    for n in 0..ANSWERS {
                        let file = file(n);
                        stream.write_all(&[n; 9]).expect("room");
                        stream.write_all(&file).expect("room");
                        stream.write_all(&file[n as usize * 1000..][..20_000]).expect("room");
                    }
                })
            })
            .collect();
        each.into_iter().for_each(|each| each.join().expect("served"));
    });
    let asks: Vec<_> = (0..6)
        .map(|_| {
            let mut stream = TcpStream::connect(&client, (SERVER, 80)).expect("open");
            stream.set_read_timeout(Some(PATIENCE)).expect("set");
            thread::spawn(move || {
                for n in 0..ANSWERS {
                    let mut got = vec![0; wanted(n).len()];
                    stream.read_exact(&mut got).expect("all of it");
                    assert!(got == wanted(n), "{n}");
                }
            })
        })
        .collect();
    asks.into_iter().for_each(|asks| asks.join().expect("read"));
    serves.join().expect("served");
}
