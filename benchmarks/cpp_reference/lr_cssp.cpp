// LR-CSSP in plain C++: the reference for goalbound's compiled learning loop, and a witness of what it plays.
//
// Written from the algorithm, sharing no code with the package: full support, the paper's widths or the sharp ones, a
// new plan after every unknown step. Contiguous arrays, nothing allocated in the loop, only the pairs that were played
// are estimated again, value iteration starts from the last values. Each plan computes the sets of all pairs anew; with
// the sharp widths, if asked for, only a new context does, and else those of the pairs that were played. Nothing beyond
// that is clever.
//
// Usage: lr_cssp FILE. Plays all episodes and prints one JSON object; "seconds" is the CPU time of the loop alone.
//
// FILE, in the machine's byte order, without gaps, arrays by rows:
//   int64   S, A, d, K, U                states, actions, context size, episodes, length of the stream of uniforms
//   int64   sharp                        0: balls, the paper's widths; 1: intervals, the sharp widths; 2: the same, and
//                                        under the same context only the sets of pairs that were played are renewed
//   double  delta, l_min, B, lambda      confidence, loss floor, bound on the optimal loss, regularization
//   double  scale                        all radii are multiplied by it; 1 is the paper
//   double  tolerance                    value iteration ends when no value changes by more than tolerance * l_min
//   double  ceiling                      intervals: no value of a plan is above it
//   double  losses[N, d]                 true mean losses; pair i = state * A + action, N = S * A
//   double  probabilities[N, S + 1, d]   true next states, the goal last
//   double  contexts[K, d]
//   double  uniforms[U]                  one for each step, in order
//
// What has to be the same on both sides for the same steps to be played: losses are their means; episodes start in
// state 0; the next state is the first whose cumulative probability exceeds the uniform, else the last possible one;
// value iteration sweeps the states in order, in place; a state plays the pair that was the least in its last
// backup, the first one among equals.

#include <algorithm>
#include <ctime>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#ifdef PROFILE  // functions that a profiler can tell apart
#define STAGE __attribute__((noinline))
#else
#define STAGE
#endif

namespace {

constexpr int64_t evi_sweep_limit = 1000000;
constexpr double projection_tolerance = 1e-12;
constexpr int64_t projection_sweep_limit = 1000;
constexpr int64_t fresh_inverse_every = 1024;  // visits of a pair between direct inversions

[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "lr_cssp: %s\n", message.c_str());
    std::exit(1);
}

struct Problem {
    int64_t states, actions, size, episodes, draws, pairs;
    bool sharp, keeps_sets;
    double delta, l_min, bound, lambda, scale, tolerance, ceiling;
    std::vector<double> losses, probabilities, contexts, uniforms;
};

Problem read_problem(const char* path) {
    std::ifstream file(path, std::ios::binary);
    auto read = [&](auto* out, int64_t count) {
        file.read(reinterpret_cast<char*>(out), count * static_cast<int64_t>(sizeof(*out)));
        if (!file) fail(std::string(path) + " ends too early, or cannot be read");
    };
    Problem p;
    int64_t sizes[6];
    double settings[7];
    read(sizes, 6);
    read(settings, 7);
    p.states = sizes[0], p.actions = sizes[1], p.size = sizes[2], p.episodes = sizes[3], p.draws = sizes[4];
    p.delta = settings[0], p.l_min = settings[1], p.bound = settings[2], p.lambda = settings[3];
    p.scale = settings[4], p.tolerance = settings[5], p.ceiling = settings[6];
    p.sharp = sizes[5] != 0, p.keeps_sets = sizes[5] == 2;
    p.pairs = p.states * p.actions;
    auto array = [&](std::vector<double>& out, int64_t count) {
        out.resize(count);
        read(out.data(), count);
    };
    array(p.losses, p.pairs * p.size);
    array(p.probabilities, p.pairs * (p.states + 1) * p.size);
    array(p.contexts, p.episodes * p.size);
    array(p.uniforms, p.draws);
    return p;
}

