import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU seconds that a process has used since it began, user and system (proc(5), fields 14 and 15 of stat). */
export function cpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The same of a server with its backends, those that have ended included. */
export function treeCpuSeconds(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statFields(Number(name));
    const isItself = Number(name) === pid;
    if (!isItself && Number(fields[1]) !== pid) continue;
    // A server's own count has what its ended children used beside it (fields 16 and 17).
    const counted = isItself ? [11, 12, 13, 14] : [11, 12];
    for (const field of counted) ticks += Number(fields[field] ?? 0);
  }
  return ticks / TICKS_PER_SECOND;
}

/** The fields of stat from the third on; none when the process has ended. */
function statFields(of: number | string): string[] {
  try {
    return readFileSync(`/proc/${of}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  } catch {
    return [];
  }
}

/** Resident memory in MB: now, and the most it ever was. */
export function memoryMb(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { now: Math.round(kilobytes('VmRSS') / 1024), peak: Math.round(kilobytes('VmHWM') / 1024) };
}

/** CPU seconds of the main thread alone; what the process has used besides is compiling and collecting. */
export function mainThreadCpuSeconds(pid: number): number {
  const fields = statFields(`${pid}/task/${pid}`);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
