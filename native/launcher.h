#ifndef FAIRLEAD_LAUNCHER_H
#define FAIRLEAD_LAUNCHER_H

int launcher_main(int argc, char **argv);

#endif
