import type pg from 'pg';
import { refuseOtherSchema } from './migration-records.js';
import { refuseOldServer } from './server-version.js';
import { refuseTransactionPooling } from './session-pooling.js';

/** Throws an `UnfitDatabaseError` unless this version can work with what `pool` leads to. Asked before any work begins. */
export async function refuseUnfitDatabase(pool: pg.Pool): Promise<void> {
  await refuseTransactionPooling(pool);
  await refuseOldServer(pool);
  await refuseOtherSchema(pool);
}

interface Login {
  readonly name: string;
  readonly rights: string | null;
}

/**
 * What the login of `pool` may do by itself, in words for the operator; null when it may only become one of our roles.
 * Row-level security holds in either case; but a statement that got out of its role would have those rights.
 */
export async function excessiveRights(pool: pg.Pool): Promise<string | null> {
  const { rows } = await pool.query<Login>(`
    select rolname as name, case
        when rolsuper then 'is a superuser'
        when rolbypassrls then 'passes row-level security (BYPASSRLS)'
        when exists (select 1 from pg_namespace n where n.nspname = 'platform' and pg_has_role(r.oid, n.nspowner, 'MEMBER'))
          then 'owns the schema'
        when pg_has_role(r.oid, 'mailwright_app', 'USAGE') or pg_has_role(r.oid, 'mailwright_system', 'USAGE')
          then 'inherits the rights of our roles'
      end as rights
    from pg_roles r where rolname = session_user`);
  const [login] = rows;
  if (login === undefined || login.rights === null) return null;
  return (
    `The login ${login.name} of DATABASE_URL ${login.rights}. Give that one to \`migrate\` alone, as DATABASE_OWNER_URL, ` +
    'and another to DATABASE_URL, which `migrate` then makes (docs/database.md#logins).'
  );
}
