/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/* A process that runs the real src/actuate and stops before each step of ownership.pml: the linker
 * hands the system calls that make the steps to steps.c (--wrap). */

enum step_fault {
    STEP_GOES_WELL,
    STEP_FAILS,          /* the system call returns an error */
    STEP_WITHOUT_EFFECT, /* a write that the kernel takes and does not carry out */
};

enum step_call { CALL_END, CALL_SET, CALL_RESTORE, CALL_RECOVER, CALL_YIELD };

struct step_order {
    enum step_call call;
    int from, value;
};

/* What the process says: the name of the step that it stands before, "return", or
 * "actuator_open". */
struct step_report {
    char name[24];
    int error; /* of actuator_open() */
    int kind;  /* of "return": enum outcome_kind */
    int held;
};

struct stepper {
    int pid; /* 0: none */
    int fd;
};

/* Starts it; its first report is of actuator_open(), and where that failed also its last. */
void stepper_start(struct stepper *s, const char *boot_id);
void stepper_order(const struct stepper *s, const struct step_order *order);
void stepper_go(const struct stepper *s, enum step_fault fault);
void stepper_hear(const struct stepper *s, struct step_report *ret);
/* Reaps it; kills it first where that is wanted. */
void stepper_end(struct stepper *s, int killed);
