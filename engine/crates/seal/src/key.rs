//! A sender's key.

use ring::aead::{LessSafeKey, Nonce, UnboundKey, AES_256_GCM, NONCE_LEN};
use ring::hkdf::{Prk, Salt, HKDF_SHA256};

/// Keeps these keys apart from any others that come from the same secret.
const PURPOSE: &[u8] = b"canopy seal 1";

/// What an epoch's senders' keys come from.
pub fn extract(secret: &[u8]) -> Prk {
    Salt::new(HKDF_SHA256, PURPOSE).extract(secret)
}

pub fn of_sender(epoch: &Prk, sender: u64) -> LessSafeKey {
    let info = sender.to_be_bytes();
    let info = [&info[..]];
    let okm = epoch.expand(&info, &AES_256_GCM).expect("32 bytes are few enough");
    LessSafeKey::new(UnboundKey::from(okm))
}

/// Of one packet of a sender's.
pub fn nonce(counter: u32) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}
