//! Code that is being made: the module that it lies in, and the signatures of what is declared there.

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, Signature};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{default_libcall_names, FuncId, Linkage, Module};

use super::helpers::{Helper, ALL, HELPERS};
use super::Failure;

/// Address space that a program's code lies in, so that its functions reach each other; memory is taken as it is needed.
const RESERVED: usize = 64 << 20;

/// What a function is for, and so its signature.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Control,
    Action,
    Parse,
    Verify,
    Deparse,
}

/// The module, until it is finished; thrown away unfinished, it frees its memory too.
pub(super) struct Workshop {
    pub module: JITModule,
    pub helpers: [FuncId; HELPERS],
}

fn signature(module: &JITModule, params: usize, returns: bool) -> Signature {
    let mut signature = module.make_signature();
    signature.params.resize(params, AbiParam::new(I64));
    if returns {
        signature.returns.push(AbiParam::new(I64));
    }
    signature
}

impl Workshop {
    /// `address`: where each helper is.
    pub(super) fn open(address: fn(Helper) -> *const u8) -> Result<Self, Failure> {
        let mut flags = settings::builder();
        let checked = if cfg!(debug_assertions) { "true" } else { "false" };
        for (name, value) in [
            ("opt_level", "speed"),
            ("is_pic", "false"),
            ("enable_verifier", checked),
            // A frame that is larger than the stack's guard meets it all the same.
            ("enable_probestack", "true"),
            ("probestack_strategy", "inline"),
        ] {
            flags.set(name, value)?;
        }
        let isa = cranelift_native::builder().map_err(Failure::from)?.finish(settings::Flags::new(flags))?;
        if isa.pointer_bytes() != 8 {
            return Err(Failure::from("only 64-bit processors are supported"));
        }
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        let memory = ArenaMemoryProvider::new_with_size(RESERVED).map_err(|error| Failure(error.to_string()))?;
        builder.memory_provider(Box::new(memory));
        for &(helper, name, _) in ALL {
            builder.symbol(name, address(helper));
        }
        let mut module = JITModule::new(builder);
        let mut helpers = [FuncId::from_u32(0); HELPERS];
        for (id, &(_, name, params)) in helpers.iter_mut().zip(ALL) {
            let signature = signature(&module, 1 + params, true);
            *id = module.declare_function(name, Linkage::Import, &signature)?;
        }
        Ok(Self { module, helpers })
    }

    /// Of a control: context and header vector; of the others: more besides.
    pub(super) fn signature(&self, kind: Kind) -> Signature {
        let (params, returns) = match kind {
            Kind::Control => (2, false),
            Kind::Action => (3, false),
            Kind::Parse => (4, true),
            Kind::Verify => (2, true),
            Kind::Deparse => (3, true),
        };
        signature(&self.module, params, returns)
    }
}
