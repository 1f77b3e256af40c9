/* The file of a program that contains the client. */
#define BERTH_IMPLEMENTATION
#include "berth.h"
