import { runtimeUrl } from '#platform/embedded-postgres';
import { type Environment, given } from './environment.js';

/** The URLs of one database: for the api and the worker, and for the owner of the schema, which only the CLI gets. */
export interface DatabaseUrls {
  readonly url: string;
  readonly ownerUrl: string;
}

/** The user's own database, if there is one. */
export function givenDatabase(env: Environment): DatabaseUrls | undefined {
  const url = given(env, 'DATABASE_URL');
  return url === undefined ? undefined : { url, ownerUrl: given(env, 'DATABASE_OWNER_URL') ?? url };
}

export function embeddedDatabase(superuserUrl: string): DatabaseUrls {
  return { url: runtimeUrl(superuserUrl), ownerUrl: superuserUrl };
}
