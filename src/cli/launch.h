/* launch.h: the numbers of one launch: dimensions and parameters, from --bind
 * (and --set where nothing is compiled any more).
 *
 * What is not given gets a small, ragged default: 200 for a dimension that is
 * among the last two of some tensor, which tiles cut; 2 for any other.
 */
#ifndef TW_LAUNCH_H
#define TW_LAUNCH_H

#include "chain/launch.h"
#include "cli/cli.h"

/* Parses the words NAME=VALUE. False: a usage error was printed. */
bool launch_parse(Session *s, const char *option, const char *const *words, int n, LaunchShape *shape);
/* Whether the definition has what --bind names; complains of what it does not have. */
bool launch_known(Session *s, const Def *def, const Settings *compiled);
bool launch_known_by(Session *s, const Program *program); /* likewise Kernels */
/* Adds what the definition needs and was not given; complains of names that it
 * does not have. compiled: settings that a name may repeat if its value agrees. */
bool launch_complete(Session *s, const Def *def, const Settings *compiled, LaunchShape *shape);
/* The same for tile IR alone, which has no definition. */
bool launch_complete_tile(Session *s, const TileProgram *program, LaunchShape *shape);

#endif
