// AES-128 of one block, bit-sliced: plane b holds bit b of all 16 bytes.
#include <phineus.h>

// Boyar, Peralta, "A small depth-16 circuit for the AES S-box" (ePrint 2011/332).
static void sub_bytes(uint16_t q[8])
{
    uint16_t x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4], x4 = q[3], x5 = q[2], x6 = q[1], x7 = q[0];
    uint16_t s0, s1, s2, s3, s4, s5, s6, s7, t0, t1, t10, t11, t12, t13, t14, t15,
          t16, t17, t18, t19, t2, t20, t21, t22, t23, t24, t25, t26, t27, t28, t29, t3,
          t30, t31, t32, t33, t34, t35, t36, t37, t38, t39, t4, t40, t41, t42, t43, t44,
          t45, t46, t47, t48, t49, t5, t50, t51, t52, t53, t54, t55, t56, t57, t58, t59,
          t6, t60, t61, t62, t63, t64, t65, t66, t67, t7, t8, t9, y1, y10, y11, y12,
          y13, y14, y15, y16, y17, y18, y19, y2, y20, y21, y3, y4, y5, y6, y7, y8,
          y9, z0, z1, z10, z11, z12, z13, z14, z15, z16, z17, z2, z3, z4, z5, z6,
          z7, z8, z9;
    y14 = x3 ^ x5;
    y13 = x0 ^ x6;
    y9 = x0 ^ x3;
    y8 = x0 ^ x5;
    t0 = x1 ^ x2;
    y1 = t0 ^ x7;
    y4 = y1 ^ x3;
    y12 = y13 ^ y14;
    y2 = y1 ^ x0;
    y5 = y1 ^ x6;
    y3 = y5 ^ y8;
    t1 = x4 ^ y12;
    y15 = t1 ^ x5;
    y20 = t1 ^ x1;
    y6 = y15 ^ x7;
    y10 = y15 ^ t0;
    y11 = y20 ^ y9;
    y7 = x7 ^ y11;
    y17 = y10 ^ y11;
    y19 = y10 ^ y8;
    y16 = t0 ^ y11;
    y21 = y13 ^ y16;
    y18 = x0 ^ y16;
    t2 = y12 & y15;
    t3 = y3 & y6;
    t4 = t3 ^ t2;
    t5 = y4 & x7;
    t6 = t5 ^ t2;
    t7 = y13 & y16;
    t8 = y5 & y1;
    t9 = t8 ^ t7;
    t10 = y2 & y7;
    t11 = t10 ^ t7;
    t12 = y9 & y11;
    t13 = y14 & y17;
    t14 = t13 ^ t12;
    t15 = y8 & y10;
    t16 = t15 ^ t12;
    t17 = t4 ^ t14;
    t18 = t6 ^ t16;
    t19 = t9 ^ t14;
    t20 = t11 ^ t16;
    t21 = t17 ^ y20;
    t22 = t18 ^ y19;
    t23 = t19 ^ y21;
    t24 = t20 ^ y18;
    t25 = t21 ^ t22;
    t26 = t21 & t23;
    t27 = t24 ^ t26;
    t28 = t25 & t27;
    t29 = t28 ^ t22;
    t30 = t23 ^ t24;
    t31 = t22 ^ t26;
    t32 = t31 & t30;
    t33 = t32 ^ t24;
    t34 = t23 ^ t33;
    t35 = t27 ^ t33;
    t36 = t24 & t35;
    t37 = t36 ^ t34;
    t38 = t27 ^ t36;
    t39 = t29 & t38;
    t40 = t25 ^ t39;
    t41 = t40 ^ t37;
    t42 = t29 ^ t33;
    t43 = t29 ^ t40;
    t44 = t33 ^ t37;
    t45 = t42 ^ t41;
    z0 = t44 & y15;
    z1 = t37 & y6;
    z2 = t33 & x7;
    z3 = t43 & y16;
    z4 = t40 & y1;
    z5 = t29 & y7;
    z6 = t42 & y11;
    z7 = t45 & y17;
    z8 = t41 & y10;
    z9 = t44 & y12;
    z10 = t37 & y3;
    z11 = t33 & y4;
    z12 = t43 & y13;
    z13 = t40 & y5;
    z14 = t29 & y2;
    z15 = t42 & y9;
    z16 = t45 & y14;
    z17 = t41 & y8;
    t46 = z15 ^ z16;
    t47 = z10 ^ z11;
    t48 = z5 ^ z13;
    t49 = z9 ^ z10;
    t50 = z2 ^ z12;
    t51 = z2 ^ z5;
    t52 = z7 ^ z8;
    t53 = z0 ^ z3;
    t54 = z6 ^ z7;
    t55 = z16 ^ z17;
    t56 = z12 ^ t48;
    t57 = t50 ^ t53;
    t58 = z4 ^ t46;
    t59 = z3 ^ t54;
    t60 = t46 ^ t57;
    t61 = z14 ^ t57;
    t62 = t52 ^ t58;
    t63 = t49 ^ t58;
    t64 = z4 ^ t59;
    t65 = t61 ^ t62;
    t66 = z1 ^ t63;
    s0 = t59 ^ t63;
    s6 = t56 ^ ~t62;
    s7 = t48 ^ ~t60;
    t67 = t64 ^ t65;
    s3 = t53 ^ t66;
    s4 = t51 ^ t66;
    s5 = t47 ^ t65;
    s1 = t64 ^ ~s3;
    s2 = t55 ^ ~t67;
    q[7] = s0; q[6] = s1; q[5] = s2; q[4] = s3; q[3] = s4; q[2] = s5; q[1] = s6; q[0] = s7;
}

