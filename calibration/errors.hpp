// The exit codes of accocal and the errors behind them are those of all programs.
#pragma once

#include "models/errors.hpp"
