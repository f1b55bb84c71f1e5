import { execFileSync } from 'node:child_process';
import type { Environment } from '#testing/programs/program';
import { executableOf } from '../parts.js';

/**
 * Variables that let a program believe that it is `offset` (`+25s`, `-10m`) from the machine's time. What measures how long
 * something takes is left alone, as on a machine whose clock was set wrongly.
 */
export function wrongBy(offset: string): Environment {
  const command = [executableOf('faketime'), '-f', offset, 'sh', '-c', 'echo $LD_PRELOAD'];
  const library = execFileSync(command[0]!, command.slice(1), { encoding: 'utf8' }).trim();
  return { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}
