/* tilewright_cute.cuh: what kernels written by `tw translate --to cute` stand on.
 *
 * A kernel is one block's program on tiles. This header has no kernel in it: it says
 * how a tile is spread over a block's threads, how it comes from memory and goes back,
 * how copies run ahead of what uses them, and which atoms multiply. All of it is
 * CuTe's (CUTLASS 3.5 or later): TiledMMA, TiledCopy, swizzled layouts.
 *
 *   place       how the tiles in registers are spread over threads: the accumulator
 *               of a TiledMMA, seen as rows x columns (rows_cols). All tiles of a kernel
 *               share it, so that what belongs together meets in one thread
 *   tile        a matrix in registers: a thread's rows x its columns, S(i, j)
 *   column, row its vectors: a value for each of a thread's rows, columns. Every thread
 *               that has a part of the row (column) has the same
 *   Shared      a tile in shared memory, in swizzled panels of up to 128 bytes
 *   Window      where a tile lies in a tensor, and which part of it is inside
 *   Ring        tiles of a loop that are copied ahead of the iteration that uses them
 *
 * Lines that begin with `//>` say in a line how something is used: who writes kernels over
 * this header is told them (`tw prompt translate`).
 *
 * MIT licence, like the rest of tilewright.
 */
#pragma once

#include <cute/tensor.hpp>
#include <cute/arch/copy_sm90.hpp>
#include <cute/arch/copy_sm90_desc.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/bfloat16.h>
#include <cutlass/float8.h>
#include <cutlass/half.h>
#include <cutlass/numeric_conversion.h>
#if __has_include(<cute/atom/mma_traits_sm89.hpp>) /* older CUTLASS has no products of 8 bits */
#include <cute/atom/mma_traits_sm89.hpp>
#define TW_QUADS
#endif

#ifndef INFINITY /* NVRTC has no <math.h> */
#define INFINITY __int_as_float(0x7f800000)
#endif

