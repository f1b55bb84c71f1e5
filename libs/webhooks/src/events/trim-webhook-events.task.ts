import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from '#platform';

const KEPT_MS = 30 * 86_400_000;

/** Forgets what was told more than 30 days ago, with its log. */
@Injectable()
export class TrimWebhookEvents extends RemoveOldRows {
  override readonly name = 'trim-webhook-events';
  override readonly everyMs = 3_600_000;

  protected override old(now: Date): OldRows[] {
    return [{ table: 'webhooks.events', where: sql`occurred_at < ${before(now, KEPT_MS)}` }];
  }
}
