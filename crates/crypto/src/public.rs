//! [`public`]: a kernel states which numbers it may branch on.
//!
//! `scripts/kernel-branches` reads the disassembly of every kernel of vectors and fails when a jump or an
//! address depends on anything else: all that a kernel is given or loads is secret, but pointers and
//! what it states here. The statement is an instruction in the kernel, so it holds for this value wherever
//! the compiler keeps it, and cannot come to mean another one.
//!
//! Cost: an instruction without an effect for each number and call.

/// States that the numbers, such as lengths and indices, are public: a kernel's first statement.
#[inline(always)]
pub fn public<const N: usize>(numbers: [usize; N]) {
    for number in numbers {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: the `nop` names a place in memory and does not access it. The offset is what the
        // script looks for (`PUBLIC_MARK`).
        unsafe {
            std::arch::asm!(
                "nop dword ptr [{number} + 0x5075626c]",
                number = in(reg) number,
                options(nomem, nostack, preserves_flags)
            );
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = number;
    }
}

/// `number`, of which the compiler does not know that it is this one; it stays in a register.
#[inline(always)]
pub(crate) fn unknown(number: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut number = number;
        // SAFETY: no instruction is executed; a register is said to change and does not.
        unsafe {
            std::arch::asm!(
                "/* {0} */", inout(reg) number, options(pure, nomem, nostack, preserves_flags)
            );
        }
        number
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::hint::black_box(number)
}
