import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { deliverabilityEntities } from './deliverability.schema.js';
import { DkimKeyPair } from './dkim/dkim-key.js';
import { failed } from './dns/record-verdict.js';
import { RelaysQuery } from './relays/relays.query.js';
import { SendingDomain } from './sending-domains/sending-domain.js';
import { SendingDomainRepository } from './sending-domains/sending-domain.repository.js';

const NOW = new Date('2026-03-01T10:20:30.456Z');
const LATER = new Date('2027-03-01T10:20:30.456Z');
const KEY = { algorithm: 'rsa-sha256', publicKey: 'MII', privateKeyBox: 'v1.sealed' } as const;

describe('What is written of deliverability is read as it was', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    const entities = deliverabilityEntities;
    database = await Database.connect({ url: test.url, poolSize: 2, applicationName: 'spec', entities });
  });

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  it('a sending domain with its records and keys', async () => {
    const { live } = await createProject(test);
    const domains = new SendingDomainRepository(database, new RelaysQuery(database));
    await database.transaction(live, async () => {
      const domain = new SendingDomain(live, 'acme.example', 'bounce.acme.example', NOW);
      await domains.add(domain);
      const wanted = {
        purpose: 'OWNERSHIP',
        recordType: 'TXT',
        host: '_mailwright',
        expectedValue: 'yes',
      } as const;
      domain.publish([wanted], [{ ...KEY, selector: 'mw1' }], NOW);
      Object.assign(domain, {
        revision: 2,
        status: 'DEGRADED',
        sendingAllowed: true,
        healthScore: 95,
        suspensionReason: 'Too many complaints.',
        verificationAttempts: 3,
        checksStartedAt: LATER,
        lastCheckedAt: NOW,
        nextCheckAt: LATER,
        verifiedAt: NOW,
        expiresAt: LATER,
        updatedAt: LATER,
      });
      domain.rotateKeys([{ ...KEY, selector: 'mw2' }], NOW);
      for (const record of domain.records) {
        record.see(failed('MISMATCH', 'it says no', ['no']), LATER);
        record.note = 'It could be better.';
        if (record.key?.state === 'ACTIVE') record.key.switch(LATER);
      }
      domains.addRecords(domain);
      await database.em.flush();

      database.em.clear();
      await database.em.find(DkimKeyPair, {}, { populate: ['privateKeyBox'] });
      expect(await domains.find(live)).toEqual(domain);
    });
  });
});
