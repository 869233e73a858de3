/* The few operations on text that the launcher needs. */
#ifndef FAIRLEAD_TEXT_H
#define FAIRLEAD_TEXT_H

#include "sys.h"

static inline size_t text_length(const char *text) {
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

static inline bool text_equal(const char *one, const char *other) {
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

static inline bool text_contains(const char *text, char wanted) {
    for (; *text; text++)
        if (*text == wanted)
            return true;
    return false;
}

static inline bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

/* The number that `text` spells, or -1 if it is not a plain decimal number below 10^9. */
static inline int text_number(const char *text) {
    int number = 0;
    size_t length = text_length(text);
    if (length == 0 || length > 9)
        return -1;
    for (; *text; text++) {
        if (!is_digit(*text))
            return -1;
        number = number * 10 + (*text - '0');
    }
    return number;
}

/* Appends and returns the new end. The caller's buffer is known to be long enough. */
static inline char *append_text(char *end, const char *text) {
    while (*text)
        *end++ = *text++;
    *end = 0;
    return end;
}

static inline char *append_number(char *end, int number) {
    char digits[12];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *end++ = digits[--count];
    *end = 0;
    return end;
}

#endif
