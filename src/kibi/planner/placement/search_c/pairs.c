#include "placement.h"

/* The first piece of an item that lives after the start of a section; one after its last where none does. */
static int32_t piece_behind(const kibi_problem *problem, int32_t item, int32_t section)
{
    int32_t low = problem->piece_start[item];
    int32_t high = problem->piece_start[item + 1];
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (problem->last[middle] <= section) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int kibi_overlap(const kibi_problem *problem, int32_t one, int32_t other)
{
    int32_t i = piece_behind(problem, one, problem->first[problem->piece_start[other]]);
    int32_t k = piece_behind(problem, other, problem->first[problem->piece_start[one]]);
    const int32_t i_end = problem->piece_start[one + 1];
    const int32_t k_end = problem->piece_start[other + 1];
    while (i < i_end && k < k_end) {
        if (problem->last[i] <= problem->first[k]) {
            i++;
        } else if (problem->last[k] <= problem->first[i]) {
            k++;
        } else {
            return 1;
        }
    }
    return 0;
}

int64_t kibi_distance(const kibi_problem *problem, int32_t below, int32_t above)
{
    int32_t low = problem->rule_start[below];
    int32_t high = problem->rule_start[below + 1];
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (problem->rule_above[middle] == above) {
            return problem->rule_distance[middle];
        }
        if (problem->rule_above[middle] < above) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return problem->size[below];
}
