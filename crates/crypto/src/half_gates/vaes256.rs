//! Half gates with VAES on 256-bit registers, two gates at a time.

super::in_lane::in_lane_kernels!(ymm, "vaes,avx2,aes");
super::in_lane::in_lane_hashes_alone!("vaes,avx2,aes");
