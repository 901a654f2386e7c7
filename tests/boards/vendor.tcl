# Stands in for Vivado: tclsh vendor.tcl RECORD INTERFACES SCRIPT [ARGUMENT...]
#
# Each command that the generated scripts may use checks its options and what it is given, is written
# to RECORD (a line a command, fields apart by U+001F), and answers as Vivado does. Any other command
# is unknown to Tcl, which ends the script. INTERFACES are those that the IP has.

set record [open [lindex $argv 0] w]
set interfaces [lindex $argv 1]
set script [lindex $argv 2]
set argv [lrange $argv 3 end]
fconfigure $record -encoding utf-8

namespace eval ipx {}
proc note {words} {
    puts $::record [join [lmap word $words {string map {\n " "} $word}] \x1f]
    flush $::record
}

# command NAME FLAGS VALUED BODY: options without and with a value; BODY sees $options, a dictionary,
# and $rest, the other arguments.
proc command {name flags valued body} {
    proc ::$name args [format {
        note [linsert $args 0 %s]
        set options {}
        set rest {}
        for {set k 0} {$k < [llength $args]} {incr k} {
            set word [lindex $args $k]
            if {$word in {%s}} {
                dict set options $word 1
            } elseif {$word in {%s}} {
                if {[incr k] >= [llength $args]} {error "$word needs a value"}
                dict set options $word [lindex $args $k]
            } elseif {[regexp {^-[a-z]} $word]} {
                error "unknown option $word"
            } else {
                lappend rest $word
            }
        }
        %s
    } $name $flags $valued $body]
}
proc known {kind name} {
    if {![info exists ::objects($kind,$name)]} {error "no $kind $name"}
    return $name
}
proc present {file} {
    if {![file exists $file]} {error "no file $file"}
}
proc touch {file} {
    file mkdir [file dirname $file]
    close [open $file w]
}

# Projects. After one is closed while others are open, none is the current one: which Vivado would
# take is not documented.
set projects {}
set current {}
proc open_project_ {name} {
    lappend ::projects $name
    set ::current $name
}
command create_project {-force} {-part} {
    if {![dict exists $options -part]} {error "no part"}
    open_project_ [lindex $rest 0]
}
command close_project {-delete} {} {
    if {$::current eq {}} {error "no project is the current one"}
    set ::projects [lsearch -all -inline -not -exact $::projects $::current]
    set ::current {}
}
command get_projects {-quiet} {} {return $::projects}
command current_project {} {} {
    if {[llength $rest]} {
        if {[lindex $rest 0] ni $::projects} {error "no project [lindex $rest 0]"}
        set ::current [lindex $rest 0]
    }
    return $::current
}
command current_fileset {} {} {return sources_1}
command add_files {-norecurse} {} {foreach file $rest {present $file}}
command update_compile_order {} {-fileset} {}
command set_property {-quiet} {-dict} {
    if {[llength $rest] != 3 - 2 * [dict exists $options -dict]} {error "wrong # of arguments"}
    if {[lindex $rest end] eq {}} {error "no object"}
    if {[dict exists $options -dict]} {
        foreach {name value} [dict get $options -dict] {set ::properties([lindex $rest end],$name) $value}
    }
}
command get_property {} {} {
    lassign $rest name object
    switch -glob $name {
        NAME - VLNV {return $object}
        PROGRESS {return $::progress}
        STATUS {return "synth_design Error"}
        STATS.WNS {return 0.125}
        *ACT_FREQMHZ {return 187.498}
        default {error "no property $name"}
    }
}
set progress [expr {[info exists env(PROGRESS)] ? $env(PROGRESS) : "100%"}]

