import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from '#platform';
import { RETIRED_KEY_KEPT_MS } from './dns-instructions.js';

const CHECKS_KEPT_MS = 60 * 60_000;

/** Forgets checks that nobody waits for any more, and keys whose last mail has long arrived. */
@Injectable()
export class RemoveOldDomainData extends RemoveOldRows {
  override readonly name = 'remove-old-domain-data';
  override readonly everyMs = 10 * 60_000;

  protected override old(now: Date): OldRows[] {
    return [
      { table: 'deliverability.domain_checks', where: sql`created_at < ${before(now, CHECKS_KEPT_MS)}` },
      { table: 'deliverability.dkim_keys', where: sql`retired_at < ${before(now, RETIRED_KEY_KEPT_MS)}` },
    ];
  }
}
