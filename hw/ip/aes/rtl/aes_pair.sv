// Encrypts two blocks under one key, with a new key and new blocks in every cycle. Latency: 11 cycles.
// The key schedule is one stage ahead of the data, so that no stage has the S-box of both in one path.
module aes_pair (
    input  wire         clk,
    input  wire         advance,
    input  wire [127:0] key,
    input  wire [127:0] block0,
    input  wire [127:0] block1,
    output wire [127:0] cipher0,
    output wire [127:0] cipher1
);
    wire [127:0] keys   [0:10];
    wire [127:0] state0 [0:10];
    wire [127:0] state1 [0:10];

    reg [127:0] white0;
    reg [127:0] white1;
    always @(posedge clk) begin
        if (advance) begin
            white0 <= block0 ^ key;
            white1 <= block1 ^ key;
        end
    end
    assign state0[0] = white0;
    assign state1[0] = white1;
    assign keys[0] = key;

    genvar r;
    generate
        for (r = 1; r <= 10; r = r + 1) begin : round
            // x^(r-1) in GF(2^8): 01 02 04 08 10 20 40 80 1b 36.
            aes_key_step #(
                .ROUND_CONSTANT(r == 10 ? 8'h36 : r == 9 ? 8'h1b : (8'h01 << (r - 1)))
            ) key_step (
                .clk(clk), .advance(advance), .key(keys[r - 1]), .next(keys[r])
            );
            aes_round #(.IS_LAST(r == 10)) data0 (
                .clk(clk), .advance(advance), .state(state0[r - 1]), .round_key(keys[r]), .next(state0[r])
            );
            aes_round #(.IS_LAST(r == 10)) data1 (
                .clk(clk), .advance(advance), .state(state1[r - 1]), .round_key(keys[r]), .next(state1[r])
            );
        end
    endgenerate
    assign cipher0 = state0[10];
    assign cipher1 = state1[10];
endmodule
