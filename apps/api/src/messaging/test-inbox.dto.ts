import { z } from 'zod';
import { pageOf, pageQuery, timestamp } from '#platform/http';
import { line } from '../fields.js';

const MAIL_KINDS = ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST', 'MESSAGE'] as const;

export const testInboxListQuery = pageQuery({
  to: line(320).optional().meta({ description: 'Only mail to this address.' }),
  kind: z.enum(MAIL_KINDS).optional(),
});

const message = z.object({
  id: z.uuid(),
  to: z.string(),
  from: z.string(),
  subject: z.string(),
  kind: z.enum(MAIL_KINDS),
  receivedAt: timestamp,
  links: z.object({
    confirm: z.string().optional(),
    unsubscribe: z.string().optional(),
    preferences: z.string().optional(),
    view: z.string().optional(),
  }),
});

export const testInboxMessageView = message.meta({ id: 'TestInboxMessage' });
export const testInboxPage = pageOf(testInboxMessageView, 'TestInboxMessagePage');
export const openedTestInboxMessageView = message
  .extend({
    html: z.string(),
    text: z.string(),
    headers: z
      .record(z.string(), z.string())
      .meta({ description: 'The header fields as they were sent, unfolded.' }),
  })
  .meta({ id: 'OpenedTestInboxMessage' });
