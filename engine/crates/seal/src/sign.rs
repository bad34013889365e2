//! Ed25519 (RFC 8032): what only one member can have made, and all can check.

use ring::signature::{Ed25519KeyPair, KeyPair, UnparsedPublicKey, ED25519};

pub const SEED: usize = 32;
pub const PUBLIC: usize = 32;
pub const SIGNATURE: usize = 64;

/// Who signs.
pub struct Signer {
    pair: Ed25519KeyPair,
}

impl Signer {
    /// `seed`: random (RFC 8032, 5.1.5).
    pub fn new(seed: &[u8; SEED]) -> Self {
        Self { pair: Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are a seed") }
    }

    /// What others check by.
    pub fn public(&self) -> [u8; PUBLIC] {
        self.pair.public_key().as_ref().try_into().expect("32 bytes")
    }

    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE] {
        self.pair.sign(message).as_ref().try_into().expect("64 bytes")
    }
}

/// Whether the owner of `public` has signed `message`. Anything may be given for either.
pub fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public).verify(message, signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{verify, Signer};

    fn octets(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    }

    /// RFC 8032, 7.1, test 3.
    #[test]
    fn it_is_rfc_8032_s() {
        let seed = octets("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
        let public = octets("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
        let signature = octets(concat!(
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac",
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ));
        let signer = Signer::new(&seed.try_into().unwrap());
        assert_eq!(signer.public()[..], public);
        assert_eq!(signer.sign(b"\xaf\x82")[..], signature);
        assert!(verify(&public, b"\xaf\x82", &signature));
    }

    #[test]
    fn nothing_else_is_taken() {
        let signer = Signer::new(&[7; 32]);
        let (public, signature) = (signer.public(), signer.sign(b"true"));
        assert!(verify(&public, b"true", &signature));
        assert!(!verify(&public, b"false", &signature));
        assert!(!verify(&Signer::new(&[8; 32]).public(), b"true", &signature));
        assert!(!verify(&public[1..], b"true", &signature));
        assert!(!verify(&public, b"true", &signature[1..]));
        assert!(!verify(&[0; 32], b"true", &[0; 64]));
        for place in 0..64 {
            let mut changed = signature;
            changed[place] ^= 1;
            assert!(!verify(&public, b"true", &changed));
        }
    }
}
