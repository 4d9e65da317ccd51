// A queue between two streams with valid and ready. Push only if not full: simulation asserts it.
module ovl_fifo #(
    parameter WIDTH = 128,
    parameter DEPTH_BITS = 3
) (
    input  wire             clk,
    input  wire             reset,
    input  wire             push,
    input  wire [WIDTH-1:0] in,
    output wire             full,
    input  wire             pop,
    output wire [WIDTH-1:0] out,
    output wire             valid
);
    reg [WIDTH-1:0] memory [0:(1 << DEPTH_BITS) - 1];
    reg [DEPTH_BITS:0] head;
    reg [DEPTH_BITS:0] tail;
    assign valid = head != tail;
    assign full = head[DEPTH_BITS-1:0] == tail[DEPTH_BITS-1:0] && head[DEPTH_BITS] != tail[DEPTH_BITS];
    assign out = memory[tail[DEPTH_BITS-1:0]];
    always @(posedge clk) begin
        if (reset) begin
            head <= {(DEPTH_BITS + 1){1'b0}};
            tail <= {(DEPTH_BITS + 1){1'b0}};
        end else begin
            if (push) head <= head + 1'b1;
            if (pop) tail <= tail + 1'b1;
        end
        if (push) memory[head[DEPTH_BITS-1:0]] <= in;
    end
`ifdef OVL_ASSERT
    always @(posedge clk) begin
        if (!reset && push && full) begin
            $display("ovl_fifo: overrun");
            $stop;
        end
        if (!reset && pop && !valid) begin
            $display("ovl_fifo: underrun");
            $stop;
        end
    end
`endif
endmodule
