#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

int main(void)
{
    struct utsname machine;
    int count = 0;

    for (int n = 2; n < 100000; n++) {
        int divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0)
            divisor++;
        count += divisor * divisor > n;
    }
    uname(&machine);
    printf("%d primes below 100000, counted on \"%s\" as process %d\n", count, machine.nodename, (int)getpid());
    return count == 9592 ? 0 : 1;
}
