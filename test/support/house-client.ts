/** What a test file needs to know of the system that all files share. */
export interface SharedSystemPlace {
  /** By the login of the programs, and by a superuser. */
  readonly databaseUrl: string;
  readonly adminUrl: string;
  readonly apiPort: number;
  readonly workerPort: number;
  readonly variables: Readonly<Record<string, string>>;
}

/** Asks what all files of the test run share: see house.ts. */
export async function askHouse<T>(room: string, body: object = {}): Promise<T> {
  const house = process.env['MAILWRIGHT_TEST_HOUSE'];
  if (house === undefined) throw new Error('Run the tests with `npm test`: it opens the house for them.');
  const response = await fetch(`${house}${room}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as T;
}
