# Functions for `kernel-branches --controls`: `bad_*` have a jump, an address or a time that depends on a
# secret, `good_*` have none. Arguments as in Rust: rdi and rdx point to data, rsi and rcx are lengths if
# stated so by the mark of phineus_crypto::public.
    .intel_syntax noprefix
    .text

.macro public register
    nop dword ptr [\register + 0x5075626c]
.endm

.macro function name
    .globl \name
    .type \name, @function
\name:
.endm

# A loop over a length that is stated to be public.
function good_loop
    public rsi
    test rsi, rsi
    je 2f
    xor eax, eax
1:  vmovdqu64 zmm0, zmmword ptr [rdi + rax]
    vpxorq zmm0, zmm0, zmm1
    vmovdqu64 zmmword ptr [rdi + rax], zmm0
    add rax, 64
    dec rsi
    jne 1b
2:  ret

# The same, when nothing states that the length is public.
function bad_length_not_stated
    test rsi, rsi
    je 2f
1:  vmovdqu64 zmm0, zmmword ptr [rdi]
    add rdi, 64
    dec rsi
    jne 1b
2:  ret

# `if label & 1 { label ^= delta }`.
function bad_jump_on_a_label
    public rsi
1:  mov rax, qword ptr [rdi]
    test al, 1
    je 2f
    xor rax, rdx
    mov qword ptr [rdi], rax
2:  add rdi, 8
    dec rsi
    jne 1b
    ret

# The same as a mask.
function good_mask_of_a_label
    public rsi
1:  mov rax, qword ptr [rdi]
    mov rcx, rax
    and ecx, 1
    neg rcx
    and rcx, rdx
    xor rax, rcx
    mov qword ptr [rdi], rax
    add rdi, 8
    dec rsi
    jne 1b
    ret

# A conditional move is no jump.
function good_conditional_move
    mov rax, qword ptr [rdi]
    mov rcx, qword ptr [rdi + 8]
    cmp rax, rcx
    cmovb rax, rcx
    mov qword ptr [rdi], rax
    ret

function bad_jump_on_a_vector
    vmovdqu ymm0, ymmword ptr [rdi]
    vptest ymm0, ymm0
    je 1f
    vmovdqu ymmword ptr [rdi + 32], ymm0
1:  vzeroupper
    ret

function bad_jump_on_a_mask_register
    vmovdqu64 zmm0, zmmword ptr [rdi]
    vpcmpeqq k1, zmm0, zmm1
    kortestb k1, k1
    jne 1f
    vmovdqu64 zmmword ptr [rdi], zmm1
1:  ret

function bad_jump_on_an_extracted_word
    vmovdqu xmm0, xmmword ptr [rdi]
    vmovq rax, xmm0
    shr rax, 63
    cmp eax, 1
    jne 1f
    mov qword ptr [rdi], rax
1:  ret

# A substitution box in memory.
function bad_table
    movzx eax, byte ptr [rdi]
    movzx eax, byte ptr [rdx + rax]
    mov byte ptr [rdi], al
    ret

# A secret word as one of two equal parts of an address.
function bad_sum_of_pointer_and_secret
    mov rcx, qword ptr [rdx]
    mov rax, qword ptr [rdi]
    mov rcx, qword ptr [rcx]
    add rax, rcx
    mov rax, qword ptr [rdi + rcx*8]
    ret

function bad_gather
    vmovdqu64 zmm0, zmmword ptr [rdi]
    kxnorw k1, k1, k1
    vpgatherqq zmm1{k1}, [rdx + zmm0*8]
    vmovdqu64 zmmword ptr [rdi], zmm1
    ret

function bad_division
    mov rax, qword ptr [rdi]
    xor edx, edx
    mov ecx, 10
    div rcx
    mov qword ptr [rdi], rdx
    ret

# The secret goes through the stack, next to a length that does, too.
function bad_spilled_secret
    public rsi
    sub rsp, 24
    mov qword ptr [rsp + 8], rsi
    mov rax, qword ptr [rdi]
    mov qword ptr [rsp], rax
    mov rcx, qword ptr [rsp]
    cmp rcx, 7
    jb 1f
    mov qword ptr [rdi], rcx
1:  add rsp, 24
    ret

function good_spilled_length
    public rsi
    sub rsp, 24
    mov qword ptr [rsp + 8], rsi
    mov rax, qword ptr [rdi]
    mov qword ptr [rsp], rax
    mov rcx, qword ptr [rsp + 8]
    cmp rcx, 7
    jb 1f
    mov rax, qword ptr [rsp]
    mov qword ptr [rdi + 8], rax
