/* What functions share that use the DSP extension. */
#ifndef KIBI_DSP_H
#define KIBI_DSP_H

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_DSP)
#error "this file was generated for a core with the DSP extension: compile for that core, or generate for another target"
#endif

#endif
