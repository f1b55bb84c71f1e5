import { createHash } from 'node:crypto';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import pg from 'pg';
import { v7 as newId } from 'uuid';

/**
 * The api reduced to its SQL: no validation, scopes, limits, problems or row-level security. It looks the key up and
 * reads or inserts the same rows as their owner.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const fastify = Fastify();

interface CreateBody {
  readonly email: string;
  readonly firstName: string;
  readonly topicKeys: readonly string[];
  readonly consent: { readonly source: string };
}

async function environmentOf(key: unknown): Promise<{ id: string; projectKey: string }> {
  const hash = createHash('sha256').update(String(key)).digest();
  const { rows } = await pool.query(
    `select e.id, p.project_key as "projectKey" from access.api_keys k
     join access.project_environments e on e.id = k.environment_id join access.projects p on p.id = e.project_id
     where k.key_hash = $1 and k.revoked_at is null`,
    [hash],
  );
  return rows[0];
}

const columns = `id, subscriber_key as "subscriberKey", email, first_name as "firstName", last_name as "lastName", phone,
  status, source, custom_fields as "customFields", created_at as "createdAt", updated_at as "updatedAt"`;

async function get(request: FastifyRequest): Promise<unknown> {
  const { id } = await environmentOf(request.headers['x-api-key']);
  const { email } = request.params as { email: string };
  const { rows } = await pool.query(
    `select ${columns} from audience.subscribers where environment_id = $1 and email_key = $2`,
    [id, email.toLowerCase()],
  );
  return rows[0];
}

async function create(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const environment = await environmentOf(request.headers['x-api-key']);
  const body = request.body as CreateBody;
  const client = await pool.connect();
  try {
    await client.query('begin');
    const created = await insert(client, environment, body);
    await client.query('commit');
    return await reply.code(201).send(created);
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

async function insert(
  client: pg.PoolClient,
  { id: environmentId, projectKey }: { readonly id: string; readonly projectKey: string },
  { email, firstName, topicKeys, consent }: CreateBody,
): Promise<unknown> {
  const now = new Date();
  const id = newId();
  const topics = await client.query<{ id: string }>(
    'select id from audience.topics where environment_id = $1 and topic_key = any($2) for key share',
    [environmentId, topicKeys],
  );
  await client.query('select 1 from audience.suppressions where environment_id = $1 and email_key = $2', [
    environmentId,
    email,
  ]);
  const { rows } = await client.query(
    `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, source, status, created_at, updated_at)
     values ($1, $2, $3 || '-r' || nextval('bench_subscriber_key'), $4, $4, $5, 'API', 'ACTIVE', $6, $6) returning ${columns}`,
    [id, environmentId, projectKey, email, firstName, now],
  );
  for (const topic of topics.rows) {
    await client.query(
      `insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, subscribed_at)
       values ($1, $2, $3, 'SUBSCRIBED', $4, $4)`,
      [id, topic.id, environmentId, now],
    );
    await client.query(
      `insert into audience.consent_ledger (id, occurred_at, environment_id, subscriber_id, topic_id, to_status, actor, source)
       values ($1, $2, $3, $4, $5, 'SUBSCRIBED', 'API_KEY', $6)`,
      [newId(), now, environmentId, id, topic.id, consent.source],
    );
  }
  return rows[0];
}

fastify.route({ method: 'GET', url: '/api/v1/subscribers/:email', handler: get });
fastify.route({ method: 'POST', url: '/api/v1/subscribers', handler: create });
await fastify.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ type: 'listening', port: fastify.addresses()[0]?.port });
process.once('SIGTERM', () => {
  void fastify.close().then(() => pool.end());
});
