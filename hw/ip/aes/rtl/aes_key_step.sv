// One step of the key schedule of AES-128 (FIPS 197, section 5.2) as a pipeline stage.
module aes_key_step #(
    parameter [7:0] ROUND_CONSTANT = 8'h01
) (
    input  wire         clk,
    input  wire         advance,
    input  wire [127:0] key,
    output reg  [127:0] next
);
    wire [31:0] rotated = {key[103:96], key[127:104]};
    wire [31:0] substituted;
    genvar i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : substitute
            aes_sbox sbox (.x(rotated[8 * i +: 8]), .y(substituted[8 * i +: 8]));
        end
    endgenerate
    wire [31:0] w0 = key[31:0] ^ substituted ^ {24'h0, ROUND_CONSTANT};
    wire [31:0] w1 = key[63:32] ^ w0;
    wire [31:0] w2 = key[95:64] ^ w1;
    wire [31:0] w3 = key[127:96] ^ w2;
    always @(posedge clk) if (advance) next <= {w3, w2, w1, w0};
endmodule
