/* What benchmarks/cycles.py calls of a program that TVM generated: one inference on inputs of zeros, with a stack for workspaces. */
#include <stddef.h>
#include <stdint.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvmgen_default.h>

enum { WORKSPACE_BYTES = 1 << 20, ALIGNMENT = 16, PORT_BYTES = 1 << 16 };

static uint8_t workspace[WORKSPACE_BYTES] __attribute__((aligned(16)));
static size_t used;
static uint8_t input[PORT_BYTES] __attribute__((aligned(16)));
static uint8_t output[PORT_BYTES] __attribute__((aligned(16)));

void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t size, int code, int bits)
{
    void *place = &workspace[used];
    (void)device_type, (void)device_id, (void)code, (void)bits;
    used += (size_t)(size + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
    return used <= WORKSPACE_BYTES ? place : NULL;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void *place)
{
    (void)device_type, (void)device_id;
    used = (size_t)((uint8_t *)place - workspace); /* the last one that was allocated */
    return 0;
}

int32_t run(void)
{
    struct tvmgen_default_inputs inputs = {input};
    struct tvmgen_default_outputs outputs = {output};
    used = 0u;
    return tvmgen_default_run(&inputs, &outputs);
}
