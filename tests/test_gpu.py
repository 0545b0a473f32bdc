"""What nvidia-smi prints, in its forms, with everything that a GB10 does not tell."""

from __future__ import annotations

import pytest

from bench.machine.gpu import Gpu, from_csv, from_report

HEADER = (
    "clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], temperature.gpu, "
    "utilization.gpu [%], clocks_throttle_reasons.active"
)
REPORT = """
==============NVSMI LOG==============

Timestamp                                 : Mon Dec  1 09:00:00 2026
Driver Version                            : 590.10
CUDA Version                              : 13.1

Attached GPUs                             : 1
GPU 0000000F:01:00.0
    Product Name                          : NVIDIA GB10
    Fan Speed                             : N/A
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Active
    Clocks Event Reasons Counters
        SW Power Capping                  : 12 us
        SW Thermal Slowdown               : 2500000 us
        HW Thermal Slowdown               : N/A
        HW Power Braking                  : 0 us
    FB Memory Usage
        Total                             : N/A
        Used                              : N/A
    Utilization
        GPU                               : 96 %
        Memory                            : 0 %
    Temperature
        GPU Current Temp                  : 87 C
        GPU T.Limit Temp                  : N/A
    GPU Power Readings
        Average Power Draw                : N/A
        Instantaneous Power Draw          : 61.25 W
        Current Power Limit               : N/A
    Module Power Readings
        Power Draw                        : N/A
    Clocks
        Graphics                          : 2405 MHz
        SM                                : 2405 MHz
        Memory                            : N/A
    Max Clocks
        Graphics                          : 3003 MHz
        SM                                : 3003 MHz
    Processes
        GPU instance ID                   : N/A
            Process ID                    : 4242
            Type                          : C
"""


def test_a_report_is_read_with_its_counters():
    assert from_report(REPORT) == Gpu(
        clock=2405,
        clock_max=3003,
        power=61.25,
        temperature=87,
        utilization=0.96,
        throttled=("software_thermal",),
        throttle_us={"power_cap": 12, "software_thermal": 2_500_000, "power_brake": 0},
    )


def test_the_older_wording_of_a_report_says_the_same():
    older = (
        REPORT.replace("Clocks Event Reasons\n", "Clocks Throttle Reasons\n")
        .replace("GPU Power Readings", "Power Readings")
        .replace("Instantaneous Power Draw", "Power Draw")
        .replace("        GPU                               : 96", "        Gpu      : 96")
    )
    assert from_report(older) == from_report(REPORT)


def test_a_report_that_tells_nothing_is_all_none():
    silent = "\n".join(
        line.split(" : ")[0] + " : N/A" if " : " in line else line for line in REPORT.splitlines()
    )
    assert from_report(silent) == Gpu()


def test_of_several_gpus_the_first_is_read():
    second = REPORT[REPORT.index("GPU 0000000F") :].replace("2405", "300").replace("0F:", "10:")
    assert from_report(REPORT + second) == from_report(REPORT)


@pytest.mark.parametrize("text", [None, "", "No devices were found", "NVIDIA-SMI has failed\n"])
def test_what_is_no_report_is_no_gpu(text):
    assert from_report(text) is None
    assert from_csv(text) is None


def test_a_table_is_read_by_its_header():
    row = "2405 MHz, 3003 MHz, 61.25 W, 71, 96 %, 0x0000000000000024"
    assert from_csv(f"{HEADER}\n{row}\n") == Gpu(
        clock=2405,
        clock_max=3003,
        power=61.25,
        temperature=71,
        utilization=0.96,
        throttled=("power_cap", "software_thermal"),
    )


def test_every_field_of_a_table_may_be_absent():
    row = "[N/A], [N/A], [Not Supported], N/A, [Unknown Error], [N/A]"
    assert from_csv(f"{HEADER}\n{row}\n") == Gpu()


def test_an_idle_gpu_is_not_throttled():
    row = "208 MHz, 3003 MHz, 4.5 W, 40, 0 %, 0x0000000000000001"
    found = from_csv(f"{HEADER.replace('throttle', 'event')}\n{row}\n")
    assert found.throttled == ()


def test_a_refused_field_is_no_table():
    assert from_csv('Field "clocks_throttle_reasons.active" is not a valid field to query.') is None
