import { z } from 'zod';
import { emailField, int64 } from '#platform/http';
import type { CampaignAnalysis } from '#messaging';
import { localeField } from '../language-fields.js';

export const previewQuery = z.object({
  email: emailField.optional().meta({ description: 'Render it for this subscriber.' }),
  locale: localeField
    .optional()
    .meta({ description: 'Render what readers with this language get, whatever the subscriber’s own is.' }),
});

export const campaignPreviewView = z
  .object({
    subject: z.string(),
    fromName: z.string().meta({ description: 'Of the sender, as From shows it.' }),
    html: z.string(),
    text: z.string(),
  })
  .meta({ id: 'CampaignPreview' });

const preSendCheckView = z
  .object({
    code: z.string().meta({ description: 'The check; new codes may be added.', example: 'recipients' }),
    severity: z.enum(['CRITICAL', 'WARNING', 'INFO']),
    result: z.enum(['PASS', 'FAIL', 'SKIPPED']),
    message: z.string().meta({ description: 'The result and, when the check failed, what to do.' }),
  })
  .meta({ id: 'PreSendCheck' });

export const preSendAnalysisView = z
  .object({
    score: z.int().min(0).max(100).meta({ description: '100 less the weight of each failed check.' }),
    status: z.enum(['PENDING', 'PASSED', 'WARNING', 'FAILED']),
    checks: z.array(preSendCheckView),
    audience: z.object({
      matched: int64.meta({ description: 'Signed up for one of the topics.' }),
      unconfirmed: int64.meta({ description: 'Did not confirm the sign-up.' }),
      suppressed: int64.meta({ description: 'Unsubscribed from everything or complained.' }),
      bounced: int64.meta({ description: 'The address does not exist.' }),
      capped: int64.meta({ description: 'Paused all mail.' }),
      willReceive: int64,
    }),
  })
  .meta({ id: 'PreSendAnalysis' });

export function toAnalysisView({
  score,
  status,
  checks,
  audience,
}: CampaignAnalysis): z.input<typeof preSendAnalysisView> {
  return { score, status, checks: [...checks], audience };
}
