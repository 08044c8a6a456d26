/*
 * can-mount.h - may a user have mounts of its own on this machine?
 *
 * Not in a container that refuses namespaces, and not below a chroot.  Tests of what
 * mounts hold are left out there; found out without the code that is tested.
 */
#ifndef TESTS_CAN_MOUNT_H
#define TESTS_CAN_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

bool can_mount(uid_t user);

#endif
