import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database/database.js';
import { named } from '../database/statement.js';
import { redact } from '../logger.js';
import type { AUDIT_ACTORS, AuditedSettings, AuditOutcome } from '../database/audit-trail.js';

/** A row of the audit log. */
export interface AuditRow {
  readonly sequence: number;
  readonly id: string;
  readonly occurredAt: Date;
  readonly actorType: (typeof AUDIT_ACTORS)[number];
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly network: string | null;
  readonly requestId: string | null;
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string | null;
  readonly items: number | null;
  readonly outcome: AuditOutcome;
  readonly problem: string | null;
  readonly before: AuditedSettings | null;
  readonly after: AuditedSettings | null;
  readonly previousHash: Buffer;
  readonly hash: Buffer;
}

/** A row as the API shows it. In a line of JSON its last member is the hash: that of the line without it. */
export function auditView(row: AuditRow) {
  const { occurredAt, actorType: type, keyId, keyName, network, previousHash, hash } = row;
  return {
    sequence: row.sequence,
    id: row.id,
    createdAt: occurredAt.toISOString(),
    updatedAt: occurredAt.toISOString(),
    actor: { type, keyId, keyName, network },
    requestId: row.requestId,
    action: row.action,
    target: { type: row.targetType, id: row.targetId },
    items: row.items,
    outcome: row.outcome,
    problem: row.problem,
    before: row.before,
    after: row.after,
    previousHash: previousHash.toString('hex'),
    hash: hash.toString('hex'),
  };
}

/** Ids of all environments that have an audit log; 0 is the installation, with the operator's requests. */
export const CHAINS = sql`select 0::bigint as id union all select e.id from access.project_environments e order by id`;

const NO_HASH = Buffer.alloc(32);

/** SHA-256 of the row's line without its hash. */
function hashOf(row: Omit<AuditRow, 'hash'>): Buffer {
  const { hash: _hash, ...content } = auditView({ ...row, hash: NO_HASH });
  return createHash('sha256').update(JSON.stringify(content)).digest();
}

type Entry = Pick<
  AuditRow,
  | 'keyId'
  | 'network'
  | 'requestId'
  | 'action'
  | 'targetType'
  | 'targetId'
  | 'items'
  | 'outcome'
  | 'problem'
  | 'before'
  | 'after'
> & { readonly actor: AuditRow['actorType'] };

/** Null in the row and in its hash, unless the entry says it. */
const UNSAID = {
  keyId: null,
  network: null,
  requestId: null,
  targetId: null,
  items: null,
  problem: null,
  before: null,
  after: null,
};

interface WaitingEntry {
  readonly id: string;
  readonly occurredAt: Date;
  readonly entry: Entry;
}

interface ChainEnd {
  readonly sequence: number;
  readonly hash: Buffer;
  /** Time of its row; null where that is gone. */
  readonly occurredAt: Date | null;
}

const NO_ROW: ChainEnd = { sequence: 0, hash: NO_HASH, occurredAt: null };

/** Columns of a row `l` by the names of `AuditRow`. */
export const AUDIT_COLUMNS = sql`l.sequence, l.id, l.occurred_at, l.actor_type, l.key_id, l.key_name, l.network, l.request_id,
  l.action, l.target_type, l.target_id, l.items, l.outcome, l.problem, l.before, l.after, l.previous_hash, l.hash`;

const BATCH = 1_000;

/** Chains the entries of an environment that are committed and wait, the oldest first, in transactions of the system. */
export async function chainAll(database: Database, environmentId: number): Promise<void> {
  while ((await database.system(() => chain(database, environmentId, BATCH))) === BATCH);
}

