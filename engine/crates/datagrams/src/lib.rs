//! UDP datagrams, many in one system call: recvmmsg(2) with what the kernel knows of each (when it came, with what time
//! to live and ECN field), and sendmmsg(2); many in one message where the kernel puts them together (UDP_GRO) and cuts
//! them (UDP_SEGMENT). Sockets are Python's, so they are named by their descriptors: one that is closed is an error of
//! the kernel's. All of the crate's unsafe code is in `sys`.

#![deny(unsafe_code)]

mod alike;
mod framing;
mod hashing;
mod runs;
mod sending;
mod symbols;
mod sys;

pub use alike::alike;
pub use framing::Framing;
pub use hashing::{short_hashes, HASH_BYTES};
pub use runs::{runs, Run};
pub use sending::{Sender, SEGMENTS};
pub use symbols::{following_symbols, frame_symbols};
pub use sys::{Outgoing, Reader, Received};

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::{runs, sys, Outgoing, Reader, Sender};

    fn socket() -> (UdpSocket, SocketAddrV4) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let SocketAddr::V4(address) = socket.local_addr().unwrap() else { panic!("IPv4 was asked for") };
        (socket, address)
    }

    fn outgoing<'a>(data: &'a [u8], to: SocketAddrV4) -> Outgoing<'a> {
        Outgoing { data, host: *to.ip(), port: to.port(), ecn: 0 }
    }

    #[test]
    fn what_is_sent_arrives_in_order_with_its_source() {
        let ((sender, source), (receiver, destination)) = (socket(), socket());
        let texts: Vec<Vec<u8>> = (0..100u8).map(|number| vec![number; usize::from(number)]).collect();
        let datagrams: Vec<_> = texts.iter().map(|text| outgoing(text, destination)).collect();
        let mut sent = 0;
        while sent < datagrams.len() {
            sent += Sender::new(false).send(sender.as_raw_fd(), &datagrams[sent..]).unwrap();
        }
        let mut reader = Reader::new(7);
        let mut found = Vec::new();
        loop {
            match reader.receive(receiver.as_raw_fd()) {
                Ok(count) => {
                    assert!((1..=7).contains(&count));
                    for index in 0..count {
                        let datagram = reader.get(index);
                        assert_eq!((datagram.host, datagram.port), (*source.ip(), source.port()));
                        assert_eq!((datagram.stamp, datagram.ttl, datagram.ecn), (None, None, 0));
                        found.push(datagram.data.to_vec());
                    }
                }
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    break;
                }
            }
        }
        assert_eq!(found, texts);
    }

    #[test]
    fn the_largest_datagram_is_whole() {
        let ((sender, _), (receiver, destination)) = (socket(), socket());
        let text = vec![7; 65_507];
        assert_eq!(Sender::new(true).send(sender.as_raw_fd(), &[outgoing(&text, destination)]).unwrap(), 1);
        let mut reader = Reader::new(2);
        assert_eq!(reader.receive(receiver.as_raw_fd()).unwrap(), 1);
        assert_eq!(reader.get(0).data, text);
    }

    #[test]
    fn the_kernels_word_comes_along_when_it_was_asked_for() {
        let ((sender, _), (receiver, destination)) = (socket(), socket());
        sender.set_ttl(33).unwrap();
        sys::ask_for_all(receiver.as_raw_fd());
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        sender.send_to(b"x", destination).unwrap();
        let mut reader = Reader::new(4);
        assert_eq!(reader.receive(receiver.as_raw_fd()).unwrap(), 1);
        let datagram = reader.get(0);
        assert_eq!(datagram.ttl, Some(33));
        let stamp = datagram.stamp.unwrap();
        assert!(stamp > before - 1e-3 && stamp < before + 10.0, "{stamp} is not {before}");
    }

    #[test]
    fn each_datagram_has_its_own_ecn_field() {
        let ((sender, _), (receiver, destination)) = (socket(), socket());
        sys::ask_for_all(receiver.as_raw_fd());
        let fields = [0, 1, 2, 3, 0, 0b1111_1110]; // of the last one, only the field's bits leave
        let datagrams: Vec<_> = fields.iter().map(|&ecn| Outgoing { ecn, ..outgoing(b"x", destination) }).collect();
        assert_eq!(Sender::new(true).send(sender.as_raw_fd(), &datagrams).unwrap(), fields.len());
        let mut reader = Reader::new(8);
        assert_eq!(reader.receive(receiver.as_raw_fd()).unwrap(), fields.len());
        let found: Vec<u8> = (0..fields.len()).map(|index| reader.get(index).ecn).collect();
        assert_eq!(found, [0, 1, 2, 3, 0, 2]);
    }

    #[test]
    fn a_datagram_that_cannot_go_is_the_first_ones_error() {
        let ((sender, _), (_receiver, destination)) = (socket(), socket());
        let text = vec![7; 65_508]; // one byte more than IPv4 carries
        let bad = outgoing(&text, destination);
        let good = outgoing(b"x", destination);
        for segments in [false, true] {
            let mut way = Sender::new(segments);
            assert_eq!(way.send(sender.as_raw_fd(), &[good, bad]).unwrap(), 1);
            assert!(way.send(sender.as_raw_fd(), &[bad, good]).is_err());
            let nobody = Outgoing { data: b"x", host: Ipv4Addr::BROADCAST, port: 9, ecn: 0 };
            assert!(way.send(sender.as_raw_fd(), &[nobody]).is_err());
        }
    }

    /// What a receiver gets in one reading, as the payloads of each run.
    fn read(receiver: &UdpSocket) -> Vec<Vec<Vec<u8>>> {
        let mut reader = Reader::new(32);
        let count = reader.receive(receiver.as_raw_fd()).unwrap();
        let found = runs(&reader, count);
        found.iter().map(|run| run.pieces.concat().chunks(run.size).map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn what_goes_as_one_message_arrives_as_one_run_whoever_puts_it_together() {
        let texts: Vec<Vec<u8>> = (0..40u8).map(|number| vec![number; if number < 39 { 1000 } else { 7 }]).collect();
        for (segments, gro) in [(false, false), (false, true), (true, false), (true, true)] {
            let ((sender, _), (receiver, destination)) = (socket(), socket());
            if gro {
                sys::ask_for_all(receiver.as_raw_fd());
            }
            let datagrams: Vec<_> = texts.iter().map(|text| outgoing(text, destination)).collect();
            let mut way = Sender::new(segments);
            let mut sent = 0;
            while sent < datagrams.len() {
                sent += way.send(sender.as_raw_fd(), &datagrams[sent..]).unwrap();
            }
            assert_eq!(way.segments(), segments, "this kernel cuts messages");
            let mut found = read(&receiver);
            while found.iter().map(Vec::len).sum::<usize>() < texts.len() {
                found.extend(read(&receiver));
            }
            assert_eq!(found.concat(), texts);
            if segments && gro {
                assert_eq!(found.len(), 1);
            }
        }
    }

    #[test]
    fn short_ones_that_came_together_are_not_the_end_of_a_run_of_longer_ones() {
        let ((sender, _), (receiver, destination)) = (socket(), socket());
        sys::ask_for_all(receiver.as_raw_fd());
        let texts = [&[1u8; 100][..], &[2; 9], &[2; 9], &[2; 9]];
        sender.send_to(texts[0], destination).unwrap();
        let datagrams: Vec<_> = texts[1..].iter().map(|text| outgoing(text, destination)).collect();
        assert_eq!(Sender::new(true).send(sender.as_raw_fd(), &datagrams).unwrap(), 3);
        assert_eq!(read(&receiver).concat(), texts.map(Vec::from));
    }

    #[test]
    fn a_message_that_the_kernel_does_not_cut_leaves_in_pieces() {
        let ((sender, _), (receiver, destination)) = (socket(), socket());
        sys::set(sender.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, 1); // it cuts none without checksums
        let texts = [[1u8; 100], [2; 100], [3; 100]];
        let datagrams = texts.each_ref().map(|text| outgoing(text, destination));
        let mut way = Sender::new(true);
        assert_eq!(way.send(sender.as_raw_fd(), &datagrams).unwrap(), 3);
        assert!(!way.segments());
        assert_eq!(read(&receiver).concat(), texts.map(Vec::from));
    }

    #[test]
    fn the_kernel_says_how_much_it_had_no_room_for() {
        let ((sender, _), (receiver, destination)) = (socket(), socket());
        sys::ask_for_all(receiver.as_raw_fd());
        sys::set(receiver.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 4096);
        for _ in 0..50 {
            sender.send_to(&[7; 1000], destination).unwrap();
        }
        let mut reader = Reader::new(64);
        let count = reader.receive(receiver.as_raw_fd()).unwrap();
        assert!(count < 50);
        assert_eq!(reader.get(0).dropped, None);
        sender.send_to(b"next", destination).unwrap();
        assert_eq!(reader.receive(receiver.as_raw_fd()).unwrap(), 1);
        assert_eq!(reader.get(0).dropped, Some(50 - count as u32));
    }
}
