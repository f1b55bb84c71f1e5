import { spawn } from 'node:child_process';

/**
 * Waits for the end of its input, which comes when its parent is gone, however it ended. Then the server
 * gets a smart shutdown, so that the api and the worker can finish, and after 4 s a fast one, if its process
 * file still names the same process.
 */
const SCRIPT = `
read -r _
kill -TERM "$1" || exit 0
for second in 1 2 3 4; do
  sleep 1
  kill -0 "$1" || exit 0
done
[ "$(head -n 1 "$2/postmaster.pid" 2>/dev/null)" = "$1" ] && kill -INT "$1"
`;

export interface OrphanGuard {
  /** Call when the server has ended. */
  dismiss(): void;
}

/** Sees to it that the server ends when this process is killed. Where there is no `sh`, nobody watches. */
export function watchForOrphan(pid: number, directory: string): OrphanGuard {
  if (process.platform === 'win32') return { dismiss: () => undefined };
  const guard = spawn('sh', ['-c', SCRIPT, 'mailwright-guard', String(pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    detached: true,
  });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  return { dismiss: () => void guard.kill('SIGKILL') };
}
