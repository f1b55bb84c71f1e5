import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** An SMTP sink on loopback in a process of its own, as a relay would be. */
export interface SinkProcess {
  readonly url: string;
  readonly pid: number;
  /** Number of mails that it has accepted. */
  count(): Promise<number>;
  stop(): Promise<void>;
}

export async function startSinkProcess(): Promise<SinkProcess> {
  const program = fileURLToPath(new URL('sink-program.js', import.meta.url));
  const child: ChildProcess = fork(program, { stdio: 'inherit' });
  const [url] = (await once(child, 'message')) as [string];
  return {
    url,
    pid: child.pid ?? 0,
    count: async () => {
      child.send('count');
      const [count] = (await once(child, 'message')) as [number];
      return count;
    },
    stop: async () => {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
