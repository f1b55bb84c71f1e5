import { describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { type Run, Supervisor, type Timing } from './supervisor.js';

/** A run that becomes ready and ends when the test says so. */
class ScriptedRun implements Run {
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<string>();
  readonly ready = this.#ready.promise;
  readonly ended = this.#ended.promise;
  becomeReady(): void {
    this.#ready.resolve();
  }
  end(how: string): void {
    this.#ready.reject(new Error('It ended before it was ready.'));
    this.#ended.resolve(how);
  }
  async stop(): Promise<void> {
    this.end('signal SIGTERM');
  }
  kill(): void {
    this.end('signal SIGKILL');
  }
}

/** Waiting takes no time, but is noted. */
class SteppedTiming implements Timing {
  readonly waits: number[] = [];
  #now = 0;
  now(): number {
    return this.#now;
  }
  pass(ms: number): void {
    this.#now += ms;
  }
  async wait(ms: number): Promise<void> {
    this.waits.push(ms);
    this.#now += ms;
  }
}

function supervise(timing: Timing) {
  const runs: ScriptedRun[] = [];
  const lines: string[] = [];
  const begin = () => {
    runs.push(new ScriptedRun());
    return runs.at(-1) ?? new ScriptedRun();
  };
  const run = (number: number) => eventually(`run ${number}`, () => runs[number - 1]);
  return {
    supervisor: new Supervisor('The worker', begin, (line) => lines.push(line), timing),
    run,
    runs,
    lines,
  };
}

async function startSupervised(timing: Timing) {
  const supervised = supervise(timing);
  const starting = supervised.supervisor.start();
  (await supervised.run(1)).becomeReady();
  await starting;
  return supervised;
}

describe('supervisor', () => {
  it('starts a crashed program again, later with each crash, and says so', async () => {
    const timing = new SteppedTiming();
    const { supervisor, run, lines } = await startSupervised(timing);

    (await run(1)).end('exit code 3');
    (await run(2)).end('exit code 3');
    (await run(3)).becomeReady();
    await eventually('the last line', () => lines.length === 3);

    expect(timing.waits).toEqual([500, 1_000]);
    expect(lines).toEqual([
      'The worker ended unexpectedly (exit code 3). It is started again in 0.5 s.',
      'The worker ended unexpectedly (exit code 3). It is started again in 1 s.',
      'The worker runs again.',
    ]);
    await supervisor.stop(0);
  });

  it('waits half a second after a crash, and twice as long after each next, up to 30 s', async () => {
    const timing = new SteppedTiming();
    const { supervisor, run } = await startSupervised(timing);
    for (let crash = 1; crash <= 9; crash += 1) (await run(crash)).end('exit code 1');
    await run(10);
    expect(timing.waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    await supervisor.stop(0);
  });

  it('forgets old crashes after a minute of health', async () => {
    const timing = new SteppedTiming();
    const { supervisor, run } = await startSupervised(timing);
    for (const [crash, uptime] of [0, 0, 59_999, 60_000, 0].entries()) {
      const crashing = await run(crash + 1);
      timing.pass(uptime);
      crashing.end('exit code 1');
    }
    await run(6);
    expect(timing.waits).toEqual([500, 1_000, 2_000, 500, 1_000]);
    await supervisor.stop(0);
  });

  it('fails the start when the program ends before it was ever ready', async () => {
    const { supervisor, run, runs } = supervise(new SteppedTiming());
    const starting = supervisor.start();
    (await run(1)).end('exit code 1');
    await expect(starting).rejects.toThrow('ended before it was ready');
    expect(runs).toHaveLength(1);
  });

  it('starts nothing again once it is told to stop, not even after a crash just before', async () => {
    const pause = Promise.withResolvers<void>();
    const timing: Timing = {
      now: () => 0,
      wait: (_ms, signal) => {
        signal.addEventListener('abort', () => pause.reject(signal.reason));
        return pause.promise;
      },
    };
    const { supervisor, run, runs, lines } = await startSupervised(timing);
    (await run(1)).end('exit code 1');
    await eventually('the crash is told', () => lines.length === 1);
    await supervisor.stop(0);
    expect(runs).toHaveLength(1);
  });
});