namespace tw {

using namespace cute;
using cutlass::bfloat16_t;
using cutlass::half_t;

enum { CHUNK = 16 /* bytes of the widest access to memory */ };

/* ---- integers: division that rounds down, as in TL -------------------------------- */

//> tw::floor_div(a, b), tw::floor_mod, tw::least, tw::most, ceil_div(a, b): TL's div, %, min, max, ceil
CUTE_HOST_DEVICE constexpr int floor_div(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
CUTE_HOST_DEVICE constexpr int floor_mod(int a, int b) { return a - floor_div(a, b) * b; }
CUTE_HOST_DEVICE constexpr int least(int a, int b) { return a < b ? a : b; }
CUTE_HOST_DEVICE constexpr int most(int a, int b) { return a > b ? a : b; }

/* ---- elements ------------------------------------------------------------------------ */

//> tw::exp(x), tw::exp2, tw::log, tw::log2, tw::sigmoid, tw::square, tw::silu, tw::gelu, tw::sign, tw::divide_or(a, b, other); fmaxf, fminf, fmaf, rsqrtf, sqrtf, tanhf, erff, log1pf, expm1f
CUTE_DEVICE float exp2(float x) {
    float y; /* without the steps by which exp2f keeps subnormal results */
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
CUTE_DEVICE float exp(float x) { return exp2(x * 1.4426950408889634f); }
CUTE_DEVICE float log2(float x) { return __log2f(x); }
CUTE_DEVICE float log(float x) { return __logf(x); }
CUTE_DEVICE float divide_or(float a, float b, float other) { return b == 0 ? other : a / b; }
CUTE_DEVICE float reciprocal(float x) { return __frcp_rn(x); }
CUTE_DEVICE float sigmoid(float x) { return 1 / (1 + exp(-x)); }
CUTE_DEVICE float square(float x) { return x * x; }
CUTE_DEVICE float silu(float x) { return x / (1 + exp(-x)); }
CUTE_DEVICE float sign(float x) { return float(x > 0) - float(x < 0); }
CUTE_DEVICE float gelu(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }

struct Add { CUTE_DEVICE float operator()(float a, float b) const { return a + b; } };
struct Max { CUTE_DEVICE float operator()(float a, float b) const { return fmaxf(a, b); } };
struct Min { CUTE_DEVICE float operator()(float a, float b) const { return fminf(a, b); } };

/* ---- places ---------------------------------------------------------------------------- */

/* (values of an atom, atoms along M, along N) as (rows, columns). An atom's values are one;
 * (columns, rows) as mma.sync has them; or (columns, rows, columns) as wgmma does. */
template <class Layout_>
CUTE_HOST_DEVICE constexpr auto rows_cols(Layout_ const &l) {
    if constexpr (decltype(rank(layout<0>(l)))::value == 1)
        return make_layout(layout<1>(l), layout<2>(l));
    else if constexpr (decltype(rank(layout<0>(l)))::value == 2)
        return make_layout(make_layout(layout<0, 1>(l), layout<1>(l)), make_layout(layout<0, 0>(l), layout<2>(l)));
    else
        return make_layout(make_layout(layout<0, 1>(l), layout<1>(l)),
                           make_layout(layout<0, 0>(l), layout<0, 2>(l), layout<2>(l)));
}

/* And back: the same registers as an atom's accumulator. */
template <class Tile>
CUTE_HOST_DEVICE auto accumulator(Tile &t) {
    auto l = t.layout();
    if constexpr (decltype(rank(layout<1>(l)))::value == 2)
        return make_tensor(t.data(), make_layout(make_layout(layout<1, 0>(l), layout<0, 0>(l)),
                                                 layout<0, 1>(l), layout<1, 1>(l)));
    else
        return make_tensor(t.data(), make_layout(make_layout(layout<1, 0>(l), layout<0, 0>(l), layout<1, 1>(l)),
                                                 layout<0, 1>(l), layout<1, 2>(l)));
}

//> using Place = ...; how all tiles, columns and rows in registers are spread over the block's threads
//> auto at = Place::template spots<Rows, Cols>(); get<0>(at(y, x)), get<1>(at(y, x)): row and column of S(y, x) within its tile; tw::row_at<Place, Rows>(y), tw::col_at<Place, Cols>(x): of a column's, a row's element
/* A tile's registers, in the order of a TiledMMA's accumulator. */
template <class Mma, int Rows, int Cols> CUTE_HOST_DEVICE constexpr auto accumulator_registers() {
    return rows_cols(make_layout(partition_shape_C(Mma{}, Shape<Int<Rows>, Int<Cols>>{})));
}

/* A TiledMMA's accumulator as the place of all tiles. Lanes: neighbouring lanes of a warp
 * that share a row; Run: neighbouring columns that a thread has; the warps that share a row
 * are WarpsN neighbours. */
template <class Mma_, int WarpsM_, int WarpsN_, int Lanes_, int Run_>
struct Place {
    static constexpr int WarpsM = WarpsM_, WarpsN = WarpsN_, Lanes = Lanes_, Run = Run_;
    static constexpr int Threads = 32 * WarpsM * WarpsN;

    template <int Cols> using Mma = Mma_;

    template <int Rows, int Cols> static CUTE_HOST_DEVICE constexpr auto registers() {
        return accumulator_registers<Mma_, Rows, Cols>();
    }
    template <int Rows, int Cols> static CUTE_DEVICE auto spots() {
        auto whole = make_identity_tensor(Shape<Int<Rows>, Int<Cols>>{});
        auto mine = Mma<Cols>{}.get_slice(threadIdx.x).partition_C(whole);
        return make_tensor(mine.data(), rows_cols(mine.layout()));
    }
};

/* Where there is nothing to multiply: a TiledMMA of scalar multiply-adds, whose threads lie
 * side by side along the rows, Run neighbouring columns each, as memory does. */
template <int ThreadsM, int ThreadsN, int Run>
using RowsPlace =
    Place<TiledMMA<MMA_Atom<UniversalFMA<float, float, float, float>>,
                   Layout<Shape<Int<ThreadsM>, Int<ThreadsN>, _1>, Stride<Int<ThreadsN>, _1, _0>>,
                   Tile<Int<ThreadsM>, Layout<Shape<Int<ThreadsN>, Int<Run>>, Stride<Int<Run>, _1>>, _1>>,
          (ThreadsN >= 32 ? ThreadsM : ThreadsM * ThreadsN / 32), (ThreadsN > 32 ? ThreadsN / 32 : 1),
          (ThreadsN > 32 ? 32 : ThreadsN), Run>;

//> auto S = tw::tile<Place, float, Rows, Cols>(); in registers: S(y, x) for y < size<0>(S), x < size<1>(S); clear(S), fill(S, v), copy(A, B)
//> auto c = tw::column<Place, float, Rows>(); c(y): one number for each row; auto r = tw::row<Place, float, Cols>(); r(x): for each column
template <class P, class T, int Rows, int Cols> CUTE_DEVICE auto tile() {
    return make_tensor<T>(P::template registers<Rows, Cols>());
}
template <class P, class T, int Rows> CUTE_DEVICE auto column() {
    using Mma = typename P::template Mma<0>;
    auto shape = partition_shape_C(Mma{}, make_shape(Int<Rows>{}, tile_size<1>(Mma{})));
    return make_tensor<T>(Shape<Int<decltype(size<0>(rows_cols(make_layout(shape))))::value>>{});
}
template <class P, class T, int Cols> CUTE_DEVICE auto row() {
    using Mma = typename P::template Mma<Cols>;
    auto shape = partition_shape_C(Mma{}, make_shape(tile_size<0>(Mma{}), Int<Cols>{}));
    return make_tensor<T>(Shape<Int<decltype(size<1>(rows_cols(make_layout(shape))))::value>>{});
}

/* Row (column) within its tile of a thread's i-th row (j-th column). */
template <class P, int Rows> CUTE_DEVICE int row_at(int i) {
    using Mma = typename P::template Mma<0>;
    return get<0>(P::template spots<Rows, decltype(tile_size<1>(Mma{}))::value>()(i, 0));
}
template <class P, int Cols> CUTE_DEVICE int col_at(int j) {
    using Mma = typename P::template Mma<Cols>;
    return get<1>(P::template spots<decltype(tile_size<0>(Mma{}))::value, Cols>()(0, j));
}

/* A part of a tile is the same part of what each thread has of it. */
template <class Tile, class Part> CUTE_DEVICE void slice(Tile const &t, int row, int col, Part &part) {
    CUTE_UNROLL
    for (int i = 0; i < size<0>(part); ++i)
        CUTE_UNROLL
        for (int j = 0; j < size<1>(part); ++j) part(i, j) = t(i + row, j + col);
}
template <class Tile, class Part> CUTE_DEVICE void patch(Tile &t, int row, int col, Part const &part) {
    CUTE_UNROLL
    for (int i = 0; i < size<0>(part); ++i)
        CUTE_UNROLL
        for (int j = 0; j < size<1>(part); ++j) t(i + row, j + col) = part(i, j);
}

/* An integer, toward zero; of 8 bits the nearest that there is. */
template <class T> CUTE_DEVICE T cut(float x) {
    constexpr int least = T(-1) < T(0) ? -128 : 0, most = least + 255;
    if constexpr (sizeof(T) == 1) return T(max(least, min(most, int(x))));
    else return T(x);
}

//> tw::convert(S, N); into a tile, column or row of another type: floats to the nearest, integers toward zero
/* Element by element into another type, two at a time. */
template <class From, class To> CUTE_DEVICE void convert(From const &from, To &to) {
    constexpr int n = decltype(size(from))::value;
    if constexpr (cute::is_integral<typename To::value_type>::value) {
        CUTE_UNROLL
        for (int i = 0; i < n; ++i) to(i) = cut<typename To::value_type>(float(from(i)));
        return;
    }
    cutlass::NumericArrayConverter<typename To::value_type, typename From::value_type, n> converter;
    auto result = converter(*reinterpret_cast<cutlass::Array<typename From::value_type, n> const *>(from.data()));
    *reinterpret_cast<decltype(result) *>(to.data()) = result;
}
template <class From, class To> CUTE_DEVICE void nonzero(From const &from, To &to) {
    CUTE_UNROLL
    for (int i = 0; i < size(from); ++i) to(i) = float(from(i)) != 0.0f;
}

/* Whether a warp has a factor other than 1. */
template <class Column> CUTE_DEVICE bool any_but_one(Column const &c) {
    bool other = false;
    CUTE_UNROLL
    for (int i = 0; i < size(c); ++i) other |= c(i) != 1.0f;
    return __any_sync(0xffffffff, other);
}

/* ---- reductions -------------------------------------------------------------------------- */

/* Combines what the threads of a row, or of a column, have; `parts`: Threads floats in shared
 * memory, used where several warps are concerned. */
template <class P, class Op> CUTE_DEVICE float across_row(float x, Op op, float *parts) {
    CUTE_UNROLL
    for (int lane = P::Lanes / 2; lane > 0; lane /= 2) x = op(x, __shfl_xor_sync(0xffffffff, x, lane));
    if constexpr (P::WarpsN > 1) {
        int warp = threadIdx.x / 32, first = warp / P::WarpsN * P::WarpsN, lane = threadIdx.x % 32;
        __syncthreads();
        parts[threadIdx.x] = x;
        __syncthreads();
        x = parts[first * 32 + lane];
        CUTE_UNROLL
        for (int w = 1; w < P::WarpsN; ++w) x = op(x, parts[(first + w) * 32 + lane]);
    }
    return x;
}
template <class P, class Op> CUTE_DEVICE float across_column(float x, Op op, float *parts) {
    CUTE_UNROLL
    for (int lane = P::Lanes; lane < 32; lane *= 2) x = op(x, __shfl_xor_sync(0xffffffff, x, lane));
    if constexpr (P::WarpsM > 1) {
        int first = threadIdx.x / 32 % P::WarpsN, lane = threadIdx.x % 32;
        __syncthreads();
        parts[threadIdx.x] = x;
        __syncthreads();
        x = parts[first * 32 + lane];
        CUTE_UNROLL
        for (int w = 1; w < P::WarpsM; ++w) x = op(x, parts[(first + w * P::WarpsN) * 32 + lane]);
    }
    return x;
}

//> tw::reduce_rows<Place>(S, c, tw::Add{}, parts); or tw::Max{}, tw::Min{}; parts: float * to 4 bytes a thread in shared memory; nullptr where all that meets is in one warp
//> tw::reduce_columns<Place>(S, r, tw::Add{}, parts): as of rows
//> float v = tw::reduce_row<Place>(r, tw::Add{}, parts), tw::reduce_column<Place>(c, tw::Add{}, parts); or tw::Max{}, tw::Min{}; parts: float * to 4 bytes a thread in shared memory; nullptr where one warp has all
/* Each row of a tile, each column of it; a row or a column alone. */
template <class P, class Tile, class Column, class Op>
CUTE_DEVICE void reduce_rows(Tile const &t, Column &c, Op op, float *parts) {
    CUTE_UNROLL
    for (int i = 0; i < size(c); ++i) {
        float x = float(t(i, 0));
        CUTE_UNROLL
        for (int j = 1; j < size<1>(t); ++j) x = op(x, float(t(i, j)));
        c(i) = across_row<P>(x, op, parts);
    }
}
template <class P, class Tile, class Row, class Op>
CUTE_DEVICE void reduce_columns(Tile const &t, Row &r, Op op, float *parts) {
    CUTE_UNROLL
    for (int j = 0; j < size(r); ++j) {
        float x = float(t(0, j));
        CUTE_UNROLL
        for (int i = 1; i < size<0>(t); ++i) x = op(x, float(t(i, j)));
        r(j) = across_column<P>(x, op, parts);
    }
}
template <class P, class Row, class Op> CUTE_DEVICE float reduce_row(Row const &r, Op op, float *parts) {
    float x = float(r(0));
    CUTE_UNROLL
    for (int j = 1; j < size(r); ++j) x = op(x, float(r(j)));
    return across_row<P>(x, op, parts);
}
template <class P, class Column, class Op> CUTE_DEVICE float reduce_column(Column const &c, Op op, float *parts) {
    float x = float(c(0));
    CUTE_UNROLL
    for (int i = 1; i < size(c); ++i) x = op(x, float(c(i)));
    return across_column<P>(x, op, parts);
}

/* ---- memory -------------------------------------------------------------------------------- */

//> tw::Window<T const>{corner, row_step, col_step, row_from, row_to, col_from, col_to}: a tensor's tile: the address of element (0, 0), elements from row to row and column to column (col_step 1), rows and columns that are inside: 0, M - m * BM, 0, N - n * BN
/* A tile's corner in a tensor, the way to its next row and column, and which of its rows and
 * columns are inside. */
template <class T> struct Window {
    T *corner;
    int64_t row_step, col_step;
    int row_from, row_to, col_from, col_to;

    CUTE_DEVICE bool has(int row, int col) const {
        return row_from <= row && row < row_to && col_from <= col && col < col_to;
    }
    /* The columns from col to col + Run - 1 of a tile of Cols, in a row that is inside. */
    template <int Cols, int Run> CUTE_DEVICE bool has_run(int col) const {
        bool all = col_from <= 0 && col_to >= Cols; /* known to the compiler, mostly */
        return all || (col_from <= col && col + Run <= col_to);
    }
    CUTE_DEVICE bool has_row(int row) const { return row_from <= row && row < row_to; }
    CUTE_DEVICE T &operator()(int row, int col) const { return corner[row * row_step + col * col_step]; }
};

/* The same of rows that lie each where a function says, which gives the window of one alone. */
template <class T, class At> struct RowWindows {
    At at;
    T *corner;
    int col_from, col_to;

    CUTE_DEVICE bool has(int row, int col) const { return at(row).has(0, col); }
    CUTE_DEVICE T &operator()(int row, int col) const { return at(row)(0, col); }
};
template <class T, class At> CUTE_DEVICE RowWindows<T, At> by_rows(At at) {
    Window<T> first = at(0);
    return {at, first.corner, first.col_from, first.col_to};
}

/* An element of memory that several blocks add to: assigning to it adds. */
struct Sum {
    float value;
    CUTE_DEVICE void operator=(float x) { atomicAdd(&value, x); }
};

struct Everywhere {
    CUTE_DEVICE bool operator()(int, int) const { return true; }
};

//> tw::load<Place, Wide, Rows, Cols>(window, S); tw::store<Place, Wide, Rows, Cols>(S, window): what is outside is read as 0 and not written; types as in memory
//> tw::load_row<Place, Wide, Cols>(window, r), tw::store_row<Place, Wide, Cols>(r, window): a row, likewise
//> tw::load_column<Place, Rows>(window, c), tw::store_column<Place, Rows>(c, window): a column, likewise
/* Between memory and a thread's part of a tile. Wide: rows are aligned to 16 bytes and their
 * elements are neighbours, so that a thread's run of them moves at once. */
template <class P, bool Wide, int Rows, int Cols, class T, class Tile, class Where = Everywhere>
CUTE_DEVICE void load(Window<T> w, Tile &t, Where where = {}) {
    using E = cute::remove_const_t<T>;
    auto at = P::template spots<Rows, Cols>();
    constexpr int Run = Wide && P::Run * sizeof(E) <= CHUNK ? P::Run : 1;
    using Pack = cutlass::AlignedArray<E, Run>;
    CUTE_UNROLL
    for (int i = 0; i < size<0>(t); ++i)
        CUTE_UNROLL
        for (int j = 0; j < size<1>(t); j += Run) {
            int row = get<0>(at(i, j)), col = get<1>(at(i, j));
            if (cute::is_same<Where, Everywhere>::value && Run > 1 && w.template has_run<Cols, Run>(col)) {
                Pack pack{};
                if (w.has_row(row)) pack = *reinterpret_cast<Pack const *>(&w(row, col));
                CUTE_UNROLL
                for (int e = 0; e < Run; ++e) t(i, j + e) = pack[e];
            } else {
                CUTE_UNROLL
                for (int e = 0; e < Run; ++e)
                    t(i, j + e) = w.has(row, col + e) && where(row, col + e) ? w(row, col + e) : E(0.0f);
            }
        }
}
template <class P, bool Wide, int Rows, int Cols, class T, class Tile, class Where = Everywhere>
CUTE_DEVICE void store(Tile const &t, Window<T> w, Where where = {}) {
    auto at = P::template spots<Rows, Cols>();
    constexpr int Run = Wide && P::Run * sizeof(T) <= CHUNK ? P::Run : 1;
    using Pack = cutlass::AlignedArray<T, Run>;
    CUTE_UNROLL
    for (int i = 0; i < size<0>(t); ++i)
        CUTE_UNROLL
        for (int j = 0; j < size<1>(t); j += Run) {
            int row = get<0>(at(i, j)), col = get<1>(at(i, j));
            if (cute::is_same<Where, Everywhere>::value && Run > 1 && w.template has_run<Cols, Run>(col)) {
                Pack pack;
                CUTE_UNROLL
                for (int e = 0; e < Run; ++e) pack[e] = t(i, j + e);
                if (w.has_row(row)) *reinterpret_cast<Pack *>(&w(row, col)) = pack;
            } else {
                CUTE_UNROLL
                for (int e = 0; e < Run; ++e)
                    if (w.has(row, col + e) && where(row, col + e)) w(row, col + e) = t(i, j + e);
            }
        }
}

/* Rows that lie each where a function says go element by element. */
template <class P, bool Wide, int Rows, int Cols, class T, class At, class Tile, class Where = Everywhere>
CUTE_DEVICE void store(Tile const &t, RowWindows<T, At> w, Where where = {}) {
    auto at = P::template spots<Rows, Cols>();
    CUTE_UNROLL
    for (int i = 0; i < size<0>(t); ++i)
        CUTE_UNROLL
        for (int j = 0; j < size<1>(t); ++j) {
            int row = get<0>(at(i, j)), col = get<1>(at(i, j));
            if (w.has(row, col) && where(row, col)) w(row, col) = t(i, j);
        }
}

/* The same of vectors and of single elements. All threads of a row have a column's value; the first
 * writes it, and the first of a column a row's. */
template <class P> CUTE_DEVICE bool is_first_of_row() {
    using Mma = typename P::template Mma<0>;
    return get<1>(P::template spots<decltype(tile_size<0>(Mma{}))::value, decltype(tile_size<1>(Mma{}))::value>()(0, 0)) == 0;
}
template <class P, int Cols> CUTE_DEVICE bool is_first_of_column() {
    using Mma = typename P::template Mma<Cols>;
    return get<0>(P::template spots<decltype(tile_size<0>(Mma{}))::value, Cols>()(0, 0)) == 0;
}
template <class P, int Rows, class T, class Column, class Where = Everywhere>
CUTE_DEVICE void load_column(Window<T> w, Column &c, Where where = {}) {
    CUTE_UNROLL
    for (int i = 0; i < size(c); ++i) {
        int row = row_at<P, Rows>(i);
        c(i) = w.has(row, 0) && where(row, 0) ? w(row, 0) : cute::remove_const_t<T>(0.0f);
    }
}
template <class P, int Rows, class T, class Column, class Where = Everywhere>
CUTE_DEVICE void store_column(Column const &c, Window<T> w, Where where = {}) {
    if (!is_first_of_row<P>()) return;
    CUTE_UNROLL
    for (int i = 0; i < size(c); ++i) {
        int row = row_at<P, Rows>(i);
        if (w.has(row, 0) && where(row, 0)) w(row, 0) = c(i);
    }
}
template <class P, int Rows, class T, class At, class Column, class Where = Everywhere>
CUTE_DEVICE void store_column(Column const &c, RowWindows<T, At> w, Where where = {}) {
    if (!is_first_of_row<P>()) return;
    CUTE_UNROLL
    for (int i = 0; i < size(c); ++i) {
        int row = row_at<P, Rows>(i);
        if (w.has(row, 0) && where(row, 0)) w(row, 0) = c(i);
    }
}
template <class P, bool Wide, int Cols, class T, class Row, class Where = Everywhere>
CUTE_DEVICE void load_row(Window<T> w, Row &r, Where where = {}) {
    using E = cute::remove_const_t<T>;
    constexpr int Run = Wide && P::Run * sizeof(E) <= CHUNK ? P::Run : 1;
    using Pack = cutlass::AlignedArray<E, Run>;
    CUTE_UNROLL
    for (int j = 0; j < size(r); j += Run) {
        int col = col_at<P, Cols>(j);
        if (cute::is_same<Where, Everywhere>::value && Run > 1 && w.template has_run<Cols, Run>(col)) {
            Pack pack{};
            if (w.has_row(0)) pack = *reinterpret_cast<Pack const *>(&w(0, col));
            CUTE_UNROLL
            for (int e = 0; e < Run; ++e) r(j + e) = pack[e];
        } else {
            CUTE_UNROLL
            for (int e = 0; e < Run; ++e)
                r(j + e) = w.has(0, col + e) && where(0, col + e) ? w(0, col + e) : E(0.0f);
        }
    }
}
template <class P, bool Wide, int Cols, class T, class Row, class Where = Everywhere>
CUTE_DEVICE void store_row(Row const &r, Window<T> w, Where where = {}) {
    if (!is_first_of_column<P, Cols>()) return;
    constexpr int Run = Wide && P::Run * sizeof(T) <= CHUNK ? P::Run : 1;
    using Pack = cutlass::AlignedArray<T, Run>;
    CUTE_UNROLL
    for (int j = 0; j < size(r); j += Run) {
        int col = col_at<P, Cols>(j);
        if (cute::is_same<Where, Everywhere>::value && Run > 1 && w.template has_run<Cols, Run>(col)) {
            Pack pack;
            CUTE_UNROLL
            for (int e = 0; e < Run; ++e) pack[e] = r(j + e);
            if (w.has_row(0)) *reinterpret_cast<Pack *>(&w(0, col)) = pack;
        } else {
            CUTE_UNROLL
            for (int e = 0; e < Run; ++e)
                if (w.has(0, col + e) && where(0, col + e)) w(0, col + e) = r(j + e);
        }
    }
}
template <class T> CUTE_DEVICE auto load_one(Window<T> w) {
    return w.has(0, 0) ? w(0, 0) : cute::remove_const_t<T>(0.0f);
}
template <class T, class X> CUTE_DEVICE void store_one(X x, Window<T> w) {
    if (w.has(0, 0) && threadIdx.x == 0) w(0, 0) = x;
}

/* ---- tiles in shared memory ------------------------------------------------------------------ */

//> extern __shared__ __align__(1024) unsigned char shared[]; the block's shared memory
//> tw::Shared<T, Rows, Cols> sK{(T *)(shared + offset)}; offsets are multiples of 1024; sK[stage]: stages of Rows * Cols elements; sK.transposed(): the operand K.T
/* The operand X.T of a tile in shared memory. */
template <class Of> struct Flipped {
    using Element = typename Of::Element;
    static constexpr bool Transposed = true;
    Of of;
    CUTE_DEVICE auto tensor() const { return of.flipped(); }
    CUTE_DEVICE auto flipped() const { return of.tensor(); }
};

/* Panels of up to 128 bytes, all rows of a panel one below another; within eight rows the chunks
 * of 16 bytes are XORed with the row, so that a column of eight lies in different banks. */
template <class T, int Rows, int Cols> struct Shared {
    using Element = T;
    static constexpr int Tall = (Rows + 7) / 8 * 8; /* with what rounds it up to whole swizzles */
    static constexpr int Bytes = Cols * sizeof(T);
    static constexpr int Panel = Bytes % 128 == 0 ? 128 : Bytes % 64 == 0 ? 64 : Bytes % 32 == 0 ? 32 : 16;
    static constexpr int Bits = Panel == 128 ? 3 : Panel == 64 ? 2 : Panel == 32 ? 1 : 0;
    static constexpr int Base = sizeof(T) == 4 ? 2 : sizeof(T) == 2 ? 3 : 4; /* log2 of elements a chunk */
    using Atom = decltype(composition(Swizzle<Bits, Base, 3>{},
                                      Layout<Shape<_8, Int<Panel / int(sizeof(T))>>, Stride<Int<Panel / int(sizeof(T))>, _1>>{}));
    using Lay = decltype(tile_to_shape(Atom{}, Shape<Int<Tall>, Int<Cols>>{}));
    static constexpr int Wide = Cols;
    static constexpr bool Transposed = false;

    T *data;

    CUTE_DEVICE auto tensor() const { return make_tensor(make_smem_ptr(data), Lay{}); }
    CUTE_DEVICE auto flipped() const {
        return make_tensor(make_smem_ptr(data), composition(Lay{}, Layout<Shape<Int<Cols>, Int<Tall>>, Stride<Int<Tall>, _1>>{}));
    }
    CUTE_DEVICE T &operator()(int row, int col) const { return data[Lay{}(row, col)]; }
    CUTE_DEVICE Shared operator[](int stage) const { return {data + stage * Tall * Cols}; }
    CUTE_DEVICE auto transposed() const { return Flipped<Shared>{*this}; }
};

//> tw::copy_in<Threads, Wide>(window of T const, sK); cp_async_fence(); starts a copy of all threads; tw::arrive<0>(): all are there, for all threads
/* From global memory into a tile, all threads together, in chunks of 16 bytes. Wide: rows are
 * aligned; then cp.async, which fills with zeros what is outside; else through registers. A
 * condition may be on rows only where the copy is wide. */
template <int Threads, bool Wide, class From, class T, int Rows, int Cols, class Where = Everywhere>
CUTE_DEVICE void copy_in(From w, Shared<T, Rows, Cols> s, Where where = {}) {
#if defined(CUTE_ARCH_CP_ASYNC_SM80_ENABLED)
    constexpr bool Async = true;
#else
    constexpr bool Async = false;
#endif
    constexpr int Elements = CHUNK / int(sizeof(T)), Across = Cols / Elements;
    if constexpr (Wide && Cols % Elements == 0) {
        constexpr int Side = Across % 8 == 0 ? 8 : Across % 4 == 0 ? 4 : Across % 2 == 0 ? 2 : 1;
        constexpr int Deep = Threads / Side;
        using Atom = cute::conditional_t<Async, Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, T>,
                                         Copy_Atom<UniversalCopy<uint128_t>, T>>;
        auto copier = make_tiled_copy(Atom{}, Layout<Shape<Int<Deep>, Int<Side>>, Stride<Int<Side>, _1>>{},
                                      Layout<Shape<_1, Int<Elements>>>{});
        auto mine = copier.get_slice(threadIdx.x);
        Tensor to = mine.partition_D(s.tensor());
        Tensor at = mine.partition_D(make_identity_tensor(Shape<Int<Shared<T, Rows, Cols>::Tall>, Int<Cols>>{}));
        CUTE_UNROLL
        for (int m = 0; m < size<1>(to); ++m) {
            int row = get<0>(at(0, m, 0));
            if (Rows % Deep != 0 && row >= Rows) break;
            CUTE_UNROLL
            for (int n = 0; n < size<2>(to); ++n) {
                int col = get<1>(at(0, m, n));
                bool inside = w.has(row, col) && where(row, col);
                T const *from = inside ? &w(row, col) : w.corner;
                if ((w.col_to < Cols && col + Elements > w.col_to) || (w.col_from > 0 && col < w.col_from)) { /* the tensor ends within the chunk */
                    CUTE_UNROLL
                    for (int e = 0; e < Elements; ++e)
                        to(e, m, n) = w.has(row, col + e) && where(row, col) ? w(row, col + e) : T(0.0f);
                    continue;
                }
                Tensor source = make_tensor(make_gmem_ptr(from), Layout<Int<Elements>>{});
                if constexpr (Async) {
                    copy(Atom{}.with(inside), source, to(_, m, n));
                } else if (inside) {
                    copy(Atom{}, source, to(_, m, n));
                } else {
                    clear(to(_, m, n));
                }
            }
        }
    } else {
        for (int k = threadIdx.x; k < Rows * Cols; k += Threads) {
            int row = k / Cols, col = k % Cols;
            s(row, col) = w.has(row, col) && where(row, col) ? w(row, col) : T(0.0f);
        }
    }
}

/* What threads wrote into shared memory may be read by wgmma, which is of another proxy. */
CUTE_DEVICE void publish() {
#if defined(CUTE_ARCH_TMA_SM90_ENABLED)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

//> tw::read<Place>(sX, X); tw::write<Place>(X, sX): to registers, from them; write waits for all threads
/* Between shared memory and registers. */
template <class P, class T, int Rows, int Cols, class Tile>
CUTE_DEVICE void read(Shared<T, Rows, Cols> s, Tile &t) {
    auto at = P::template spots<Rows, Cols>();
    CUTE_UNROLL
    for (int i = 0; i < size<0>(t); ++i)
        CUTE_UNROLL
        for (int j = 0; j < size<1>(t); ++j) t(i, j) = s(get<0>(at(i, j)), get<1>(at(i, j)));
}
template <class P, class T, int Rows, int Cols, class Tile>
CUTE_DEVICE void write(Tile const &t, Shared<T, Rows, Cols> s) {
    auto at = P::template spots<Rows, Cols>();
    __syncthreads(); /* who read what was there is done */
    CUTE_UNROLL
    for (int i = 0; i < size<0>(t); ++i)
        CUTE_UNROLL
        for (int j = 0; j < size<1>(t); ++j) s(get<0>(at(i, j)), get<1>(at(i, j))) = t(i, j);
    publish();
    __syncthreads();
}

//> tw::read_row<Place>(sR, r); tw::write_row<Place>(r, sR): the same of a row
/* Of a row, of which several threads have an element: one of them writes it. */
template <class P, class T, int Cols, class Row> CUTE_DEVICE void read_row(Shared<T, 1, Cols> s, Row &r) {
    CUTE_UNROLL
    for (int j = 0; j < size(r); ++j) r(j) = s(0, col_at<P, Cols>(j));
}
template <class P, class T, int Cols, class Row> CUTE_DEVICE void write_row(Row const &r, Shared<T, 1, Cols> s) {
    bool first = row_at<P, decltype(tile_size<0>(typename P::template Mma<Cols>{}))::value>(0) == 0;
    __syncthreads(); /* who read what was there is done */
    CUTE_UNROLL
    for (int j = 0; j < size(r); ++j)
        if (first) s(0, col_at<P, Cols>(j)) = r(j);
    publish();
    __syncthreads();
}
/* By TMA: one thread asks for the boxes of a tile, whose bytes `landed` counts. RowAt: which of the
 * coordinates, the innermost first, is that of the rows. */
template <int Rank, int RowAt, int BoxRows, class T, int Rows, int Cols>
CUTE_DEVICE void copy_boxes(TmaDescriptor const *map, uint64_t *landed, Shared<T, Rows, Cols> s, array<int, Rank> at) {
    constexpr int Across = Shared<T, Rows, Cols>::Panel / int(sizeof(T));
    constexpr uint64_t Hint = static_cast<uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);
    if (threadIdx.x != 0) return;
    set_barrier_transaction_bytes(*landed, Rows * Cols * sizeof(T));
    for (int col = 0; col < Cols; col += Across)
        for (int row = 0; row < Rows; row += BoxRows) {
            array<int, Rank> c = at;
            c[0] += col;
            c[RowAt] += row;
            T *to = s.data + col * Rows + row * Across;
            if constexpr (Rank == 2) SM90_TMA_LOAD::copy(map, landed, Hint, to, c[0], c[1]);
            if constexpr (Rank == 3) SM90_TMA_LOAD::copy(map, landed, Hint, to, c[0], c[1], c[2]);
            if constexpr (Rank == 4) SM90_TMA_LOAD::copy(map, landed, Hint, to, c[0], c[1], c[2], c[3]);
            if constexpr (Rank == 5) SM90_TMA_LOAD::copy(map, landed, Hint, to, c[0], c[1], c[2], c[3], c[4]);
        }
}

/* Barriers that count what lands; each thread knows by bits which phase is the next of each. Readers:
 * warps that read what landed and say when they are done, so that no other warp need wait for them. */
template <int N, int Readers_ = 0> struct Landings {
    static constexpr int Readers = Readers_;
    uint64_t *barrier;
    unsigned phases;

    CUTE_DEVICE Landings(void *at, int copies) : barrier((uint64_t *)at), phases(0) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < N; ++i) initialize_barrier(barrier[i], copies);
            if constexpr (Readers > 0)
                for (int i = 0; i < N; ++i) initialize_barrier(barrier[N + i], Readers);
            cutlass::arch::fence_barrier_init();
        }
        __syncthreads();
    }
    CUTE_DEVICE void wait(int i) {
        wait_barrier(barrier[i], phases >> i & 1);
        phases ^= 1u << i;
    }
    /* A warp has read what landed there. */
    CUTE_DEVICE void free(int i) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) cutlass::arch::ClusterBarrier::arrive((uint64_t const *)(barrier + N + i));
    }
    /* All have, for the n-th time, from 0. */
    CUTE_DEVICE void wait_freed(int i, int n) { wait_barrier(barrier[N + i], n & 1); }
};

