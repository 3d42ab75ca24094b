use super::*;

/// A default route, a network, a network by a router, and a wide one.
fn routes() -> String {
    let line = |interface: &str, destination: [u8; 4], gateway: [u8; 4], mask: [u8; 4]| {
        let hex = |bytes| format!("{:08X}", u32::from_ne_bytes(bytes));
        let (to, by, mask) = (hex(destination), hex(gateway), hex(mask));
        format!("{interface}\t{to}\t{by}\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n")
    };
    let mut text =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n".to_owned();
    text += &line("eth0", [0; 4], [192, 0, 2, 1], [0; 4]);
    text += &line("ana8", [10, 99, 0, 0], [0; 4], [255, 255, 255, 0]);
    text += &line("eth0", [10, 97, 0, 0], [192, 0, 2, 1], [255, 255, 255, 0]);
    text += &line("eth1", [172, 16, 0, 0], [0; 4], [255, 240, 0, 0]);
    text
}

#[test]
fn a_network_that_an_interface_has_is_found() {
    let rival = |address: [u8; 4], prefix| rival(&routes(), address.into(), prefix);
    let ana8 = Some(("ana8".to_owned(), "10.99.0.0/24".to_owned()));
    assert_eq!(rival([10, 99, 0, 2], 24), ana8);
    // The kernel would go by the longer prefix.
    assert_eq!(rival([10, 99, 0, 2], 16), ana8);
    assert_eq!(rival([10, 99, 0, 2], 25), None);
    assert_eq!(rival([172, 16, 5, 1], 24), None);
    assert_eq!(rival([10, 99, 1, 2], 24), None);
    assert_eq!(rival([10, 97, 0, 2], 24), None, "by a router, the nearer one wins");
    assert_eq!(super::rival("", [10, 99, 0, 2].into(), 24), None);
    assert_eq!(super::rival("a\nb c\nd e f g h i j k\n", [10, 99, 0, 2].into(), 24), None);
}
