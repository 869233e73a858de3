/* produce BYTES: that many bytes in lines of 80. The work of the producer must not be what is measured. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char block[65520]; /* whole lines */
    long left = argc > 1 ? atol(argv[1]) : 0;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = i % 80 == 79 ? '\n' : (char)('!' + i % 80);
    while (left > 0) {
        ssize_t wrote = write(1, block, left < (long)sizeof block ? (size_t)left : sizeof block);
        if (wrote <= 0)
            return 1;
        left -= wrote;
    }
    return 0;
}
