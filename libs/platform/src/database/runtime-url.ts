import { createHmac } from 'node:crypto';

/** The login of the api and the worker on the embedded server. */
const LOGIN = 'mailwright';

/**
 * The connection string of the programs' login, from that of the superuser, whose password it does not tell. `migrate`
 * makes the login. No file holds its password: it follows from the one that the directory has.
 */
export function runtimeUrl(superuserUrl: string): string {
  const url = new URL(superuserUrl);
  url.password = createHmac('sha256', url.password).update(`login ${LOGIN}`).digest('hex');
  url.username = LOGIN;
  return url.href;
}