/* ---- copies that run ahead --------------------------------------------------------------------- */

/* All copies but the youngest `Ahead` groups have arrived, for all threads, and all threads are
 * done with what they read before. */
template <int Ahead> CUTE_DEVICE void arrive() {
#if defined(CUTE_ARCH_CP_ASYNC_SM80_ENABLED)
    cp_async_wait<Ahead>();
#endif
    publish();
    __syncthreads();
}

//> auto ahead = tw::ring<Stages>(lo, hi, [&](int j, int stage) { copies into sK[stage] }); for (int j = lo; j < hi; ++j) { int stage = ahead.turn(j); ... }: copies run Stages - 1 iterations ahead, Stages >= 2; turn waits for those of j and of all before the ring
/* The tiles of a loop from `lo` to `hi` in `Stages` stages: `fill(j, stage)` starts the copies for
 * iteration j. turn(j) says which stage has j's tiles once they have arrived, and starts the copies
 * for iteration j + Stages - 1. */
template <int Stages, class Fill> struct Ring {
    int lo, hi;
    Fill fill;

    CUTE_DEVICE void start(int j) {
        if (j < hi) fill(j, (j - lo) % Stages);
        cp_async_fence();
    }
    CUTE_DEVICE void begin() {
        CUTE_UNROLL
        for (int k = 0; k < Stages - 1; ++k) start(lo + k);
    }
    CUTE_DEVICE int turn(int j) {
        arrive<Stages - 2>();
        start(j + Stages - 1);
        return (j - lo) % Stages;
    }
};
/* The same of tiles that land by TMA, or of some that do: fill(j, stage) has stage's barrier count them.
 * Where the landings know their readers, all do, and the ring is gone through once: warps then wait for what
 * they read, and not for one another. */
