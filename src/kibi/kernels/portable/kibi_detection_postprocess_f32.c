/* TFLite_Detection_PostProcess, float, portable: rule N40. */
#include "kibi_detection_postprocess_f32.h"

#include "kibi_exp_f64.h"
#include "kibi_float.h"
#include "kibi_quotient_f32.h"

typedef kibi_detection_postprocess_f32_params detection_params;

/* What is in scratch. */
typedef struct {
    float *corners;     /* [boxes][4]: y and x of the lower, then of the upper corner */
    float *scores;      /* [planes][boxes] */
    int32_t *best;      /* [boxes]: the class of the best score; not there where there is a plane for each class */
    int32_t *order;     /* [boxes]: numbers of boxes, highest score first */
    int32_t *box;       /* [most]: of each detection */
    int32_t *box_class; /* [most] */
    float *score;       /* [most] */
    int32_t count;      /* of detections */
} work;

static float center(float encoded, float scale, float size, float middle)
{
    return (float)((double)encoded / (double)scale * (double)size + (double)middle);
}

static float half(float encoded, float scale, float size)
{
    return (float)(0.5 * kibi_exp_f64((double)encoded / (double)scale) * (double)size);
}

static void decode(const float *encoded, const float *anchor, const detection_params *params, float *corners)
{
    const float y = center(encoded[0], params->y_scale, anchor[2], anchor[0]);
    const float x = center(encoded[1], params->x_scale, anchor[3], anchor[1]);
    const float height = half(encoded[2], params->h_scale, anchor[2]);
    const float width = half(encoded[3], params->w_scale, anchor[3]);
    corners[0] = y - height;
    corners[1] = x - width;
    corners[2] = y + height;
    corners[3] = x + width;
}

/* Keep the scores of all classes, or the best one; of equal ones that of the first class. */
static void keep(const float *scores, const detection_params *params, work *at, int32_t step)
{
    if (params->is_regular != 0) {
        for (int32_t k = 0; k < params->classes; ++k) {
            at->scores[k * params->boxes + step] = scores[k];
        }
        return;
    }
    int32_t best = 0;
    for (int32_t k = 1; k < params->classes; ++k) {
        best = scores[k] > scores[best] ? k : best;
    }
    at->scores[step] = scores[best];
    at->best[step] = best;
}

static float larger(float a, float b)
{
    return a < b ? b : a;
}

static float smaller(float a, float b)
{
    return b < a ? b : a;
}

/* Intersection over union. */
static float overlap(const float *a, const float *b)
{
    const float area_a = (a[2] - a[0]) * (a[3] - a[1]);
    const float area_b = (b[2] - b[0]) * (b[3] - b[1]);
    if (area_a <= 0.0f || area_b <= 0.0f) {
        return 0.0f;
    }
    const float height = larger(smaller(a[2], b[2]) - larger(a[0], b[0]), 0.0f);
    const float width = larger(smaller(a[3], b[3]) - larger(a[1], b[1]), 0.0f);
    const float both = height * width;
    return KIBI_QUOTIENT(both, area_a + area_b - both);
}

/* The best boxes by these scores, no two of which overlap too much: their numbers in `order`, and how many they are. */
static int32_t select_boxes(const float *scores, int32_t most, const detection_params *params, work *at)
{
    int32_t *const order = at->order;
    int32_t candidates = 0, selected = 0;
    for (int32_t i = 0; i < params->boxes; ++i) {
        if (scores[i] >= params->least_score) {
            int32_t place = candidates++;
            for (; place > 0 && scores[order[place - 1]] < scores[i]; --place) {
                order[place] = order[place - 1];
            }
            order[place] = i;
        }
    }
    for (int32_t i = 0; i < candidates && selected < most; ++i) {
        const int32_t box = order[i];
        if (box < 0) {
            continue;
        }
        order[selected++] = box;
        for (int32_t j = i + 1; j < candidates; ++j) {
            if (order[j] >= 0 && overlap(at->corners + 4 * box, at->corners + 4 * order[j]) > params->most_overlap) {
                order[j] = -1;
            }
        }
    }
    return selected;
}

/* A detection into its place after those that are as good, or nowhere if all places are taken by such. */
static void add(int32_t box, int32_t box_class, float score, const detection_params *params, work *at)
{
    int32_t place = at->count;
    if (place == params->most) {
        if (!(at->score[place - 1] < score)) {
            return;
        }
        --place;
    } else {
        ++at->count;
    }
    for (; place > 0 && at->score[place - 1] < score; --place) {
        at->box[place] = at->box[place - 1];
        at->box_class[place] = at->box_class[place - 1];
        at->score[place] = at->score[place - 1];
    }
    at->box[place] = box;
    at->box_class[place] = box_class;
    at->score[place] = score;
}

static void detect(const detection_params *params, work *at)
{
    for (int32_t i = 0; i < params->boxes; ++i) {
        const float *const corners = at->corners + 4 * i;
        if (corners[0] >= corners[2] || corners[1] >= corners[3]) {
            return;
        }
    }
    const int32_t planes = params->is_regular ? params->classes : 1;
    const int32_t most = params->is_regular ? params->most_of_a_class : params->most;
    for (int32_t plane = 0; plane < planes; ++plane) {
        const float *const scores = at->scores + plane * params->boxes;
        const int32_t selected = select_boxes(scores, most, params, at);
        for (int32_t i = 0; i < selected; ++i) {
            const int32_t box = at->order[i];
            add(box, params->is_regular ? plane : at->best[box], scores[box], params, at);
        }
    }
}

/* Write the detections, and zeros into the places that are left. */
static void store(void *const *outputs, const detection_params *params, const work *at)
{
    float *const boxes = (float *)outputs[0];
    float *const classes = (float *)outputs[1];
    float *const scores = (float *)outputs[2];
    for (int32_t i = 0; i < params->most; ++i) {
        const int is_there = i < at->count;
        for (int32_t k = 0; k < 4; ++k) {
            boxes[4 * i + k] = is_there ? at->corners[4 * at->box[i] + k] : 0.0f;
        }
        classes[i] = is_there ? (float)at->box_class[i] : 0.0f;
        scores[i] = is_there ? at->score[i] : 0.0f;
    }
    *(float *)outputs[3] = (float)at->count;
}

void kibi_detection_postprocess_f32(void *const *outputs, const void *const *rows, const kibi_detection_postprocess_f32_params *params,
    void *scratch, int32_t step)
{
    const int32_t planes = params->is_regular ? params->classes : 1;
    work at;
    at.corners = (float *)scratch;
    at.scores = at.corners + 4 * params->boxes;
    at.best = (int32_t *)(void *)(at.scores + planes * params->boxes);
    at.order = at.best + (params->is_regular ? 0 : params->boxes);
    at.box = at.order + params->boxes;
    at.box_class = at.box + params->most;
    at.score = (float *)(void *)(at.box_class + params->most);
    at.count = 0;
    decode((const float *)rows[0], (const float *)rows[2], params, at.corners + 4 * step);
    keep((const float *)rows[1] + params->first_class, params, &at, step);
    if (step < params->boxes - 1) {
        return;
    }
    detect(params, &at);
    store(outputs, params, &at);
}
