//! Groups of the header vector's words (`ir/groups.rs`), and the marks behind them.

use std::ops::Range;

use super::live::{ranges, tracked};
use super::words::Words;
use crate::ir::{Groups, Live, Program, BLOCK, MARKS};
use crate::phv;

/// As many as there are bits of marks.
const MOST: usize = MARKS * 64;

/// So many words are copied sooner than looked for (ours).
const FEW: usize = if cfg!(test) { 0 } else { 256 };

/// Words between two ranges that are cheaper to copy than to leave out (ours).
const GAP: usize = if cfg!(test) { 0 } else { 8 };

/// Words that are in no group.
const NO_GROUP: u8 = u8::MAX;

/// Adds marks to a program's header vector, with groups of the words that may be read.
pub(crate) fn add(program: &mut Program, live: Live) {
    let words = program.blank.len();
    let mut read = Words::none(words);
    live.start.iter().chain(&live.egress).for_each(|words| read.add_all(words.clone()));
    let mut followed = tracked(program);
    for header in program.headers.iter().filter(|header| !header.metadata) {
        followed.add_all(phv::header_words(header));
    }
    program.intrinsics.all().into_iter().flatten().for_each(|field| followed.remove_all(phv::field_words(&field)));
    let grouped: Vec<usize> = (0..words).filter(|&word| read.has(word) && followed.has(word)).collect();
    let runs = if grouped.len() > FEW { runs(&grouped) } else { Vec::new() };
    let mut of = vec![NO_GROUP; words];
    for (group, run) in runs.iter().enumerate() {
        for word in run.clone().filter(|&word| read.has(word) && followed.has(word)) {
            of.get_mut(word).into_iter().for_each(|of| *of = group as u8);
        }
    }
    // Copying by blocks goes beyond the last word.
    let marks = words + BLOCK;
    program.blank.resize(marks + MARKS, 0);
    let always = ranges(words, |word| read.has(word) && !followed.has(word));
    // Blank is what a packet may read from its start on; what it reads at egress only, it has written before.
    let start = merged(&live.start);
    let egress = merged(&live.egress);
    program.live = Live { groups: Groups { marks: Some(marks), always, runs, start, egress, of }, ..live };
}

/// With the words between two that are near each other.
fn merged(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for words in ranges {
        match merged.last_mut() {
            Some(last) if words.start <= last.end + GAP => last.end = words.end,
            _ => merged.push(words.clone()),
        }
    }
    merged
}

/// As many runs of as few words as there are marks for.
fn runs(words: &[usize]) -> Vec<Range<usize>> {
    let mut longest = BLOCK;
    loop {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for &word in words {
            match runs.last_mut() {
                Some(run) if word < run.start + longest => run.end = word + 1,
                _ => runs.push(word..word + 1),
            }
        }
        if runs.len() <= MOST {
            return runs;
        }
        longest += (longest / 4).next_multiple_of(BLOCK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_as_small_as_there_are_marks_for() {
        assert_eq!(runs(&[]), []);
        assert_eq!(runs(&[3, 5, 10, 11, 30]), [3..11, 11..12, 30..31]);
        let many: Vec<usize> = (0..100_000).collect();
        let runs = runs(&many);
        assert!(runs.len() <= MOST && runs.len() > MOST / 2, "{} groups", runs.len());
        assert!(runs.windows(2).all(|pair| pair[0].end == pair[1].start), "{runs:?}");
    }

    #[test]
    fn each_word_that_may_be_read_is_in_a_group_or_always_written() {
        let program = crate::load::from_json(include_str!("../../../../../p4src/canopy.json")).unwrap();
        let groups = &program.live.groups;
        println!("{} groups, {:?}", groups.runs.len(), groups.always);
        for word in program.live.start.iter().chain(&program.live.egress).cloned().flatten() {
            let group = groups.runs.get(usize::from(groups.of[word]));
            let always = groups.always.iter().any(|words| words.contains(&word));
            assert!(group.is_some_and(|run| run.contains(&word)) != always, "{word}");
        }
        assert_eq!(groups.marks.unwrap() + MARKS, program.blank.len());
    }
}
