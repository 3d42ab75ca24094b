use super::*;

/// A default route, a network, a network by a router, and a wide one.
fn routes() -> Vec<Route> {
    let line = |interface: &str, destination: [u8; 4], gateway: [u8; 4], mask: [u8; 4]| {
        let hex = |bytes| format!("{:08X}", u32::from_ne_bytes(bytes));
        let (to, by, mask) = (hex(destination), hex(gateway), hex(mask));
        let flags = if gateway == [0; 4] { "0001" } else { "0003" };
        format!("{interface}\t{to}\t{by}\t{flags}\t0\t0\t0\t{mask}\t0\t0\t0\n")
    };
    let mut text =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n".to_owned();
    text += &line("eth0", [0; 4], [192, 0, 2, 1], [0; 4]);
    text += &line("ana8", [10, 99, 0, 0], [0; 4], [255, 255, 255, 0]);
    text += &line("eth0", [10, 97, 0, 0], [192, 0, 2, 1], [255, 255, 255, 0]);
    text += &line("eth1", [172, 16, 0, 0], [0; 4], [255, 240, 0, 0]);
    text.lines().filter_map(Route::v4).collect()
}

/// The network of an interface, its link-local one, a default route, none, and own addresses.
const V6: &str = "\
fd990000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     ana8
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001     ana8
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd990000000000000000000000000003 00000400 00000003 00000000 00000003     ana8
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
00000000000000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000002 00000000 80200001       lo
fd990000000000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000004 00000000 80200001     ana8
";

#[test]
fn a_network_that_an_interface_has_is_found() {
    let routes = routes();
    let rival = |cidr: &str| {
        let route = rival(&routes, cidr.parse().expect("a network"))?;
        Some(format!("{} {}/{}", route.interface, route.network, route.length))
    };
    let ana8 = Some("ana8 10.99.0.0/24".to_owned());
    assert_eq!(rival("10.99.0.2/24"), ana8);
    // The kernel would go by the longer prefix.
    assert_eq!(rival("10.99.0.2/16"), ana8);
    assert_eq!(rival("10.99.0.2/25"), None);
    assert_eq!(rival("172.16.5.1/24"), None);
    assert_eq!(rival("10.99.1.2/24"), None);
    assert_eq!(rival("10.97.0.2/24"), None, "by a router, the nearer one wins");
    assert_eq!(rival("fd99::2/64"), None);
}

#[test]
fn one_of_ipv6_is_found() {
    let routes: Vec<Route> = V6.lines().filter_map(Route::v6).collect();
    let rival = |cidr: &str| {
        let route = rival(&routes, cidr.parse().expect("a network"))?;
        Some(format!("{} {}/{}", route.interface, route.network, route.length))
    };
    let ana8 = Some("ana8 fd99::/64".to_owned());
    assert_eq!(rival("fd99::2/64"), ana8);
    assert_eq!(rival("fd99::1/64"), ana8);
    assert_eq!(rival("fd99::2/48"), ana8);
    assert_eq!(rival("fd99::2/65"), None);
    assert_eq!(rival("fd99:0:0:1::2/64"), None);
    assert_eq!(rival("fe80::2/64"), None, "every link has it");
    assert_eq!(rival("10.99.0.2/24"), None);
}

#[test]
fn other_lines_are_no_routes() {
    for line in ["", "a", "d e f g h i j k", "a b c d e f g h i j", "\u{0}"] {
        assert_eq!((Route::v4(line), Route::v6(line)), (None, None), "{line}");
    }
}
