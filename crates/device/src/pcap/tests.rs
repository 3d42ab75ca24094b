use super::*;
use crate::memory::{Config, pair};
use crate::segment;
use pcap_file::pcapng::{Block, PcapNgReader};
use wire::packet::ChecksumState;

/// A writer whose bytes can be seen, and which is full after so many.
#[derive(Clone)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    capacity: usize,
}

impl Disk {
    fn new(capacity: usize) -> Disk {
        Disk { bytes: Arc::default(), capacity }
    }

    /// The packets in the file, with their directions.
    fn packets(&self) -> Vec<(u32, Vec<u8>)> {
        let bytes = self.bytes.lock().clone();
        let mut reader = PcapNgReader::new(&bytes[..]).expect("pcapng");
        let mut seen = Vec::new();
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block.expect("a block") else { continue };
            assert!(packet.timestamp > Duration::from_secs(1_500_000_000));
            let [EnhancedPacketOption::Flags(direction)] = packet.options[..] else { panic!() };
            seen.push((direction, packet.data.to_vec()));
        }
        seen
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.bytes.lock();
        if all.len() + bytes.len() > self.capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        all.extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn partial() -> Packet {
    let mut packet = Packet::copy_of(&[0x11; 100]);
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset) = (34, 16);
    packet
}

#[test]
fn both_directions_are_in_the_file() {
    let disk = Disk::new(usize::MAX);
    let (a, mut b) = pair(Config { ring: 2, ..Config::default() });
    let mut a = wrap_writer(a, disk.clone()).expect("a writer that works");
    b.queues[0].transmit.transmit(&mut Batch::from([Packet::copy_of(&[5; 60])]));
    let mut got = Vec::new();
    assert_eq!(a.queues[0].receive.receive(&mut got, 10), 1);
    // The third does not fit into the ring, and is not captured.
    let mut batch: Batch = [partial(), partial(), partial()].into();
    a.queues[0].transmit.transmit(&mut batch);
    a.queues[0].transmit.transmit(&mut batch);
    assert_eq!(batch.len(), 1);
    assert!(a.queues[0].receive.deadline().is_some());
    assert!(a.queues[0].receive.arm());
    drop(a);

    let mut filled = partial();
    segment::complete_checksum(&mut filled).expect("there");
    assert_eq!(
        disk.packets(),
        [(INBOUND, vec![5; 60]), (OUTBOUND, filled.to_vec()), (OUTBOUND, filled.to_vec()),]
    );
}

/// A device that cannot say how much room it has, and takes one packet in three calls.
struct Slow(usize);

impl Transmit for Slow {
    fn transmit(&mut self, batch: &mut Batch) {
        self.0 += 1;
        if self.0.is_multiple_of(3) {
            batch.pop_front();
        }
    }
}

#[test]
fn what_a_device_leaves_is_in_the_file_once_it_is_sent() {
    let disk = Disk::new(usize::MAX);
    let (mut a, _b) = pair(Config::default());
    a.queues[0].transmit = Box::new(Slow(0));
    let mut a = wrap_writer(a, disk.clone()).expect("a writer that works");
    let packets = [1, 2, 3].map(|n| Packet::copy_of(&[n; 60]));
    let mut batch: Batch = packets.into();
    for _ in 0..6 {
        a.queues[0].transmit.transmit(&mut batch);
    }
    assert_eq!(batch.len(), 1, "it is offered again");
    drop(a);
    assert_eq!(disk.packets(), [1, 2].map(|n| (OUTBOUND, vec![n; 60])));
}

#[test]
fn a_full_disk_ends_the_capture_only() {
    let disk = Disk::new(BUFFER);
    let (a, mut b) = pair(Config { mtu: 60_000, ..Config::default() });
    let mut a = wrap_writer(a, disk).expect("room for the header");
    let mut batch: Batch = (0..20).map(|_| Packet::copy_of(&[0; 50_000])).collect();
    a.queues[0].transmit.transmit(&mut batch);
    let mut got = Vec::new();
    assert_eq!(b.queues[0].receive.receive(&mut got, 100), 20);
    let report = a.reports.last().expect("the capture's");
    assert_eq!(report.name(), "capture");
    let lost = report.counts()[0].1;
    assert!((1..20).contains(&lost), "{lost}");
    assert!(wrap_writer(a, Disk::new(10)).is_err());
}

#[test]
fn what_is_lost_at_the_end_is_counted() {
    // There is room for the header, and never for what the buffer holds.
    let (a, _b) = pair(Config::default());
    let mut a = wrap_writer(a, Disk::new(200)).expect("room for the header");
    let mut batch: Batch = (0..5).map(|_| Packet::copy_of(&[0; 100])).collect();
    a.queues[0].transmit.transmit(&mut batch);
    let report = a.reports.last().expect("the capture's").clone();
    assert_eq!(report.counts()[0].1, 0);
    drop(a);
    assert_eq!(report.counts()[0].1, 5);
}

#[test]
fn a_file_that_cannot_be() {
    let (a, _b) = pair(Config::default());
    assert!(wrap(a, Path::new("/nowhere/at/all")).is_err());
}
