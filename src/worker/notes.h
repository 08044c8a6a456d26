/*
 * notes.h - what a call decided and did, for the server's audit: the third field of
 * WIRE_REPLY (base/wire.h).
 *
 *   {"decision":"deny","rule":"[filesystem.guards] ... (FILE:LINE)",
 *    "writes":[{"path":"/w/a","op":"replace","before":"sha256...","after":"..."}],
 *    "writes_left_out":3,"cut":1200,"timed_out":true,
 *    "events":[{"event":"open","decision":"allow","detail":"/w/a mode='r'"}]}
 *
 * Every member is optional.  "cut": bytes of the reply that were left out, since it
 * was too long.  "timed_out": the call was stopped, its time was up.  Paths that are no
 * text are shown with U+FFFD.
 */
#ifndef WORKER_NOTES_H
#define WORKER_NOTES_H

#include "policy/setup.h"
#include "vfs/vfs.h"

struct notes {
    struct vfs *vfs;
    bool active, events, hashes;
    bool change_refused; /* in this call: something that would have changed a file */
    json_t *write_list, *event_list;
    size_t write_bytes; /* of the paths in write_list */
    json_int_t writes_left_out;
    uint64_t cut_bytes;
    bool timed_out;
    char *rule;      /* by which a program was refused, or NULL */
    char before[65]; /* of the file that is being replaced, or "" */
};

/* Watches the vfs from now on, if the setup has a path policy. */
void notes_init(struct notes *n, const struct setup *setup, struct vfs *vfs);
void notes_finish(struct notes *n);

void notes_begin(struct notes *n);                        /* a call */
void notes_refused(struct notes *n, struct str rule);     /* a program of it; "": none */
void notes_write(const struct notes *n, struct buf *out); /* nothing to say: "" */

#endif
