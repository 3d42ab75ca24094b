use super::*;
use std::fs;
use std::path::Path;

/// How often the command's sources, without tests, have `word` in quotes.
fn quoted(place: &Path, word: &str) -> usize {
    let entries = fs::read_dir(place).expect("sources").flatten().map(|entry| entry.path());
    let count = |path: std::path::PathBuf| {
        if path.is_dir() {
            return quoted(&path, word);
        }
        let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
        let text = if is_test { String::new() } else { fs::read_to_string(&path).expect("text") };
        text.matches(&format!("\"{word}\"")).count()
    };
    entries.map(count).sum()
}

/// To add a service is to write its function and its row.
#[test]
fn a_service_is_named_once() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for service in SERVICES.iter().filter(|service| service.name != WEB) {
        assert_eq!(quoted(&sources, service.name), 1, "{}", service.name);
    }
}

#[test]
fn the_same_port_of_both_protocols_is_no_clash() {
    fn find(name: &str) -> &'static Service {
        SERVICES.iter().find(|service| service.name == name).expect("a service")
    }
    let asked = |names: &[(&str, u16)]| {
        Services(names.iter().map(|&(name, port)| (find(name), port)).collect())
    };
    assert_eq!(asked(&[("tcp-echo", 7), ("udp-echo", 7)]).clash(), None);
    let clash = asked(&[("http", 80), ("udp-echo", 7), ("tcp-echo", 80)]).clash();
    assert_eq!(clash, Some(("http", "tcp-echo", 80)));
    assert!(asked(&[("http", 80)]).has(WEB) && !asked(&[("tcp-echo", 80)]).has(WEB));
}