# The packager.
command ipx::package_project {-import_files} {-root_dir -vendor -library -taxonomy -set_current} {
    touch [dict get $options -root_dir]/component.xml
}
command ipx::unload_core {} {} {present [lindex $rest 0]}
command ipx::edit_ip_in_project {} {-upgrade -name -directory} {
    present [lindex $rest 0]
    open_project_ [dict get $options -name]
}
command ipx::current_core {} {} {return core}
command ipx::get_user_parameters {} {} {return {DATA_WIDTH DEPTH}}
command ipx::remove_user_parameter {} {} {}
command ipx::get_bus_interfaces {} {-of} {
    set name [lindex $rest 0]
    if {$name ni [concat $::interfaces ap_clk ap_rst_n]} {error "no interface $name"}
    return interface:$name
}
command ipx::get_address_spaces {} {-of_objects} {
    if {[lindex $rest 0] ni $::interfaces} {error "no address space [lindex $rest 0]"}
    return space:[lindex $rest 0]
}
command ipx::remove_segment {-quiet} {} {if {[llength $rest] != 2} {error "a segment and a space"}}
command ipx::associate_bus_interfaces {} {-busif -clock} {
    if {[dict get $options -busif] ni $::interfaces} {error "no interface [dict get $options -busif]"}
}
foreach {name kind} {
    add_bus_parameter parameter add_memory_map map add_address_block block
    add_register register add_register_parameter parameter
} {
    command ipx::$name {-quiet} {} [format {
        lassign $rest name parent
        if {$parent eq {}} {error "no parent"}
        return %s:$name@$parent
    } $kind]
}
command ipx::add_field {} {} {return field:[lindex $rest 0]@[lindex $rest 1]}
foreach name {create_xgui_files update_checksums save_core} {command ipx::$name {} {} {}}
command ipx::check_integrity {-kernel} {} {}
command package_xo {-force} {-xo_path -kernel_name -ip_directory -kernel_xml} {
    present [dict get $options -kernel_xml]
    present [dict get $options -ip_directory]/component.xml
    touch [dict get $options -xo_path]
}

# Block designs.
command get_board_parts {-quiet} {} {
    return [expr {[info exists ::env(NO_BOARD)] ? {} : {a:b:part0:2.10 a:b:part0:2.9}}]
}
command update_ip_catalog {} {} {present ip/component.xml}
command get_ipdefs {} {} {return [list [string map {* 9.1} [lindex $rest 0]]]}
command create_bd_design {} {} {}
command create_bd_cell {} {-type -vlnv} {
    set ::objects(cell,[lindex $rest 0]) 1
    return [lindex $rest 0]
}
command get_bd_cells {} {} {return [known cell [lindex $rest 0]]}
foreach name {get_bd_pins get_bd_intf_pins} {
    command $name {} {} {
        known cell [lindex [split [lindex $rest 0] /] 0]
        if {[regexp {^processor/(S_AXI_HP|saxihp)(\d)_fpd} [string map {FPD fpd} [lindex $rest 0]] - - port]} {
            used $port
        }
        return [lindex $rest 0]
    }
}
# A port of the processor for masters is there once it is asked for: S_AXI_GP2 is S_AXI_HP0_FPD.
proc used {port} {
    set name CONFIG.PSU__USE__S_AXI_GP[expr {$port + 2}]
    if {![info exists ::properties(processor,$name)] || $::properties(processor,$name) ne "1"} {
        error "no port S_AXI_HP${port}_FPD"
    }
}
command apply_bd_automation {} {-rule -config} {}
command connect_bd_intf_net {} {} {if {[llength $rest] != 2} {error "two pins"}}
command connect_bd_net {} {} {if {[llength $rest] != 2} {error "two pins"}}
# What a preset shows of a port of the processor: one more than a board without PCIe, or another list.
set segments {DDR_HIGH DDR_LOW LPS_OCM PCIE_LOW QSPI}
if {[info exists env(SEGMENTS)]} {set segments $env(SEGMENTS)}
command get_bd_addr_spaces {} {} {
    known cell [lindex [split [lindex $rest 0] /] 0]
    return [lindex $rest 0]
}
command get_bd_addr_segs {} {} {
    set pattern [lindex $rest 0]
    known cell [lindex [split $pattern /] 0]
    if {![regexp {^processor/SAXIGP(\d)/} $pattern - port]} {return $pattern}
    incr port -2
    used $port
    set all [lmap segment $::segments {string cat processor/SAXIGP[expr {$port + 2}]/HP${port}_ $segment}]
    return [lsearch -all -inline -glob $all $pattern]
}
command assign_bd_address {} {-offset -range -target_address_space} {
    if {[lindex $rest 0] eq {}} {error "no segment"}
}
command exclude_bd_addr_seg {} {-target_address_space} {if {[lindex $rest 0] eq {}} {error "no segment"}}
foreach name {validate_bd_design save_bd_design open_bd_design} {command $name {} {} {}}
command get_files {} {} {return [lindex $rest 0]}
command make_wrapper {-top} {-files} {
    touch system/system.gen/sources_1/bd/system/hw_handoff/system.hwh
    touch system/wrapper.v
    return system/wrapper.v
}

# Runs.
command launch_runs {} {-to_step -jobs} {touch system/system.runs/impl_1/system_wrapper.bit}
command wait_on_run {} {} {}
command get_runs {} {} {return [lindex $rest 0]}
command open_run {} {} {}
command report_timing_summary {} {-file} {}
command report_utilization {-hierarchical} {-file} {}
command write_hw_platform {-fixed -include_bit -force} {-file} {touch [dict get $options -file]}

source $script
note end