// Byte r + 4 c is row r of column c.
static void shift_rows(uint16_t q[8])
{
    for (int b = 0; b < 8; b++) {
        uint16_t x = q[b];
        q[b] = (x & 0x1111) | ((x >> 4) & 0x0222) | ((x << 12) & 0x2000) | ((x >> 8) & 0x0044) |
               ((x << 8) & 0x4400) | ((x >> 12) & 0x0008) | ((x << 4) & 0x8880);
    }
}

// The rows of each column, moved up by one and by two.
static uint16_t up(uint16_t x) { return ((x >> 1) & 0x7777) | ((x << 3) & 0x8888); }
static uint16_t up_two(uint16_t x) { return ((x >> 2) & 0x3333) | ((x << 2) & 0xcccc); }

static void mix_columns(uint16_t q[8])
{
    uint16_t two[8], one[8], both[8];
    for (int b = 0; b < 8; b++) {
        one[b] = up(q[b]);
        two[b] = q[b] ^ one[b];
        both[b] = up_two(two[b]);
    }
    for (int b = 0; b < 8; b++) {
        uint16_t doubled = b > 0 ? two[b - 1] : two[7];
        if (b == 1 || b == 3 || b == 4)
            doubled ^= two[7];
        q[b] = doubled ^ one[b] ^ both[b];
    }
}

static void planes(uint16_t q[8], const uint8_t x[16])
{
    for (int b = 0; b < 8; b++) {
        q[b] = 0;
        for (int i = 0; i < 16; i++)
            q[b] |= (uint16_t)((x[i] >> b & 1) << i);
    }
}

// The next round key, from the planes of the last one.
static void next_key(uint16_t k[8], unsigned round_constant)
{
    uint16_t s[8];
    for (int b = 0; b < 8; b++)
        s[b] = k[b] >> 12;
    sub_bytes(s);
    for (int b = 0; b < 8; b++) {
        uint16_t word = ((s[b] >> 1) & 7) | ((s[b] & 1) << 3);
        word ^= (round_constant >> b) & 1;
        uint16_t first = (k[b] ^ word) & 15;
        uint16_t second = ((k[b] >> 4) & 15) ^ first;
        uint16_t third = ((k[b] >> 8) & 15) ^ second;
        uint16_t fourth = (k[b] >> 12) ^ third;
        k[b] = first | (second << 4) | (third << 8) | (fourth << 12);
    }
}

PH_MAIN void aes(PH_IN(ann) const uint8_t key[16], PH_IN(ben) const uint8_t text[16],
                 PH_OUT(ann) uint8_t cipher[16])
{
    uint16_t q[8], k[8];
    planes(q, text);
    planes(k, key);
    for (int b = 0; b < 8; b++)
        q[b] ^= k[b];
    unsigned round_constant = 1;
    for (int round = 1; round <= 10; round++) {
        sub_bytes(q);
        shift_rows(q);
        if (round < 10)
            mix_columns(q);
        next_key(k, round_constant);
        for (int b = 0; b < 8; b++)
            q[b] ^= k[b];
        round_constant = (round_constant << 1) ^ (round_constant >> 7 ? 0x11b : 0);
    }
    for (int i = 0; i < 16; i++) {
        cipher[i] = 0;
        for (int b = 0; b < 8; b++)
            cipher[i] |= (uint8_t)((q[b] >> i & 1) << b);
    }
}