template <int Stages, bool Wide, class Landings, class Fill> struct LandingRing {
    int lo, hi;
    Landings &landings;
    Fill fill;

    CUTE_DEVICE void start(int j) {
        if (j < hi) fill(j, (j - lo) % Stages);
        cp_async_fence();
    }
    CUTE_DEVICE void begin() {
        CUTE_UNROLL
        for (int k = 0; k < Stages - 1; ++k) start(lo + k);
    }
    /* What iteration j - 1 read is filled anew when all warps are done with it. */
    CUTE_DEVICE void start_freed(int j) {
        if (j > lo) landings.free((j - 1 - lo) % Stages);
        int next = j + Stages - 1;
        if (threadIdx.x == 0 && next < hi) {
            if (next - lo >= Stages) landings.wait_freed((next - lo) % Stages, (next - lo) / Stages - 1);
            fill(next, (next - lo) % Stages);
        }
        __syncwarp();
    }
    CUTE_DEVICE int turn(int j) {
        int stage = (j - lo) % Stages;
        if constexpr (Wide && Landings::Readers > 0) {
            start_freed(j);
        } else {
            arrive<Stages - 2>();
            start(j + Stages - 1);
        }
        if constexpr (Wide) landings.wait(stage);
        return stage;
    }
};
template <int Stages, bool Wide, class Landings, class Fill>
CUTE_DEVICE auto landing_ring(int lo, int hi, Landings &landings, Fill fill) {
    LandingRing<Stages, Wide, Landings, Fill> r{lo, hi, landings, fill};
    r.begin();
    return r;
}

