/*
 * sanitized.h - whether AddressSanitizer is built in, with which work takes several times
 * as long and stacks are several times as large.  What tries much tries less of it then.
 */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#endif
