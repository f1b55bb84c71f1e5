import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '#testing/time/eventually';
import { freePort, isListening } from '#testing/programs/ports';

/** Postfix's smtp-sink, which takes every mail and keeps none. */
export interface PostfixSink {
  readonly port: number;
  /** Mails that it has accepted so far. */
  count(): number;
  stop(): Promise<void>;
}

const COUNTERS = /mesg=(\d+)[^=]*$/;

export async function startPostfixSink(program: string): Promise<PostfixSink> {
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  const child = spawn(program, [...(isRoot ? ['-u', 'postfix'] : []), '-c', `127.0.0.1:${port}`, '1000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let count = 0;
  let shown = '';
  child.stdout.setEncoding('latin1').on('data', (chunk: string) => {
    // The last of its lines may be cut off.
    shown = (shown + chunk).slice(-200);
    const whole = shown.slice(0, shown.lastIndexOf('\r'));
    count = Number(COUNTERS.exec(whole)?.[1] ?? count);
  });
  await eventually('the sink listens', async () => (await isListening(port)) || null);
  return {
    port,
    count: () => count,
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill();
      await exit;
    },
  };
}