template <int Stages, class Fill> CUTE_DEVICE auto ring(int lo, int hi, Fill fill) {
    Ring<Stages, Fill> r{lo, hi, fill};
    r.begin();
    return r;
}

//> auto early = tw::turns(lo, hi, fill as a ring's); early.start(j): copies of iteration j into the one stage, arrive<0>() before they are used and overwritten
/* With one stage: tiles that are copied while others are used, whose turn comes when start(j) is
 * called, behind an arrive. */
template <class Fill> struct Turns {
    int lo, hi;
    Fill fill;

    CUTE_DEVICE void start(int j) {
        if (j < hi) fill(j, 0);
        cp_async_fence();
    }
};
template <class Fill> CUTE_DEVICE auto turns(int lo, int hi, Fill fill) { return Turns<Fill>{lo, hi, fill}; }

/* ---- products ------------------------------------------------------------------------------------ */

//> tw::gemm<Place>(sA, sB, S): S += A B from shared memory, A (M, K), B (K, N)
//> tw::gemm_from_registers<Place>(A, sB, S): S += A B, A a tile in registers, of the operands' type
/* The operand of an atom from a tile in registers: two accumulators side by side are one operand
 * where the atom takes 16 columns, one where it takes 8. */
template <class Mma, class Tile> CUTE_DEVICE auto operand(Tile &t) {
    Tensor c = accumulator(t);
    if constexpr (decltype(size<2>(typename Mma::AtomShape_MNK{}))::value == 16) {
        auto l = logical_divide(c.layout(), Shape<Underscore, Underscore, _2>{});
        return make_tensor(c.data(), make_layout(make_layout(layout<0, 0>(l), layout<0, 1>(l), layout<2, 0>(l)),
                                                 layout<1>(l), layout<2, 1>(l)));
    } else {
        return c;
    }
}

