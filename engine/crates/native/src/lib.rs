//! The Python module `canopy_engine`; its contract is `engine/stubs/canopy_engine.pyi`.

mod capture;
mod channels;
mod convert;
mod datagrams;
mod errors;
mod fec;
mod link_spec;
mod live_switch;
mod load;
mod seal;
mod sim;
mod slots;
mod switch;
mod symbols;

use pyo3::prelude::*;

#[pymodule]
fn canopy_engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("LoadError", py.get_type::<errors::LoadError>())?;
    module.add("EngineError", py.get_type::<errors::EngineError>())?;
    module.add("SimError", py.get_type::<errors::SimError>())?;
    module.add_class::<switch::Switch>()?;
    module.add_class::<live_switch::LiveSwitch>()?;
    module.add_class::<capture::Capture>()?;
    module.add_class::<sim::Sim>()?;
    module.add_class::<load::Sink>()?;
    module.add_class::<datagrams::DatagramReader>()?;
    module.add_class::<datagrams::DatagramSender>()?;
    module.add_class::<datagrams::StreamFraming>()?;
    module.add_function(wrap_pyfunction!(datagrams::short_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(datagrams::frame_symbols, module)?)?;
    module.add_function(wrap_pyfunction!(datagrams::following_symbols, module)?)?;
    module.add_function(wrap_pyfunction!(datagrams::alike, module)?)?;
    module.add_class::<seal::Seal>()?;
    module.add_class::<seal::Signer>()?;
    module.add_function(wrap_pyfunction!(seal::hop_tag, module)?)?;
    module.add_function(wrap_pyfunction!(seal::verify_signature, module)?)?;
    module.add_class::<fec::RaptorqEncoder>()?;
    module.add_class::<fec::RaptorqDecoder>()?;
    module.add_class::<symbols::BlockSymbols>()?;
    module.add_class::<slots::SlotOrder>()?;
    module.add_class::<channels::ChannelPackets>()?;
    module.add_function(wrap_pyfunction!(load::bench, module)?)?;
    module.add_function(wrap_pyfunction!(load::flood, module)?)
}
