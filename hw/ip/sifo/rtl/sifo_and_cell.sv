// gAND: garbles an AND gate with four SHA-1 cores, row reduction, point and permute, and free XOR. Latency: 82 cycles.
//
// Fang, Ioannidis, Leeser, "SIFO", Figure 3. Core 2x+y hashes the labels with the select bits x and y. `a`, `b` and
// `result` are labels of false. The hash of core 0 is the label with select bits 0 and 0, and no row; `rows` are those of
// cores 1, 2, 3 from the lowest bit. `offset` must stay constant.
module sifo_and_cell (
    input  wire         clk,
    input  wire         reset,
    input  wire [79:0]  offset,
    input  wire         start,
    input  wire [63:0]  number,
    input  wire [79:0]  a,
    input  wire [79:0]  b,
    output wire         done,
    output wire [79:0]  result,
    output wire [239:0] rows
);
    // The number is hashed with its highest byte first.
    wire [63:0] number_bytes = {
        number[7:0], number[15:8], number[23:16], number[31:24],
        number[39:32], number[47:40], number[55:48], number[63:56]
    };
    wire [79:0] a_other = a ^ offset;
    wire [79:0] b_other = b ^ offset;
    wire [79:0] a0 = a[0] ? a_other : a;
    wire [79:0] a1 = a[0] ? a : a_other;
    wire [79:0] b0 = b[0] ? b_other : b;
    wire [79:0] b1 = b[0] ? b : b_other;

    wire [3:0] all_done;
    wire [79:0] h0, h1, h2, h3;
    sifo_sha1 core0 (.clk(clk), .reset(reset), .start(start), .message({number_bytes, b0, a0}), .done(all_done[0]), .digest(h0));
    sifo_sha1 core1 (.clk(clk), .reset(reset), .start(start), .message({number_bytes, b1, a0}), .done(all_done[1]), .digest(h1));
    sifo_sha1 core2 (.clk(clk), .reset(reset), .start(start), .message({number_bytes, b0, a1}), .done(all_done[2]), .digest(h2));
    sifo_sha1 core3 (.clk(clk), .reset(reset), .start(start), .message({number_bytes, b1, a1}), .done(all_done[3]), .digest(h3));
    assign done = &all_done;

    // The arbiters of Figure 3: select bits of the labels of false say which row has the label of true.
    reg select_a, select_b;
    always @(posedge clk) if (start) {select_a, select_b} <= {a[0], b[0]};
    assign result = h0 ^ (select_a & select_b ? offset : 80'h0);
    assign rows[79:0] = h1 ^ result ^ (select_a & !select_b ? offset : 80'h0);
    assign rows[159:80] = h2 ^ result ^ (!select_a & select_b ? offset : 80'h0);
    assign rows[239:160] = h3 ^ result ^ (!select_a & !select_b ? offset : 80'h0);
endmodule
