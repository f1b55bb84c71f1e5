/** Our programs that keep running. */
export type LongRunningProgram = 'api' | 'worker';

/**
 * Room for young objects in MB, which Node takes three times over. A worker makes few at a time: 4 instead of 16 save it 40 to
 * 70 MB at the same CPU a mail. What an api makes lives as long as its request, so that in 4 MB much of it is copied
 * again and again: lists at 20 requests in parallel took a tenth to a third more CPU by it. At rest both are the same.
 */
const YOUNG_MB: Readonly<Record<LongRunningProgram, number>> = { api: 16, worker: 4 };

/** How Node runs the program. `--expose-gc` is for `settleMemory`. */
export function programFlags(program: LongRunningProgram): readonly string[] {
  return [`--max-semi-space-size=${YOUNG_MB[program]}`, '--expose-gc'];
}

/** glibc gives each thread a heap of its own otherwise, which is never given back. */
export const PROGRAM_VARIABLES = { MALLOC_ARENA_MAX: '2' } as const;
