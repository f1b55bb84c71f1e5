import type pg from 'pg';

const ROLES = ['mailwright_app', 'mailwright_system'] as const;
/** From this version on a membership itself says whether it is inherited. */
const GRANTS_SAY_INHERIT = 160_000;

interface Found {
  readonly exists: boolean;
  readonly may: boolean;
  readonly version: number;
}

/**
 * Lets the login of `url` become our roles, and nothing else; makes it where it is not there, with the password of
 * `url`. A login that is there keeps its password. Needs CREATEROLE.
 */
export async function ensureRuntimeLogin(owner: pg.Client, url: string): Promise<void> {
  const { username, password } = new URL(url);
  const [name, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  if (name === '' || name === owner.user) return;
  const { rows } = await owner.query<Found>(
    `select exists (select 1 from pg_roles where rolname = $1) as exists,
       current_setting('server_version_num')::int as version,
       coalesce((select bool_and(pg_has_role(r.oid, wanted, 'MEMBER')) from pg_roles r, unnest($2::text[]) wanted
         where r.rolname = $1), false) as may`,
    [name, ROLES],
  );
  const found = rows[0]!;
  const login = owner.escapeIdentifier(name);
  if (!found.exists) {
    await owner.query(`create role ${login} login noinherit password ${owner.escapeLiteral(secret)}`);
  }
  const inherit = found.version >= GRANTS_SAY_INHERIT ? ' with inherit false, set true' : '';
  if (!found.may) await owner.query(`grant ${ROLES.join(', ')} to ${login}${inherit}`);
}
