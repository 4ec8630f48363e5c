//! Detects the CPU's vector instructions.

use std::fmt;

/// An instruction set for which a kernel exists, from the widest to the narrowest.
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
    /// 256-bit registers without byte dot products.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 128-bit registers with byte dot products: most CPUs from Armv8.2. Other kernels use plain
    /// loops, which the compiler turns into NEON on every 64-bit Arm.
    #[cfg(target_arch = "aarch64")]
    NeonDot,
    /// Plain loops, vectorised by the compiler only.
    Portable,
}

impl Isa {
    /// Returns the widest set that this machine supports.
    pub fn detect() -> Self {
        Self::all().first().copied().unwrap_or(Self::Portable)
    }

    /// Returns every set that this machine supports, from the widest to the narrowest.
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
        // The kernel's byte order is correct on little-endian machines only.
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