template <bool Transposed, class T>
using FromShared = Copy_Atom<cute::conditional_t<Transposed, SM75_U16x8_LDSM_T, SM75_U32x4_LDSM_N>, T>;
template <bool Transposed, class T>
using FromSharedNarrow = Copy_Atom<cute::conditional_t<Transposed, SM75_U16x4_LDSM_T, SM75_U32x2_LDSM_N>, T>;

/* c += a b, b in shared memory, a there or in registers; the next step's operands are on their way
 * while a step is multiplied. */
template <class P, class Operand, class T, class Tile>
CUTE_DEVICE void gemm_steps(Operand const &rA, T const &b, Tile &c) {
    auto mma = typename P::template Mma<0>{};
    auto thread = mma.get_slice(threadIdx.x);
    using E = typename T::Element;
    using Atom = cute::conditional_t<P::Wide, FromShared<!T::Transposed, E>, FromSharedNarrow<!T::Transposed, E>>;
    Tensor sB = b.flipped(); /* (N, K) */
    Tensor rB = thread.partition_fragment_B(sB);
    auto copier = make_tiled_copy_B(Atom{}, mma);
    auto mine = copier.get_slice(threadIdx.x);
    Tensor from = mine.partition_S(sB);
    Tensor to = mine.retile_D(rB);
    Tensor acc = accumulator(c);
    constexpr int Steps = decltype(size<2>(from))::value, Per = decltype(size<2>(rB))::value / Steps;
    copy(copier, from(_, _, 0), to(_, _, 0));
    CUTE_UNROLL
    for (int k = 0; k < Steps; ++k) {
        if (k + 1 < Steps) copy(copier, from(_, _, k + 1), to(_, _, k + 1));
        CUTE_UNROLL
        for (int p = 0; p < Per; ++p)
            cute::gemm(mma, rA(_, _, k * Per + p), rB(_, _, k * Per + p), acc);
    }
}
template <class P, class A, class B, class Tile>
CUTE_DEVICE void gemm(A const &a, B const &b, Tile &c) {
    auto mma = typename P::template Mma<0>{};
    auto thread = mma.get_slice(threadIdx.x);
    using E = typename A::Element;
    using AtomB = cute::conditional_t<P::Wide, FromShared<!B::Transposed, E>, FromSharedNarrow<!B::Transposed, E>>;
    Tensor sA = a.tensor();  /* (M, K) */
    Tensor sB = b.flipped(); /* (N, K) */
    Tensor rA = thread.partition_fragment_A(sA);
    Tensor rB = thread.partition_fragment_B(sB);
    auto copier_a = make_tiled_copy_A(FromShared<A::Transposed, E>{}, mma);
    auto copier_b = make_tiled_copy_B(AtomB{}, mma);
    auto mine_a = copier_a.get_slice(threadIdx.x);
    auto mine_b = copier_b.get_slice(threadIdx.x);
    Tensor from_a = mine_a.partition_S(sA);
    Tensor to_a = mine_a.retile_D(rA);
    Tensor from_b = mine_b.partition_S(sB);
    Tensor to_b = mine_b.retile_D(rB);
    Tensor acc = accumulator(c);
    constexpr int Steps = decltype(size<2>(from_a))::value, Per = decltype(size<2>(rA))::value / Steps;
    copy(copier_a, from_a(_, _, 0), to_a(_, _, 0));
    copy(copier_b, from_b(_, _, 0), to_b(_, _, 0));
    CUTE_UNROLL
    for (int k = 0; k < Steps; ++k) {
        if (k + 1 < Steps) {
            copy(copier_a, from_a(_, _, k + 1), to_a(_, _, k + 1));
            copy(copier_b, from_b(_, _, k + 1), to_b(_, _, k + 1));
        }
        CUTE_UNROLL
        for (int p = 0; p < Per; ++p)
            cute::gemm(mma, rA(_, _, k * Per + p), rB(_, _, k * Per + p), acc);
    }
}

