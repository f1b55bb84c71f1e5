import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { OverviewQuery } from './overview.query.js';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  const options = { url: test.url, poolSize: 2, applicationName: 'overview-spec', entities: [] };
  database = await Database.connect(options);
});
afterAll(async () => {
  await database.close();
  await test.drop();
});

/** A campaign that is being sent, with a deferred mail. */
async function deferredCampaign({ environmentId }: ProjectScope): Promise<void> {
  const id = newId();
  await test.query(
    `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, content_text, topic_ids, status, queued_at,
       expanded_at, created_at, updated_at)
     values ($1::uuid, $2, 'APIT-' || $1, 'News', 'News', 'Hello', array[$1::uuid], 'SENDING', now(), now(), now(), now())`,
    [id, environmentId],
  );
  await test.query(
    `insert into messaging.deliveries (id, source_id, environment_id, created_at, next_attempt_at, queued_on, kind, address,
       address_key, message_id, state, last_error)
     values ($1, $2, $3, now(), now() + interval '1 hour', (now() at time zone 'UTC')::date, 'CAMPAIGN', 'ada@example.com',
       'ada@example.com', 'm', 'DEFERRED', '421 later')`,
    [newId(), id, environmentId],
  );
}

const deferred = (scope: ProjectScope, kind: string, relayKey: string | null = null) =>
  test.query(
    `insert into messaging.deliveries (id, source_id, environment_id, created_at, next_attempt_at, queued_on, kind, address,
       address_key, message_id, state, last_error, relay_key)
     values (gen_random_uuid(), gen_random_uuid(), $1, now(), now() + interval '1 hour', current_date, $2, 'ada@example.com',
       'ada@example.com', 'm', 'DEFERRED', '421 later', $3)`,
    [scope.environmentId, kind, relayKey],
  );

it('the overview tells mail by the installation’s relay from that by relays of projects and from test mail', async () => {
  const [plain, withRelay] = [await createProject(test), await createProject(test)];
  const { live } = withRelay;
  await test.query(
    `insert into deliverability.relays (environment_id, id, project_id, relay_key, name, kind, host, port, tls, options, streams,
       priority, weight, connections, signing, status, feedback_id, created_at, updated_at)
     values ($1, gen_random_uuid(), $2, 'OWN-1', 'Own', 'SMTP', 'relay.example', 25, 'OPPORTUNISTIC', '{}', '{TRANSACTIONAL}', 1, 1,
       5, 'OWN', 'ACTIVE', gen_random_uuid(), now(), now())`,
    [live.environmentId, live.projectId],
  );
  await deferred(plain.live, 'AUTOMATION');
  await deferred(plain.live, 'MESSAGE');
  await deferred(plain.test, 'MESSAGE');
  await deferredCampaign(plain.live);
  await deferredCampaign(live);
  // Its relay takes messages alone; one found no place there.
  await deferred(live, 'AUTOMATION');
  await deferred(live, 'MESSAGE');
  await deferred(live, 'MESSAGE', 'OWN-1');
  const { open, installationRelay, relays } = await new OverviewQuery(
    database,
    new ManualClock(new Date()),
  ).latest();
  expect(open.deferred).toBe(8);
  expect(installationRelay.deferred).toBe(5);
  expect(relays).toMatchObject([{ relayKey: 'OWN-1', deferred: 1 }]);
});
