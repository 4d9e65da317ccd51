// Garbles or evaluates one AND gate in every cycle. Latency: 12 cycles.
//
// Zahur, Rosulek, Evans, "Two Halves Make a Whole", EUROCRYPT 2015, Figure 2, procedures GbAnd and Ev, with the hash of
// Guo et al., CRYPTO 2020 (ePrint 2019/1168): H(x, i) = AES(start ^ i, s(x)) ^ s(x), s(l || r) = (l ^ r) || l.
// Gate g uses the tweaks 2g and 2g+1. To garble, a, b and result are labels of false. To evaluate, they are active
// labels, delta is 0, and the row comes in when the hashes are done. post is added to the result.
module hg_cell #(
    parameter INDEX_BITS = 32,
    // What travels with a gate.
    parameter TAG_BITS = 16
) (
    input  wire                  clk,
    input  wire                  reset,
    input  wire                  advance,
    input  wire [127:0]          start,
    input  wire [127:0]          delta,
    input  wire                  valid,
    input  wire [INDEX_BITS-1:0] index,
    input  wire [127:0]          a,
    input  wire [127:0]          b,
    input  wire [127:0]          post,
    input  wire [TAG_BITS-1:0]   tag,
    input  wire                  evaluate,
    // The gate whose hashes are done needs its row now.
    output wire                  row_needed,
    input  wire [255:0]          row,
    output reg                   row_valid,
    output reg  [127:0]          garbler_half,
    output reg  [127:0]          evaluator_half,
    output reg  [127:0]          result,
    output reg  [TAG_BITS-1:0]   result_tag
);
    localparam AES_LATENCY = 11;

    function automatic [127:0] sigma(input [127:0] x);
        sigma = {x[127:64] ^ x[63:0], x[127:64]};
    endfunction

    wire [127:0] sigma_delta = sigma(delta);
    wire [127:0] sigma_a = sigma(a);
    wire [127:0] sigma_b = sigma(b);
    wire [127:0] garbler_tweak = {{(127 - INDEX_BITS){1'b0}}, index, 1'b0};
    wire [127:0] evaluator_tweak = {{(127 - INDEX_BITS){1'b0}}, index, 1'b1};

    wire [127:0] ca0, ca1, cb0, cb1;
    aes_pair pair_a (
        .clk(clk), .advance(advance), .key(start ^ garbler_tweak),
        .block0(sigma_a), .block1(sigma_a ^ sigma_delta), .cipher0(ca0), .cipher1(ca1)
    );
    aes_pair pair_b (
        .clk(clk), .advance(advance), .key(start ^ evaluator_tweak),
        .block0(sigma_b), .block1(sigma_b ^ sigma_delta), .cipher0(cb0), .cipher1(cb1)
    );

    wire [127:0] late_a, late_b, late_post;
    wire [TAG_BITS-1:0] late_tag;
    hg_delay #(.WIDTH(384 + TAG_BITS), .DEPTH(AES_LATENCY)) delay (
        .clk(clk), .advance(advance), .in({a, b, post, tag}), .out({late_a, late_b, late_post, late_tag})
    );

    reg [AES_LATENCY-1:0] valid_line;
    wire late_valid = valid_line[AES_LATENCY-1];
    assign row_needed = late_valid & evaluate;

    wire [127:0] ha0 = ca0 ^ sigma(late_a);
    wire [127:0] hb0 = cb0 ^ sigma(late_b);
    wire pa = late_a[0];
    wire pb = late_b[0];
    // The hash of the label of true has sigma(delta) more.
    wire [127:0] tg = evaluate ? row[127:0] : ca0 ^ ca1 ^ sigma_delta ^ (pb ? delta : 128'h0);
    wire [127:0] te = evaluate ? row[255:128] : cb0 ^ cb1 ^ sigma_delta ^ late_a;
    wire [127:0] wg = ha0 ^ (pa ? tg : 128'h0);
    wire [127:0] we = hb0 ^ (pb ? te ^ late_a : 128'h0);

    always @(posedge clk) begin
        if (reset) begin
            valid_line <= {AES_LATENCY{1'b0}};
            row_valid <= 1'b0;
        end else if (advance) begin
            valid_line <= {valid_line[AES_LATENCY-2:0], valid};
            row_valid <= late_valid;
        end
        if (advance) begin
            garbler_half <= tg;
            evaluator_half <= te;
            result <= wg ^ we ^ late_post;
            result_tag <= late_tag;
        end
    end
endmodule
