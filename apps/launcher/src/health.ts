/** Ends with 0 when the api or worker of this container is ready. The ports are those of `OPERATIONS_PORT`, `PORT` and `WORKER_PORT`. */
const { OPERATIONS_PORT, PORT = '3000', WORKER_PORT = '3001' } = process.env;
const TIME_LIMIT_MS = 4_000;

/** False if nothing listens there. */
async function answers(port: string): Promise<boolean> {
  const asked = fetch(`http://127.0.0.1:${port}/health/ready`, {
    signal: AbortSignal.timeout(TIME_LIMIT_MS),
  });
  const answer = await asked.catch(() => null);
  if (answer !== null) process.exitCode = answer.ok ? 0 : 1;
  return answer !== null;
}

process.exitCode = 1;
if (!(await answers(OPERATIONS_PORT || PORT))) await answers(WORKER_PORT);
