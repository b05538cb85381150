/* The plugin for QEMU from version 9 on. */
#define KIBI_PLUGIN_VERSION 2
#include "plugin.h"
