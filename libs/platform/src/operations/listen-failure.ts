/**
 * Why a program could not listen on `host` at one of `ports` (variable and value, those that are not set left out), in
 * words for the operator; null when `error` is of another kind.
 */
export function listenFailure(
  error: unknown,
  host: string,
  ports: Readonly<Record<string, number | undefined>>,
): string | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : '';
  const set = Object.entries(ports).filter(([, port]) => port !== undefined);
  const named = `Port ${set.map(([name, port]) => `${port} (${name})`).join(' or ')} on ${host}`;
  if (code === 'EADDRINUSE') return `${named} is taken by another program.`;
  if (code === 'EACCES') return `${named} is not open to this user: take one from 1024 up.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST is ${host}, which is no address of this machine.`;
  return null;
}
