import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { freePort, isListening } from '#testing/programs/ports';
import { executableOf } from '../parts.js';

/** An S3 server of a test's own, with the bucket `images`, that can be killed and started again at its port. */
export interface RealS3 {
  /** Settings of the programs that use it. */
  readonly variables: Readonly<Record<string, string>>;
  /** Keys of all objects. */
  objects(): Promise<readonly string[]>;
  /** SIGKILL. What it has stays. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

const KEY = 'an-access-key';
const SECRET = 'its-secret/with+signs';

export async function startRealS3(): Promise<RealS3> {
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-s3-'));
  const bucket = join(directory, 'images');
  await mkdir(bucket);
  let child = await listening(port, directory);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return {
    variables: {
      S3_BUCKET: 'images',
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_ACCESS_KEY_ID: KEY,
      S3_SECRET_ACCESS_KEY: SECRET,
    },
    objects: async () => {
      const entries = await readdir(bucket, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
      return files.map(({ parentPath, name }) => join(parentPath, name).slice(bucket.length + 1));
    },
    kill,
    start: async () => {
      child = await listening(port, directory);
    },
    close: async () => {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function listening(port: number, directory: string): Promise<ChildProcess> {
  const options = [
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--access-key',
    KEY,
    '--secret-key',
    SECRET,
  ];
  const child = spawn(executableOf('s3'), [...options, directory], { stdio: 'ignore' });
  await eventually('the S3 server listens', () => isListening(port));
  return child;
}