double dot(const double* a, const double* b, int64_t n) {
    double sum = 0.0;
    for (int64_t k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

// The nearest point, in place, of the sub-simplex {x >= 0, sum x <= 1}. Where the sum binds: subtract the excess
// evenly and drop what falls to zero, until nothing falls.
void project_column(double* x, int64_t n) {
    double sum = 0.0;
    for (int64_t k = 0; k < n; ++k) {
        x[k] = std::max(x[k], 0.0);
        sum += x[k];
    }
    if (sum <= 1.0) return;
    double threshold = 0.0;
    for (;;) {
        double kept = 0.0;
        int64_t count = 0;
        for (int64_t k = 0; k < n; ++k) {
            const bool keep = x[k] > threshold;
            kept += keep ? x[k] : 0.0;
            count += keep;
        }
        const double next = (kept - 1.0) / static_cast<double>(count);
        if (next <= threshold) break;
        threshold = next;
    }
    for (int64_t k = 0; k < n; ++k) x[k] = std::max(x[k] - threshold, 0.0);
}

class Learner {
   public:
    explicit Learner(const Problem& p)
        : p(p), S(p.states), d(p.size), N(p.pairs), rows(p.sharp ? S + 1 : S),
          visits(N, 0), gram(N * d * d, 0.0), inverse(N * d * d, 0.0), loss_sums(N * d, 0.0),
          next_sums(N * d * rows, 0.0),
          loss_estimate(N * d, 0.0), estimate(N * d * S, 0.0), stale(N, 0),
          mixed(N * S), mass(N), radius(N), loss(N), width(N), beta(N), values(S + 1, 0.0), policy(S, 0),
          ridge(d * S), gap(d * S), column(S), work(2 * d * d) {
        stale_pairs.reserve(N);
        if (p.sharp) start_intervals();
        for (int64_t i = 0; i < N; ++i)
            for (int64_t j = 0; j < d; ++j) {
                gram[(i * d + j) * d + j] = p.lambda;
                inverse[(i * d + j) * d + j] = 1.0 / p.lambda;
            }
    }

    const Problem& p;
    const int64_t S, d, N;
    const int64_t rows;  // next states that are estimated; with intervals the goal is one
    int64_t intervals = 0, sweeps = 0, backups = 0, inner_minima = 0, newton_passes = 0;
    int64_t estimates = 0, projections = 0, projection_sweeps = 0, longest_projection = 0;

    int64_t action(int64_t state) const { return policy[state]; }
    int64_t visits_of(int64_t pair) const { return visits[pair]; }

    // A new interval: estimate what changed, build the confidence sets for this context, find the optimistic policy.
    void plan(const double* context, bool new_context) {
        ++intervals;
        log_interval = std::sqrt(std::log(4.0 * static_cast<double>(intervals) / p.delta));
        if (p.sharp && new_context)
            for (int64_t pair = 0; pair < N; ++pair) set_intervals(pair, context);
        for (int64_t pair : stale_pairs) {
            if (!p.sharp)
                estimate_pair(pair);
            else if (!new_context)
                set_intervals(pair, context);
            stale[pair] = 0;
        }
        stale_pairs.clear();
        if (p.sharp) {
            iterate_values<true>();
            return;
        }
        mix(context);
        set_radii(context);
        iterate_values<false>();
    }

    // Inequality (known), with what was so at the start of the interval.
    bool known(int64_t pair) const {
        const double widest = p.sharp ? std::max(spread[pair], log_interval * width[pair])
                                      : std::max(beta[pair], log_interval) * width[pair];
        return 10.0 * p.bound * widest < p.l_min;
    }

    STAGE void record(const double* c, int64_t pair, double paid, int64_t next) {
        ++visits[pair];
        if (p.sharp) add_variances(c, pair);
        double* V = &gram[pair * d * d];
        for (int64_t j = 0; j < d; ++j)
            for (int64_t l = 0; l < d; ++l) V[j * d + l] += c[j] * c[l];
        if (visits[pair] % fresh_inverse_every == 0)
            invert(V, &inverse[pair * d * d]);
        else
            update_inverse(c, &inverse[pair * d * d]);
        for (int64_t j = 0; j < d; ++j) loss_sums[pair * d + j] += c[j] * paid;
        if (next < rows)
            for (int64_t j = 0; j < d; ++j) next_sums[(pair * d + j) * rows + next] += c[j];
        if (!stale[pair]) {
            stale[pair] = 1;
            stale_pairs.push_back(pair);
        }
    }

   private:
    // Statistics. Matrices of next states are stored by component, [d, S], so that inner loops run along states.
    std::vector<int64_t> visits;
    std::vector<double> gram, inverse, loss_sums, next_sums;
    // Estimates, and the pairs whose estimate is behind the statistics.
    std::vector<double> loss_estimate, estimate;
    std::vector<char> stale;
    std::vector<int64_t> stale_pairs;
    // The plan: mass[i] is the squared norm of mixed[i], radius[i] the squared radius around it.
    std::vector<double> mixed, mass, radius, loss, width, beta, values;
    std::vector<int64_t> policy;
    double log_interval = 0.0;
    // Scratch.
    std::vector<double> ridge, gap, column, work;
    // Intervals: log det(V / lambda); per next state the lower triangle of H - 4 I, [d (d + 1) / 2, S + 1], and its L;
    // of the plan the intervals, 1 - sum of the lower ends, half of the largest width, and the states by value.
    std::vector<double> log_det, variances, levels, low, high, missing, spread, direction, squares, middle;
    std::vector<int64_t> order;
    int64_t triangle = 0;
    double loss_log = 0.0, row_log = 0.0, level_log = 0.0;  // log(1 / failure), and what else L has whatever the data

    // (V + c c^T)^-1 from V^-1 (Sherman and Morrison).
    void update_inverse(const double* c, double* W) {
        double* Wc = work.data();
        for (int64_t j = 0; j < d; ++j) Wc[j] = dot(W + j * d, c, d);
        const double factor = 1.0 / (1.0 + dot(Wc, c, d));
        for (int64_t j = 0; j < d; ++j)
            for (int64_t l = 0; l < d; ++l) W[j * d + l] -= factor * Wc[j] * Wc[l];
    }

    // Gauss-Jordan; the matrix is positive definite, so no pivoting is needed.
    void invert(const double* V, double* out) {
        double* M = work.data();
        std::copy(V, V + d * d, M);
        std::fill(out, out + d * d, 0.0);
        for (int64_t j = 0; j < d; ++j) out[j * d + j] = 1.0;
        for (int64_t j = 0; j < d; ++j) {
            const double pivot = 1.0 / M[j * d + j];
            for (int64_t l = 0; l < d; ++l) M[j * d + l] *= pivot, out[j * d + l] *= pivot;
            for (int64_t row = 0; row < d; ++row) {
                const double factor = M[row * d + j];
                if (row == j) continue;
                for (int64_t l = 0; l < d; ++l) {
                    M[row * d + l] -= factor * M[j * d + l];
                    out[row * d + l] -= factor * out[j * d + l];
                }
            }
        }
    }

    void estimate_pair(int64_t pair) {
        ++estimates;
        ridge_pair(pair);
        if (feasible())
            std::copy(ridge.begin(), ridge.end(), &estimate[pair * d * S]);
        else
            project_pair(pair);
    }

    STAGE void ridge_pair(int64_t pair) {
        const double* W = &inverse[pair * d * d];
        for (int64_t j = 0; j < d; ++j) {
            loss_estimate[pair * d + j] = dot(W + j * d, &loss_sums[pair * d], d);
            double* __restrict row = &ridge[j * S];
            std::fill(row, row + S, 0.0);
            for (int64_t l = 0; l < d; ++l) {
                const double weight = W[j * d + l];
                const double* __restrict sums = &next_sums[(pair * d + l) * S];
                for (int64_t k = 0; k < S; ++k) row[k] += weight * sums[k];
            }
        }
    }

    bool feasible() const {
        for (int64_t j = 0; j < d; ++j) {
            double sum = 0.0;
            for (int64_t k = 0; k < S; ++k) {
                if (ridge[j * S + k] < 0.0) return false;
                sum += ridge[j * S + k];
            }
            if (sum > 1.0) return false;
        }
        return true;
    }

    // The nearest sub-stochastic matrix in the norm of the Gram matrix: one component at a time, from the last one.
    STAGE void project_pair(int64_t pair) {
        ++projections;
        const double* V = &gram[pair * d * d];
        double* P = &estimate[pair * d * S];
        for (int64_t k = 0; k < d * S; ++k) gap[k] = P[k] - ridge[k];
        double change = 0.0;
        int64_t sweep = 0;
        do {
            ++sweep;
            change = 0.0;
            for (int64_t j = 0; j < d; ++j) {
                double* __restrict x = column.data();
                std::copy(&ridge[j * S], &ridge[j * S] + S, x);
                for (int64_t l = 0; l < d; ++l) {
                    if (l == j) continue;
                    const double weight = V[j * d + l] / V[j * d + j];
                    const double* __restrict g = &gap[l * S];
                    for (int64_t k = 0; k < S; ++k) x[k] -= weight * g[k];
                }
                project_column(x, S);
                for (int64_t k = 0; k < S; ++k) {
                    change = std::max(change, std::abs(x[k] - P[j * S + k]));
                    P[j * S + k] = x[k];
                    gap[j * S + k] = x[k] - ridge[j * S + k];
                }
            }
        } while (change > projection_tolerance && sweep < projection_sweep_limit);
        projection_sweeps += sweep;
        longest_projection = std::max(longest_projection, sweep);
    }

    STAGE void mix(const double* c) {
        for (int64_t i = 0; i < N; ++i) {
            double* __restrict q = &mixed[i * S];
            std::fill(q, q + S, 0.0);
            for (int64_t j = 0; j < d; ++j) {
                const double* __restrict row = &estimate[(i * d + j) * S];
                for (int64_t k = 0; k < S; ++k) q[k] += c[j] * row[k];
            }
            mass[i] = dot(q, q, S);
        }
    }

    STAGE void set_radii(const double* c) {
        const double size = static_cast<double>(d), states = static_cast<double>(S), pairs = static_cast<double>(N);
        const double log_triples = std::log(8.0 * pairs * states / p.delta);
        const double log_pairs = std::log(8.0 * pairs / p.delta);
        const double root = std::sqrt(p.lambda);
        for (int64_t i = 0; i < N; ++i) {
            const double log_visits = std::log(1.0 + static_cast<double>(visits[i]) / p.lambda);
            const double rho = p.scale * (std::sqrt(size * (log_triples + log_visits)) + root);
            const double rho_loss = p.scale * (std::sqrt(size * (log_pairs + log_visits)) + root);
            const double* W = &inverse[i * d * d];
            double norm = 0.0;
            for (int64_t j = 0; j < d; ++j) norm += c[j] * dot(W + j * d, c, d);
            width[i] = std::sqrt(norm);
            beta[i] = states * rho;
            radius[i] = states * rho * rho * norm;  // (sqrt(S) rho w)^2
            const double low = dot(&loss_estimate[i * d], c, d) - rho_loss * width[i];
            loss[i] = std::max(p.l_min, std::min(1.0, low));
        }
    }

    // Extended value iteration, Gauss-Seidel, from the last values; over balls, or over intervals.
    template <bool sharp>
    STAGE void iterate_values() {
        const double enough = p.tolerance * p.l_min;
        double change;
        int64_t sweep = 0;
        do {
            if (++sweep > evi_sweep_limit) fail("value iteration does not end");
            change = 0.0;
            for (int64_t s = 0; s < S; ++s) {
                double best = std::numeric_limits<double>::infinity();
                for (int64_t a = 0; a < p.actions; ++a) {
                    const int64_t i = s * p.actions + a;
                    double value = loss[i];
                    if (sharp)
                        value += minimum_in_intervals(i);
                    else if (radius[i] < mass[i])  // else all of it goes to the goal
                        value += inner_minimum(i);
                    if (value < best) {
                        best = value;
                        policy[s] = a;
                    }
                }
                if (sharp) best = std::min(best, p.ceiling);
                change = std::max(change, std::abs(best - values[s]));
                values[s] = best;
                if (sharp) reorder(s);
            }
        } while (change > enough);
        sweeps += sweep;
        backups += sweep * N;
    }

    // min q.v over q >= 0, |q - mixed[i]|^2 <= radius[i]: q_k = max(0, mixed_k - t v_k), where u = t^2 solves
    // sum_k min(mixed_k^2, u v_k^2) = radius. The left side is concave, increasing and piecewise linear in u, so
    // Newton from 0 comes from below and ends when a step leaves the same entries above zero.
    STAGE double inner_minimum(int64_t i) {
        const double* q = &mixed[i * S];
        const double* v = values.data();
        ++inner_minima;
        double u = 0.0;
        for (;;) {
            ++newton_passes;
            double slope = 0.0, emptied = 0.0;
            for (int64_t k = 0; k < S; ++k) {
                const double v2 = v[k] * v[k], q2 = q[k] * q[k];
                const bool stays = u * v2 < q2;
                slope += stays ? v2 : 0.0;
                emptied += stays ? 0.0 : q2;
            }
            if (slope == 0.0) return 0.0;  // what is left has value 0
            const double next = (radius[i] - emptied) / slope;
            if (next <= u) break;
            u = next;
        }
        const double t = std::sqrt(u);
        double value = 0.0;
        for (int64_t k = 0; k < S; ++k) value += std::max(0.0, q[k] - t * v[k]) * v[k];
        return value;
    }

    // The sharp widths: an interval for the loss and for each next state, the goal last.

    static constexpr double kappa = 0.7182818284590451;  // e - 2
    static constexpr double ridge_of_variances = 4.0;

    void start_intervals() {
        const double size = static_cast<double>(d), cut = std::erf(0.5 * std::sqrt(kappa * ridge_of_variances));
        triangle = d * (d + 1) / 2;
        loss_log = std::log(8.0 * static_cast<double>(N) / p.delta);
        row_log = std::log(16.0 * static_cast<double>(N * rows) / p.delta);
        level_log = -size * std::log(cut) + row_log + 1e-6;
        log_det.assign(N, 0.0), variances.assign(N * triangle * rows, 0.0), levels.assign(N * rows, 0.0);
        low.assign(N * rows, 0.0), high.assign(N * rows, 1.0), missing.assign(N, 1.0), spread.assign(N, 0.0);
        direction.assign(d, 0.0), squares.assign(rows, 0.0), middle.assign(rows, 0.0);
        for (int64_t i = 0; i < N; ++i) set_levels(i);
        order.resize(S);
        for (int64_t s = 0; s < S; ++s) order[s] = s;
    }

    // L of the bound by the variance: log det(H / 4) / 2, by the trace, what cutting the mixture costs, log(1 / failure).
    void set_levels(int64_t pair) {
        const double size = static_cast<double>(d);
        for (int64_t k = 0; k < rows; ++k) {
            double trace = 0.0;
            for (int64_t j = 0; j < d; ++j) trace += variances[(pair * triangle + j * (j + 3) / 2) * rows + k];
            levels[pair * rows + k] = 0.5 * size * std::log(1.0 + trace / (ridge_of_variances * size)) + level_log;
        }
    }

    // Before a step is learned from: the largest variances in the intervals of the plan, and the determinant.
    STAGE void add_variances(const double* c, int64_t pair) {
        double* __restrict most = middle.data();
        for (int64_t k = 0; k < rows; ++k) {
            const double mean = std::min(std::max(0.5, low[pair * rows + k]), high[pair * rows + k]);
            most[k] = mean * (1.0 - mean);
        }
        double* __restrict H = &variances[pair * triangle * rows];
        for (int64_t j = 0; j < d; ++j)
            for (int64_t l = 0; l <= j; ++l, H += rows)
                for (int64_t k = 0; k < rows; ++k) H[k] += c[j] * c[l] * most[k];
        set_levels(pair);
        double norm = 0.0;
        for (int64_t j = 0; j < d; ++j) norm += c[j] * dot(&inverse[(pair * d + j) * d], c, d);
        log_det[pair] += std::log(1.0 + norm);
    }

    STAGE void set_intervals(int64_t pair, const double* c) {
        double* x = direction.data();
        double norm = 0.0, least = 0.0, most = 0.0, longest = 0.0, length = 0.0;
        for (int64_t j = 0; j < d; ++j) {
            x[j] = dot(&inverse[(pair * d + j) * d], c, d);
            norm += c[j] * x[j], length += x[j] * x[j];
            least += p.lambda * std::min(x[j], 0.0), most += p.lambda * std::max(x[j], 0.0);
            longest = std::max(longest, std::abs(x[j]));
        }
        width[pair] = std::sqrt(norm);
        if (visits[pair] == 0) {  // as it began: everything is plausible
            loss[pair] = p.l_min;
            spread[pair] = 0.5 * static_cast<double>(rows);
            return;
        }
        const double noise = 0.5 * p.scale * width[pair];
        const double mean = dot(x, &loss_sums[pair * d], d), off = noise * std::sqrt(log_det[pair] + 2.0 * loss_log);
        const double lowest = clip(mean - off + least), highest = clip(mean + off + most);
        loss[pair] = std::max(p.l_min, lowest);

        double* __restrict estimates = middle.data();
        double* __restrict square = squares.data();
        std::fill(estimates, estimates + rows, 0.0);
        std::fill(square, square + rows, ridge_of_variances * length);
        const double* __restrict H = &variances[pair * triangle * rows];
        for (int64_t j = 0; j < d; ++j) {
            const double* __restrict sums = &next_sums[(pair * d + j) * rows];
            for (int64_t k = 0; k < rows; ++k) estimates[k] += x[j] * sums[k];
            for (int64_t l = 0; l <= j; ++l, H += rows) {
                const double weight = (l < j ? 2.0 : 1.0) * x[j] * x[l];
                for (int64_t k = 0; k < rows; ++k) square[k] += weight * H[k];
            }
        }
        const double by_determinant = noise * std::sqrt(log_det[pair] + 2.0 * row_log);
        const double steep = 0.5 / longest;
        const double* __restrict level = &levels[pair * rows];
        double* __restrict from = &low[pair * rows];
        double* __restrict to = &high[pair * rows];
        double sides = 0.0, left = 1.0;
        for (int64_t k = 0; k < rows; ++k) {
            const double bend = kappa * square[k];
            const double by_variance = level[k] <= bend * steep * steep ? 2.0 * std::sqrt(bend * level[k])
                                                                        : steep * bend + level[k] / steep;
            const double radius = std::min(by_determinant, p.scale * by_variance);
            from[k] = clip(estimates[k] - radius + least), to[k] = clip(estimates[k] + radius + most);
            sides += to[k] - from[k], left -= from[k];
        }
        missing[pair] = left;
        spread[pair] = 0.5 * std::max(sides, highest - lowest);
    }

    static double clip(double x) { return std::min(std::max(x, 0.0), 1.0); }

    // min q.v over low <= q <= high, sum q = 1: the lower ends, and what is missing to 1 goes where values are least.
    // Where the upper ends do not sum to 1, the rest goes where they are largest.
    STAGE double minimum_in_intervals(int64_t i) {
        const double* from = &low[i * rows];
        const double* to = &high[i * rows];
        ++inner_minima;
        double value = dot(from, values.data(), S);
        double left = missing[i] - (to[S] - from[S]);  // the goal, whose value is 0
        for (int64_t k = 0; k < S && left > 0.0; ++k) {
            const int64_t s = order[k];
            const double more = k + 1 < S ? std::min(left, to[s] - from[s]) : left;
            value += more * values[s];
            left -= more;
        }
        return value;
    }

    // The value of one state has changed: it moves to its place among the others.
    void reorder(int64_t state) {
        int64_t at = 0;
        while (order[at] != state) ++at;
        for (; at > 0 && values[order[at - 1]] > values[state]; --at) order[at] = order[at - 1];
        for (; at + 1 < S && values[order[at + 1]] < values[state]; ++at) order[at] = order[at + 1];
        order[at] = state;
    }
};

STAGE int64_t next_state(const Problem& p, const double* c, int64_t pair, double uniform) {
    const double* row = &p.probabilities[pair * (p.states + 1) * p.size];
    double cumulative = 0.0;
    int64_t last = 0;
    for (int64_t k = 0; k <= p.states; ++k) {
        const double probability = dot(row + k * p.size, c, p.size);
        cumulative += probability;
        if (uniform < cumulative) return k;
        if (probability > 0.0) last = k;
    }
    return last;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) fail("usage: lr_cssp FILE");
    const Problem p = read_problem(argv[1]);
    Learner learner(p);
    int64_t steps = 0, unknown = 0;
    double total = 0.0;

    const std::clock_t begin = std::clock();
    for (int64_t episode = 0; episode < p.episodes; ++episode) {
        const double* context = &p.contexts[episode * p.size];
        int64_t state = 0;
        bool planned = false, begins = true;
        while (state != p.states) {
            if (!planned) learner.plan(context, begins);
            begins = !p.keeps_sets;
            const int64_t pair = state * p.actions + learner.action(state);
            if (steps == p.draws) fail("the stream of uniforms is used up; make it longer");
            const int64_t next = next_state(p, context, pair, p.uniforms[steps++]);
            const double paid = dot(&p.losses[pair * p.size], context, p.size);
            total += paid;
            learner.record(context, pair, paid, next);
            planned = learner.known(pair);
            unknown += !planned;
            state = next;
        }
    }
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;

    auto count = [](const char* name, int64_t value) {
        std::printf("\"%s\": %lld, ", name, static_cast<long long>(value));
    };
    std::printf("{\"seconds\": %.9f, \"total_loss\": %.17g, ", seconds, total);
    count("steps", steps);
    count("intervals", learner.intervals);
    count("unknown_steps", unknown);
    count("sweeps", learner.sweeps);
    count("backups", learner.backups);
    count("inner_minima", learner.inner_minima);
    count("newton_passes", learner.newton_passes);
    count("estimates", learner.estimates);
    count("projections", learner.projections);
    count("projection_sweeps", learner.projection_sweeps);
    count("longest_projection", learner.longest_projection);
    std::printf("\"visits\": [");
    for (int64_t i = 0; i < p.pairs; ++i)
        std::printf("%s%lld", i ? ", " : "", static_cast<long long>(learner.visits_of(i)));
    std::printf("]}\n");
    return 0;
}