1:  add rsp, 24
    ret

# Half of a vector that was stored to the stack.
function bad_half_of_a_spilled_vector
    sub rsp, 40
    vmovdqu ymm0, ymmword ptr [rdi]
    vmovdqu ymmword ptr [rsp], ymm0
    cmp byte ptr [rsp + 9], 0
    je 1f
    mov qword ptr [rdi], 0
1:  add rsp, 40
    ret

# A pointer and a length in a structure; the length is stated.
function good_structure
    mov rcx, qword ptr [rdx + 8]
    public rcx
    mov rax, qword ptr [rdx]
    test rcx, rcx
    je 2f
1:  vmovdqu xmm0, xmmword ptr [rax]
    vmovdqu xmmword ptr [rdi], xmm0
    add rax, 16
    add rdi, 16
    dec rcx
    jne 1b
2:  ret

# Another field of the structure is not.
function bad_field_of_a_structure
    mov rcx, qword ptr [rdx + 8]
    public rcx
    mov rax, qword ptr [rdx + 16]
    test rax, rax
    je 1f
    mov qword ptr [rdi], rcx
1:  ret

# A part that is stated to be public does not make the whole so.
function bad_whole_of_a_public_part
    mov rax, rsi
    and eax, 1
    public rax
    test rax, rax
    je 1f
    mov qword ptr [rdi], rax
1:  cmp rsi, 77
    je 2f
    mov qword ptr [rdi + 8], rax
2:  ret

# The carry of secrets survives the counting of a loop.
function bad_carry
    public rsi
    mov rax, qword ptr [rdi]
    add rax, qword ptr [rdi + 8]
    dec rsi
    jc 1f
    mov qword ptr [rdi], rax
1:  ret

function good_counter_beside_a_carry
    public rsi
    xor eax, eax
    xor ecx, ecx
1:  adc rax, qword ptr [rdi + rcx*8]
    inc rcx
    dec rsi
    jne 1b
    mov qword ptr [rdi], rax
    ret

function bad_length_of_a_copy
    mov rcx, qword ptr [rdx]
    rep movsb
    ret

function bad_indirect_jump
    mov rax, qword ptr [rdi]
    and eax, 8
    lea rcx, [rip + 1f]
    add rcx, rax
    jmp rcx
1:  ret
    nop
    ret

function bad_mask_of_a_store
    vmovdqu64 zmm0, zmmword ptr [rdi]
    vptestmq k1, zmm0, zmm0
    vmovdqu64 zmmword ptr [rdi]{k1}, zmm1
    ret

# A byte in a register of which a call left the rest: the mask has no more bits than that byte.
function good_byte_after_a_call
    push rdi
    call other
    pop rdi
    mov sil, 15
    kmovd k1, esi
    vmovdqu64 zmmword ptr [rdi]{k1}, zmm1
    ret

# The same with a byte of the result of the call.
function bad_byte_of_the_result_of_a_call
    push rdi
    call other
    pop rdi
    mov sil, al
    kmovd k1, esi
    vmovdqu64 zmmword ptr [rdi]{k1}, zmm1
    ret

# A vector that a call gave back, of which a byte is overwritten.
function bad_jump_on_a_vector_of_a_call
    push rdi
    call other
    pop rdi
    vmovq rax, xmm0
    mov al, 1
    test rax, rax
    jns 1f
    mov qword ptr [rdi], rdx
1:  ret

# A flag in the lowest byte of a register of secrets, which is spilled and tested alone.
function good_jump_on_a_flag_in_a_spilled_register
    mov r8, qword ptr [rdi]
    mov r8b, 1
    mov dword ptr [rsp - 8], r8d
    vmovdqu64 zmm0, zmmword ptr [rdi]
    test byte ptr [rsp - 8], 1
    jne 1f
    mov qword ptr [rdi], rdx
1:  ret

# The same, but the byte after the flag is tested.
function bad_jump_on_a_byte_beside_a_flag
    mov r8, qword ptr [rdi]
    mov r8b, 1
    mov dword ptr [rsp - 8], r8d
    vmovdqu64 zmm0, zmmword ptr [rdi]
    test byte ptr [rsp - 7], 1
    jne 1f
    mov qword ptr [rdi], rdx
1:  ret

function other
    mov rax, qword ptr [rdi]
    vmovdqu64 zmm0, zmmword ptr [rdi]
    ret

    .section .note.GNU-stack, "", @progbits
