/* Straightforward loops of three published algorithms, to time ours beside them: `beside_c.py` compiles this file.

   A row is n values and, if it is sparse, their columns; `columns` is NULL for dense rows of n = d values. All loops
   start from w = 0 and take the steps of the papers on the rows in the given order. */

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const double *values;
    const int32_t *columns, *starts; /* NULL for dense rows */
    const uint8_t *positive;
    int64_t n_rows, d;
} Rows;

static int64_t begin(const Rows *r, int64_t i) { return r->starts ? r->starts[i] : i * r->d; }
static int64_t end(const Rows *r, int64_t i) { return r->starts ? r->starts[i + 1] : (i + 1) * r->d; }

static double dot(const Rows *r, int64_t i, const double *w) {
    int64_t a = begin(r, i), b = end(r, i);
    double s = 0;
    if (r->columns)
        for (int64_t k = a; k < b; k++) s += r->values[k] * w[r->columns[k]];
    else
        for (int64_t k = a; k < b; k++) s += r->values[k] * w[k - a];
    return s;
}

static void add(const Rows *r, int64_t i, double c, double *w) {
    int64_t a = begin(r, i), b = end(r, i);
    if (r->columns)
        for (int64_t k = a; k < b; k++) w[r->columns[k]] += c * r->values[k];
    else
        for (int64_t k = a; k < b; k++) w[k - a] += c * r->values[k];
}

static double clip(double x, double bound) { return x > bound ? bound : x < -bound ? -bound : x; }

/* SOLAM: step zeta / sqrt(t), ball of radius R, rows of norm kappa at most; the average goes to `mean`. */
void solam(const Rows *r, const int64_t *order, int64_t n_steps, double zeta, double R, double kappa, double *w, double *mean) {
    double p = 0, a = 0, b = 0, c = 0, mass = 0;
    for (int64_t t = 1; t <= n_steps; t++) {
        int64_t i = order[t - 1];
        int y = r->positive[i];
        p = ((t - 1) * p + y) / t;
        double gamma = zeta / sqrt(t), s = dot(r, i, w), g, norm = 0;
        mass += gamma;
        for (int64_t j = 0; j < r->d; j++) mean[j] += gamma / mass * (w[j] - mean[j]);
        if (y) {
            g = 2 * (1 - p) * (s - a - 1 - c);
            double old = a;
            a = clip(a + gamma * 2 * (1 - p) * (s - old), R * kappa);
            c = clip(c - gamma * 2 * (1 - p) * (s + p * c), 2 * R * kappa);
        } else {
            g = 2 * p * (s - b + 1 + c);
            double old = b;
            b = clip(b + gamma * 2 * p * (s - old), R * kappa);
            c = clip(c + gamma * 2 * p * (s - (1 - p) * c), 2 * R * kappa);
        }
        add(r, i, -gamma * g, w);
        for (int64_t j = 0; j < r->d; j++) norm += w[j] * w[j];
        if (norm > R * R)
            for (int64_t j = 0; j < r->d; j++) w[j] *= R / sqrt(norm);
    }
}

/* SPAM with an L2 penalty: step C / sqrt(t); `m` holds the means of the negatives and of the positives. */
void spam(const Rows *r, const int64_t *order, int64_t n_steps, double C, double beta, double p, const double *m, double *w, double *mean) {
    for (int64_t t = 1; t <= n_steps; t++) {
        int64_t i = order[t - 1];
        double eta = C / sqrt(t), s = dot(r, i, w), lower = 0, upper = 0;
        for (int64_t j = 0; j < r->d; j++) lower += m[j] * w[j], upper += m[r->d + j] * w[j];
        double c = lower - upper;
        double g = r->positive[i] ? 2 * (1 - p) * (s - upper - 1 - c) : 2 * p * (s - lower + 1 + c);
        add(r, i, -eta * g, w);
        for (int64_t j = 0; j < r->d; j++) w[j] /= 1 + eta * beta;
        for (int64_t j = 0; j < r->d; j++) mean[j] += (w[j] - mean[j]) / t;
    }
}

static void keep_largest(double *w, double *sorted, int64_t d, int64_t k) {
    for (int64_t j = 0; j < d; j++) sorted[j] = fabs(w[j]);
    int64_t low = 0, high = d - 1, place = d - k; /* quickselect */
    while (low < high) {
        double pivot = sorted[(low + high) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (sorted[i] < pivot) i++;
            while (sorted[j] > pivot) j--;
            if (i <= j) { double x = sorted[i]; sorted[i++] = sorted[j]; sorted[j--] = x; }
        }
        if (place <= j) high = j; else if (place >= i) low = i; else break;
    }
    double least = sorted[place];
    for (int64_t j = 0; j < d; j++) if (fabs(w[j]) < least) w[j] = 0;
}

/* SHT-AUC: a step of length gamma on f for each of the blocks in `order`, then the k largest weights are kept. */
void sht_auc(const Rows *r, const int64_t *order, int64_t n_steps, int64_t n_blocks, double gamma, int64_t k, double p, const double *m, double *w, double *work) {
    int64_t size = r->n_rows / n_blocks, d = r->d;
    double *g = work, *sorted = work + d;
    for (int64_t t = 0; t < n_steps; t++) {
        int64_t first = order[t] * size, last = order[t] == n_blocks - 1 ? r->n_rows : first + size;
        double means[2] = {0, 0}, sums[2] = {0, 0};
        memset(g, 0, d * sizeof(double));
        for (int64_t j = 0; j < d; j++) means[0] += m[j] * w[j], means[1] += m[d + j] * w[j];
        for (int64_t i = first; i < last; i++) {
            int y = r->positive[i];
            double c = 2 / (y ? p : 1 - p) * (dot(r, i, w) - means[y]) / (last - first);
            add(r, i, c, g);
            sums[y] += c;
        }
        double c = 2 * (1 - (means[1] - means[0]));
        for (int64_t j = 0; j < d; j++) {
            g[j] -= sums[0] * m[j] + sums[1] * m[d + j] + c * (m[d + j] - m[j]);
            w[j] -= gamma * g[j];
        }
        keep_largest(w, sorted, d, k);
    }
}
