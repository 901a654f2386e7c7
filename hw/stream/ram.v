// Simple dual-port RAM, one write and one synchronous read port: every deep memory of rlfabric.
// A read in the clock of a write to the same address returns an undefined word; callers forward.
module rlfabric_ram #(
    parameter WIDTH = 1,
    parameter DEPTH = 2,
    parameter ADDRESS_WIDTH = 1,
    parameter RAM_STYLE = "auto"
) (
    input  wire                     clk,
    input  wire                     write_enable,
    input  wire [ADDRESS_WIDTH-1:0] write_address,
    input  wire [WIDTH-1:0]         write_data,
    input  wire                     read_enable,
    input  wire [ADDRESS_WIDTH-1:0] read_address,
    output reg  [WIDTH-1:0]         read_data
);
    (* ram_style = RAM_STYLE *) reg [WIDTH-1:0] memory [0:DEPTH-1];

    always @(posedge clk) begin
        if (write_enable) memory[write_address] <= write_data;
        if (read_enable) read_data <= memory[read_address];
    end
endmodule
