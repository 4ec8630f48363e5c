//! Memory that was freed, and that the allocator has not given back.

/// Gives freed memory back to the system. Reading and indexing a large catalog frees tens of
/// megabytes in small pieces, which the allocator of glibc otherwise keeps until the process ends.
/// Does nothing with other allocators.
pub fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the declaration is that of malloc.h. The function takes no pointer, may be called
        // at any time and from any thread, and changes no memory that is in use.
        unsafe extern "C" {
            safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        malloc_trim(0);
    }
}
