use super::*;
use crate::offload::{complete, VnetHeader};

/// Datagrams of a flow as `offload` cuts them, which leave at one moment.
fn cut(sizes: &[usize], id: u16) -> Vec<Departed> {
    let mut number = 0u8;
    sizes
        .iter()
        .zip(id..)
        .map(|(&size, id)| {
            number += 1;
            let payload: Vec<u8> = (0..size).map(|at| (at as u8).wrapping_mul(7).wrapping_add(number)).collect();
            Departed { at_ns: 5, frame: datagram(&payload, id) }
        })
        .collect()
}

fn datagram(payload: &[u8], id: u16) -> Vec<u8> {
    let mut frame = vec![1, 0, 94, 1, 1, 1, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 2];
    frame.extend(((28 + payload.len()) as u16).to_be_bytes());
    frame.extend(id.to_be_bytes());
    frame.extend([0x40, 0, 16, 17, 0, 0, 10, 0, 0, 1, 239, 1, 1, 1, 0x12, 0x34, 0x13, 0x88]);
    frame.extend(((8 + payload.len()) as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    right(&mut frame);
    frame
}

/// Gives it right checksums.
fn right(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let header = !fold(sum(&frame[14..34], 0));
    frame[24..26].copy_from_slice(&header.to_be_bytes());
    frame[40..42].fill(0);
    let start = sum(&frame[26..34], (frame.len() - 34) as u64 + 17);
    let udp = match !fold(sum(&frame[34..], start)) {
        0 => 0xffff,
        other => other,
    };
    frame[40..42].copy_from_slice(&udp.to_be_bytes());
}

/// What the kernel makes of a merged frame on its way to a wire, by the code that takes such frames in.
fn cut_again(frames: &[Departed]) -> Vec<Vec<u8>> {
    let front = front(frames);
    let (vnet, headers) = front.split_first_chunk::<VNET_HEADER_BYTES>().unwrap();
    let mut merged = headers.to_vec();
    frames.iter().for_each(|one| merged.extend(&one.frame[HEADER_BYTES..]));
    let mut found = Vec::new();
    complete(&mut merged, VnetHeader::parse(vnet), None, &mut Vec::new(), |frame| found.push(frame.to_vec())).unwrap();
    found
}

#[test]
fn what_goes_together_comes_apart_byte_by_byte() {
    for (sizes, id) in [
        (vec![1400; 44], 7),
        (vec![1400, 1400, 1], 0xfffe), // identifications begin again at 0
        (vec![3, 3, 3, 2], 0),
        (vec![1; 64], 9),
        (vec![1473, 1473], 1),
    ] {
        let frames = cut(&sizes, id);
        assert_eq!(together(&frames), sizes.len(), "{sizes:?}");
        let expected: Vec<_> = frames.iter().map(|one| one.frame.clone()).collect();
        assert_eq!(cut_again(&frames), expected, "{sizes:?}");
    }
}

#[test]
fn a_frame_has_bounds() {
    assert_eq!(together(&[]), 0);
    assert_eq!(together(&cut(&[100; 65], 0)), 64);
    assert_eq!(together(&cut(&[1500; 60], 0)), 65_507 / 1500);
    assert_eq!(together(&cut(&[100, 101], 0)), 1, "a longer one");
    assert_eq!(together(&cut(&[100, 99, 99], 0)), 2, "a shorter one is the last");
    assert_eq!(together(&cut(&[0, 0], 0)), 1, "empty ones");
    assert_eq!(together(&cut(&[100, 0], 0)), 1, "an empty one behind another");
}

#[test]
fn frames_that_leave_at_different_times_stay_apart() {
    let mut frames = cut(&[1000; 5], 0);
    frames[2].at_ns = 6;
    assert_eq!(together(&frames), 2);
    assert_eq!(together(&frames[1..]), 1);
    frames[2].at_ns = 5;
    frames[4].at_ns = 4;
    assert_eq!(together(&frames), 4);
}

#[test]
fn what_the_kernel_would_not_give_back_stays_apart() {
    // Each byte of the second frame's headers in turn, with right checksums: other addresses, ports, marks, time to live,
    // identifications, options, fragments, lengths.
    for at in 0..40 {
        let mut frames = cut(&[100, 100], 3);
        frames[1].frame[at] ^= 0x20;
        if !(24..26).contains(&at) {
            right(&mut frames[1].frame);
        }
        assert_eq!(together(&frames), 1, "byte {at}");
        frames.swap(0, 1);
        assert_eq!(together(&frames), 1, "byte {at} of the first");
    }
    // A wrong byte, and no checksum: the kernel would make a right one.
    for (at, value) in [(70, 1), (24, 1), (40, 1)] {
        let mut frames = cut(&[100, 100], 3);
        frames[1].frame[at] ^= value;
        assert_eq!(together(&frames), 1, "byte {at}");
        frames.swap(0, 1);
        assert_eq!(together(&frames), 1, "byte {at} of the first");
    }
    let mut frames = cut(&[100, 100], 3);
    frames[1].frame[40..42].fill(0);
    assert_eq!(together(&frames), 1);
    // Padding behind the datagram.
    let mut frames = cut(&[4, 4], 3);
    frames.iter_mut().for_each(|one| one.frame.resize(60, 0));
    assert_eq!(together(&frames), 1);
}

#[test]
fn nothing_is_read_beyond_a_short_frame() {
    for length in 0..=HEADER_BYTES {
        let mut frames = cut(&[100, 100], 3);
        frames[1].frame.truncate(length);
        assert_eq!(together(&frames), 1);
        frames.swap(0, 1);
        assert_eq!(together(&frames), 1);
    }
}
