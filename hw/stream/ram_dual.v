// Dual-port RAM: port a reads, port b writes or reads. What port b read last stays while it writes.
// A read by port a in the clock of a write to the same address returns an undefined word.
module rlfabric_ram_dual #(
    parameter WIDTH = 1,
    parameter DEPTH = 2,
    parameter ADDRESS_WIDTH = 1,
    parameter RAM_STYLE = "auto"
) (
    input  wire                     clk,
    input  wire [ADDRESS_WIDTH-1:0] a_address,
    output reg  [WIDTH-1:0]         a_read_data,
    input  wire                     b_write_enable,
    input  wire [ADDRESS_WIDTH-1:0] b_address,
    input  wire [WIDTH-1:0]         b_write_data,
    output reg  [WIDTH-1:0]         b_read_data
);
    (* ram_style = RAM_STYLE *) reg [WIDTH-1:0] memory [0:DEPTH-1];

    always @(posedge clk) a_read_data <= memory[a_address];

    always @(posedge clk) begin
        if (b_write_enable) memory[b_address] <= b_write_data;
        else b_read_data <= memory[b_address];
    end
endmodule