/** The same in the open transaction, at most so many; who chains waits for the one before. Returns how many. */
export async function chain(database: Database, environmentId: number, most: number): Promise<number> {
  await lockChain(database, environmentId);
  const [waiting, ends] = await database.together(
    sql<WaitingEntry>`${named('waiting_audit_entries')}
      select i.id, i.occurred_at, i.entry from platform.audit_inbox i where i.environment_id = ${environmentId}
      order by i.occurred_at, i.id limit ${most}`,
    sql<ChainEnd>`${named('end_of_audit_chain')}
      (select l.sequence, l.hash, l.occurred_at from platform.audit_log l where l.environment_id = ${environmentId}
        order by l.sequence desc limit 1)
      union all
      (select c.sequence, c.hash, null::timestamptz from platform.audit_checkpoints c where c.environment_id = ${environmentId}
        order by c.sequence desc limit 1)`,
  );
  if (waiting.length === 0) return 0;
  const names = await keyNames(database, waiting);
  let end = ends.toSorted((a, b) => b.sequence - a.sequence)[0] ?? NO_ROW;
  const rows = waiting.map(({ id, occurredAt: writtenAt, entry: { actor, ...entry } }) => {
    // One that was committed after a later one comes behind it: the order of times is that of numbers.
    const occurredAt = end.occurredAt !== null && end.occurredAt > writtenAt ? end.occurredAt : writtenAt;
    const keyName = names.get(entry.keyId ?? '') ?? null;
    const link = { sequence: end.sequence + 1, previousHash: end.hash };
    const row = { ...UNSAID, ...entry, ...link, id, occurredAt, actorType: actor, keyName };
    end = { sequence: row.sequence, hash: hashOf(row), occurredAt };
    return { ...row, hash: end.hash };
  });
  const written = rows.map(({ previousHash, hash, ...row }) => ({
    ...row,
    previousHash: previousHash.toString('hex'),
    hash: hash.toString('hex'),
  }));
  await database.together(
    sql`${named('chain_audit_entries')}
      insert into platform.audit_log (environment_id, sequence, id, occurred_at, actor_type, key_id, key_name, network,
        request_id, action, target_type, target_id, items, outcome, problem, before, after, previous_hash, hash)
      select ${environmentId}, r.sequence, r.id, r."occurredAt", r."actorType", r."keyId", r."keyName", r.network, r."requestId",
        r.action, r."targetType", r."targetId", r.items, r.outcome, r.problem, r.before, r.after,
        decode(r."previousHash", 'hex'), decode(r.hash, 'hex')
      from jsonb_to_recordset(${JSON.stringify(written)}::jsonb) as r(sequence bigint, id uuid, "occurredAt" timestamptz,
        "actorType" text, "keyId" uuid, "keyName" text, network text, "requestId" text, action text, "targetType" text,
        "targetId" text, items int, outcome text, problem text, before jsonb, after jsonb, "previousHash" text, hash text)
      returning sequence`,
    sql`${named('remove_chained_entries')}
      delete from platform.audit_inbox where environment_id = ${environmentId} and id = any(${rows.map(({ id }) => id)}::uuid[])
        and occurred_at between ${waiting[0]!.occurredAt} and ${waiting.at(-1)!.occurredAt}`,
  );
  return rows.length;
}

/** Two who change one chain wait for each other, until the transaction ends. */
function lockChain(database: Database, environmentId: number) {
  return sql`${named('lock_audit_chain')}
    select pg_advisory_xact_lock(hashtextextended(${`audit ${environmentId}`}, 0))`.execute(
    database.tables(),
  );
}

async function keyNames(
  database: Database,
  waiting: readonly WaitingEntry[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(waiting.flatMap(({ entry }) => entry.keyId ?? []))];
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; name: string }>`
    select k.id, k.name from access.api_keys k where k.id = any(${ids}::uuid[])
    union all select o.id, o.name from access.operator_keys o where o.id = any(${ids}::uuid[])`.execute(
    database.tables(),
  );
  return new Map(rows.map(({ id, name }) => [id, redact(name)]));
}

/** A fault of an environment's audit log. */
interface AuditFault {
  readonly environmentId: number;
  readonly sequence: number | null;
  readonly fault: string;
}

/** The last row of a chain: kept elsewhere, it proves later that nothing was cut off at the end. */
interface AuditHead {
  readonly environmentId: number;
  readonly sequence: number;
  readonly hash: string;
}

export interface AuditCheck {
  readonly rows: number;
  readonly faults: readonly AuditFault[];
  readonly heads: readonly AuditHead[];
}

const PAGE = 2_000;
const MOST_FAULTS = 100;
/** The worker chains every few seconds. */
const WAITING_MS = 15 * 60_000;

