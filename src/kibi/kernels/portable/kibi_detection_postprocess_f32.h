/* TFLite_Detection_PostProcess: from encoded boxes and scores to the best detections. */
#ifndef KIBI_DETECTION_POSTPROCESS_F32_H
#define KIBI_DETECTION_POSTPROCESS_F32_H

#include "kibi.h"

typedef struct {
    int32_t boxes;           /* how many there are, which is the number of steps */
    int32_t classes;         /* that can be detected */
    int32_t first_class;     /* where their scores begin in a row: after those of the background, if there are any */
    /* not 0: overlaps are looked for in each class by itself; 0: among the boxes' best classes */
    int32_t is_regular;
    int32_t most;            /* detections, and places in the outputs */
    int32_t most_of_a_class; /* detections of one class, if is_regular is not 0 */
    float y_scale;           /* encoded boxes are divided by the scales */
    float x_scale;
    float h_scale;
    float w_scale;
    float least_score;       /* that a detection has */
    float most_overlap;      /* intersection over union of two detections; above 0 */
} kibi_detection_postprocess_f32_params;

/* One box; the last step makes the outputs.
 * outputs: f32: boxes [most][4] as y and x of the lower and the upper corner; classes [most]; scores [most]; the number of
 *          detections [1]. Places without a detection are 0, and so are all if a box has no area.
 * rows: a box [4 or more] f32 as y, x, h, w; its scores [first_class + classes] f32; its anchor [4] f32. They may overlap with
 *       the outputs: the last step reads before it writes.
 * scratch: [boxes * (4 + planes) + boxes * (is_regular ? 1 : 2) + 3 * most] numbers of 4 bytes, aligned to 4; planes are
 *          `classes` if is_regular, else 1. It lives until the last step.
 * step: 0 to boxes - 1. */
void kibi_detection_postprocess_f32(void *const *outputs, const void *const *rows, const kibi_detection_postprocess_f32_params *params,
    void *scratch, int32_t step);

#endif
