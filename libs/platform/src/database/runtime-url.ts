import { createHmac } from 'node:crypto';

/** The login of the api and the worker on the embedded server. */
const LOGIN = 'mailwright';

/** Connection string of the programs' login, which `migrate` makes; its password is derived from the superuser's. */
export function runtimeUrl(superuserUrl: string): string {
  const url = new URL(superuserUrl);
  url.password = createHmac('sha256', url.password).update(`login ${LOGIN}`).digest('hex');
  url.username = LOGIN;
  return url.href;
}
