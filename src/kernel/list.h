#pragma once

#include <tuple>

#include "kernel/categorical.h"
#include "kernel/dot_product.h"
#include "kernel/periodic.h"
#include "kernel/radial.h"
#include "kernel/spectral_mixture.h"

namespace ick {

// The table: every kernel there is. A new kernel is a struct like its neighbours and one line here; formula syntax,
// printing, both evaluation paths, `ick list` and the property tests follow. A spectrum, where it has one, goes into
// spectrum.cpp.
using KernelList = std::tuple<  //
    Constant,                   //
    Linear,                     //
    Polynomial,                 //
    Cosine,                     //
    Rbf<Inputs::numbers>,       //
    Matern12<Inputs::numbers>,  //
    Matern32<Inputs::numbers>,  //
    Matern52<Inputs::numbers>,  //
    RationalQuadratic,          //
    Periodic,                   //
    SpectralMixture,            //
    Categorical,                //
    Rbf<Inputs::place>,         //
    Matern12<Inputs::place>,    //
    Matern32<Inputs::place>,    //
    Matern52<Inputs::place>>;

inline constexpr int kKernelCount = std::tuple_size_v<KernelList>;

}  // namespace ick
