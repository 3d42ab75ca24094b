//! Scripts, played.

use crate::{End, Script, What, World};
use anabranch_conformance::Pattern;
use platform::Instant;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// No call waits for longer: what does not come by then is told as such.
const PATIENCE: Duration = Duration::from_secs(20);
/// A port where nobody listens.
const NOBODYS: u16 = 1;
/// How long somebody waits for what cannot come.
const MOMENT: Duration = Duration::from_millis(15);

/// An end, and where it is in what it writes and reads.
struct Player {
    end: Option<End>,
    writes: Pattern,
    reads: Pattern,
    read: usize,
}

impl Player {
    fn end(&self) -> io::Result<&End> {
        self.end.as_ref().ok_or_else(|| ErrorKind::NotConnected.into())
    }

    fn write(&mut self, n: u64) -> io::Result<String> {
        let bytes = self.writes.take(n as usize);
        let mut end = self.end()?;
        end.write_all(&bytes)?;
        Ok(format!("wrote {n}"))
    }

    /// Compares what was read with what was written.
    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        let right = self.reads.take(bytes.len());
        let wrong = bytes.iter().zip(&right).position(|(a, b)| a != b);
        if let Some(at) = wrong {
            return Err(io::Error::other(format!("byte {} is wrong", self.read + at)));
        }
        self.read += bytes.len();
        Ok(())
    }

    fn read(&mut self, n: u64) -> io::Result<String> {
        let mut bytes = vec![0; n as usize];
        let mut end = self.end()?;
        end.read_exact(&mut bytes)?;
        self.check(&bytes)?;
        Ok(format!("read {n}"))
    }

    fn read_end(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        let mut end = self.end()?;
        let n = end.read_to_end(&mut bytes)?;
        self.check(&bytes)?;
        Ok(format!("read {n} and the end"))
    }

    /// Writes without waiting, as far as it is taken, and says how much that was.
    fn fill(&mut self) -> io::Result<u64> {
        let mut end = self.end()?;
        end.set_nonblocking(true)?;
        let (mut pattern, mut sent) = (self.writes.clone(), 0);
        let bytes = pattern.take(50_000);
        let mut left: &[u8] = &bytes;
        let full = loop {
            if left.is_empty() {
                break Ok(());
            }
            match end.write(left) {
                Ok(n) => {
                    left = &left[n..];
                    sent += n as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    break Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        self.writes.take(sent as usize);
        self.end()?.set_nonblocking(false)?;
        full.map(|()| sent)
    }

    fn peek(&self) -> io::Result<String> {
        let mut byte = [0];
        let n = self.end()?.peek(&mut byte)?;
        Ok(format!("peeked {n}, right: {}", byte == self.reads.clone().take(1)[..]))
    }

    fn close(&mut self, said: &str) -> io::Result<String> {
        self.end = None;
        Ok(said.into())
    }

    fn options(&self, on: bool) -> io::Result<String> {
        let end = self.end()?;
        end.set_nodelay(on)?;
        end.set_ttl(if on { 33 } else { 64 })?;
        let seconds = on.then_some(Duration::from_secs(7));
        end.set_linger(seconds)?;
        let linger = end.linger()?;
        // What follows is a close that does not wait.
        end.set_linger(None)?;
        let zero = end.set_ttl(0).map_err(|error| error.kind());
        let (nodelay, ttl) = (end.nodelay()?, end.ttl()?);
        Ok(format!("nodelay {nodelay}, ttl {ttl}, not {zero:?}, linger {linger:?}"))
    }

    /// Reads where nothing can be.
    fn read_nothing(&self, wait: bool) -> io::Result<String> {
        let mut end = self.end()?;
        if wait {
            end.set_read_timeout(Some(MOMENT))?;
        } else {
            end.set_nonblocking(true)?;
        }
        let read = end.read(&mut [0; 8]).map_err(|error| error.kind());
        end.set_nonblocking(false)?;
        end.set_read_timeout(Some(PATIENCE))?;
        Ok(format!("{read:?}"))
    }

    /// Writes to an end that is gone until that is known.
    fn write_to_closed(&mut self) -> io::Result<String> {
        let mut end = self.end()?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Err(error) = end.write(&[0]) {
                let then = end.read(&mut [0; 8]).map_err(|error| error.kind());
                return Ok(format!("{:?}, then {then:?}", error.kind()));
            }
            platform::thread::sleep(Duration::from_millis(2));
        }
        Ok("nothing is heard of the close".into())
    }

    /// Reads, and now and then writes, until a reset is known: one that is lost is not sent
    /// again, but what is written is answered by another.
    fn hear_reset(&mut self) -> io::Result<String> {
        let mut end = self.end()?;
        end.set_read_timeout(Some(MOMENT))?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match end.read(&mut [0; 8]) {
                Ok(n) => return Ok(format!("read {n} after a reset")),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return self.after_reset(error.kind()),
            }
            if let Err(error) = end.write(&[0]) {
                // Then Linux tells a reader that this was all, and the stack that it was not
                // (docs/std-parity.md); he is told once.
                let read = end.read(&mut [0; 8]).map_err(|then| then.kind());
                if !matches!(read, Ok(0)) && read != Err(error.kind()) {
                    return Ok(format!("{:?} of a write, then {read:?}", error.kind()));
                }
                return self.after_reset(error.kind());
            }
        }
        Ok("nothing is heard of the reset".into())
    }

    fn after_reset(&self, kind: ErrorKind) -> io::Result<String> {
        let mut end = self.end()?;
        let read = end.read(&mut [0; 8]).map_err(|error| error.kind());
        let write = end.write(&[0]).map_err(|error| error.kind());
        Ok(format!("{kind:?}, then {read:?} and {write:?}"))
    }
}