/* The place of a kernel whose warps multiply by mma.sync: WarpsM x WarpsN of them, 16 rows each and
 * 16 columns (8, where a tile is no multiple of that). */
template <class Atom_, int WarpsM, int WarpsN, bool Wide_>
struct MmaPlace : Place<TiledMMA<MMA_Atom<Atom_>, Layout<Shape<Int<WarpsM>, Int<WarpsN>, _1>, Stride<Int<WarpsN>, _1, _0>>,
                                 Tile<Int<16 * WarpsM>, Int<(Wide_ ? 16 : 8) * WarpsN>, _16>>,
                        WarpsM, WarpsN, 4, 2> {
    static constexpr bool Wide = Wide_;
};

/* a from registers, where it was computed. */
template <class P, class A, class B, class Tile>
CUTE_DEVICE void gemm_from_registers(A &a, B const &b, Tile &c) {
    gemm_steps<P>(operand<typename P::template Mma<0>>(a), b, c);
}

/* ---- products of numbers of 8 bits ----------------------------------------------------------------- */

#ifdef TW_QUADS
/* The place of a kernel whose warps multiply numbers of 8 bits by mma.sync, 16 rows each and 16 columns.
 * Two atoms side by side are 16 columns of the tile, one the even ones, one the odd: so a thread has four
 * neighbours, as it has of an operand that it computed itself, and ldmatrix can transpose pairs of bytes. */
template <int WarpsM_, int WarpsN_>
struct QuadPlace {
    static constexpr int WarpsM = WarpsM_, WarpsN = WarpsN_, Lanes = 4, Run = 4, Threads = 32 * WarpsM * WarpsN;

    template <class Atom>
    using Of = TiledMMA<MMA_Atom<Atom>, Layout<Shape<Int<WarpsM>, Int<WarpsN>, _1>, Stride<Int<WarpsN>, _1, _0>>,
                        Tile<Int<16 * WarpsM>, Layout<Shape<_8, Int<WarpsN>, _2>, Stride<_2, _16, _1>>, _32>>;
    template <int Cols> using Mma = Of<SM89_16x8x32_F32E4M3E4M3F32_TN>;

    template <int Rows, int Cols> static CUTE_HOST_DEVICE constexpr auto registers() {
        constexpr int Down = Rows / (16 * WarpsM), Along = Cols / (16 * WarpsN);
        return Layout<Shape<Shape<_2, Int<Down>>, Shape<_2, _2, Int<Along>>>,
                      Stride<Stride<_4, _8>, Stride<_1, _2, Int<8 * Down>>>>{};
    }
    template <int Rows, int Cols> static CUTE_DEVICE auto spots() {
        auto whole = make_identity_tensor(Shape<Int<Rows>, Int<Cols>>{});
        auto mine = Mma<Cols>{}.get_slice(threadIdx.x).partition_C(whole);
        auto l = mine.layout();
        auto n = logical_divide(layout<2>(l), _2{});
        return make_tensor(mine.data(), make_layout(make_layout(layout<0, 1>(l), layout<1>(l)),
                                                    make_layout(layout<0>(n), layout<0, 0>(l), layout<1>(n))));
    }
};

/* A tile as the atoms' accumulators, and as their first operands. */
template <class Tile> CUTE_DEVICE auto quad_accumulator(Tile &t) {
    auto l = t.layout();
    return make_tensor(t.data(), make_layout(make_layout(layout<1, 1>(l), layout<0, 0>(l)), layout<0, 1>(l),
                                             make_layout(layout<1, 0>(l), layout<1, 2>(l))));
}
template <class Tile> CUTE_DEVICE auto quad_operand(Tile &t) {
    auto l = t.layout();
    auto n = logical_divide(layout<1, 2>(l), _2{});
    return make_tensor(t.data(), make_layout(make_layout(Layout<_4>{}, layout<0, 0>(l), layout<0>(n)), layout<0, 1>(l),
                                             layout<1>(n)));
}

template <class A, class B> struct QuadAtom;
template <> struct QuadAtom<float_e4m3_t, float_e4m3_t> { using Type = SM89_16x8x32_F32E4M3E4M3F32_TN; };
template <> struct QuadAtom<float_e4m3_t, float_e5m2_t> { using Type = SM89_16x8x32_F32E4M3E5M2F32_TN; };
template <> struct QuadAtom<float_e5m2_t, float_e4m3_t> { using Type = SM89_16x8x32_F32E5M2E4M3F32_TN; };
template <> struct QuadAtom<float_e5m2_t, float_e5m2_t> { using Type = SM89_16x8x32_F32E5M2E5M2F32_TN; };

/* The second operand of step k. Its rows lie along K: ldmatrix has what is wanted. They lie along N: it
 * transposes pairs of bytes, four rows to a thread, of which a permutation makes two registers. */
template <class P, class Mma, class B, class Operand>
CUTE_DEVICE void read_quads(Mma const &mma, B const &b, int k, Operand &rB) {
    if constexpr (B::Transposed) {
        auto copier = make_tiled_copy_B(FromShared<false, typename B::Element>{}, mma);
        auto mine = copier.get_slice(threadIdx.x);
        copy(copier, mine.partition_S(b.flipped())(_, _, k), mine.retile_D(rB)(_, _, k));
    } else {
        Tensor words = recast<uint32_t>(rB);
        int lane = threadIdx.x % 32, row = 32 * k + lane / 16 * 16 + lane % 8 / 2 * 4 + lane / 8 % 2 * 2 + lane % 2;
        CUTE_UNROLL
        for (int n = 0; n < size<1>(words) / 2; ++n) {
            uint32_t w[4];
            auto *from = reinterpret_cast<uint128_t const *>(&b(row, 16 * (threadIdx.x / 32 % P::WarpsN + P::WarpsN * n)));
            SM75_U16x8_LDSM_T::copy(*from, w[0], w[1], w[2], w[3]);
            CUTE_UNROLL
            for (int half = 0; half < 2; ++half) {
                words(half, 2 * n, k) = __byte_perm(w[2 * half], w[2 * half + 1], 0x6420);
                words(half, 2 * n + 1, k) = __byte_perm(w[2 * half], w[2 * half + 1], 0x7531);
            }
        }
    }
}

/* c += a b; read_a(k): gets the first operand's step k into rA. The next step's operands are on their way
 * while a step is multiplied. */
template <class P, class Mma, class Operand, class Read, class B, class Tile>
CUTE_DEVICE void quad_steps(Mma &mma, Operand &rA, Read read_a, B const &b, Tile &c) {
    Tensor rB = mma.get_slice(threadIdx.x).partition_fragment_B(b.flipped());
    Tensor acc = quad_accumulator(c);
    constexpr int Steps = decltype(size<2>(rB))::value;
    read_a(0);
    read_quads<P>(mma, b, 0, rB);
    CUTE_UNROLL
    for (int k = 0; k < Steps; ++k) {
        if (k + 1 < Steps) {
            read_a(k + 1);
            read_quads<P>(mma, b, k + 1, rB);
        }
        cute::gemm(mma, rA(_, _, k), rB(_, _, k), acc);
    }
}

