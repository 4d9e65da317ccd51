//! Half gates with VAES on 256-bit registers: see [`super::narrow`]. A set is four gates.

super::narrow::narrow_kernels!(ymm, "vaes,avx2,aes");
