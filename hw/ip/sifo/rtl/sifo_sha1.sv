// First 80 bits of SHA-1 (FIPS 180-4, section 6.1) of a message of 28 bytes. Latency: 82 cycles.
//
// `start` loads the message, 80 cycles do a round each, and one adds the initial value. Byte i of message and digest is
// bits 8i+7 to 8i.
module sifo_sha1 (
    input  wire         clk,
    input  wire         reset,
    input  wire         start,
    input  wire [223:0] message,
    output reg          done,
    output wire [79:0]  digest
);
    localparam [31:0] H0 = 32'h67452301, H1 = 32'hefcdab89, H2 = 32'h98badcfe, H3 = 32'h10325476, H4 = 32'hc3d2e1f0;

    // The words of the message, first word leftmost, with the padding: a bit 1, and the length of 224 bits.
    wire [511:0] padded;
    genvar i;
    generate
        for (i = 0; i < 28; i = i + 1) begin : bytes
            assign padded[511 - 8 * i -: 8] = message[8 * i +: 8];
        end
    endgenerate
    assign padded[287:0] = {8'h80, 216'h0, 64'd224};

    reg [511:0] words;
    reg [31:0] a, b, c, d, e;
    reg [6:0] round;
    reg busy, adds;

    wire [31:0] word = words[511:480];
    wire [31:0] mixed = words[95:64] ^ words[255:224] ^ words[447:416] ^ words[511:480];
    wire [31:0] choose = (b & c) | (~b & d);
    wire [31:0] parity = b ^ c ^ d;
    wire [31:0] majority = (b & c) | (b & d) | (c & d);
    wire first = round < 7'd20;
    wire second = round < 7'd40;
    wire third = round < 7'd60;
    wire [31:0] f = first ? choose : second ? parity : third ? majority : parity;
    wire [31:0] k = first ? 32'h5a827999 : second ? 32'h6ed9eba1 : third ? 32'h8f1bbcdc : 32'hca62c1d6;
    wire [31:0] next = {a[26:0], a[31:27]} + f + e + k + word;

    always @(posedge clk) begin
        if (reset) begin
            busy <= 1'b0;
            adds <= 1'b0;
            done <= 1'b0;
        end else begin
            adds <= 1'b0;
            if (start) begin
                busy <= 1'b1;
                done <= 1'b0;
            end else if (busy && round == 7'd79) begin
                busy <= 1'b0;
                adds <= 1'b1;
            end
            if (adds) done <= 1'b1;
        end
        if (start) begin
            words <= padded;
            round <= 7'd0;
            {a, b, c, d, e} <= {H0, H1, H2, H3, H4};
        end else if (busy) begin
            words <= {words[479:0], mixed[30:0], mixed[31]};
            round <= round + 7'd1;
            {a, b, c, d, e} <= {next, a, {b[1:0], b[31:2]}, c, d};
        end else if (adds) begin
            a <= a + H0;
            b <= b + H1;
            c <= c + H2;
        end
    end

    wire [79:0] leading = {a, b, c[31:16]};
    generate
        for (i = 0; i < 10; i = i + 1) begin : digest_bytes
            assign digest[8 * i +: 8] = leading[79 - 8 * i -: 8];
        end
    endgenerate
endmodule
