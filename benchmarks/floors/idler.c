/* idler: does nothing until its terminal is gone, also when nobody is left to end it. */
#include <poll.h>

int main(void)
{
    struct pollfd terminal = {.fd = 0};
    poll(&terminal, 1, -1);
    return 0;
}
