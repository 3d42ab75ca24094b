use super::*;

fn none(_: &str) -> Option<String> {
    None
}

#[test]
fn commands_become_parameters_and_lines_stay() {
    let script = "// a `comment` stays\n--mtu=1400\n\n`../common/defaults.sh\n\
        ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n\
        \t/proc/sys/net/ipv4/tcp_wmem=\"4096 50000 4194304\"`\n\
        \x20 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
        \x20+1 `sysctl -q net.ipv4.tcp_sack=0; true`\n\
        `/tmp/restore.sh`\n";
    let defaults =
        "# tcp_none=1\nsysctl -q net.ipv4.tcp_rmem=\"4096 5 $((15*1024))\" > /dev/null\n";
    let prepared = prepare_text(script, |name| {
        assert_eq!(name, "../common/defaults.sh");
        Some(defaults.into())
    });
    assert_eq!(
        prepared.parameters,
        ["tcp_rmem=4096 5 15360", "tcp_timestamps=0", "tcp_wmem=4096 50000 4194304", "tcp_sack=0"]
    );
    assert_eq!(prepared.mtu, Some(1400));
    let lines: Vec<&str> = prepared.text.lines().map(str::trim).collect();
    assert_eq!(lines.len(), script.lines().count());
    assert_eq!(lines[0], "// a `comment` stays");
    assert_eq!(lines[3..6], ["", "", ""]);
    assert_eq!(lines[7..], ["+1 `true`", ""]);
}

#[test]
fn a_script_may_say_where_its_ends_are() {
    let prepared = prepare_text("--local_ip=192.168.0.2\n--remote_ip=10.0.0.2\n", none);
    assert_eq!(prepared.local.as_deref(), Some("192.168.0.2"));
    assert_eq!(prepared.remote.as_deref(), Some("10.0.0.2"));
    let prepared = prepare_text("--remote_ip=fd00::1\n", none);
    assert_eq!((prepared.local, prepared.remote), (None, None));
}

#[test]
fn a_script_may_say_its_family_and_how_long_packets_are() {
    let script = "--ip_version=ipv6\n`./defaults.sh\nip link set dev tun0 mtu 9000\n`\n";
    let prepared = prepare_text(script, none);
    assert_eq!((prepared.ipv6, prepared.mtu), (Some(true), Some(9000)));
    let route = "`ip route change 192.0.2.1 dev tun0 mtu lock 640`\n--ip_version=ipv4\n";
    let prepared = prepare_text(route, none);
    assert_eq!((prepared.ipv6, prepared.mtu), (Some(false), None));
}

#[test]
fn assertions_leave_their_time() {
    let script =
        "+.1 %{ assert tcpi_unacked == 0,\\\n  tcpi_unacked }%\n+0 close(3) = 0\n%{ print(1) }%";
    let prepared = prepare_text(script, none);
    assert_eq!(prepared.text, "+.1 `true`\n\n+0 close(3) = 0\n");
    assert_eq!(prepared.assertions, 2);
}

#[test]
fn a_script_without_commands_is_itself() {
    let script = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n/* ` */ +0 close(3) = 0";
    assert_eq!(prepare_text(script, none).text, script);
}

#[test]
fn a_product_that_is_too_large_stays() {
    let product = "`sysctl -q net.ipv4.tcp_wmem=$((99999999999*99999999999))`\n";
    let prepared = prepare_text(product, none);
    assert_eq!(prepared.parameters, ["tcp_wmem=$((99999999999*99999999999))"]);
}

#[test]
fn a_script_that_cannot_be_read_is_named() {
    let file = std::env::temp_dir().join(format!("ana-prepare-{}.pkt", std::process::id()));
    std::fs::write(&file, b"\xff\xfe").expect("a file");
    let error = prepare(&file).expect_err("it is no text").to_string();
    std::fs::remove_file(&file).expect("it was there");
    assert!(error.starts_with(&file.display().to_string()), "{error}");
}
