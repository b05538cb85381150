/* The library for programs by hand, as one header: arenas, handles, events, contexts, tensors, operators. */
#ifndef KIBI_EAGER_H
#define KIBI_EAGER_H

#include "kibi_handle_arena.h"
#include "kibi_linear_arena.h"
#include "kibi_operators.h"
#include "kibi_page_allocator.h"
#include "kibi_workspace.h"

#endif
