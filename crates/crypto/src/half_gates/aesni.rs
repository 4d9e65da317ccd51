//! Half gates with AES-NI: see [`super::narrow`]. A set is two gates.

super::narrow::narrow_kernels!(xmm, "aes,ssse3,sse4.1");
