/** Our long-running programs. */
export type LongRunningProgram = 'api' | 'worker';

/**
 * V8's semi-space in MB; Node reserves three times as much. A worker has few young objects and needs little; those of an
 * api live as long as their request, and a small space would copy them again and again.
 */
const YOUNG_MB: Readonly<Record<LongRunningProgram, number>> = { api: 16, worker: 4 };

/** Node's flags for the program. `--expose-gc` is for `settleMemory`. */
export function programFlags(program: LongRunningProgram): readonly string[] {
  return [`--max-semi-space-size=${YOUNG_MB[program]}`, '--expose-gc'];
}

/** Otherwise glibc gives each thread its own heap and never returns it. */
export const PROGRAM_VARIABLES = { MALLOC_ARENA_MAX: '1' } as const;
