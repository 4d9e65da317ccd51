// One round of AES-128 (FIPS 197, section 5.1) as a pipeline stage. Byte i is bits 8i+7..8i.
module aes_round #(
    // The last round has no MixColumns.
    parameter IS_LAST = 0
) (
    input  wire         clk,
    input  wire         advance,
    input  wire [127:0] state,
    input  wire [127:0] round_key,
    output reg  [127:0] next
);
    wire [127:0] substituted;
    wire [127:0] shifted;
    wire [127:0] mixed;

    function automatic [7:0] doubled(input [7:0] x);
        doubled = {x[6:0], 1'b0} ^ (x[7] ? 8'h1b : 8'h00);
    endfunction

    genvar i, c, r;
    generate
        for (i = 0; i < 16; i = i + 1) begin : substitute
            aes_sbox sbox (.x(state[8 * i +: 8]), .y(substituted[8 * i +: 8]));
        end
        for (c = 0; c < 4; c = c + 1) begin : column
            for (r = 0; r < 4; r = r + 1) begin : row
                assign shifted[8 * (4 * c + r) +: 8] = substituted[8 * (4 * ((c + r) % 4) + r) +: 8];
                wire [7:0] s0 = shifted[8 * (4 * c + r) +: 8];
                wire [7:0] s1 = shifted[8 * (4 * c + (r + 1) % 4) +: 8];
                wire [7:0] s2 = shifted[8 * (4 * c + (r + 2) % 4) +: 8];
                wire [7:0] s3 = shifted[8 * (4 * c + (r + 3) % 4) +: 8];
                assign mixed[8 * (4 * c + r) +: 8] =
                    (IS_LAST != 0) ? s0 : doubled(s0) ^ doubled(s1) ^ s1 ^ s2 ^ s3;
            end
        end
    endgenerate

    always @(posedge clk) if (advance) next <= mixed ^ round_key;
endmodule
