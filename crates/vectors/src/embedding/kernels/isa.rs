//! Which instructions the machine has.

use std::fmt;

/// A set of instructions that a kernel is written for, from the widest down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// 512-bit registers with byte dot products.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    /// 512-bit registers without them.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 256-bit registers with byte dot products.
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    /// 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 128-bit registers with byte dot products: most of Armv8.2 and later. What needs no byte dot
    /// product runs in plain loops, which the compiler turns into NEON on every 64-bit Arm.
    #[cfg(target_arch = "aarch64")]
    NeonDot,
    /// Whatever the compiler makes of plain loops.
    Portable,
}

impl Isa {
    /// The widest that this machine runs.
    pub fn detect() -> Self {
        Self::all().first().copied().unwrap_or(Self::Portable)
    }

    /// Every set that this machine runs, from the widest down.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma");
            let avx512 = avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512vl");
            if avx512 && has!("avx512vnni") {
                all.push(Self::Avx512Vnni);
            }
            if avx512 {
                all.push(Self::Avx512);
            }
            if avx2 && has!("avxvnni") {
                all.push(Self::AvxVnni);
            }
            if avx2 {
                all.push(Self::Avx2);
            }
        }
        // The kernel loads bytes in the order that the sums expect on little-endian machines.
        #[cfg(target_arch = "aarch64")]
        if cfg!(target_endian = "little") && std::arch::is_aarch64_feature_detected!("dotprod") {
            all.push(Self::NeonDot);
        }
        all.push(Self::Portable);
        all
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => "AVX-512-VNNI",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => "AVX-VNNI",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "AVX2",
            #[cfg(target_arch = "aarch64")]
            Self::NeonDot => "NEON-dotprod",
            Self::Portable => "portable",
        })
    }
}
