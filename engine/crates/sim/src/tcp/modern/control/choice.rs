//! Which congestion controls there are, by name.

use link::random::Stream;

use super::super::ecn::Ecn;
use super::super::pacing::Burst;
use super::super::window::Window;
use super::bbr::Bbr;
use super::bbr3::Bbr3;
use super::congestion_control::CongestionControl;
use super::cubic::Cubic;
use super::dctcp::Dctcp;
use super::prague::Prague;
use super::reno::Reno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Reno,
    Cubic,
    Bbr,
    Bbr3,
    Dctcp,
    Prague,
}

impl Name {
    /// All of them, as scenarios call them.
    pub const ALL: [(&'static str, Name); 6] = [
        ("cubic", Name::Cubic),
        ("reno", Name::Reno),
        ("bbr", Name::Bbr),
        ("bbr3", Name::Bbr3),
        ("dctcp", Name::Dctcp),
        ("prague", Name::Prague),
    ];

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, choice)| choice)
    }

    /// What it does with marks unless it is told otherwise.
    pub fn ecn(self) -> Ecn {
        match self {
            Name::Dctcp => Ecn::Accurate,
            Name::Prague => Ecn::Scalable,
            _ => Ecn::Off,
        }
    }

    /// What leaves together when it is paced.
    pub fn burst(self) -> Burst {
        if self == Name::Prague {
            Burst::PRAGUE
        } else {
            Burst::LINUX
        }
    }

    pub fn build(self, window: &mut Window, stream: Stream) -> Box<dyn CongestionControl> {
        match self {
            Name::Reno => Box::new(Reno),
            Name::Cubic => Box::<Cubic>::default(),
            Name::Bbr => Box::new(Bbr::new(window, stream)),
            Name::Bbr3 => Box::new(Bbr3::new(window, stream)),
            Name::Dctcp => Box::<Dctcp>::default(),
            Name::Prague => Box::<Prague>::default(),
        }
    }
}
