// Everything of the resource model in one include.
#pragma once

#include "conf/model/check.hpp"
#include "conf/model/kinds.hpp"
#include "conf/model/resources.hpp"
#include "conf/model/upstream.hpp"
