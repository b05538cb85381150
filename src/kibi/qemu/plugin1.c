/* The plugin for QEMU before version 9. */
#define KIBI_PLUGIN_VERSION 1
#include "plugin.h"
