/*
 * logfile.h - a file to which lines are appended and which nobody can bend.
 *
 * Each line is one write to a descriptor with O_APPEND, so that several servers may share
 * the file.  The folder is held by a descriptor; the file in it is never reached through
 * a link.  If the owner moves the file away it is opened anew; if it grows too big it is
 * renamed to NAME.1, that one to NAME.2, and so on.  What cannot be written is said once
 * on stderr and is no failure of who asked; so is it if somebody cuts the file off.
 */
#ifndef POLICY_LOGFILE_H
#define POLICY_LOGFILE_H

#include "base/str.h"

struct logfile;

/* May the log lie at `path` (absolute, links of folders resolved)?  Fills `err` if not.
 */
typedef bool logfile_judge(const void *user, struct str path, struct error *err);

struct logfile_options {
    const char *what;        /* for messages: "audit log" */
    struct str path;         /* absolute */
    struct str create_below; /* missing folders in it are made (0700); "": none are */
    uint64_t max_bytes;      /* of the file; 0: it is never renamed */
    unsigned keep;           /* renamed files */
    logfile_judge *judge;    /* asked each time the file is opened */
    const void *user;
};

/*
 * Create the file (0600) or go on with it.  `options` is copied, what it points to must
 * live on.  ERR_DENIED: the judge said no, or what is there is a link or no plain file.
 */
MUST_CHECK bool logfile_open(
        const struct logfile_options *options, struct logfile **out, struct error *err);
void logfile_close(struct logfile *l); /* NULL is fine */

/* Append `line` and a newline; false: it is lost. */
bool logfile_append(struct logfile *l, struct str line);

#endif
