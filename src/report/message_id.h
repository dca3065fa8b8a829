/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "event.h"

/* MESSAGE_ID= of each kind of event: for ever, since filters of others and the catalog
 * (systemd/pcptuned.catalog) go by them. A new one: systemd-id128 new. */
#define MESSAGE_STARTED "3d7a5e0e125149a3a8bd9991936c0583"
#define MESSAGE_STOPPED "722157c66610475a9c78dfad9e4110c0"
#define MESSAGE_STORM "e4b505203d864ad6ad80cae415c4241a"
#define MESSAGE_ADAPTED "1d2cabcb8e784b33a6c76491bb88ae88"
#define MESSAGE_LISTS "7039dd30e2334da5a06df9bfd722e09b"
#define MESSAGE_RESTORED "b9265d2f3c5240b491d1e2b1c492bb4d"
#define MESSAGE_LEFT_ALONE "c6f4e4cbe890448485ff3fa93403b8c1"
#define MESSAGE_FOREIGN "4750ef923f634a25bc33850dfecb1fe2"
#define MESSAGE_REFUSED "6abc44cadddb440489eacbb1b31a9256"
#define MESSAGE_RECOVERED "88ddc85b2f9a4f97b10dcaac62cf0a86"
#define MESSAGE_SIGNAL "f4ded251e8e04ac68a7626d5c39d1839"
#define MESSAGE_KNOB_HANGS "04a9aeefcf7b468d8f12c5b04ae300d0"
#define MESSAGE_RELOADED "25973d8f439d4a2eb09077b8ee55bfdf"
#define MESSAGE_RELOAD_REJECTED "a8b98ba67a3a4672a1afee1504fe494c"
#define MESSAGE_NOTICE "85e574645ddd495e8b69120692203f31"

/* 32 hexadecimal digits; NULL: there is no such kind. */
const char *message_id(enum event_kind k);