/** Reads all audit logs and computes their chains anew. At most 100 faults are named. */
export async function checkAuditLogs(database: Database, now: Date): Promise<AuditCheck> {
  const { rows: environments } = await database.system(() =>
    sql<{ id: number }>`${CHAINS}`.execute(database.tables()),
  );
  const [faults, heads]: [AuditFault[], AuditHead[]] = [[], []];
  let count = 0;
  for (const { id } of environments) {
    const add = (sequence: number | null, fault: string) => {
      if (faults.length < MOST_FAULTS) faults.push({ environmentId: id, sequence, fault });
    };
    let end = await checkpointOf(database, id);
    for (let last = PAGE; last === PAGE;) {
      const rows = await pageBehind(database, id, end.sequence);
      for (const row of rows) {
        if (row.sequence !== end.sequence + 1)
          add(row.sequence, `rows are missing from ${end.sequence + 1} on`);
        else if (!row.previousHash.equals(end.hash)) add(row.sequence, 'does not follow the row before');
        if (!hashOf(row).equals(row.hash)) add(row.sequence, 'is not what its hash says');
        end = { sequence: row.sequence, hash: row.hash, occurredAt: row.occurredAt };
      }
      count += rows.length;
      last = rows.length;
    }
    if (end.sequence > 0)
      heads.push({ environmentId: id, sequence: end.sequence, hash: end.hash.toString('hex') });
    const oldest = await oldestWaiting(database, id);
    if (oldest !== null && now.getTime() - oldest.getTime() > WAITING_MS)
      add(null, `entries wait since ${oldest.toISOString()}: does a worker run?`);
  }
  return { rows: count, faults, heads };
}

async function checkpointOf(database: Database, environmentId: number): Promise<ChainEnd> {
  const { rows } = await database.system(() =>
    sql<ChainEnd>`select c.sequence, c.hash, null::timestamptz as occurred_at from platform.audit_checkpoints c where c.environment_id = ${environmentId}
      order by c.sequence desc limit 1`.execute(database.tables()),
  );
  return rows[0] ?? NO_ROW;
}

async function pageBehind(database: Database, environmentId: number, sequence: number) {
  const { rows } = await database.system(() =>
    sql<AuditRow>`select ${AUDIT_COLUMNS} from platform.audit_log l
      where l.environment_id = ${environmentId} and l.sequence > ${sequence} order by l.sequence limit ${PAGE}`.execute(
      database.tables(),
    ),
  );
  return rows;
}

async function oldestWaiting(database: Database, environmentId: number): Promise<Date | null> {
  const { rows } = await database.system(() =>
    sql<{
      at: Date;
    }>`select i.occurred_at as at from platform.audit_inbox i where i.environment_id = ${environmentId}
      order by i.occurred_at limit 1`.execute(database.tables()),
  );
  return rows[0]?.at ?? null;
}

/** Removes rows from before a time, oldest first, at most so many, and notes where the chain goes on. Returns how many. */
export async function removeOldest(
  database: Database,
  environmentId: number,
  { before, now, most }: { readonly before: Date; readonly now: Date; readonly most: number },
): Promise<number> {
  await lockChain(database, environmentId);
  const tables = database.tables();
  const { rows } = await sql<Pick<ChainEnd, 'sequence' | 'hash'> & { readonly isOld: boolean }>`
    select l.sequence, l.hash, l.occurred_at < least(${before}::timestamptz, now() - interval '13 months') as is_old
    from platform.audit_log l where l.environment_id = ${environmentId} order by l.sequence limit ${most}`.execute(
    tables,
  );
  const young = rows.findIndex(({ isOld }) => !isOld);
  const old = young === -1 ? rows : rows.slice(0, young);
  const last = old.at(-1);
  if (last === undefined) return 0;
  await sql`
    insert into platform.audit_checkpoints (environment_id, sequence, hash, removed_at)
    values (${environmentId}, ${last.sequence}, ${last.hash}, ${now})`.execute(tables);
  await sql`
    delete from platform.audit_log where environment_id = ${environmentId} and sequence <= ${last.sequence}`.execute(
    tables,
  );
  return old.length;
}
