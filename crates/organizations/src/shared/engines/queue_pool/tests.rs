use super::*;
use crate::Options;
use device::memory;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::steering::Steering;

const QUEUES: usize = 4;
const FRAMES: u32 = 20_000;

/// A UDP datagram of one of some flows, with a number in it.
fn frame(flow: u16, number: u32) -> Packet {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0];
    bytes.extend([64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(flow.to_be_bytes());
    bytes.extend([0, 7, 0, 12, 0, 0]);
    bytes.extend(number.to_be_bytes());
    Packet::copy_of(&bytes)
}

fn flow_and_number(frame: &Packet) -> (u16, u32) {
    let front = frame.front();
    let byte = |at: usize| u32::from(front[at]);
    let number = (42..46).fold(0, |number, at| number << 8 | byte(at));
    ((byte(34) << 8 | byte(35)) as u16, number)
}

/// The number of engines changes all the time while packets come: each packet is
/// taken once, and those of a flow in order, whoever has its queue.
#[test]
fn no_packet_is_lost_when_queues_change_hands() {
    let link = memory::Config::default().with_queues(QUEUES).with_steering(Steering::new(5));
    let (here, mut there) = memory::pair(link);
    let pool = QueuePool::new(here.queues.into_iter().map(|queue| vec![queue.receive]).collect());
    let options = Options::default().with_engines((1, QUEUES as u16));
    let control = Control::new(&options, "engines", QUEUES).expect("good bounds");
    let (sent, taken) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for engine in 0..QUEUES {
            let (pool, control, sent, taken) = (&pool, &control, &sent, &taken);
            scope.spawn(move || {
                let (mut devices, mut batch) = (Devices::default(), Vec::new());
                loop {
                    // Looked at before: what was sent until then is there.
                    let last = sent.load(Ordering::Acquire);
                    devices.deal(pool, control, engine);
                    let any = devices.receive(&mut batch) > 0;
                    // Noted while the queue is in these hands.
                    taken.lock().extend(batch.drain(..).map(|frame| flow_and_number(&frame)));
                    if !any && last && !devices.is_missing() {
                        return;
                    }
                    std::thread::yield_now();
                }
            });
        }
        let transmit = &mut there.queues[0].transmit;
        let mut batch = device::Batch::new();
        for number in 0..FRAMES {
            batch.push_back(frame((number % 16) as u16, number));
            if number % 97 == 0 {
                control.set(1 + (number / 97 * 7) % QUEUES as u32);
            }
            while !batch.is_empty() {
                transmit.transmit(&mut batch);
                if !batch.is_empty() {
                    std::thread::yield_now();
                }
            }
        }
        control.set(QUEUES as u32);
        sent.store(true, Ordering::Release);
    });
    let taken = taken.into_inner();
    assert_eq!(taken.len(), FRAMES as usize);
    for flow in 0..16 {
        let numbers = taken.iter().filter(|(f, _)| *f == flow).map(|(_, number)| *number);
        assert!(numbers.is_sorted(), "flow {flow}");
    }
}