/// Moves bytes from one end to the other, which reads as they come.
fn transfer(from: &mut Player, to: &mut Player, n: u64) -> io::Result<String> {
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| from.write(n));
        let read = to.read(n);
        let wrote = writing.join().expect("it does not panic")?;
        Ok(format!("{wrote}, {}", read?))
    })
}

/// Both write and read at once.
fn exchange(a: &mut Player, b: &mut Player, n: u64) -> io::Result<String> {
    let bytes = [a.writes.take(n as usize), b.writes.take(n as usize)];
    let write = |mut end: &End, bytes: &[u8]| -> io::Result<()> { end.write_all(bytes) };
    let read = |mut end: &End| -> io::Result<Vec<u8>> {
        let mut got = vec![0; n as usize];
        end.read_exact(&mut got)?;
        Ok(got)
    };
    let (one, two) = (a.end()?, b.end()?);
    let (first, second) = std::thread::scope(|scope| {
        let writing =
            [scope.spawn(|| write(one, &bytes[0])), scope.spawn(|| write(two, &bytes[1]))];
        let reading = scope.spawn(|| read(two));
        let first = read(one);
        let second = reading.join().expect("it does not panic");
        for thread in writing {
            thread.join().expect("it does not panic")?;
        }
        io::Result::Ok((first?, second?))
    })?;
    a.check(&first)?;
    b.check(&second)?;
    Ok(format!("exchanged {n}"))
}

fn step(players: &mut [Player; 2], side: usize, what: What) -> io::Result<String> {
    let [a, b] = players;
    let (own, other) = if side == 0 { (a, b) } else { (b, a) };
    match what {
        What::Write(n) => own.write(n),
        What::Read(n) => own.read(n),
        What::Peek => own.peek(),
        What::ReadNothing => own.read_nothing(false),
        What::ReadInVain => own.read_nothing(true),
        What::Transfer(n) => transfer(own, other, n),
        What::Exchange(n) => exchange(own, other, n),
        What::Fill => {
            let n = own.fill()?;
            other.read(n).map(|_| "filled, and read all".into())
        }
        What::Shutdown => own.end()?.shutdown(Shutdown::Write).map(|()| "shut down".into()),
        What::WriteInVain => {
            let mut end = own.end()?;
            let kind = end.write(&[0]).map_err(|error| error.kind());
            Ok(format!("{kind:?}"))
        }
        What::ReadEnd => own.read_end(),
        What::ReadAgain => {
            let mut end = own.end()?;
            Ok(format!("read {}", end.read(&mut [0; 8])?))
        }
        What::Close => own.close("closed"),
        What::WriteToClosed => own.write_to_closed(),
        What::CloseUnread => {
            own.peek()?;
            own.close("closed with something unread")
        }
        What::Reset => {
            own.end()?.set_linger(Some(Duration::ZERO))?;
            own.close("reset")
        }
        What::HearReset => own.hear_reset(),
        What::Options(on) => own.options(on),
        What::Ask => {
            let (own, other) = (own.end()?, other.end()?);
            let is_peer = own.peer_addr()? == other.local_addr()?;
            Ok(format!("its peer is {is_peer}, error {:?}", own.take_error()?.map(|e| e.kind())))
        }
        What::Pause(millis) => {
            platform::thread::sleep(Duration::from_millis(millis));
            Ok("waited".into())
        }
    }
}

/// Plays `script` in `world`. Returns what each step saw, a line each.
pub fn play(script: &Script, world: &dyn World) -> Vec<String> {
    let mut seen = Vec::new();
    if let Err(error) = begin(script, world, &mut seen) {
        seen.push(format!("begins with {:?}: {error}", error.kind()));
    }
    seen
}

fn begin(script: &Script, world: &dyn World, seen: &mut Vec<String>) -> io::Result<()> {
    let ear = world.listen(script.we_connect)?;
    let port = ear.local_addr()?.port();
    if script.refused_first {
        let refused = world.connect(script.we_connect, NOBODYS).map_err(|error| error.kind());
        seen.push(format!("{:?}", refused.map(|_| "connected")));
    }
    let connected = world.connect(script.we_connect, port)?;
    let player = |end: End, side: u64| {
        end.set_read_timeout(Some(PATIENCE))?;
        end.set_write_timeout(Some(PATIENCE))?;
        let (writes, reads) =
            (Pattern::new(script.seed * 2 + side), Pattern::new(script.seed * 2 + 1 - side));
        io::Result::Ok(Player { end: Some(end), writes, reads, read: 0 })
    };
    let mut first = player(connected, 0)?;
    if script.before_accept > 0 {
        seen.push(first.write(script.before_accept)?);
    }
    let (accepted, from) = ear.accept()?;
    seen.push(format!("accepted the right one: {}", from == first.end()?.local_addr()?));
    let mut players = [first, player(accepted, 1)?];
    for at in &script.steps {
        let line = match step(&mut players, at.side, at.what) {
            Ok(line) => line,
            Err(error) if error.kind() == ErrorKind::Other => error.to_string(),
            Err(error) => format!("{:?}", error.kind()),
        };
        seen.push(format!("{} {:?}: {line}", at.side, at.what));
    }
    Ok(())
}
