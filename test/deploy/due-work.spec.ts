import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { MessagingFixture } from '../../libs/messaging/src/messaging.fixture.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';

const QUERY = readFileSync(join(projectRoot(), 'deploy/helm/mailwright/files/due.sql'), 'utf8');

describe('the number of workers on Kubernetes', () => {
  let messaging: MessagingFixture;
  let keda: pg.Client;

  beforeAll(async () => {
    messaging = await MessagingFixture.open();
    // As docs/install-kubernetes.md has it.
    keda = new pg.Client({ connectionString: `${messaging.test.url}?options=-c%20role%3Dmailwright_system` });
    await keda.connect();
  });
  afterAll(async () => {
    await keda?.end();
    await messaging?.close();
  });

  const due = async () =>
    Number(Object.values((await keda.query<object>(QUERY.replaceAll('\n', ' '))).rows[0]!)[0]);

  it('follows the mails that are due, of all projects, until they are sent', async () => {
    expect(await due()).toBe(0);
    await messaging.queuedCampaign(await messaging.scope(), 7);
    await messaging.asksToConfirm(await messaging.scope(), 'ada@example.com');
    expect(await due()).toBe(8);
    await messaging.test.query(
      `update messaging.deliveries set next_attempt_at = now() + interval '1 hour' where kind = 'CAMPAIGN'`,
    );
    expect(await due()).toBe(1);
  });
});