//> with tw::QuadPlace, of numbers of 8 bits, tw::gemm_quads<Place>(sA, sB, S) and tw::gemm_quads_from_registers<Place>(A, sB, S) are these products
template <class P, class A, class B, class Tile>
CUTE_DEVICE void gemm_quads(A const &a, B const &b, Tile &c) {
    using E = typename A::Element;
    auto mma = typename P::template Of<typename QuadAtom<E, typename B::Element>::Type>{};
    using Atom = cute::conditional_t<A::Transposed, Copy_Atom<UniversalCopy<E>, E>, FromShared<false, E>>;
    Tensor sA = a.tensor(); /* (M, K) */
    Tensor rA = mma.get_slice(threadIdx.x).partition_fragment_A(sA);
    auto copier = make_tiled_copy_A(Atom{}, mma);
    auto mine = copier.get_slice(threadIdx.x);
    Tensor from = mine.partition_S(sA);
    Tensor to = mine.retile_D(rA);
    quad_steps<P>(mma, rA, [&](int k) { copy(copier, from(_, _, k), to(_, _, k)); }, b, c);
}
template <class P, class A, class B, class Tile>
CUTE_DEVICE void gemm_quads_from_registers(A &a, B const &b, Tile &c) {
    auto mma = typename P::template Of<typename QuadAtom<typename A::value_type, typename B::Element>::Type>{};
    Tensor rA = quad_operand(a);
    quad_steps<P>(mma, rA, [](int) {}, b, c);
}
#endif

/* ---- products of warpgroups ------------------------------------------------------------------------ */

/* The place of a kernel whose warpgroups multiply by wgmma, 64 rows each. */
template <class T, int Groups>
struct WgmmaPlace {
    static constexpr int WarpsM = 4 * Groups, WarpsN = 1, Lanes = 4, Run = 2, Threads = 128 * Groups;

    template <int Cols> static CUTE_HOST_DEVICE constexpr auto any() {
        constexpr int N = Cols > 0 ? Cols : 8;
        return make_tiled_mma(SM90::GMMA::ss_op_selector<T, T, float, Shape<Int<64 * Groups>, Int<N>, _16>>(),
                              Layout<Shape<Int<Groups>, _1, _1>>{});
    }
    template <int Cols> using Mma = decltype(any<Cols>());

    template <int Rows, int Cols> static CUTE_HOST_DEVICE constexpr auto registers() {
        return accumulator_registers<Mma<Cols>, Rows, Cols>();
    }
    template <int Rows, int Cols> static CUTE_DEVICE auto spots() {
        auto whole = make_identity_tensor(Shape<Int<Rows>, Int<Cols>>{});
        auto mine = Mma<Cols>{}.get_slice(threadIdx.x).partition_C(whole);
        return make_tensor(mine.data(), rows_cols(mine.layout()));
    }
};

//> with tw::WgmmaPlace, tw::wgmma<Place>(sA, sB, S) and tw::wgmma_from_registers<Place>(A, sB, S) are these products
/* The panels of a tile as wgmma's descriptors want them: (Rows, Cols) with Cols contiguous, or the
 * same bytes as (Cols, Rows). */
template <class S> CUTE_DEVICE auto along_columns(S const &s) {
    using T = typename S::Element;
    using Atom = cute::conditional_t<S::Panel == 128, GMMA::Layout_K_SW128_Atom<T>,
                 cute::conditional_t<S::Panel == 64, GMMA::Layout_K_SW64_Atom<T>,
                 cute::conditional_t<S::Panel == 32, GMMA::Layout_K_SW32_Atom<T>, GMMA::Layout_K_INTER_Atom<T>>>>;
    return make_tensor(make_smem_ptr(s.data), tile_to_shape(Atom{}, Shape<Int<S::Tall>, Int<S::Wide>>{}));
}
template <class S> CUTE_DEVICE auto along_rows(S const &s) {
    using T = typename S::Element;
    using Atom = cute::conditional_t<S::Panel == 128, GMMA::Layout_MN_SW128_Atom<T>,
                 cute::conditional_t<S::Panel == 64, GMMA::Layout_MN_SW64_Atom<T>,
                 cute::conditional_t<S::Panel == 32, GMMA::Layout_MN_SW32_Atom<T>, GMMA::Layout_MN_INTER_Atom<T>>>>;
    return make_tensor(make_smem_ptr(s.data), tile_to_shape(Atom{}, Shape<Int<S::Wide>, Int<S::Tall>>{}, Step<_2, _1>{}));
}

/* a as (M, K), b as (N, K). */
template <class A> CUTE_DEVICE auto wgmma_a(A const &a) {
    if constexpr (A::Transposed) return along_rows(a.of);
    else return along_columns(a);
}
template <class B> CUTE_DEVICE auto wgmma_b(B const &b) {
    if constexpr (B::Transposed) return along_columns(b.of);
    else return along_rows(b);
}

template <class Mma, class A, class B, class Acc>
CUTE_DEVICE void wgmma_all(Mma &mma, A const &rA, B const &rB, Acc &acc) {
    mma.accumulate_ = GMMA::ScaleOut::One;
    warpgroup_fence_operand(acc);
    warpgroup_arrive();
    CUTE_UNROLL
    for (int k = 0; k < size<2>(rB); ++k) cute::gemm(mma, rA(_, _, k), rB(_, _, k), acc);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    warpgroup_fence_operand(acc);
}

/* c += a b, both in shared memory. */
template <class P, class A, class B, class Tile>
CUTE_DEVICE void wgmma(A const &a, B const &b, Tile &c) {
    using T = typename A::Element;
    Tensor sA = wgmma_a(a);
    Tensor sB = wgmma_b(b);
    constexpr int N = decltype(size<0>(sB))::value;
    auto mma = make_tiled_mma(SM90::GMMA::ss_op_selector<T, T, float, Shape<Int<16 * P::WarpsM>, Int<N>, _16>,
                                                         A::Transposed ? GMMA::Major::MN : GMMA::Major::K,
                                                         B::Transposed ? GMMA::Major::K : GMMA::Major::MN>(),
                              Layout<Shape<Int<P::WarpsM / 4>, _1, _1>>{});
    auto thread = mma.get_slice(threadIdx.x);
    Tensor rA = thread.partition_fragment_A(sA);
    Tensor rB = thread.partition_fragment_B(sB);
    Tensor acc = accumulator(c);
    wgmma_all(mma, rA, rB, acc);
}

/* a from registers, where it was computed: two of an accumulator's runs of 8 columns are 16 of an operand's. */
template <class P, class A, class B, class Tile>
CUTE_DEVICE void wgmma_from_registers(A &a, B const &b, Tile &c) {
    using T = typename B::Element;
    Tensor sB = wgmma_b(b);
    constexpr int N = decltype(size<0>(sB))::value;
    auto mma = make_tiled_mma(SM90::GMMA::rs_op_selector<T, T, float, Shape<Int<16 * P::WarpsM>, Int<N>, _16>, GMMA::Major::K,
                                                         B::Transposed ? GMMA::Major::K : GMMA::Major::MN>(),
                              Layout<Shape<Int<P::WarpsM / 4>, _1, _1>>{});
    auto thread = mma.get_slice(threadIdx.x);
    Tensor rB = thread.partition_fragment_B(sB);
    Tensor held = accumulator(a);
    auto l = logical_divide(layout<0>(held.layout()), Shape<Underscore, Underscore, _2>{});
    Tensor rA = make_tensor(held.data(), make_layout(make_layout(layout<0>(l), layout<1>(l), layout<2, 0>(l)),
                                                     layout<1>(held.layout()),
                                                     coalesce(make_layout(layout<2, 1>(l), layout<2>(held.layout())))));
    Tensor acc = accumulator(c);
    warpgroup_fence_operand(rA);
    wgmma_all(mma, rA, rB, acc);
}

} // namespace tw
